"""`bonsai erase` reaches the servers that the environment names, and says plainly which of them it does not reach."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from libsql_server import Server as Libsql
from libsql_server import needs_server
from redis import Redis
from servers import Postgres

from bonsai import Workspace
from bonsai.adapters import known_servers
from bonsai.adapters import postgres as database
from bonsai.cli.main import run
from bonsai.conversation import Conversation, Told
from bonsai.errors import NotFound, Unavailable
from conversation.test_together import server

pytest.importorskip("git_filter_repo")
WORD = "Zanzibar-7"
NOTE = "memory/domains/general/code.md"


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    Workspace.init(tmp_path / "ws")
    return tmp_path / "ws"


@pytest.fixture
def urls(redis_url: str, database_url: str, namespace: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found = {"REDIS_URL": redis_url, "DATABASE_URL": database_url, "BONSAI_NAMESPACE": f"{namespace}*["}
    for name, value in {**found, "BONSAI_FACTS": "postgres"}.items():
        monkeypatch.setenv(name, value)
    return found


def note(ws: Path) -> None:
    (ws / NOTE).parent.mkdir(parents=True, exist_ok=True)
    (ws / NOTE).write_text(f"# Code\n\nThe code of the door is {WORD}.\n", encoding="utf-8")
    with Workspace.open(ws) as workspace:
        workspace.commit()


def told(ws: Path) -> None:
    with Conversation.open(ws) as talk:
        fact = [Told("code", WORD)]
        talk.write_back("t", "ann", f"It is {WORD}.", "I see.", facts=fact, metadata={"seen": WORD})
        talk.record("ann", "said", {"what": WORD})
        talk.set_summary("t", f"She told {WORD}.")


def held(urls: dict[str, str]) -> str:
    """All that the two servers hold of this test, as one text."""
    texts = []
    with psycopg.connect(urls["DATABASE_URL"], autocommit=True) as db:
        for table in ("messages", "events", "semantic_facts", "fact_versions"):
            texts += [str(row) for row in db.execute(f"SELECT * FROM {table}")]
    redis = Redis.from_url(urls["REDIS_URL"])
    for name in redis.scan_iter():
        if name.decode().startswith(urls["BONSAI_NAMESPACE"]):
            value = redis.zrange(name, 0, -1) if redis.type(name) == b"zset" else redis.get(name)
            texts.append(f"{name!r} {value!r}")
    redis.close()
    return "\n".join(texts)


@pytest.mark.parametrize("noted", [False, True])
def test_a_text_goes_from_every_server(ws: Path, urls: dict[str, str], noted: bool) -> None:
    told(ws)
    if noted:
        note(ws)
    Redis.from_url(urls["REDIS_URL"]).set(f"other:{WORD}", WORD)  # of another program
    with Workspace.open(ws) as workspace:
        plan = workspace.erase(match=WORD, dry_run=True)
        assert held(urls).count(WORD) > 6
        assert {(item.server, item.rows > 0, item.cause) for item in plan.servers} == {
            ("Redis", True, ""),
            ("PostgreSQL", True, ""),
        }
        done = workspace.erase(match=WORD, yes=True)
        assert done.complete
        assert {item.server: item.rows for item in done.servers} == {item.server: item.rows for item in plan.servers}
        assert bool(done.commit) == noted
        with pytest.raises(NotFound):
            workspace.erase(match=WORD, yes=True)
    assert WORD not in held(urls)
    assert Redis.from_url(urls["REDIS_URL"]).delete(f"other:{WORD}") == 1
    with Conversation.open(ws) as talk:
        assert [item.content for item in talk.history("t")] == ["It is [erased].", "I see."]
        assert [(fact.key, fact.value) for fact in talk.facts("ann")] == [("code", "[erased]")]
        assert talk.load("t", "ann").summary == ""


def test_a_note_goes_with_what_was_said_of_it(ws: Path, urls: dict[str, str]) -> None:
    note(ws)
    with Conversation.open(ws) as talk:
        talk.write_back("t", "ann", f"You noted: The code of the door is {WORD}. Right?", "Yes.")
    with Workspace.open(ws) as workspace:
        assert workspace.erase(NOTE, yes=True).complete
    assert WORD not in held(urls)


def test_a_text_that_was_only_said_is_erased_without_servers(ws: Path) -> None:
    with Conversation.open(ws, facts="sqlite") as talk:
        talk.write_back("t", "ann", f"It is {WORD}.", "I see.")
    with Workspace.open(ws) as workspace:
        done = workspace.erase(match=WORD, yes=True)
        assert (done.rows, done.commit, done.servers) == (1, None, [])
    for path in (ws / ".bonsai").rglob("*"):
        assert not path.is_file() or WORD.encode() not in path.read_bytes(), path


def test_a_service_that_runs_meanwhile_forgets_too(ws: Path) -> None:
    with Conversation.open(ws, redis_url="", database_url="", facts="sqlite") as talk:
        talk.write_back("t", "ann", f"It is {WORD}.", "I see.", facts=[Told("code", WORD)])
        talk.set_summary("t", f"She told {WORD}.")
        assert talk.person_model("ann", lambda: f"knows {WORD}")
        with Workspace.open(ws) as workspace:
            assert workspace.erase(match=WORD, yes=True).complete
        context = talk.load("t", "ann", "code")
        assert WORD not in talk.prompt(context)
        assert [item.content for item in context.history] == ["It is [erased].", "I see."]
        assert talk.person_model("ann", lambda: "made anew") == "made anew"
        talk.write_back("t", "ann", "And now?", "Nothing.")
        assert [item.content for item in talk.load("t", "ann").buffer] == ["And now?", "Nothing."]


def test_a_database_of_another_program_is_left_alone(
    ws: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    note(ws)
    with Workspace.open(ws) as workspace:
        assert workspace.erase(match=WORD, yes=True).complete
    with psycopg.connect(database_url) as db:
        assert db.execute("SELECT to_regclass('messages')").fetchone() == (None,)


def test_a_server_that_is_away_makes_it_incomplete(
    ws: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with server(Postgres) as postgres:
        monkeypatch.setenv("DATABASE_URL", postgres.url)
        told(ws)
        note(ws)
        postgres.kill()
        monkeypatch.setattr(database, "WAIT", 1.0)
        with Workspace.open(ws) as workspace, pytest.raises(Unavailable) as found:
            workspace.erase(NOTE, yes=True)  # nobody could say later what its lines were
        assert "PostgreSQL" in str(found.value)
        assert (ws / NOTE).exists()
        assert run(["-C", str(ws), "erase", "--match", WORD, "--yes"]) == 69
        out = capfd.readouterr().out
        assert "PostgreSQL was not asked" in out
        assert "run the same `bonsai erase` again" in out
        assert WORD not in (ws / NOTE).read_text()
        assert run(["-C", str(ws), "erase", "--match", WORD, "--yes"]) == 69  # nothing here any more, and still unknown
        assert "PostgreSQL" in capfd.readouterr().err
        postgres.start()
        monkeypatch.setattr(database, "WAIT", 30.0)  # however busy the machine is
        assert run(["-C", str(ws), "erase", "--match", WORD, "--yes", "--json"]) == 0
        with psycopg.connect(postgres.url) as db:
            assert WORD not in str(db.execute("SELECT * FROM messages").fetchall())
        monkeypatch.delenv("DATABASE_URL")
        with Workspace.open(ws) as workspace, pytest.raises(Unavailable):
            workspace.erase(match=WORD, yes=True)  # it was used here, and nothing says how to reach it
        (ws / known_servers.NAME).unlink()
        with Workspace.open(ws) as workspace, pytest.raises(NotFound):
            workspace.erase(match=WORD, yes=True)


def test_servers_that_only_a_program_named_are_not_passed_over(
    ws: Path, redis_url: str, database_url: str, namespace: str, capfd: pytest.CaptureFixture[str]
) -> None:
    urls = {"redis_url": redis_url.replace("//", "//:s3cret@"), "database_url": database_url}
    urls["database_url"] = urls["database_url"].replace("postgres@", "postgres:s3cret@")
    where = {**urls, "redis_url": redis_url, "namespace": namespace}
    for _ in range(2):
        with Conversation.open(ws, **where, facts="postgres") as talk:
            talk.write_back("t", "ann", f"It is {WORD}.", "I see.", facts=[Told("code", WORD)])
    with Conversation.open(ws, **{**where, "redis_url": urls["redis_url"]}):
        pass  # the same server, and nothing is asked of it
    noted = (ws / known_servers.NAME).read_text()
    assert "s3cret" not in noted
    assert len(noted.splitlines()) == 2
    note(ws)
    assert run(["-C", str(ws), "erase", NOTE, "--yes"]) == 69
    err = capfd.readouterr().err
    assert "PostgreSQL 127.0.0.1:" in err
    assert "Once DATABASE_URL names it, try again." in err
    assert (ws / NOTE).exists()
    assert run(["-C", str(ws), "erase", "--match", WORD, "--yes", "--json"]) == 69
    told = json.loads(capfd.readouterr().out)
    assert [item["server"].partition(" ")[0] for item in told["servers"]] == ["PostgreSQL", "Redis"]
    assert {item["cause"] for item in told["servers"]} == {"nothing says how to reach it"}
    assert told["servers"][1]["server"].endswith(f"keys {namespace}:*")
    assert "Once REDIS_URL and BONSAI_NAMESPACE name it, run the same `bonsai" in told["servers"][1]["hint"]
    with Conversation.open(ws, **where, facts="postgres") as talk:
        assert WORD in talk.history("t")[0].content  # that was the truth
    with Workspace.open(ws) as workspace:
        half = workspace.erase(match=WORD, yes=True, redis_url=redis_url, namespace=namespace)
        assert [(item.server.partition(" ")[0], bool(item.cause)) for item in half.servers] == [
            ("Redis", False),
            ("PostgreSQL", True),
        ]
        done = workspace.erase(match=WORD, yes=True, **where)
        assert (done.complete, [item.server for item in done.servers]) == (True, ["Redis", "PostgreSQL"])
        with pytest.raises(NotFound):
            workspace.erase(match=WORD, yes=True, **where)
    with Conversation.open(ws, **where, facts="postgres") as talk:
        assert talk.history("t")[0].content == "It is [erased]."


def test_a_server_that_is_gone_for_good_is_taken_off_the_list(ws: Path) -> None:
    with Conversation.open(ws, redis_url="redis://127.0.0.1:1", database_url=""):
        pass
    note(ws)
    with Workspace.open(ws) as workspace:
        plan = workspace.erase(NOTE, dry_run=True)
        assert [item.server for item in plan.servers] == ["Redis 127.0.0.1:1/0, keys bonsai:*"]
        with pytest.raises(Unavailable) as found:
            workspace.erase(NOTE, yes=True)
        assert known_servers.NAME in found.value.hint
        (ws / known_servers.NAME).write_text("not what bonsai wrote\n\n")
        assert [item.server for item in workspace.erase(NOTE, dry_run=True).servers] == ["not what bonsai wrote"]
        (ws / known_servers.NAME).write_text("")
        assert workspace.erase(NOTE, yes=True).complete


@pytest.fixture
def libsql(tmp_path: Path) -> Iterator[Libsql]:
    made = Libsql(tmp_path / "sqld")
    made.start()
    yield made
    made.kill()


@needs_server
def test_the_cold_tier_on_a_server_forgets(ws: Path, libsql: Libsql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BONSAI_DB_URL", libsql.url)
    with Workspace.open(ws) as workspace:
        kept = workspace.remember("Bought milk in Oslo.", domain="daily", importance=0.3).path
        path = workspace.remember(f"The code of the barn is {WORD}.", domain="daily", importance=0.3).path
        workspace.hot_update("event", {"text": f"{WORD} came"})
        workspace.sync_critical()
        monkeypatch.setenv("BONSAI_NOW", "2027-06-01T00:00:00Z")
        workspace.consolidate()
        assert not (ws / path).exists()
        assert [hit.text for hit in workspace.cold_query("barn")] == [f"The code of the barn is {WORD}."]
        done = workspace.erase(match=WORD, yes=True)
        assert [(item.server, item.rows, item.cause) for item in done.servers] == [("libSQL", 2, "")]
        assert workspace.cold_query("barn") == []
        assert [hit.text for hit in workspace.cold_query("milk")] == ["Bought milk in Oslo."]
        assert workspace.erase(kept, yes=True).servers[0].rows == 1
        assert workspace.cold_query("milk") == []
        libsql.kill()
        with pytest.raises(Unavailable):
            workspace.erase(match="never written", yes=True)
        monkeypatch.delenv("BONSAI_DB_URL")
        with pytest.raises(Unavailable, match=r"libSQL 127\.0\.0\.1"):
            workspace.erase(match="never written", yes=True)
        monkeypatch.setenv("BONSAI_DB_URL", libsql.url)
    assert os.environ["BONSAI_DB_URL"]
