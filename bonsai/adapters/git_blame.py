"""What `git blame --porcelain` prints, read."""

import re
from collections.abc import Callable, Iterator

from bonsai.ports.history import Origin

_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_CONTROL = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


def origins(out: bytes, managed: Callable[[str], str]) -> Iterator[Origin]:
    """Where each line comes from; `managed` gives the workspace path of a full one, or ""."""
    known: dict[str, tuple[str, str, str]] = {}  # what is said of a commit is said once, until its path changes
    sha, line = "", 0
    path = before = old = ""
    for row in out.split(b"\n"):
        if row.startswith(b"\t"):
            known[sha] = path, before, old
            yield Origin(sha, path, line, before if old else "", old)
            sha = ""
        elif not sha:
            if not row:
                return
            sha, number, *_ = row.decode().split(" ")
            line = int(number)
            path, before, old = known.get(sha, ("", "", ""))
        elif row.startswith(b"previous "):
            before, _, name = row[9:].decode("utf-8", "surrogateescape").partition(" ")
            old = managed(_unquote(name))
        elif row.startswith(b"filename "):
            path = managed(_unquote(row[9:].decode("utf-8", "surrogateescape")))


def _unquote(name: str) -> str:
    """A path as it is, where git prints it in C quotes."""
    if not name.startswith('"'):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_character, raw).decode("utf-8", "surrogateescape")


def _character(found: re.Match[bytes]) -> bytes:
    said = found[1]
    return bytes([int(said, 8) if len(said) == 3 else _CONTROL.get(said[0], said[0])])
