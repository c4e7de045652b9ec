"""The cold tier in a SQLite file of the workspace: where facts go that leave the tree, without any server.

A damaged file stays where it is: no cache, it may hold what nothing else does. Every command that needs it says so,
until `bonsai doctor --fix` makes it anew of what can still be read and of what the history knows.
"""

import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress

from bonsai.adapters.cold_tables import COLUMNS, ColdTables, Rows, Statement, rows_of
from bonsai.adapters.displaced import told
from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.errors import BonsaiError, IoFailed, Refused
from bonsai.facts.archive import ColdRow, Critical
from bonsai.facts.score import finite
from bonsai.notes.forget import Forget

NAME = ".bonsai/cold.db"
MEND = "Run `bonsai doctor --fix`: it keeps the file beside a new one, made of what can be read and of the history."
YOUNG = 10.0  # seconds: an empty file may be one that somebody is just making
_MOST_ERRORS = 2000
_AT_ONCE = 50
_SUFFIXES = ("", "-wal", "-shm")


def sqlite_archive(path: str) -> ColdTables:
    """The archive in the file at `path` (absolute), private to its owner. Raises IoFailed where that was emptied."""
    if _is_emptied(path):
        raise IoFailed("is damaged (it is empty)", path=NAME, hint=MEND)
    return _archive(_file(path))


def forget(path: str, what: Forget, count: bool = False) -> int:
    """Take the rows of what is erased out of the file, so that none of its bytes stays; how many there were.

    `count`: only count them. Raises IoFailed, Busy.
    """
    if not os.path.exists(path):
        return 0
    store = _file(path)
    try:
        found = _archive(store).erase(what, count=count)
        if not count:
            store.compact()
    finally:
        store.close()
    return found


def fault(path: str) -> str:
    """How the file is damaged, and what to do; "" where it is sound, or there is none. Raises Busy, Refused."""
    if not os.path.lexists(path):
        return ""
    if _is_emptied(path):
        return f"{NAME} is empty. {MEND}"
    store = _file(path)
    try:
        said = "".join(str(row[0]) for row in store.ask("PRAGMA quick_check(1)", ()))
    except BonsaiError:
        if not store.damage:
            raise
        said = store.damage
    finally:
        store.close()
    return "" if said == "ok" else f"{NAME} is damaged ({said[:200]}). {MEND}"


def readable(path: str) -> tuple[list[ColdRow], dict[str, Critical]]:
    """What can still be read of a damaged file: rows, and the state of each agent."""
    rows, states = list[ColdRow](), dict[str, Critical]()
    if os.path.islink(path):
        return rows, states
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
        rows += _rescued(db)
        for agent, data, stamp in db.execute("SELECT agent_id, data, updated_at FROM critical_state"):
            states[str(agent)] = Critical(str(data), int(finite(stamp, 0)))
    return rows, states


def renew(path: str, rows: Sequence[ColdRow], states: dict[str, Critical]) -> str:
    """Put a new file with these in the place of a damaged one, which is kept: returns its new name. Raises IoFailed."""
    new, kept = f"{path}.new", f"{path}.broken-{secrets.token_hex(4)}"
    with told(NAME):
        _unlink(f"{new}{suffix}" for suffix in _SUFFIXES)
        archive = sqlite_archive(new)
        try:
            archive.init()
            archive.put(rows)
            for agent, state in states.items():
                archive.save_critical(agent, state)
        finally:
            archive.close()
        try:
            os.link(path, kept)  # so that at no moment there is none
        except OSError:  # a file system without hard links
            shutil.copy2(path, kept)
        for suffix in _SUFFIXES[1:]:
            with suppress(FileNotFoundError):
                os.rename(f"{path}{suffix}", f"{kept}{suffix}")
        os.replace(new, path)
    return os.path.basename(kept)


def _rescued(db: sqlite3.Connection) -> Iterator[ColdRow]:
    """Row by row in the order of the file; what stands in a damaged page is passed over."""
    last, errors = 0, 0
    while errors < _MOST_ERRORS:
        try:
            numbers = [
                row[0]
                for row in db.execute("SELECT rowid FROM cold_memories WHERE rowid > ? LIMIT ?", (last, _AT_ONCE))
            ]
            found = db.execute(f"{COLUMNS} WHERE m.rowid > ? ORDER BY m.rowid LIMIT ?", (last, len(numbers))).fetchall()
        except sqlite3.DatabaseError:
            last, errors = last + 1, errors + 1
            continue
        if not numbers:
            return
        yield from rows_of(found)
        last = numbers[-1]


def _file(path: str) -> SqliteStore:
    return SqliteStore(path, NAME, ((),), durable=True, mend=MEND)


def _archive(store: SqliteStore) -> ColdTables:
    def run(statements: Sequence[Statement]) -> list[Rows]:
        with store.writing() as db:
            try:
                return [[tuple(row) for row in db.execute(sql, tuple(values))] for sql, values in statements]
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR:  # the statement, not the file
                    raise Refused(f"the database refuses a statement: {error}", path=NAME) from error
                raise

    return ColdTables(run, remote=False, close=store.close)


def _is_emptied(path: str) -> bool:
    """Whether the file lost all its bytes, as a power cut leaves it; a new one has none for a moment, too."""
    with suppress(OSError):
        info = os.lstat(path)
        return not info.st_size and not os.path.exists(f"{path}-wal") and time.time() - info.st_mtime > YOUNG
    return False


def _unlink(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)
