"""Counters that cannot be made again, in `.bonsai/state.db`: how often recall gave a note to somebody."""

import threading
from collections.abc import Sequence
from contextlib import suppress

from bonsai.adapters.sqlite_file import DamagedError, DerivedFile, NotNowError, transaction

SCHEMA = 1
_TABLES = ("CREATE TABLE uses (path BLOB PRIMARY KEY, count INTEGER NOT NULL, last TEXT NOT NULL) WITHOUT ROWID",)
_WAIT_MS = 50
_ADD = "INSERT INTO uses VALUES (?, 1, ?) ON CONFLICT (path) DO UPDATE SET count = count + 1, last = excluded.last"


class SqliteState:
    """The counters in the file at `path` (absolute). They never stand in the way: what cannot be counted is not."""

    def __init__(self, path: str) -> None:
        self._file = DerivedFile(path, SCHEMA, _TABLES, bound=False)
        self._threads = threading.Lock()

    def count(self, paths: Sequence[str], when: str) -> None:
        """One use more for each of these notes, at a time (ISO 8601)."""
        with self._threads, suppress(NotNowError):
            try:
                with self._file.using() as db:
                    db.execute(f"PRAGMA busy_timeout={_WAIT_MS}")
                    with transaction(db):
                        db.executemany(_ADD, [(path.encode("utf-8", "surrogatepass"), when) for path in paths])
            except DamagedError as damage:
                self._file.set_aside(str(damage))

    def uses(self) -> dict[str, tuple[int, str]]:
        """How often, and when last, by path; empty where it cannot be read now."""
        with self._threads, suppress(NotNowError, DamagedError), self._file.using() as db:
            rows = db.execute("SELECT path, count, last FROM uses").fetchall()
            return {path.decode("utf-8", "surrogatepass"): (int(count), str(last)) for path, count, last in rows}
        return {}

    def close(self) -> None:
        """Release the file."""
        self._file.close()
