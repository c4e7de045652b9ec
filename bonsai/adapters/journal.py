"""The intent log: a line of JSON for each run that begins, and one for its end."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from bonsai.errors import IoFailed

LIMIT = 1024 * 1024  # bytes: a log that is larger becomes `.1` when the next run begins


class FileJournal:
    """The log at `path` (absolute). Only the holder of the writer lock writes to it.

    Raises IoFailed where a line cannot be written. Reading never raises: a line that was cut short by a kill, or that
    is no JSON, counts as not written.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def begin(self, intent: Mapping[str, Any], durable: bool = False) -> None:
        """Note what is about to happen; `durable` says that it must survive a power loss."""
        with suppress(OSError):
            if os.lstat(self._path).st_size > LIMIT:
                os.replace(self._path, f"{self._path}.1")
        self._append({"begin": dict(intent)}, durable)

    def done(self, note: Mapping[str, Any] | None = None) -> None:
        """Note that it happened, or was taken back."""
        self._append({"done": dict(note or {})}, durable=False)

    def pending(self) -> dict[str, Any] | None:
        """The last intent without a `done`, None where there is none."""
        try:
            lines = self._read().split(b"\n")
        except OSError:
            return None
        for line in reversed(lines):
            record = _parse(line)
            if record is not None:
                intent = record.get("begin")
                return intent if isinstance(intent, dict) else None
        return None

    def _read(self) -> bytes:
        fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            return file.read()

    def _append(self, record: Mapping[str, Any], durable: bool) -> None:
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        try:
            if os.path.isdir(self._path) or os.path.islink(self._path):
                os.replace(self._path, f"{self._path}.broken-{os.getpid()}")
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
            try:
                _write(fd, line, durable)
            finally:
                os.close(fd)
        except OSError as error:
            name = os.path.basename(self._path)
            raise IoFailed(
                f"cannot write the journal: {error.strerror}",
                path=f".bonsai/{name}",
                hint="Make room, or correct the permissions, and try again.",
            ) from error


def _write(fd: int, line: bytes, durable: bool) -> None:
    """Append a line whole, or leave the file as it was. Raises OSError."""
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":  # the line before was cut short: keep clear of it
        line = b"\n" + line
    try:
        while line:
            line = line[os.write(fd, line) :]
        if durable:
            os.fsync(fd)
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, size)
        raise


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
