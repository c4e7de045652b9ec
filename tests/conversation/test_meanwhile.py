"""While PostgreSQL works on a question, something else is done: once. Nobody waits for ever for who stands still."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from bonsai import Workspace
from bonsai.adapters import postgres
from bonsai.adapters.postgres import Postgres
from bonsai.adapters.postgres_log import PostgresLog
from bonsai.conversation import Conversation
from bonsai.conversation.turn import message
from bonsai.errors import Unavailable

WORKING = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE %s AND pid <> pg_backend_pid()"


@pytest.fixture
def database(database_url: str) -> Iterator[Postgres]:
    made = Postgres(database_url, most=1)
    made.ask("SELECT 1", ())
    yield made
    made.close()


def test_the_server_works_meanwhile(database: Postgres, postgres_url: str) -> None:
    seen = []

    def look() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as other:
            for _ in range(100):
                if not seen and other.execute(WORKING, ("SELECT 'meanwhile%",)).fetchone() == (1,):
                    seen.append("at work")
                    break
                time.sleep(0.05)

    rows = database.ask("SELECT 'meanwhile', pg_sleep(1)::text", (), look)
    assert (rows, seen) == ([("meanwhile", "")], ["at work"])


def test_it_is_done_once_though_the_connection_was_lost(database: Postgres, postgres_url: str) -> None:
    [(number,)] = database.ask("SELECT pg_backend_pid()", ())
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (number,))
    done: list[int] = []
    assert database.ask("SELECT 7", (), lambda: done.append(1)) == [(7,)]
    assert done == [1]
    assert database.ask("SELECT 8", ()) == [(8,)]
    assert done == [1]


def test_it_is_done_once_though_the_connection_is_lost_in_the_midst_of_it(
    database: Postgres, postgres_url: str
) -> None:
    [(number,)] = database.ask("SELECT pg_backend_pid()", ())
    done: list[int] = []

    def lose() -> None:
        done.append(1)
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (number,))
            while other.execute("SELECT FROM pg_stat_activity WHERE pid = %s", (number,)).fetchone() is not None:
                time.sleep(0.05)

    assert database.ask("SELECT 'midst', pg_sleep(0.3)::text", (), lose) == [("midst", "")]
    assert done == [1]


def test_its_error_is_raised_and_the_next_question_is_answered(database: Postgres) -> None:
    with pytest.raises(ZeroDivisionError):
        database.ask("SELECT 1", (), lambda: [][1 // 0])
    assert database.ask("SELECT 2", ()) == [(2,)]


def test_threads_that_wait_for_the_memory_hold_no_connection(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread at a time looks into the memory; thirty others must not use up the connections meanwhile."""
    Workspace.init(tmp_path)
    with Conversation.open(tmp_path, redis_url="", database_url=database_url, facts="postgres") as talk:
        talk._stores.log._database._most = 2  # connections
        talk.write_back("t", "ann", "hello", "hi")

        def slow(*_: object, **__: object) -> list[object]:
            time.sleep(0.1)
            return []

        monkeypatch.setattr(talk._stores.home, "recall_for", slow)
        monkeypatch.setattr(postgres, "WAIT", 2.0)  # seconds for a connection; all look-ups together take three
        with ThreadPoolExecutor(30) as pool:
            found = list(pool.map(lambda _: talk.load("t", "ann", "hello"), range(30)))
        assert [len(context.history) for context in found] == [2] * 30


def test_a_question_that_is_wrong_is_told_after_it(database: Postgres) -> None:
    done: list[int] = []
    with pytest.raises(Exception, match="no_such_table"):
        database.ask("SELECT * FROM no_such_table", (), lambda: done.append(1))
    assert done == [1]


def test_a_writer_that_stands_still_holds_up_nobody_for_ever(
    database_url: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PATIENCE", 0.2)
    monkeypatch.setattr(postgres, "STANDSTILL", 300.0)
    log = PostgresLog(Postgres(database_url))
    made = message("t", "user", "hello", turn="1")
    assert log.append([made]).added == 1
    with psycopg.connect(database_url) as other:  # as a machine does that falls asleep between two statements
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('t', 7))")
        with pytest.raises(Unavailable, match="LockNotAvailable"):
            log.append([message("t", "user", "still there?", turn="2")])
        assert log.append([message("other", "user", "hello", turn="1")]).added == 1
    assert log.append([message("t", "user", "still there?", turn="2")]).added == 1
    log.close()


def test_a_transaction_that_stands_still_is_ended_by_the_server(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "STANDSTILL", 0.2)
    stands = Postgres(database_url)
    slept: list[float] = []

    def work(db: psycopg.Connection[object]) -> list[tuple[int]]:
        db.execute("SELECT pg_advisory_xact_lock(hashtextextended('t', 7))")
        if not slept:
            slept.append(1.0)
            time.sleep(1.0)
        return db.execute("SELECT 7").fetchall()

    assert stands.run(work) == [(7,)]  # done again, on another connection
    assert slept == [1.0]
    stands.close()
