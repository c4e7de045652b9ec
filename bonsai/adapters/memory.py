"""Files, journal, lock and cache in one process: for tests, and for callers without a disk."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bonsai.errors import Busy, CannotCreate, NotFound, Refused
from bonsai.notes.change import Entry, Row, Stat
from bonsai.notes.layout import CONFIG, MEMORY, folder_of, is_boot_spelling, path_fault
from bonsai.ports.derived import Snapshot

_EPOCH = 1_700_000_000  # Unix seconds: when the first file was written; each later one is a second younger


@dataclass(slots=True)
class _File:
    data: bytes
    stat: Stat


class MemoryStore:
    """NoteStore in a dictionary. A folder stands as long as a file is in it."""

    def __init__(self, files: Mapping[str, bytes] | None = None, root: str = "") -> None:
        self.root = root
        self._files: dict[str, _File] = {}
        self._writes = 0
        for path, data in (files or {}).items():
            self.save(path, data)

    # -- what a person does beside us ---------------------------------------------------------------------------

    def save(self, path: str, data: bytes, mode: int = 0o100644) -> Stat:
        """Write a file as an editor does, whatever stands there."""
        self._writes += 1
        moment = (_EPOCH + self._writes) * 1_000_000_000
        stat = Stat(len(data), moment, moment, self._writes, mode)
        self._files[path] = _File(data, stat)
        return stat

    def delete(self, path: str) -> None:
        """Delete a file as a person does."""
        self._files.pop(path, None)

    # -- the port -------------------------------------------------------------------------------------------------

    def scan(self, top: str = "") -> list[Entry]:
        """All entries under `memory/` or `top`; boot files and bonsai.toml where `top` is ""."""
        return [Entry(path, "file", file.stat) for path, file in self._files.items() if _is_in(path, top)]

    def differing(self, rows: Mapping[str, Row], folders: dict[str, Any]) -> tuple[list[Entry], set[str]]:
        """What `scan()` finds and `rows` does not have so; and the paths of what it does."""
        same = {entry.path for entry in self.scan() if (row := rows.get(entry.path)) and row.stat == entry.stat}
        return [entry for entry in self.scan() if entry.path not in same], same

    def stat(self, path: str) -> Entry | None:
        """One entry, None where there is nothing."""
        file = self._files.get(_checked(path))
        return Entry(path, "file", file.stat) if file else None

    def exists(self, path: str) -> bool:
        """Whether a file or a folder stands at the path."""
        return _checked(path) in self._files or self._is_folder(path)

    def read(self, path: str, limit: int = -1) -> bytes:
        """The bytes of a file, at most `limit`."""
        return self.read_stat(path, limit)[0]

    def read_stat(self, path: str, limit: int = -1) -> tuple[bytes, Stat]:
        """The bytes and the stat of a file."""
        file = self._files.get(_checked(path))
        if file is None:
            raise NotFound("No such file", path=path)
        return file.data[:limit] if limit >= 0 else file.data, file.stat

    def create(self, path: str, data: bytes, mode: int = 0o100644, settle: bool = True) -> None:
        """Write a new file."""
        if self.exists(path) or self._under_a_file(path):
            raise CannotCreate("File exists", path=path, hint="Use another name.")
        self.save(path, data, mode)

    def settle(self, folder: str) -> None:
        """Nothing here outlives the process."""

    def replace(self, path: str, data: bytes, old: bytes) -> None:
        """Swap the bytes of a file, keeping its mode."""
        self._expect(path, old)
        self.save(path, data, self._files[path].stat.mode)

    def remove(self, path: str, old: bytes) -> None:
        """Delete a file whose bytes are `old`."""
        self._expect(path, old)
        del self._files[path]

    def remove_all(self, files: Mapping[str, bytes]) -> None:
        """Delete files whose bytes are known."""
        for path, old in files.items():
            self.remove(path, old)

    def generate(self, path: str, data: bytes) -> Stat:
        """Write a generated file whole."""
        _checked(path)
        if self._is_folder(path):
            raise Refused("a folder, but bonsai generates a file here", path=path, hint="Move it away.")
        if self._under_a_file(path):
            raise CannotCreate("Not a directory", path=path)
        return self.save(path, data)

    def discard(self, path: str) -> None:
        """Delete a generated file, if it is there."""
        self.delete(_checked(path))

    def prune(self, folder: str, whole: bool = False) -> None:
        """Nothing to do: an empty folder is none."""

    def sweep(self) -> None:
        """Nothing to do: no write stops half way."""

    def _is_folder(self, path: str) -> bool:
        return any(other.startswith(f"{path}/") for other in self._files)

    def _under_a_file(self, path: str) -> bool:
        while path := folder_of(path):
            if path in self._files:
                return True
        return False

    def _expect(self, path: str, old: bytes) -> None:
        if self.read(path) != old:
            raise Busy("was saved by somebody else meanwhile", path=path, hint="Run the command again.")


class MemoryJournal:
    """Journal in a variable."""

    def __init__(self) -> None:
        self._pending: dict[str, Any] | None = None

    def begin(self, intent: Mapping[str, Any], durable: bool = False) -> None:
        """Note what is about to happen."""
        self._pending = dict(intent)

    def done(self, note: Mapping[str, Any] | None = None) -> None:
        """Note that it happened."""
        self._pending = None

    def pending(self) -> dict[str, Any] | None:
        """The last intent without a `done`."""
        return self._pending


class MemoryLock:
    """Lock between the threads of one process."""

    def __init__(self, timeout: float = 30.0) -> None:
        self._lock, self._timeout = threading.RLock(), timeout

    @contextmanager
    def __call__(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock; the thread that holds it may take it again."""
        wait = self._timeout if timeout is None else timeout
        if not self._lock.acquire(timeout=wait):
            raise Busy(f"another bonsai has been at work in this workspace for {wait:g} s", hint="Try again.")
        try:
            yield
        finally:
            self._lock.release()


class MemoryCache:
    """Cache in a variable."""

    def __init__(self) -> None:
        self.rebuilt = ""
        self._snapshot = Snapshot()

    def load(self) -> Snapshot:
        """Everything."""
        return self._snapshot

    def save(self, rows: Iterable[Row], gone: Iterable[str] = (), meta: Mapping[str, str] | None = None) -> None:
        """Put rows, delete paths, put meta values."""
        for path in gone:
            self._snapshot.rows.pop(path, None)
        self._snapshot.rows.update((row.path, row) for row in rows)
        self._snapshot.meta.update(meta or {})

    def clear(self) -> None:
        """Forget everything."""
        self._snapshot = Snapshot()

    def close(self) -> None:
        """Nothing to do."""


def _checked(path: str) -> str:
    if fault := path_fault(path):
        raise Refused(fault, path=path)
    return path


def _is_in(path: str, top: str) -> bool:
    if "/" not in path:
        return not top and (path == CONFIG or is_boot_spelling(path))
    folders = path.split("/")[:-1]
    return f"{path}/".startswith(f"{top or MEMORY}/") and not any(part.startswith(".") for part in folders)
