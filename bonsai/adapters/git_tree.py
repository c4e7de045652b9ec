"""Trees of commits: what git prints of them, read."""

from collections.abc import Iterator
from typing import NamedTuple

from bonsai.ports.history import Blob

_FILES = frozenset({0o100644, 0o100755})


class RawChange(NamedTuple):
    """One path of a raw diff; full paths. A mode of 0 stands for nothing, a symlink and a submodule too."""

    status: str  # A, D, M, R, T, U
    old: str
    new: str
    old_mode: int
    new_mode: int
    old_oid: str
    new_oid: str


def raw_changes(out: bytes) -> Iterator[RawChange]:
    """Read `--raw -z` of diff-tree or diff-index."""
    tokens = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    for head in tokens:
        if not head.startswith(":"):
            continue  # the end, or the commit that diff-tree names first
        old_mode, new_mode, old_oid, new_oid, status = head[1:].split(" ")
        old = next(tokens)
        new = next(tokens) if status[0] in "RC" else old
        yield RawChange(status[0], old, new, _mode(old_mode), _mode(new_mode), old_oid, new_oid)


def entries(out: bytes) -> Iterator[tuple[str, str, Blob]]:
    """Read `ls-tree -z`: full path, type, mode with object id."""
    for line in out.decode("utf-8", "surrogateescape").split("\0"):
        if line:
            head, _, path = line.partition("\t")
            mode, kind, oid = head.split(" ")
            yield path, kind, Blob(int(mode, 8), oid)


def is_file(blob: Blob) -> bool:
    """Whether an entry is a regular file."""
    return blob.mode in _FILES


def _mode(text: str) -> int:
    mode = int(text, 8)
    return mode if mode in _FILES else 0
