"""What git calls to merge one file in a plain `git pull` or `git merge`."""

import os
from collections.abc import Sequence
from contextlib import suppress

from bonsai.adapters.git_run import GitRun
from bonsai.errors import BonsaiError, IoFailed
from bonsai.notes import layout
from bonsai.notes.merge import Side, merge


def in_memory(path: str) -> str:
    """The path of the repository as the workspace would name it: `a/b/memory/x.md` → `memory/x.md`."""
    at = f"/{path}".find(f"/{layout.MEMORY}/")
    return path[at:] if at >= 0 else layout.name_of(path)


def write(path: str, data: bytes) -> None:
    """Write the file that git reads the result from. Raises IoFailed."""
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise IoFailed(f"{error.strerror}", path=path, hint="Correct that, then merge again.") from error


def merge_files(base: str, ours: str, theirs: str, path: str, heads: Sequence[str]) -> int:
    """Write the merge into `ours`; 0 when all of it could be kept there, 1 for git to call it a conflict.

    `heads`: commits that are being merged, for the time of the other side; it decides whose value of a key counts.
    """
    one, other = _read(ours), _read(theirs)
    before = _read(base)
    run = GitRun(os.getcwd())
    times = _time(run, "HEAD", path), max((_time(run, head, path) for head in heads), default=0)
    found = merge(in_memory(path), before or None, _side(run, one, times[0]), _side(run, other, times[1]))
    if found.beside:
        return 1  # a picture: the person has to choose
    write(ours, found.data)
    return 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise IoFailed(f"{error.strerror}", path=path, hint="Correct that, then merge again.") from error


def _side(run: GitRun, data: bytes, time: int) -> Side:
    return Side(data, time, run.ok("hash-object", "--no-filters", "--stdin", data=data).decode().strip())


def _time(run: GitRun, commit: str, path: str) -> int:
    """When a side changed the file last, 0 where git does not say."""
    words = ("log", "-1", "--no-show-signature", "--format=%ct", "--end-of-options", commit, "--", path)
    with suppress(BonsaiError, ValueError):
        return int(run.ok(*words).decode().strip())
    return 0
