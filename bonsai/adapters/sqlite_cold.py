"""The cold tier in a SQLite file of the workspace: where facts go that leave the tree, without any server."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing

from bonsai.adapters.cold_tables import ColdTables, Rows, Statement
from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.errors import Refused
from bonsai.notes.forget import Forget

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


def forget(path: str, what: Forget) -> None:
    """Take the rows of what is erased out of the file, so that none of its bytes stays. Raises IoFailed, Busy."""
    if not os.path.exists(path):
        return
    archive = sqlite_archive(path)
    try:
        _forget_rows(archive, what)
    finally:
        archive.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in ("PRAGMA secure_delete=ON", "INSERT INTO cold_words (cold_words) VALUES ('rebuild')"):
            db.execute(statement)  # the index keeps the words of deleted rows until it is made anew
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _forget_rows(archive: ColdTables, what: Forget) -> None:
    for agent in archive.agents():
        after, gone = "", list[str]()
        while page := archive.page(agent, after, 500):
            gone += [
                row.id
                for row in page
                if row.path in what.names or what.found(row.note) or what.found(row.text.encode("utf-8", "replace"))
            ]
            after = page[-1].id
        archive.drop(agent, gone)
        kept = archive.critical(agent)
        if kept and what.found(kept.data.encode("utf-8", "replace")):
            archive.drop_critical(agent)
