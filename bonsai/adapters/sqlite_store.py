"""A SQLite file that many threads and processes share: durable, migrated step by step, set aside when damaged."""

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from bonsai.errors import BonsaiError, Busy, IoFailed, Misconfigured, Refused

PATIENCE = 30.0  # seconds to wait for another process's transaction
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class SqliteStore:
    """The file at `path` (absolute), private to its owner; `name` is what errors call it.

    Args:
        migrations: the statements of each version of its tables; only ever appended to.
        durable: whether what was committed must outlive a power cut.
        mend: what to do where the file is damaged; "" sets it aside and goes on with a new one.
    """

    def __init__(
        self, path: str, name: str, migrations: Sequence[Sequence[str]], *, durable: bool, mend: str = ""
    ) -> None:
        self.name, self.damage = name, ""  # `damage`: how the file is damaged, "" where it is not
        self._path, self._migrations, self._durable, self._mend = path, migrations, durable, mend
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._pid, self._inode = 0, (0, 0)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all that is done inside, or nothing. Raises Busy, IoFailed, Misconfigured."""
        with self._using() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def ask(self, query: str, values: Sequence[Any]) -> list[Any]:
        """The rows of one query that changes nothing. Raises like `writing`."""
        with self._using() as db:
            return db.execute(query, values).fetchall()

    def compact(self) -> None:
        """Write the file anew, without any byte of what was deleted. Raises like `writing`."""
        with self._using() as db:
            for statement in ("PRAGMA secure_delete=ON", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                db.execute(statement)

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            if self._db is not None and self._pid == os.getpid():
                with suppress(sqlite3.Error):
                    self._db.close()
            self._db = None

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                try:
                    db = self._open()
                except sqlite3.DatabaseError as error:
                    if _code(error) not in _DAMAGED or self._mend:
                        raise
                    self._set_aside(str(error))
                    db = self._open()
                yield db
            except sqlite3.Error as error:
                raise self._said(error) from error
            except OSError as error:
                hint = "Correct that, then try again."
                raise IoFailed(error.strerror or str(error), path=self.name, hint=hint) from error

    def _said(self, error: sqlite3.Error) -> BonsaiError:
        """What SQLite says, in our words. A file that turns out to be damaged is set aside by the next one to open."""
        if _code(error) in _LOCKED:
            return Busy("other processes are writing to it", path=self.name, hint="Nothing was stored: try again.")
        if _code(error) in _DAMAGED:
            self.close()
            if self._mend:
                self.damage = str(error)
                return IoFailed(f"is damaged ({error})", path=self.name, hint=self._mend)
        return IoFailed(str(error), path=self.name, hint="Nothing of this was stored. Correct that, then try again.")

    def _open(self) -> sqlite3.Connection:
        if self._db is not None and self._pid == os.getpid():  # a forked child must not use its parent's connection
            if self._inode == self._found():
                return self._db
            self.close()  # another file stands there: an erasure emptied the cache, a person brought a backup back
        os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
        for path in (self._path, f"{self._path}-wal", f"{self._path}-shm"):
            if os.path.islink(path):
                raise Refused("a symlink, which bonsai does not follow", path=self.name, hint="Delete it.")
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))  # SQLite would make it 0644
        db = sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            db.execute(f"PRAGMA synchronous={'FULL' if self._durable else 'OFF'}")
            if _version(db) != len(self._migrations):
                self._migrate(db)
        except BaseException:
            db.close()
            raise
        self._db, self._pid, self._inode = db, os.getpid(), self._found()
        return db

    def _found(self) -> tuple[int, int]:
        try:
            info = os.lstat(self._path)
        except FileNotFoundError:
            return 0, 0
        return info.st_dev, info.st_ino

    def _migrate(self, db: sqlite3.Connection) -> None:
        with suppress(sqlite3.OperationalError):  # without it (some network file systems) it is only slower
            db.execute("PRAGMA journal_mode=WAL")
        db.execute("BEGIN IMMEDIATE")
        have = _version(db)  # another process may have been faster
        if have > len(self._migrations):
            hint = "Install that version, or move the file away."
            raise Misconfigured(f"a newer bonsai made it (version {have})", path=self.name, hint=hint)
        for number, statements in enumerate(self._migrations[have:], have + 1):
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version={number}")
        db.execute("COMMIT")

    def _set_aside(self, why: str) -> None:
        """Rename a damaged file: what can be saved of it is for a person to say, and the agent has to go on."""
        self.close()
        mark = secrets.token_hex(4)
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.rename(f"{self._path}{suffix}", f"{self._path}.broken-{mark}{suffix}")
        self.damage = f"{self.name} was damaged ({why}) and is now {os.path.basename(self._path)}.broken-{mark}"


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
