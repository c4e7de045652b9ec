"""While PostgreSQL works on a question, something else is done: once. Nobody waits for ever for who stands still."""

import threading
import time
from collections.abc import Callable, Iterator
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


def test_the_server_works_meanwhile(database_url: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question waits for a lock that is only given back once it is seen to wait."""
    monkeypatch.setattr(postgres, "PATIENCE", 60.0)
    database = Postgres(database_url)
    seen: list[str] = []
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(4711)")

        def look() -> None:
            for _ in range(600):
                if other.execute(WORKING, ("SELECT 'meanwhile%",)).fetchone() == (1,):
                    seen.append("at work")
                    break
                time.sleep(0.05)
            other.execute("SELECT pg_advisory_unlock(4711)")

        rows = database.ask("SELECT 'meanwhile', pg_advisory_lock_shared(4711)::text", (), look)
    assert (rows, seen) == ([("meanwhile", "")], ["at work"])
    database.close()


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
    """One thread at a time looks into the memory; the others must not use up the connections meanwhile."""
    Workspace.init(tmp_path)
    done, began = threading.Event(), list[str]()
    with Conversation.open(tmp_path, redis_url="", database_url=database_url, facts="postgres") as talk:
        talk._stores.log._database._most = 2  # connections
        talk.write_back("t", "ann", "hello", "hi")
        short_term = talk._short_term

        def noted(thread: str, meanwhile: Callable[[], None]) -> object:
            began.append(thread)
            return short_term(thread, meanwhile)

        def slow(*_: object, **__: object) -> list[object]:
            done.wait(60)
            return []

        monkeypatch.setattr(talk, "_short_term", noted)
        monkeypatch.setattr(talk._stores.home, "recall_for", slow)
        with ThreadPoolExecutor(8) as pool:
            loads = [pool.submit(talk.load, "t", "ann", "hello") for _ in range(8)]
            for _ in range(100):
                if len(began) == 8:  # all have had a connection
                    break
                time.sleep(0.05)
            done.set()
            assert len(began) == 8
            assert [len(load.result().history) for load in loads] == [2] * 8


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
    monkeypatch.setattr(postgres, "STANDSTILL", 1.0)
    stands = Postgres(database_url)
    slept: list[float] = []

    def work(db: psycopg.Connection[object]) -> list[tuple[int]]:
        db.execute("SELECT pg_advisory_xact_lock(hashtextextended('t', 7))")
        if not slept:
            slept.append(2.5)
            time.sleep(2.5)
        return db.execute("SELECT 7").fetchall()

    assert stands.run(work) == [(7,)]  # done again, on another connection
    assert slept == [2.5]
    stands.close()
