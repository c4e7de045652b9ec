"""A SQLite file that holds what can be made again: opened safely, set aside when it is damaged."""

import os
import sqlite3
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

CACHED = 65536  # KiB
PATIENCE = 1.0  # seconds to wait for another process's transaction
#: The file may be sound, but cannot be used now: locked, read-only, no rights, disk full or failing.
NOT_NOW = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOLFS,
}


class DamagedError(Exception):
    """The file cannot be used as it is; the text says why."""


class NotNowError(Exception):
    """The file cannot be used at the moment."""


class DerivedFile:
    """The file at `path` (absolute), private to its owner. A thread uses it at a time.

    Args:
        schema: number of the tables' form; a file with another one is set aside.
        tables: the statements that make them.
        bound: whether a file that was made elsewhere is set aside: somebody's repository may bring one with it.
        cached: KiB of the file that stay in memory, as far as they are used.
    """

    def __init__(self, path: str, schema: int, tables: Sequence[str], bound: bool = True, cached: int = CACHED) -> None:
        self.path, self.rebuilt = path, ""
        self._schema, self._tables, self._bound, self._cached = schema, tables, bound, cached
        self.opened = 0  # how often: more than once where somebody deleted the file
        self._db: sqlite3.Connection | None = None
        self._inode = (0, 0)

    @contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """The connection; what SQLite and the system say becomes DamagedError or NotNowError."""
        try:
            yield self._open()
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            if code & 0xFF in NOT_NOW and code != sqlite3.SQLITE_IOERR_SHORT_READ:
                raise NotNowError(str(error)) from error
            raise DamagedError(str(error)) from error
        except OSError as error:
            raise NotNowError(error.strerror or str(error)) from error

    def close(self) -> None:
        """Release the file."""
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
        self._db = None

    def set_aside(self, why: str) -> None:
        """Rename the file, keeping one such; whoever finds another file there than he opened leaves it.

        Raises NotNowError.
        """
        opened = self._inode
        self.close()
        try:
            if opened != (0, 0) and _inode(self.path) != opened:
                return
            folder, name = os.path.split(self.path)
            for old in os.listdir(folder):
                if old.startswith(f"{name}.broken-"):
                    _delete(os.path.join(folder, old))
            for suffix in ("-wal", "-shm"):
                _delete(f"{self.path}{suffix}")
            os.rename(self.path, f"{self.path}.broken-{os.urandom(4).hex()}")
        except FileNotFoundError:
            pass
        except OSError as error:
            raise NotNowError(str(error)) from error
        self._inode, self.rebuilt = (0, 0), why

    def _open(self) -> sqlite3.Connection:
        if self._db is not None and _inode(self.path) == self._inode:
            return self._db
        self.close()  # somebody deleted the file, which is always allowed, or set it aside
        os.makedirs(os.path.dirname(self.path), 0o700, exist_ok=True)
        for path in (self.path, f"{self.path}-wal", f"{self.path}-shm"):
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(os.lstat(path).st_mode):
                    raise DamagedError(f"{os.path.basename(path)} is no file")
        emptied = os.path.exists(self.path) and not os.path.getsize(self.path)
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))  # SQLite would make it 0644
        self._inode = _inode(self.path)
        db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(f"PRAGMA cache_size=-{self._cached}")
            if number(db, "user_version") != self._schema:
                made = self._make(db)
                self.rebuilt = "it was empty" if made and emptied else self.rebuilt
            if self._bound and number(db, "application_id") != _seal(self._inode):
                raise DamagedError("it was made elsewhere")
        except BaseException:
            db.close()
            raise
        self._db = db
        self.opened += 1
        return db

    def _make(self, db: sqlite3.Connection) -> bool:
        """Make the tables in an empty file, unless another process was faster. Raises DamagedError for another one."""
        with suppress(sqlite3.OperationalError):  # without it (some network file systems) it is only slower
            db.execute("PRAGMA journal_mode=WAL")
        with transaction(db):
            version = number(db, "user_version")
            if version == self._schema:
                return False
            if version or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise DamagedError(f"it was made by another version of bonsai (schema {version}, not {self._schema})")
            for table in self._tables:
                db.execute(table)
            db.execute(f"PRAGMA application_id={_seal(self._inode)}")
            db.execute(f"PRAGMA user_version={self._schema}")
        return True


def number(db: sqlite3.Connection, pragma: str) -> int:
    """The value of a pragma."""
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])


@contextmanager
def transaction(db: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All that is done inside, or nothing."""
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _seal(inode: tuple[int, int]) -> int:
    """What ties the file to its place on disk."""
    return zlib.crc32(f"{inode[1]}".encode()) & 0x7FFFFFFF


def _inode(path: str) -> tuple[int, int]:
    try:
        info = os.lstat(path)
    except OSError:
        return (0, 0)
    return info.st_dev, info.st_ino


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)
