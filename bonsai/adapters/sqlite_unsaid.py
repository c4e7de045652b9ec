"""Takes what is to be forgotten out of the SQLite file of a conversation, so that none of its bytes stays."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

from bonsai.adapters.sqlite_facts import MIGRATIONS
from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.conversation.armour import armour, bare, each_text
from bonsai.conversation.fact import folded
from bonsai.notes.forget import Forget

NAME = ".bonsai/conversation.db"
_TEXTS = {
    "messages": ("thread_id", "role", "content", "intent", "user_id"),
    "events": ("user_id", "type"),
    "semantic_facts": ("user_id", "fact_key", "fact_value"),
    "fact_versions": ("user_id", "fact_key", "fact_value"),
}
_JSON = {"messages": "metadata", "events": "payload"}


def forget(path: str, what: Forget) -> None:
    """Put marks in the place of what is forgotten; the rest of each message stays. Raises Busy, IoFailed."""
    if not os.path.exists(path):
        return
    store = SqliteStore(path, NAME, MIGRATIONS, durable=True)
    try:
        with store.writing() as db:
            for table, column, change in _columns(lambda text: _without(text, what)):
                _change(db, table, column, change)
            rows = db.execute("SELECT rowid, fact_key, fact_value FROM semantic_facts").fetchall()
            new = [(armour(folded(bare(key), bare(value))), row) for row, key, value in rows]
            db.executemany("UPDATE semantic_facts SET folded = ? WHERE rowid = ?", new)
    finally:
        store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in ("PRAGMA secure_delete=ON", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            db.execute(statement)


def _columns(change: Callable[[str], str]) -> Iterator[tuple[str, str, Callable[[str], str]]]:
    for table, columns in _TEXTS.items():
        yield from ((table, column, change) for column in columns)
    for table, column in _JSON.items():
        yield table, column, lambda text: json.dumps(each_text(json.loads(text), change))


def _change(db: sqlite3.Connection, table: str, column: str, change: Callable[[str], str]) -> None:
    rows = db.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
    new = [(after, row) for row, before in rows if (after := change(before)) != before]
    db.executemany(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE rowid = ?", new)


def _without(text: str, what: Forget) -> str:
    data = bare(text).encode("utf-8", "surrogatepass")
    return armour(what.text_of(data).decode("utf-8", "surrogatepass")) if what.found(data) else text
