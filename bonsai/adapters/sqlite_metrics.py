"""Counters of what the tiers did, by agent and day, in `.bonsai/metrics.db`. They never stand in the way of a verb."""

from collections.abc import Mapping
from contextlib import suppress

from bonsai.adapters.sqlite_file import DamagedError, DerivedFile, NotNowError, transaction

SCHEMA = 1
_TABLES = (
    "CREATE TABLE counters (agent TEXT, day TEXT, name TEXT, value INTEGER NOT NULL, PRIMARY KEY (agent, day, name))"
    " WITHOUT ROWID",
)
_ADD = (
    "INSERT INTO counters VALUES (?, ?, ?, ?)"
    " ON CONFLICT (agent, day, name) DO UPDATE SET value = value + excluded.value"
)


class SqliteMetrics:
    """The counters in the file at `path` (absolute)."""

    def __init__(self, path: str) -> None:
        self._file = DerivedFile(path, SCHEMA, _TABLES, bound=False)

    def add(self, agent: str, day: str, counts: Mapping[str, int]) -> None:
        """Count; what cannot be counted now is not."""
        with suppress(NotNowError):
            try:
                with self._file.using() as db, transaction(db):
                    db.executemany(_ADD, [(agent, day, name, value) for name, value in counts.items() if value])
            except DamagedError as damage:
                self._file.set_aside(str(damage))

    def total(self, agent: str, name: str, day: str = "") -> int:
        """All that was counted, or on one day."""
        with suppress(NotNowError, DamagedError), self._file.using() as db:
            sql = "SELECT coalesce(sum(value), 0) FROM counters WHERE agent = ? AND name = ? AND (? = '' OR day = ?)"
            return int(db.execute(sql, (agent, name, day, day)).fetchone()[0])
        return 0

    def set(self, agent: str, name: str, value: int) -> None:
        """Keep a number that is no count, e.g. a time in Unix seconds."""
        with suppress(NotNowError, DamagedError), self._file.using() as db, transaction(db):
            db.execute("INSERT OR REPLACE INTO counters VALUES (?, '', ?, ?)", (agent, name, value))

    def close(self) -> None:
        """Release the file."""
        self._file.close()
