"""A database that the code of the document made is taken over as it is, also while that code goes on writing to it."""

import hashlib
import json
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg.types.json import Json

from bonsai import Workspace
from bonsai.conversation import Conversation

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
