"""Where the tests of the conversation get their stores: in this process, on disk, and on real servers."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from servers import Missing, Postgres, Redis

from bonsai import Workspace
from bonsai.adapters.memory_talk import MemoryBuffer, MemoryFacts, MemoryLog
from bonsai.adapters.postgres import Postgres as Database
from bonsai.adapters.postgres_facts import PostgresFacts
from bonsai.adapters.postgres_log import PostgresLog
from bonsai.adapters.redis_buffer import RedisBuffer
from bonsai.adapters.sqlite_buffer import SqliteBuffer
from bonsai.adapters.sqlite_facts import MIGRATIONS, SqliteFacts
from bonsai.adapters.sqlite_log import SqliteLog
from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.personal import Personal
from bonsai.talk.tree_facts import TreeFacts

REQUIRED = "CI" in os.environ  # there a missing server is a failure: .ci/run has to start it


@pytest.fixture(autouse=True)
def no_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing reaches a server that a test does not name."""
    monkeypatch.delenv("REDIS_URL", raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)


class Time:
    """A clock that goes a second on each time it is asked, and can be set forward."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 15, 8, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def hour() -> Time:
    return Time()


@dataclass
class Made:
    """A store of a kind, and how to have another one on the same data, and time pass for it."""

    store: Any
    again: Callable[[], Any]
    wait: Callable[[float], None]


def _server(kind: type, variable: str) -> Iterator[str]:
    if url := os.environ.get(variable):
        yield url
        return
    try:
        server = kind()
    except Missing as missing:
        if REQUIRED:
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    with server:
        yield server.url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    yield from _server(Redis, "TEST_REDIS_URL")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    yield from _server(Postgres, "TEST_DATABASE_URL")


@pytest.fixture
def namespace() -> str:
    return f"test-{uuid4().hex}"


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """A schema of its own in the database."""
    import psycopg

    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name}")
    yield f"{postgres_url}?options=-csearch_path%3D{name}"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture(params=["memory", "sqlite", "redis"])
def buffer(request: pytest.FixtureRequest, tmp_path: Path, hour: Time) -> Iterator[Made]:
    def forward(seconds: float) -> None:
        hour.now += timedelta(seconds=seconds)

    if request.param == "memory":
        store = MemoryBuffer(hour)
        yield Made(store, lambda: store, forward)
        return
    if request.param == "sqlite":
        yield from _closing(lambda: SqliteBuffer(f"{tmp_path}/c/recent.db", "recent.db", hour), forward)
        return
    url, name = request.getfixturevalue("redis_url"), request.getfixturevalue("namespace")
    yield from _closing(lambda: RedisBuffer(url, name), time.sleep)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def log(request: pytest.FixtureRequest, tmp_path: Path, hour: Time) -> Iterator[Made]:
    if request.param == "memory":
        store = MemoryLog(hour)
        yield Made(store, lambda: store, lambda seconds: None)
        return
    if request.param == "sqlite":
        yield from _closing(lambda: SqliteLog(SqliteStore(f"{tmp_path}/t.db", "t.db", MIGRATIONS, durable=True), hour))
        return
    url = request.getfixturevalue("database_url")
    yield from _closing(lambda: PostgresLog(Database(url)))


@pytest.fixture(params=["memory", "sqlite", "postgres", "tree"])
def facts(
    request: pytest.FixtureRequest, tmp_path: Path, hour: Time, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Made]:
    if request.param == "memory":
        store = MemoryFacts(hour)
        yield Made(store, lambda: store, lambda seconds: None)
        return
    if request.param == "sqlite":
        yield from _closing(
            lambda: SqliteFacts(SqliteStore(f"{tmp_path}/t.db", "t.db", MIGRATIONS, durable=True), hour)
        )
        return
    if request.param == "postgres":
        url = request.getfixturevalue("database_url")
        yield from _closing(lambda: PostgresFacts(Database(url)))
        return
    Workspace.init(tmp_path / "ws")
    homes = []

    def tree() -> TreeFacts:
        homes.append(Personal.open(tmp_path / "ws"))
        return TreeFacts(homes[-1])

    yield Made(tree(), tree, lambda seconds: None)
    for home in homes:
        home.close()


def _closing(make: Callable[[], Any], wait: Callable[[float], None] = lambda seconds: None) -> Iterator[Made]:
    """Stores of one kind, all closed at the end."""
    stores = [make()]

    def again() -> Any:
        stores.append(make())
        return stores[-1]

    yield Made(stores[0], again, wait)
    for store in stores:
        store.close()
