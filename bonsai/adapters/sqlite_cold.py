"""The cold tier in a SQLite file of the workspace: where facts go that leave the tree, without any server."""

import os
import sqlite3
from collections.abc import Sequence

from bonsai.adapters.cold_tables import ColdTables, Rows, Statement
from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.errors import Refused
from bonsai.notes.forget import Forget

NAME = ".bonsai/cold.db"


def sqlite_archive(path: str) -> ColdTables:
    """The archive in the file at `path` (absolute), private to its owner."""
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


def _file(path: str) -> SqliteStore:
    return SqliteStore(path, NAME, ((),), durable=True)


def _archive(store: SqliteStore) -> ColdTables:
    def run(statements: Sequence[Statement]) -> list[Rows]:
        with store.writing() as db:
            try:
                return [[tuple(row) for row in db.execute(sql, tuple(values))] for sql, values in statements]
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR:  # the statement, not the file
                    raise Refused(f"the database refuses a statement: {error}", path=NAME) from error
                raise

    return ColdTables(run, remote=False, close=store.close, damage=lambda: store.damage)
