"""Which servers a workspace has used, by what tells them apart and without their secrets: `.bonsai/servers`.

An erasure has to know of them all. The address of one may be in the environment of a service alone, or in its code.
"""

import json
import os
from contextlib import suppress

NAME = ".bonsai/servers"


def remember(root: str, server: str) -> None:
    """Note a server once, a line of JSON each: a person deletes the line of one that is gone for good.

    Nothing is raised: a workspace that cannot be written to is none from which anything can be erased.
    """
    if server in known(root):
        return
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        with open(os.open(f"{root}/{NAME}", flags, 0o600), "ab") as file:  # one write: others may append as well
            file.write(f"{json.dumps(server)}\n".encode())


def known(root: str) -> list[str]:
    """The servers, each once. A line that is no JSON is a server all the same: something stood there."""
    try:
        with open(os.open(f"{root}/{NAME}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    return list(dict.fromkeys(_read(line) for line in lines if line.strip()))


def _read(line: str) -> str:
    try:
        return str(json.loads(line))
    except (ValueError, RecursionError):
        return line.strip()
