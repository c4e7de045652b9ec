"""A database that the code of the document made is taken over as it is, also while that code goes on writing to it."""

import hashlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.types.json import Json

from bonsai import Workspace
from bonsai.adapters.sqlite_facts import MIGRATIONS, SqliteFacts
from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.conversation import Conversation, Told
from bonsai.errors import Misconfigured

SCHEMA = """
CREATE TABLE messages (
    id UUID PRIMARY KEY, thread_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, intent TEXT,
    metadata JSONB, created_at TIMESTAMPTZ DEFAULT NOW());
CREATE INDEX idx_messages_thread ON messages(thread_id, created_at);
CREATE TABLE events (
    id UUID PRIMARY KEY, user_id TEXT NOT NULL, ts TIMESTAMPTZ DEFAULT NOW(), type TEXT NOT NULL, payload JSONB,
    payload_hash TEXT, UNIQUE(user_id, type, payload_hash));
CREATE TABLE semantic_facts (
    id UUID PRIMARY KEY, user_id TEXT NOT NULL, fact_key TEXT NOT NULL, fact_value TEXT NOT NULL,
    confidence FLOAT DEFAULT 0.8, version INT DEFAULT 1, updated_at TIMESTAMPTZ DEFAULT NOW(),
    UNIQUE(user_id, fact_key));
CREATE INDEX idx_facts_user ON semantic_facts(user_id, updated_at DESC);
"""


def write_message(db: "psycopg.Connection[object]", role: str, content: str) -> None:
    db.execute(
        "INSERT INTO messages (id, thread_id, role, content, intent, metadata) VALUES (%s, %s, %s, %s, %s, %s)",
        (uuid4(), "t", role, content, None, None),
    )


def write_event(db: "psycopg.Connection[object]", payload: dict[str, object]) -> None:
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"))
    db.execute(
        "INSERT INTO events (id, user_id, ts, type, payload, payload_hash) VALUES (%s, %s, now(), %s, %s, %s)"
        " ON CONFLICT (user_id, type, payload_hash) DO NOTHING",
        (uuid4(), "ann", "workout", Json(payload), hashlib.sha256(text.encode()).hexdigest()[:16]),
    )


def upsert_fact(db: "psycopg.Connection[object]", key: str, value: str) -> None:
    db.execute(
        "INSERT INTO semantic_facts (id, user_id, fact_key, fact_value, confidence, updated_at)"
        " VALUES (%s, %s, %s, %s, %s, now()) ON CONFLICT (user_id, fact_key) DO UPDATE SET"
        " fact_value = EXCLUDED.fact_value, confidence = EXCLUDED.confidence, updated_at = now(),"
        " version = semantic_facts.version + 1",
        (uuid4(), "ann", key, value, 0.8),
    )


#: The tables and indexes of the document, column by column.
TABLES = {
    "messages": {"id", "thread_id", "role", "content", "intent", "metadata", "created_at"},
    "events": {"id", "user_id", "ts", "type", "payload", "payload_hash"},
    "semantic_facts": {"id", "user_id", "fact_key", "fact_value", "confidence", "version", "updated_at"},
}
INDEXES = {"idx_messages_thread", "idx_facts_user"}


def filled(talk: Conversation) -> None:
    talk.write_back("t", "ann", "q", "a", facts=[{"key": "city", "value": "Oslo"}], intent="chat", metadata={"n": 1})
    talk.record("ann", "workout", {"km": 5})


def test_the_tables_of_the_document_are_there_in_postgres(tmp_path: Path, database_url: str) -> None:
    Workspace.init(tmp_path)
    with Conversation.open(tmp_path, redis_url="", database_url=database_url, facts="postgres") as talk:
        filled(talk)
    with psycopg.connect(database_url) as db:
        for table, columns in TABLES.items():
            cursor = db.execute(f"SELECT * FROM {table}")
            assert columns <= {column.name for column in cursor.description or ()}, table
            assert cursor.fetchone()
        query = "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
        assert {name for (name,) in db.execute(query)} >= INDEXES


def test_the_tables_of_the_document_are_there_in_sqlite(tmp_path: Path) -> None:
    Workspace.init(tmp_path)
    with Conversation.open(tmp_path, redis_url="", database_url="", facts="sqlite") as talk:
        filled(talk)
        with sqlite3.connect(tmp_path / ".bonsai/conversation.db") as db:
            db.row_factory = sqlite3.Row
            for table, columns in TABLES.items():
                row = db.execute(f"SELECT * FROM {table}").fetchone()
                assert columns <= set(row.keys()), table
                assert UUID(row["id"])
            indexes = {row["name"] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
            assert indexes >= INDEXES
            first = db.execute("SELECT id FROM semantic_facts").fetchone()["id"]
            talk.set_fact("ann", "city", "Bergen")
            assert db.execute("SELECT id, version FROM semantic_facts").fetchone()[:] == (first, 2)
        db.close()


def test_a_file_of_an_older_bonsai_is_brought_up_to_date(tmp_path: Path) -> None:
    old = SqliteStore(f"{tmp_path}/t.db", "t.db", MIGRATIONS[:1], durable=True)
    with old.writing() as db:
        db.execute(
            "INSERT INTO semantic_facts (user_id, fact_key, fact_value, updated_at, folded)"
            " VALUES ('ann', 'city', 'Oslo', '2026-03-15T08:00:00+00:00', 'city oslo')"
        )
    old.close()
    new = SqliteStore(f"{tmp_path}/t.db", "t.db", MIGRATIONS, durable=True)
    facts = SqliteFacts(new, lambda: datetime(2026, 3, 16, tzinfo=UTC))
    assert facts.put("ann", [Told("city", "Bergen")])[0].version == 2
    assert UUID(new.ask("SELECT id FROM semantic_facts", ())[0][0])
    new.close()
    with pytest.raises(Misconfigured, match="newer bonsai"):
        old.ask("SELECT 1", ())
    old.close()


def test_a_database_of_the_document_is_taken_over(tmp_path: Path, database_url: str) -> None:
    Workspace.init(tmp_path)
    with psycopg.connect(database_url, autocommit=True) as db:
        db.execute(SCHEMA)
        for number in range(5):
            write_message(db, "user", f"q{number}")
            write_message(db, "assistant", f"a{number}")
        write_event(db, {"km": 5, "é": [1, None]})
        upsert_fact(db, "city", "Oslo")
        upsert_fact(db, "city", "Bergen")
        db.execute(
            "INSERT INTO messages (id, thread_id, role, content, created_at) VALUES (%s, 'x', 'user', 'y', NULL)",
            [uuid4()],
        )
        with Conversation.open(tmp_path, redis_url="", database_url=database_url, facts="postgres") as talk:
            said = [f"{who}{number}" for number in range(5) for who in "qa"]
            assert [item.content for item in talk.history("t")] == said
            assert [(fact.value, fact.version) for fact in talk.facts("ann")] == [("Bergen", 2)]
            assert not talk.record("ann", "workout", {"é": [1, None], "km": 5})
            assert talk.record("ann", "workout", {"km": 6})
            assert len(talk.events("ann")) == 2
            talk.write_back("t", "ann", "q5", "a5", facts=[{"key": "city", "value": "Bodø"}])
            write_message(db, "user", "q6")  # the code of the document still runs somewhere
            upsert_fact(db, "city", "TROMSØ")
            assert [item.content for item in talk.history("t")] == [*said, "q5", "a5", "q6"]
            assert [(fact.value, fact.version) for fact in talk.search_facts("ann", "tromsø")] == [("TROMSØ", 4)]
            assert [fact.value for fact in talk.fact_history("ann", "city")][-2:] == ["Bodø", "Bergen"]
            assert [item.content for item in talk.load("t", "ann", "q").history][-1] == "q6"
            assert [item.time for item in talk.history("x")] == [""]
