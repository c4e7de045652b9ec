"""Many processes on the same stores: nothing lost, nothing twice, each writer in his order, also through restarts."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from servers import Missing, Postgres, Redis

from bonsai import Workspace
from bonsai.adapters import postgres as database
from bonsai.adapters import redis_buffer
from bonsai.conversation import Conversation
from bonsai.errors import Unavailable
from conversation.conftest import REQUIRED

ALL = os.environ.get("BONSAI_FAULTS") == "all"
WRITERS = 8
TURNS = 500 if ALL else 20
WORK = Path(__file__).with_name("work.py")


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    Workspace.init(tmp_path / "ws")
    return tmp_path / "ws"


@pytest.fixture(params=["sqlite", "servers"])
def where(request: pytest.FixtureRequest, ws: Path) -> dict[str, str]:
    if request.param == "sqlite":
        return {"path": str(ws), "redis_url": "", "database_url": "", "facts": "sqlite", "namespace": ""}
    urls = {name: request.getfixturevalue(name) for name in ("redis_url", "database_url", "namespace")}
    return {"path": str(ws), "facts": "postgres", **urls}


def started(where: dict[str, str], writer: int, **order: Any) -> subprocess.Popen[bytes]:
    text = json.dumps({**where, "writer": writer, "writers": WRITERS, **order})
    environment = {**os.environ, "PYTHONPATH": str(WORK.parents[1])}
    return subprocess.Popen(
        [sys.executable, WORK, text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )


def ended(processes: list[subprocess.Popen[bytes]]) -> list[dict[str, Any]]:
    said = [process.communicate(timeout=500) for process in processes]  # all of them, also where one is wrong
    for process, (_, err) in zip(processes, said, strict=True):
        assert process.returncode == 0, err.decode()
        assert err == b""
    return [json.loads(out) for out, _ in said]


def need_whole(talk: Conversation, threads: int, writers: int, turns: int) -> None:
    """Every turn once, both its messages side by side in their order, each writer's in his."""
    seen: list[tuple[int, int]] = []
    for number in range(threads):
        said = [item.content for item in talk.history(f"t{number}", 2 * writers * turns + 1)]
        pairs = [tuple(map(int, text.split(":"))) for text in said[::2]]
        assert said[1::2] == [f"answer {writer}:{turn}" for writer, turn in pairs]
        for writer in range(writers):
            mine = [turn for who, turn in pairs if who == writer]
            assert mine == sorted(mine)
        seen += pairs  # type: ignore[arg-type]
        assert [item.content for item in talk.messages(f"t{number}")] == said[-12:]
    assert sorted(seen) == [(writer, turn) for writer in range(writers) for turn in range(turns)]


@pytest.mark.parametrize("threads", [1, 5])
def test_eight_processes_lose_and_double_nothing(where: dict[str, str], threads: int) -> None:
    """Follow-ups are asked for by all, and each is delivered once; the 10 different events are stored once."""
    every = 10 if ALL else 5
    done = ended(
        [
            started(where, n, turns=TURNS, threads=threads, fact_every=10, ask_every=every, patient=1)
            for n in range(WRITERS)
        ]
    )
    assert [item["errors"] for item in done] == [[]] * WRITERS
    assert [item["warnings"] for item in done] == [[]] * WRITERS
    names = {name: where[name] for name in ("redis_url", "database_url", "facts", "namespace")}
    with Conversation.open(where["path"], **names) as talk:
        need_whole(talk, threads, WRITERS, TURNS)
        left = [talk.take_follow_up(f"ask-{w}-{n}") for w in range(WRITERS) for n in range(0, TURNS, every)]
        taken = [name for item in done for name in item["taken"]] + [name for name in left if name]
        assert sorted(taken) == sorted(f"{w}-{n}" for w in range(WRITERS) for n in range(0, TURNS, every))
        assert sum(item["new"] for item in done) == len({n % 50 for n in range(0, TURNS, 5)})
        assert len(talk.events("ann", limit=1000)) == sum(item["new"] for item in done)
        versions = [fact.version for fact in talk.fact_history("ann", "count")]
        assert versions == list(range(len(versions), 0, -1))
        assert len(versions) == WRITERS * len(range(0, TURNS, 10))


def test_eight_processes_tell_facts_into_one_tree(ws: Path) -> None:
    turns = 50 if ALL else 3
    where = {"path": str(ws), "redis_url": "", "database_url": "", "facts": "tree", "namespace": ""}
    ended([started(where, n, turns=turns, threads=1, fact_every=1) for n in range(WRITERS)])
    with Conversation.open(ws, facts="tree", redis_url="", database_url="") as talk:
        need_whole(talk, 1, WRITERS, turns)
        values = [fact.value for fact in talk.fact_history("ann", "count")]
        assert sorted(values) == sorted(f"{w}-{n}" for w in range(WRITERS) for n in range(turns))


def server(kind: type) -> Any:
    try:
        return kind()
    except Missing as missing:
        if REQUIRED:
            pytest.fail(str(missing))
        pytest.skip(str(missing))


def test_redis_that_dies_costs_what_is_recent_and_nothing_else(ws: Path) -> None:
    with server(Redis) as redis:
        where = {"path": str(ws), "redis_url": redis.url, "database_url": "", "facts": "sqlite", "namespace": "n"}
        order = {"turns": 1500 if ALL else 120, "threads": 2, "fact_every": 5, "pause": 0.02}
        processes = [started(where, n, **order) for n in range(2)]
        for _ in range(5 if ALL else 1):
            wait_for(lambda: written(ws) > 20)
            redis.kill()
            time.sleep(1)
            redis.start()
            time.sleep(1)
        done = ended(processes)
        assert all(item["errors"] == [] for item in done)  # nothing reached the agent
        assert all(1 <= len(item["warnings"]) <= (5 if ALL else 1) for item in done)  # said once an outage
        with Conversation.open(ws, redis_url="", database_url="", facts="sqlite") as talk:
            for number in range(2):
                said = [item.content for item in talk.history(f"t{number}", 10_000)]
                assert len(said) == len(set(said)) == order["turns"] * 2
        with Conversation.open(ws, redis_url=redis.url, database_url="", facts="sqlite", namespace="n") as talk:
            assert len(talk.messages("t0")) == 12  # it works again


def test_a_fact_that_was_told_while_redis_was_away_counts_when_it_is_back(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_buffer, "WAIT", 2.0)  # on a busy machine half a second is nothing
    with server(Redis) as redis:
        first, other = (
            Conversation.open(ws, redis_url=redis.url, database_url="", facts="sqlite", namespace="n") for _ in range(2)
        )
        with first, other:
            assert first.person_model("ann", lambda: "old") == "old"
            redis.running.send_signal(19)  # SIGSTOP: it hangs, and forgets nothing
            first.set_fact("ann", "city", "Oslo")
            assert first.person_model("ann", lambda: "meanwhile") == "meanwhile"
            redis.running.send_signal(18)
            time.sleep(2.1)
            assert first.person_model("ann", lambda: "new") == "new"
            assert other.person_model("ann", lambda: "newer") == "new"


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_postgres_that_restarts_under_load_leaves_nothing_half_written(ws: Path, how: str) -> None:
    with server(Postgres) as postgres:
        where = {"path": str(ws), "redis_url": "", "database_url": postgres.url, "facts": "postgres", "namespace": ""}
        turns = 500 if ALL else 50
        processes = [started(where, n, turns=turns, threads=2, fact_every=3, pause=0.02) for n in range(3)]
        with Conversation.open(ws, redis_url="", database_url=postgres.url, facts="postgres") as talk:
            for _ in range(4 if ALL else 1):
                wait_for(lambda: len(talk.history("t0", 10_000)) > 10)
                if how == "restart":
                    postgres.restart()
                else:
                    postgres.kill()
                    postgres.start()
                time.sleep(1)
            done = ended(processes)
            kinds = {error.partition(":")[0] for item in done for error in item["errors"]}
            assert kinds <= {"Unavailable"}
            need_whole(talk, 2, 3, turns)
            versions = [fact.version for fact in talk.fact_history("ann", "count")]
            assert versions == list(range(3 * len(range(0, turns, 3)), 0, -1))


def test_a_database_that_is_away_is_a_clear_error_and_comes_back(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        server(Postgres) as postgres,
        Conversation.open(ws, redis_url="", database_url=postgres.url, facts="postgres") as talk,
    ):
        talk.write_back("t", "ann", "hello", "hi", turn="1")
        postgres.kill()
        monkeypatch.setattr(database, "WAIT", 1.0)
        with pytest.raises(Unavailable) as found:
            talk.write_back("t", "ann", "still there?", "yes", turn="2")
        assert "does not answer" in str(found.value)
        with pytest.raises(Unavailable):
            talk.load("t", "ann", "hello")
        monkeypatch.setattr(database, "WAIT", 30.0)  # however busy the machine is
        postgres.start()
        assert [item.content for item in talk.load("t", "ann", "hello").history] == ["hello", "hi"]
        postgres.restart()  # what the pool holds is dead, and the question is already on its way
        assert [item.content for item in talk.load("t", "ann", "hello").history] == ["hello", "hi"]
        assert not talk.write_back("t", "ann", "still there?", "yes", turn="2").repeated
        assert [item.content for item in talk.history("t")] == ["hello", "hi", "still there?", "yes"]


def written(ws: Path) -> int:
    with Conversation.open(ws, redis_url="", database_url="", facts="sqlite") as talk:
        return len(talk.history("t0", 10_000))


def wait_for(ready: Callable[[], bool]) -> None:
    for _ in range(2400):
        try:
            if ready():
                return
        except Unavailable:
            pass
        time.sleep(0.05)
    raise AssertionError("it never came")


def test_two_services_on_one_redis_do_not_meet(ws: Path, redis_url: str) -> None:
    names = [uuid4().hex, uuid4().hex]
    one, two = (Conversation.open(ws, redis_url=redis_url, database_url="", namespace=name) for name in names)
    with one, two:
        one.set_summary("t", "of one")
        assert two.summary("t") == ""
