"""The log of the daemon: a file that is rotated, three old ones beside it."""

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from logging import LogRecord, makeLogRecord
from logging.handlers import RotatingFileHandler
from typing import IO, Any

from bonsai.errors import Refused

MOST = 1_000_000  # bytes of one file
OLD = 3  # files that are kept besides
LOOK = 0.5  # seconds between two looks for new lines


class LogFile(RotatingFileHandler):
    """The log at `path`. A line that cannot be written (disk full) is lost: it must not end the daemon.

    Raises OSError, Refused when it, or the .bonsai folder it stands in, is a symlink: a cloned workspace could point
    them at any file of the person.
    """

    def __init__(self, path: str) -> None:
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.islink(path) or (os.path.basename(folder) == ".bonsai" and os.path.islink(folder)):
            raise Refused("a symlink, which bonsai does not follow", path=path, hint="Delete it.")
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)  # not those above it: a workspace whose disk is not mounted must not come to be
        super().__init__(path, maxBytes=MOST, backupCount=OLD)

    def line(self, text: str) -> None:
        """Append a line; several threads may."""
        self.handle(makeLogRecord({"msg": text}))

    def handleError(self, record: LogRecord) -> None:
        """Go on without the line."""

    def _open(self) -> Any:
        return os.fdopen(_descriptor(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a", **_TEXT)


_TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}


def tail(path: str, count: int) -> list[str]:
    """The last lines of a log, from its old files too; none where there is no log. Raises OSError."""
    lines: deque[str] = deque(maxlen=count)
    for file in [*(f"{path}.{number}" for number in range(OLD, 0, -1)), path]:
        with suppress(FileNotFoundError), _reading(file) as stream:
            lines.extend(line.rstrip("\n") for line in stream)
    return list(lines)


def follow(path: str) -> Iterator[str]:
    """Every line that is written from now on, for ever, also when the file is rotated. Raises OSError."""
    stream, part = _reading_if_there(path), ""
    if stream:
        stream.seek(0, os.SEEK_END)
    try:
        while True:
            current = stream is not None and _has_name(stream, path)  # asked before the last lines are read
            for piece in stream or ():
                part += piece
                if part.endswith("\n"):
                    yield part.rstrip("\n")
                    part = ""
            if not current:
                if stream:
                    stream.close()
                stream = _reading_if_there(path)
            if current or not stream:
                time.sleep(LOOK)
    finally:
        if stream:
            stream.close()


def _has_name(stream: IO[str], path: str) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))
    return False


def _reading_if_there(path: str) -> IO[str] | None:
    with suppress(FileNotFoundError):
        return _reading(path)
    return None


def _reading(path: str) -> IO[str]:
    stream: IO[str] = os.fdopen(_descriptor(path, os.O_RDONLY), newline="\n", **_TEXT)
    return stream


def _descriptor(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
