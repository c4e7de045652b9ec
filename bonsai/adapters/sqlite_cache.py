"""The listing cache in SQLite: what the last look saw, so that the next one reads only what differs.

Each row is one line of JSON with its checksum: SQLite notices a torn page, but not a flipped byte in a text, and a
wrong blob id would make a wrong commit. One parse of all lines together is also faster than a column for each field.
"""

import gc
import json
import os
import secrets
import shutil
import sqlite3
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple
from typing import Any

from bonsai.notes.change import Row, Stat
from bonsai.notes.problem import Problem
from bonsai.notes.secrets import Secret
from bonsai.notes.summary import Summary
from bonsai.ports import Snapshot

SCHEMA = 4
_TABLES = (
    "CREATE TABLE rows (path BLOB PRIMARY KEY, data BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE meta (name BLOB PRIMARY KEY, data BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID",
)
_NO_STAT, _NO_SUMMARY = [None] * 5, [None] * 14
_CHUNK = 500  # lines that are parsed at once
_PATIENCE = 1.0  # seconds to wait for another process's transaction
#: The file may be sound, but cannot be used now: locked, read-only, no rights, disk full or failing.
_NOT_NOW = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOLFS,
}


class _Damaged(Exception):
    """The file cannot be used as it is; the text says why."""


class _NotNow(Exception):
    """The file cannot be used at the moment."""


class SqliteCache:
    """The cache at `path` (absolute). Never raises for what is wrong with the file.

    A damaged file is renamed to `….broken-…` (the last one is kept) and made anew: `rebuilt` says why. A file that
    cannot be used now is left alone, and the cache works from memory.
    """

    def __init__(self, path: str) -> None:
        self.rebuilt = ""
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._inode = (0, 0)
        self._seen = -1  # SQLite's data_version when the snapshot was read: differs once another process wrote
        self._loaded = False
        self._behind = False  # a save did not reach the file: the next one must write everything
        self._snapshot = Snapshot()

    def load(self) -> Snapshot:
        """Everything; the same object again as long as nobody else wrote."""
        self._loaded = True
        with suppress(_NotNow):
            try:
                self._refresh()
            except _Damaged as damage:
                self._set_aside(str(damage))
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
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
        self._db, self._seen = None, -1

    # -- reading and writing -----------------------------------------------------------------------------------

    def _refresh(self) -> None:
        with self._using() as db:
            seen = _number(db, "data_version")  # before the rows: a write in between means one reading too many
            if seen != self._seen:
                self._snapshot, self._behind = _read(db), False
                self._seen = seen

    def _store(self, rows: list[Row], gone: list[str], meta: Mapping[str, str]) -> None:
        try:
            self._write(rows, gone, meta)
        except _NotNow:
            self._behind = True
        except _Damaged as damage:
            held = self._snapshot
            with suppress(_NotNow, _Damaged):
                self._set_aside(str(damage))
                self._refresh()
            self._snapshot, self._behind = held, True
            with suppress(_NotNow, _Damaged):
                self._write([], [], {})

    def _write(self, rows: list[Row], gone: list[str], meta: Mapping[str, str]) -> None:
        with self._using() as db, _transaction(db):
            if _number(db, "data_version") != self._seen:
                self._seen = -1
                return
            if self._behind:
                db.execute("DELETE FROM rows")
                db.execute("DELETE FROM meta")
                rows, meta = list(self._snapshot.rows.values()), self._snapshot.meta
            db.executemany("DELETE FROM rows WHERE path = ?", [(_key(path),) for path in gone])
            db.executemany("REPLACE INTO rows VALUES (?, ?, ?)", map(_packed, rows))
            db.executemany("REPLACE INTO meta VALUES (?, ?, ?)", [_signed(name, [name, meta[name]]) for name in meta])
        self._behind = False

    # -- the file ----------------------------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """The connection; what SQLite and the system say becomes _Damaged or _NotNow."""
        try:
            yield self._open()
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            if code & 0xFF in _NOT_NOW and code != sqlite3.SQLITE_IOERR_SHORT_READ:
                raise _NotNow from error
            raise _Damaged(str(error)) from error
        except OSError as error:
            raise _NotNow from error

    def _open(self) -> sqlite3.Connection:
        if self._db is not None and _inode(self._path) == self._inode:
            return self._db
        self.close()  # somebody deleted the file, which is always allowed, or set it aside
        os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
        for path in (self._path, f"{self._path}-wal", f"{self._path}-shm"):
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(os.lstat(path).st_mode):
                    raise _Damaged(f"{os.path.basename(path)} is no file")
        emptied = os.path.exists(self._path) and not os.path.getsize(self._path)
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))  # SQLite would make it 0644
        self._inode = _inode(self._path)
        db = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA synchronous=NORMAL")
            if _number(db, "user_version") != SCHEMA:
                made = _make(db, self._inode)
                self.rebuilt = "it was empty" if made and emptied else self.rebuilt
            if _number(db, "application_id") != _seal(self._inode):
                raise _Damaged("it was made elsewhere")
        except BaseException:
            db.close()
            raise
        self._db = db
        return db

    def _set_aside(self, why: str) -> None:
        """Rename the file, keeping one such; whoever finds another file there than he opened leaves it."""
        opened = self._inode
        self.close()
        try:
            if opened != (0, 0) and _inode(self._path) != opened:
                return
            folder, name = os.path.split(self._path)
            for old in os.listdir(folder):
                if old.startswith(f"{name}.broken-"):
                    _delete(os.path.join(folder, old))
            for suffix in ("-wal", "-shm"):
                _delete(f"{self._path}{suffix}")
            os.rename(self._path, f"{self._path}.broken-{secrets.token_hex(4)}")
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _NotNow from error
        self._inode, self.rebuilt = (0, 0), why


def _seal(inode: tuple[int, int]) -> int:
    """What ties the file to its place on disk: somebody's repository may bring a `.bonsai/cache/tree.db` with it."""
    return zlib.crc32(f"{inode[1]}".encode()) & 0x7FFFFFFF


def _make(db: sqlite3.Connection, inode: tuple[int, int]) -> bool:
    """Make the tables in an empty file, unless another process was faster.

    Raises _Damaged where it holds something else.
    """
    with suppress(sqlite3.OperationalError):  # without it (some network file systems) it is only slower
        db.execute("PRAGMA journal_mode=WAL")
    with _transaction(db):
        version = _number(db, "user_version")
        if version == SCHEMA:
            return False
        if version or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise _Damaged(f"it was made by another version of bonsai (schema {version}, not {SCHEMA})")
        for table in _TABLES:
            db.execute(table)
        db.execute(f"PRAGMA application_id={_seal(inode)}")
        db.execute(f"PRAGMA user_version={SCHEMA}")
    return True


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _inode(path: str) -> tuple[int, int]:
    try:
        info = os.lstat(path)
    except OSError:
        return (0, 0)
    return info.st_dev, info.st_ino


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


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
    """Everything in the file. Raises _Damaged where a line is not what was written."""
    # Thousands of new objects that all stay: the collector would walk them again and again for nothing.
    collecting = gc.isenabled()
    gc.disable()
    try:
        db.execute("BEGIN")
        found = Snapshot(_rows(_records(db, "rows")), dict(_records(db, "meta")))
        db.execute("COMMIT")
        return found
    except (ValueError, TypeError) as error:
        raise _Damaged(f"a row is not what it should be: {error}") from error
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
                raise _Damaged("a row is not what was written")
        yield from json.loads(b"[%b]" % b",".join([data for data, _ in lines]))
