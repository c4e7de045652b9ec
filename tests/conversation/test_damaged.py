"""A cache that is damaged, full, emptied or of another program costs what it held, and nothing reaches the agent."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis as Client
from servers import Redis

from bonsai import Workspace
from bonsai.conversation import Conversation
from conversation.test_together import server

ODD = ["garbage", "7", '{"seq": 1}', "[1, 2, 3, 4, 5, 6]", '[1, "id", "user", null, "", ""]', "[" * 100_000, "\ufffd"]


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    Workspace.init(tmp_path / "ws")
    return tmp_path / "ws"


def into_redis(url: str, namespace: str) -> Callable[[str], None]:
    client = Client.from_url(url)

    def spoil(odd: str) -> None:
        client.zadd(f"{namespace}:buffer:t", {odd.encode("utf-8", "replace") + b"\xff" * (odd == "\ufffd"): 0.5})
        for kind in ("summary", "follow_up", "cache"):
            client.set(f"{namespace}:{kind}:t", odd)

    return spoil


def into_sqlite(ws: Path) -> Callable[[str], None]:
    def spoil(odd: str) -> None:
        with sqlite3.connect(ws / ".bonsai/cache/recent.db") as db:
            db.execute("REPLACE INTO recent VALUES ('t', 0, ?)", (odd,))
            for kind in ("summary", "follow_up", "cache"):
                db.execute("REPLACE INTO held VALUES (?, ?, 9e9)", (f"{kind}:t", odd))
        db.close()

    return spoil


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_what_is_no_message_and_no_value_is_left_out(ws: Path, kind: str, request: pytest.FixtureRequest) -> None:
    url, namespace = "", "n"
    if kind == "redis":
        url, namespace = request.getfixturevalue("redis_url"), request.getfixturevalue("namespace")
    spoil = into_redis(url, namespace) if url else into_sqlite(ws)
    told: list[str] = []
    with Conversation.open(
        ws, redis_url=url, database_url="", namespace=namespace, facts="sqlite", tell=told.append
    ) as talk:
        talk.write_back("t", "ann", "hello", "hi")
        for odd in ODD:
            spoil(odd)
            context = talk.load("t", "ann", peek=True)
            assert [item.content for item in context.buffer] == ["hello", "hi"], odd[:40]
            assert context.follow_up in (None, 7, {"seq": 1}, [1, 2, 3, 4, 5, 6], [1, "id", "user", None, "", ""])
            assert talk.prompt(context)
            assert talk.compute("t", lambda: "made") == "made"
        assert [item.content for item in talk.messages("t")] == ["hello", "hi"]
    assert told == []


def test_a_key_of_another_program_is_no_outage(ws: Path, redis_url: str, namespace: str) -> None:
    Client.from_url(redis_url).lpush(f"{namespace}:summary:t", "of another program")
    told: list[str] = []
    with Conversation.open(ws, redis_url=redis_url, database_url="", namespace=namespace, tell=told.append) as talk:
        talk.set_summary("other", "She looks for a flat.")
        assert talk.summary("t") == ""
        assert talk.summary("other") == "She looks for a flat."  # at once: it gets no rest
    assert len(told) == 1
    assert "refuses" in told[0]


def test_a_redis_that_is_full_is_still_read_and_said_once(ws: Path) -> None:
    with server(Redis) as redis:
        told: list[str] = []
        with Conversation.open(
            ws, redis_url=redis.url, database_url="", namespace="n", facts="sqlite", tell=told.append
        ) as talk:
            talk.write_back("t", "ann", "hello", "hi")
            client = Client.from_url(redis.url)
            client.config_set("maxmemory", "1")
            for number in range(3):
                talk.write_back("t", "ann", f"q{number}", f"a{number}")
                assert [item.content for item in talk.load("t", "ann").buffer] == ["hello", "hi"]
            assert len(told) == 1
            assert "OutOfMemoryError" in told[0]
            client.config_set("maxmemory", "0")
            talk.write_back("t", "ann", "room", "again")
            client.config_set("maxmemory", "1")
            talk.write_back("t", "ann", "full", "again")
            assert len(told) == 2
            assert len(talk.messages("t")) == 4


def test_a_service_that_runs_sees_that_the_cache_was_emptied(ws: Path) -> None:
    """As an erasure does it: what was said must not live on in a file that has no name any more."""
    where = {"redis_url": "", "database_url": "", "facts": "sqlite"}
    with Conversation.open(ws, **where) as talk, Conversation.open(ws, **where) as other:
        talk.write_back("t", "ann", "It is Zanzibar-7.", "I see.")
        assert len(other.messages("t")) == 2
        shutil.rmtree(ws / ".bonsai/cache")
        assert talk.messages("t") == other.messages("t") == []
        talk.set_follow_up("t", "asked")
        assert other.take_follow_up("t") == "asked"
        assert talk.follow_up("t") is None


def test_a_service_that_runs_goes_on_in_the_backup_that_was_brought_back(ws: Path) -> None:
    where = {"redis_url": "", "database_url": "", "facts": "sqlite"}
    with Conversation.open(ws, **where) as talk:
        talk.write_back("t", "ann", "one", "1")
    file, backup = ws / ".bonsai/conversation.db", ws / ".bonsai/backup.db"
    shutil.copyfile(file, backup)
    with Conversation.open(ws, **where) as talk:
        talk.write_back("t", "ann", "two", "2")
        for name in (".bonsai/conversation.db-wal", ".bonsai/conversation.db-shm"):
            (ws / name).unlink(missing_ok=True)
        backup.replace(file)
        talk.write_back("t", "ann", "three", "3")
        assert [item.content for item in talk.history("t")] == ["one", "1", "three", "3"]
    with Conversation.open(ws, **where) as talk:
        assert [item.content for item in talk.history("t")] == ["one", "1", "three", "3"]
