"""Every object of a repository, decompressed: read some at a time, searched, and looked for by their ids."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from bonsai.adapters.git_run import GitRun

_CHUNK = 32 * 1024 * 1024  # bytes of objects that are held at a time
_HOURS = 4 * 3600.0  # seconds: a large repository is searched whole
#: An object is what it is, not what `git replace` shows in its place.
AS_IT_IS = {"GIT_NO_REPLACE_OBJECTS": "1"}


class Known(NamedTuple):
    """An object that is there."""

    oid: str
    kind: str  # blob, tree, commit, tag
    size: int  # bytes


class Object(NamedTuple):
    """An object with its bytes."""

    oid: str
    kind: str
    data: bytes


def ask(run: GitRun, *args: str, data: bytes = b"", env: dict[str, str] | None = None) -> bytes:
    """The output of a command that may take long. Raises what `GitRun.failure` makes of it."""
    result = run(*args, data=data, seconds=_HOURS, env={**AS_IT_IS, **(env or {})})
    if result.code:
        raise run.failure(result)
    return result.out


def everything(run: GitRun) -> list[Known]:
    """All objects, loose and packed, whether anything leads to them or not."""
    return _known(ask(run, "cat-file", "--batch-all-objects", "--batch-check"))


def known(run: GitRun, names: Iterable[str]) -> list[Known | None]:
    """What each name (an object id, maybe with `^{commit}`) stands for, None where there is nothing."""
    lines = [f"{name}\n" for name in names]
    out = ask(run, "cat-file", "--batch-check", data="".join(lines).encode()) if lines else b""
    return [next(iter(_known(line)), None) for line in out.splitlines()]


def read(run: GitRun, objects: Iterable[Known]) -> Iterator[Object]:
    """The objects with their bytes, a few megabytes at a time."""
    chunk: list[Known] = []
    size = 0
    for item in objects:
        chunk.append(item)
        size += item.size
        if size > _CHUNK:
            yield from _batch(run, chunk)
            chunk, size = [], 0
    yield from _batch(run, chunk)


def holding(run: GitRun, objects: Iterable[Known], found: Callable[[bytes], bool]) -> list[Known]:
    """Those objects in whose bytes something is found."""
    return [Known(item.oid, item.kind, len(item.data)) for item in read(run, objects) if found(item.data)]


def _batch(run: GitRun, chunk: list[Known]) -> Iterator[Object]:
    if not chunk:
        return
    out = ask(run, "cat-file", "--batch", data="".join(f"{item.oid}\n" for item in chunk).encode())
    position = 0
    while position < len(out):
        end = out.index(b"\n", position)
        words = out[position:end].decode().split(" ")
        position = end + 1
        if len(words) == 3:  # not `… missing`
            size = int(words[2])
            yield Object(words[0], words[1], out[position : position + size])
            position += size + 1


def _known(out: bytes) -> list[Known]:
    rows = (line.split(" ") for line in out.decode("utf-8", "replace").splitlines())
    return [Known(row[0], row[1], int(row[2])) for row in rows if len(row) == 3 and row[2].isdigit()]
