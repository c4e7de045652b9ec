"""The listing cache in SQLite: what the last look saw, so that the next one reads only what differs.

Each row is one line of JSON with its checksum: SQLite notices a torn page, but not a flipped byte in a text, and a
wrong blob id would make a wrong commit. One parse of all lines together is also faster than a column for each field.
"""

import gc
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple
from typing import Any

from bonsai.adapters.sqlite_file import DamagedError, DerivedFile, NotNowError, number, transaction
from bonsai.notes.change import Row, Stat
from bonsai.notes.problem import Problem
from bonsai.notes.secrets import Secret
from bonsai.notes.summary import Summary
from bonsai.ports.derived import Snapshot

SCHEMA = 4
_TABLES = (
    "CREATE TABLE rows (path BLOB PRIMARY KEY, data BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE meta (name BLOB PRIMARY KEY, data BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID",
)
_NO_STAT, _NO_SUMMARY = [None] * 5, [None] * 14
_NEVER = (0, -1)
CACHED = 2000  # KiB of the file that stay in memory: a look reads it once
_CHUNK = 500  # lines that are parsed at once


class SqliteCache:
    """The cache at `path` (absolute). Never raises for what is wrong with the file.

    A damaged file is renamed to `….broken-…` (the last one is kept) and made anew: `rebuilt` says why. A file that
    cannot be used now is left alone, and the cache works from memory.
    """

    def __init__(self, path: str) -> None:
        self._file = DerivedFile(path, SCHEMA, _TABLES, cached=CACHED)
        #: How often the file was opened, and SQLite's data_version, when the snapshot was read: the one differs once
        #: somebody deleted the file, the other once another process wrote.
        self._seen = _NEVER
        self._loaded = False
        self._behind = False  # a save did not reach the file: the next one must write everything
        self._snapshot = Snapshot()

    @property
    def rebuilt(self) -> str:
        """Why the cache was thrown away on opening, "" where it was not."""
        return self._file.rebuilt

    def load(self) -> Snapshot:
        """Everything; the same object again as long as nobody else wrote."""
        self._loaded = True
        with suppress(NotNowError):
            try:
                self._refresh()
            except DamagedError as damage:
                self._file.set_aside(str(damage))
                self._refresh()
        return self._snapshot

    def save(self, rows: Iterable[Row], gone: Iterable[str] = (), meta: Mapping[str, str] | None = None) -> None:
        """Put rows, delete paths, put meta values in one transaction; the loaded snapshot follows.

        When another process wrote since `load`, its state stays in the file: ours is relative to an older one.
        """
        if not self._loaded:
            self.load()
        rows, gone, meta = list(rows), list(gone), dict(meta or {})
        for path in gone:
            self._snapshot.rows.pop(path, None)
        self._snapshot.rows.update((row.path, row) for row in rows)
        self._snapshot.meta.update(meta)
        self._store(rows, gone, meta)

    def clear(self) -> None:
        """Forget everything."""
        self.load()
        self._snapshot, self._behind = Snapshot(), True
        self._store([], [], {})

    def close(self) -> None:
        """Release the file."""
        self._file.close()
        self._seen = _NEVER

    def trim(self) -> None:
        """Give back the pages that SQLite keeps in memory."""
        with suppress(NotNowError, DamagedError), self._file.using() as db:
            db.execute("PRAGMA shrink_memory")

    # -- reading and writing -----------------------------------------------------------------------------------

    def _refresh(self) -> None:
        with self._file.using() as db:
            seen = self._version(db)  # before the rows: a write in between means one reading too many
            if seen != self._seen:
                self._snapshot, self._behind = _read(db), False
                self._seen = seen

    def _store(self, rows: list[Row], gone: list[str], meta: Mapping[str, str]) -> None:
        try:
            self._write(rows, gone, meta)
        except NotNowError:
            self._behind = True
        except DamagedError as damage:
            held = self._snapshot
            with suppress(NotNowError, DamagedError):
                self._file.set_aside(str(damage))
                self._refresh()
            self._snapshot, self._behind = held, True
            with suppress(NotNowError, DamagedError):
                self._write([], [], {})

    def _write(self, rows: list[Row], gone: list[str], meta: Mapping[str, str]) -> None:
        with self._file.using() as db, transaction(db):
            if self._version(db) != self._seen:
                self._seen = _NEVER
                return
            if self._behind:
                db.execute("DELETE FROM rows")
                db.execute("DELETE FROM meta")
                rows, meta = list(self._snapshot.rows.values()), self._snapshot.meta
            db.executemany("DELETE FROM rows WHERE path = ?", [(_key(path),) for path in gone])
            db.executemany("REPLACE INTO rows VALUES (?, ?, ?)", map(_packed, rows))
            db.executemany("REPLACE INTO meta VALUES (?, ?, ?)", [_signed(name, [name, meta[name]]) for name in meta])
        self._behind = False

    def _version(self, db: sqlite3.Connection) -> tuple[int, int]:
        return self._file.opened, number(db, "data_version")


# -- one row, one line of JSON -------------------------------------------------------------------------------------


def _key(path: str) -> bytes:
    return path.encode("utf-8", "surrogatepass")


def _signed(key: str, record: list[object]) -> tuple[bytes, bytes, int]:
    data = json.dumps(record, separators=(",", ":")).encode()
    return _key(key), data, zlib.crc32(data)


def _packed(row: Row) -> tuple[bytes, bytes, int]:
    """A row as one flat list of 24 values. What is the usual case is 0, which is quick to read back."""
    record: list[object] = [row.path, *(row.stat or _NO_STAT), row.blob, 0 if row.head == row.blob else row.head]
    record += [row.head_mode, row.secrets or 0]
    if row.summary is None:
        record += _NO_SUMMARY
    else:
        values = (getattr(row.summary, name) for name in Summary.__slots__)
        *plain, names, links, problems, held, weight, outside = values
        told = [astuple(item) for item in problems] or 0
        record += [*plain, names or 0, links or 0, told, held, weight, 1 if outside else 0]
    return _signed(row.path, record)


def _rows(records: Iterable[list[Any]]) -> dict[str, Row]:
    """What `_packed` packed. Written out in one loop: it runs for ten thousand notes at every start."""
    rows, same = {}, dict[str, str]().setdefault
    for path, size, mtime, ctime, inode, mode, blob, head, head_mode, hidden, title, *rest in records:
        summary = None
        if title is not None:
            lead, tokens, blank, dated, archived, kind, key, names, links, found, held, weight, outside = rest
            # The same few days and types, and the title once more: one text for all of them, not one each.
            dated, kind = same(dated, dated), same(kind, kind)
            names = tuple([title if name == title else name for name in names]) if names else ()
            links = tuple(links) if links else ()
            problems = tuple([Problem(*item) for item in found]) if found else ()
            plain = (title, lead, tokens, blank, dated, archived, kind, key)
            summary = Summary(*plain, names, links, problems, held, weight, outside == 1)
        info = None if size is None else Stat(size, mtime, ctime, inode, mode)
        rows[path] = Row(path, info, blob, blob if head == 0 else head, head_mode, summary)
        if hidden:
            rows[path].secrets = tuple([Secret(*item) for item in hidden])
    return rows


def _read(db: sqlite3.Connection) -> Snapshot:
    """Everything in the file. Raises DamagedError where a line is not what was written."""
    # Thousands of new objects that all stay: the collector would walk them again and again for nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        db.execute("BEGIN")
        found = Snapshot(_rows(_records(db, "rows")), dict(_records(db, "meta")))
        db.execute("COMMIT")
        return found
    except (ValueError, TypeError) as error:
        raise DamagedError(f"a row is not what it should be: {error}") from error
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if collecting:
            gc.enable()


def _records(db: sqlite3.Connection, table: str) -> Iterator[list[Any]]:
    """The records, parsed some hundred lines at a time: all at once would double the memory of a daemon for good."""
    cursor = db.execute(f"SELECT data, sum FROM {table}")
    while lines := cursor.fetchmany(_CHUNK):
        for data, checksum in lines:
            if zlib.crc32(data) != checksum:
                raise DamagedError("a row is not what was written")
        yield from json.loads(b"[%b]" % b",".join([data for data, _ in lines]))
