"""FactStore in a SQLite file, and the tables that it and the message log have in it."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.conversation import unsaid
from bonsai.conversation.armour import armour, bare
from bonsai.conversation.fact import Fact, Told, folded, replaces
from bonsai.conversation.turn import countable
from bonsai.notes.forget import Forget

#: The tables of the conversation, each with its columns as the system that it goes back to has them, and ours.
MIGRATIONS = [
    [
        "CREATE TABLE messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
        " thread_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, intent TEXT, metadata TEXT,"
        " created_at TEXT NOT NULL, user_id TEXT NOT NULL DEFAULT '')",
        "CREATE INDEX idx_messages_thread ON messages (thread_id, seq)",
        "CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL,"
        " ts TEXT NOT NULL, type TEXT NOT NULL, payload TEXT, payload_hash TEXT,"
        " UNIQUE (user_id, type, payload_hash))",
        "CREATE INDEX idx_events_user ON events (user_id, seq)",
        "CREATE TABLE semantic_facts (user_id TEXT NOT NULL, fact_key TEXT NOT NULL, fact_value TEXT NOT NULL,"
        " confidence REAL NOT NULL DEFAULT 0.8, version INTEGER NOT NULL DEFAULT 1, updated_at TEXT NOT NULL,"
        " turn TEXT NOT NULL DEFAULT '', folded TEXT NOT NULL, PRIMARY KEY (user_id, fact_key))",
        "CREATE INDEX idx_facts_user ON semantic_facts (user_id, updated_at DESC)",
        "CREATE TABLE fact_versions (user_id TEXT NOT NULL, fact_key TEXT NOT NULL, version INTEGER NOT NULL,"
        " fact_value TEXT NOT NULL, confidence REAL NOT NULL, updated_at TEXT NOT NULL, turn TEXT NOT NULL,"
        " PRIMARY KEY (user_id, fact_key, version))",
    ],
    [  # what was told in one turn has one time: without the key in the index those facts are sorted at each load
        "DROP INDEX idx_facts_user",
        "CREATE INDEX idx_facts_user ON semantic_facts (user_id, updated_at DESC, fact_key)",
    ],
    [  # as the document has it: another program may refer to a fact, whatever becomes of its key
        "ALTER TABLE semantic_facts ADD COLUMN id TEXT",
        "UPDATE semantic_facts SET id = lower(hex(randomblob(16)))",
        "CREATE UNIQUE INDEX idx_facts_id ON semantic_facts (id)",
    ],
]
_COLUMNS = "user_id, fact_key, fact_value, confidence, version, updated_at, turn"
_PUT = f"""
    INSERT INTO semantic_facts ({_COLUMNS}, folded, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (user_id, fact_key) DO UPDATE SET
        fact_value = excluded.fact_value, confidence = excluded.confidence, version = excluded.version,
        updated_at = excluded.updated_at, turn = excluded.turn, folded = excluded.folded
"""
_ONE = f"SELECT {_COLUMNS} FROM semantic_facts WHERE user_id = ? AND fact_key = ?"


class SqliteFacts:
    """The FactStore in the tables of MIGRATIONS."""

    def __init__(self, file: SqliteStore, clock: Callable[[], datetime]) -> None:
        self._file, self._clock = file, clock

    def put(self, user: str, facts: Sequence[Told], *, turn: str = "", since: str | None = None) -> list[Fact]:
        """See FactStore."""
        with self._file.writing() as db:
            now = self._clock().isoformat()
            return [self._put(db, user, new, now, turn, since) for new in facts]

    def _put(self, db: sqlite3.Connection, user: str, new: Told, now: str, turn: str, since: str | None) -> Fact:
        row = db.execute(_ONE, (armour(user), armour(new.key))).fetchone()
        old = self._fact(row) if row else None
        if old is not None and not replaces(new, old, turn, since):
            return old
        version = old.version + 1 if old else 1
        fact = Fact(user, new.key, new.value, new.confidence, version, now, turn, self._file.name)
        texts = tuple(armour(value) if isinstance(value, str) else value for value in fact[:7])
        db.execute(_PUT, (*texts, armour(folded(new.key, new.value)), uuid4().hex))
        db.execute(f"INSERT INTO fact_versions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", texts)
        return fact

    def get(self, user: str, key: str) -> Fact | None:
        """See FactStore."""
        rows = self._file.ask(_ONE, (armour(user), armour(key)))
        return self._fact(rows[0]) if rows else None

    def newest(self, user: str, limit: int = 20) -> list[Fact]:
        """See FactStore."""
        where = "FROM semantic_facts WHERE user_id = ? ORDER BY updated_at DESC, fact_key LIMIT ?"
        return self._query(f"SELECT {_COLUMNS} {where}", (armour(user), countable(limit)))

    def search(self, user: str, query: str, limit: int = 10) -> list[Fact]:
        """See FactStore."""
        where = (
            "FROM semantic_facts WHERE user_id = ? AND instr(folded, ?) > 0 ORDER BY updated_at DESC, fact_key LIMIT ?"
        )
        values = (armour(user), armour(query.casefold()), countable(limit))
        return self._query(f"SELECT {_COLUMNS} {where}", values)

    def history(self, user: str, key: str) -> list[Fact]:
        """See FactStore."""
        where = "FROM fact_versions WHERE user_id = ? AND fact_key = ? ORDER BY version DESC"
        return self._query(f"SELECT {_COLUMNS} {where}", (armour(user), armour(key)))

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See FactStore. The bytes are gone from the file once it is compacted."""
        found = 0
        with self._file.writing() as db:
            for table in ("semantic_facts", "fact_versions"):
                rows = db.execute(f"SELECT {_COLUMNS}, rowid FROM {table}")
                changed = unsaid.holding(((row[-1], self._fact(row[:-1])) for row in rows), what)
                found += len(changed)
                for number, _, new in changed if not count else ():
                    names = tuple(map(armour, (new.user, new.key, new.value, new.turn)))
                    query = "SET user_id = ?, fact_key = ?, fact_value = ?, turn = ? WHERE rowid = ?"
                    db.execute(f"UPDATE OR REPLACE {table} {query}", (*names, number))
                    if table == "semantic_facts":
                        text = armour(folded(new.key, new.value))
                        db.execute("UPDATE semantic_facts SET folded = ? WHERE rowid = ?", (text, number))
        return found

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def _query(self, query: str, values: Sequence[Any]) -> list[Fact]:
        return [self._fact(row) for row in self._file.ask(query, values)]

    def _fact(self, row: Sequence[Any]) -> Fact:
        user, key, value, confidence, version, updated, turn = row
        return Fact(bare(user), bare(key), bare(value), confidence, version, updated, bare(turn), self._file.name)
