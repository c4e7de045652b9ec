"""The reflogs: where each branch was. git passes over damaged lines of them without a word."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress

from bonsai.adapters.git_repo import Layout

#: A line of a reflog; who it is by may hold anything but a line break.
ENTRY = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\n]{0,2000}> \d{1,20} [+-]\d{4}(?:\t[^\n]*)?")


def places(layout: Layout) -> list[str]:
    """Every reflog of this worktree and of the branches, absolute."""
    logs = {os.path.join(folder, "logs") for folder in (layout.git_dir, layout.common_dir)}
    found = {os.path.join(folder, name) for top in logs for folder, _, names in os.walk(top) for name in names}
    return sorted(path for path in found if not path.endswith(".lock"))


def damaged(layout: Layout) -> list[str]:
    """The reflogs with lines that are none, in words."""
    found = []
    for path in places(layout):
        *lines, rest = read(path).split(b"\n")
        if rest or not all(map(ENTRY.fullmatch, lines)):
            found.append(f"{os.path.relpath(path, layout.git_dir)} has lines that are no entries")
    return found


def read(path: str) -> bytes:
    """A file of git, empty where there is none that can be read."""
    with suppress(OSError), open(path, "rb") as file:
        return file.read()
    return b""


def entries(path: str) -> Iterator[tuple[str, str]]:
    """The commits before and after each move that a reflog tells of, newest first."""
    found = filter(None, map(ENTRY.fullmatch, reversed(read(path).split(b"\n"))))
    return ((item[1].decode(), item[2].decode()) for item in found)


def write(path: str, data: bytes) -> None:
    """Write a small file of git whole and durable. Raises OSError."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fresh = f"{path}.{secrets.token_hex(4)}.tmp"
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
