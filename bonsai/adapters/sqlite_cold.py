"""The cold tier in a SQLite file of the workspace: where facts go that leave the tree, without any server."""

import sqlite3
from collections.abc import Sequence

from bonsai.adapters.cold_tables import ColdTables, Rows, Statement
from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.errors import Refused

NAME = ".bonsai/cold.db"


def sqlite_archive(path: str) -> ColdTables:
    """The archive in the file at `path` (absolute), private to its owner."""
    store = SqliteStore(path, NAME, ((),), durable=True)

    def run(statements: Sequence[Statement]) -> list[Rows]:
        with store.writing() as db:
            try:
                return [[tuple(row) for row in db.execute(sql, tuple(values))] for sql, values in statements]
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR:  # the statement, not the file
                    raise Refused(f"the database refuses a statement: {error}", path=NAME) from error
                raise

    return ColdTables(run, remote=False, close=store.close)
