"""A cold tier that is damaged, slow or away: said where it matters, mended without a loss, and nobody waits twice."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hrana import Hrana, hrana

from bonsai import Workspace, reaching
from bonsai.adapters import libsql, sqlite_cold
from bonsai.errors import IoFailed, Unavailable
from bonsai.passes.remember import Wanted
from verbs.sandbox import Sandbox

At = Callable[[str], None]
LATER = "2026-06-15T08:15:00Z"
SOON, AFTER = "2026-06-15T08:16:00Z", "2026-06-15T08:21:00Z"
COLD = ".bonsai/cold.db"


# -- a damaged file ------------------------------------------------------------------------------------


@pytest.fixture
def evicted(box: Sandbox, at: At) -> Sandbox:
    """A workspace of which two facts have left, and whose cold tier holds a third that another tool wrote."""
    texts = ["Bought milk at the shop.", "Bought bread at the mill."]
    box.ws.remember_all([Wanted(text, "daily", importance=0.3) for text in texts])
    at(LATER)
    box.ws.consolidate()
    box.close()
    with closing(sqlite3.connect(box.root / COLD)) as db, db:
        db.execute(
            "INSERT INTO cold_memories (id, agent_id, text, category, created_at) VALUES (?, ?, ?, ?, ?)",
            ("0123456789ab", "default", "Bought honey, said another tool.", "daily", 1_750_000_000),
        )
    box.ws.cold_init()
    box.close()
    return box


def texts(box: Sandbox) -> list[str]:
    return sorted(hit.text for hit in box.ws.cold_query("bought"))


def test_every_command_that_needs_a_damaged_cold_tier_says_so(evicted: Sandbox) -> None:
    evicted.write(COLD, b"no database at all")
    evicted.ws.remember("Bought salt.", domain="daily", importance=0.0)
    for _ in range(2):
        [warning] = evicted.ws.recall("bought").warnings
        assert COLD in warning and "damaged (file is not a database)" in warning and "doctor --fix" in warning
        ws = evicted.ws
        ws.tree_show()
        assert any(COLD in said for said in ws.cold_warnings()) and ws.cold_warnings() == []
        for verb in (lambda: evicted.ws.cold_query("bought"), evicted.ws.sync_critical, evicted.ws.tree_prune):
            with pytest.raises(IoFailed) as caught:
                verb()
            assert caught.value.path == COLD and "doctor --fix" in caught.value.hint
        evicted.close()
    assert evicted.read(COLD) == b"no database at all"


def test_nothing_leaves_for_a_damaged_cold_tier(evicted: Sandbox, at: At) -> None:
    path = evicted.ws.remember("Bought salt.", domain="daily", importance=0.1).path
    evicted.ws.tree_add("attic", "Nothing yet")
    at("2027-01-01T08:15:00Z")
    evicted.write(COLD, b"no database at all")
    evicted.close()
    with pytest.raises(IoFailed):
        evicted.ws.consolidate("full")
    assert evicted.has(path)


def test_doctor_makes_it_anew_out_of_the_history(evicted: Sandbox) -> None:
    evicted.write(COLD, b"no database at all")
    [check] = [check for check in evicted.ws.doctor().checks if check.name == "cold tier"]
    assert not check.ok and COLD in check.message and "doctor --fix" in check.message
    [done] = [said for said in evicted.ws.doctor(fix=True).fixed if COLD in said]
    assert "0 of its rows could be read, 2 are from the history" in done
    [kept] = [path for path in evicted.files() if path.startswith(f"{COLD}.broken-")] or [
        f".bonsai/{path.name}" for path in (evicted.root / ".bonsai").glob("cold.db.broken-*")
    ]
    assert evicted.read(kept) == b"no database at all" and kept in done
    assert texts(evicted) == ["Bought bread at the mill.", "Bought milk at the shop."]
    assert all(check.ok for check in evicted.ws.doctor().checks if check.name == "cold tier")
    milk = evicted.ws.cold_query("milk")[0]
    assert evicted.ws.restore(milk.id).restored == [milk.path]


def test_doctor_saves_what_can_be_read_and_nothing_else_holds(evicted: Sandbox) -> None:
    evicted.ws.hot_update("identity", {"agent_name": "Alex"})
    evicted.ws.sync_critical()
    evicted.close()
    with closing(sqlite3.connect(evicted.root / COLD)) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        [page] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'cold_words_data'").fetchone()
    with open(evicted.root / COLD, "r+b") as file:  # the index of the words
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    assert "damaged" in evicted.ws.cold_fault()
    [done] = [said for said in evicted.ws.doctor(fix=True).fixed if COLD in said]
    assert "3 of its rows could be read, 0 are from the history" in done
    assert texts(evicted) == [
        "Bought bread at the mill.",
        "Bought honey, said another tool.",
        "Bought milk at the shop.",
    ]
    assert not evicted.ws.sync_critical().synced or evicted.ws.hot()["identity"] == {"agent_name": "Alex"}


def test_a_file_that_lost_its_bytes_is_damaged_and_a_new_one_is_not(evicted: Sandbox) -> None:
    evicted.write(COLD, b"")
    os.utime(evicted.root / COLD, (1_700_000_000, 1_700_000_000))
    with pytest.raises(IoFailed, match="empty"):
        evicted.ws.cold_query("bought")
    evicted.ws.doctor(fix=True)
    assert len(texts(evicted)) == 2
    assert sqlite_cold.fault(str(evicted.root / "nowhere.db")) == ""


def test_a_file_that_somebody_is_writing_is_not_made_anew(evicted: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    before = evicted.read(COLD)
    monkeypatch.setattr("bonsai.adapters.sqlite_store.PATIENCE", 0.01)
    with closing(sqlite3.connect(evicted.root / COLD, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        assert not any("anew" in said for said in evicted.ws.doctor(fix=True).fixed)
    assert evicted.read(COLD)[:100] == before[:100]
    assert len(texts(evicted)) == 3


# -- a server that is slow or away ---------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hrana]:
    monkeypatch.setattr(reaching, "HASTE", 60.0)  # a busy machine is no slow server
    monkeypatch.setattr(reaching, "COSTLY", 0.05)
    with hrana() as server:
        monkeypatch.setenv("BONSAI_DB_URL", server.url)
        monkeypatch.setenv("BONSAI_DB_TOKEN", server.token)
        yield server


@contextmanager
def hanging(server: Hrana) -> Iterator[None]:
    """The server answers nobody."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reaching, "HASTE", 0.2)
        server.hangs.set()
        yield
        server.hangs.clear()


def asked(server: Hrana, act: Callable[[], object]) -> int:
    """How many requests something makes."""
    before = server.requests
    act()
    return server.requests - before


def test_a_server_that_keeps_one_waiting_is_left_alone_for_a_while(box: Sandbox, server: Hrana, at: At) -> None:
    box.ws.remember("Bought milk.", domain="daily")
    at(LATER)
    with hanging(server):
        [warning] = box.ws.recall("milk").warnings
    assert "cannot be reached" in warning and "left alone for 5 minutes" in warning and "cold --query" in warning
    box.close()
    at(SOON)
    for verb in (lambda: box.ws.recall("milk"), box.ws.tree_show, box.ws.metrics):
        assert asked(server, verb) == 0
    assert box.ws.recall("milk").warnings == [] and box.ws.cold_warnings() == []
    report = box.ws.remember("Bought bread.", domain="daily")
    assert not report.cold_synced
    at(AFTER)
    assert asked(server, lambda: box.ws.recall("milk")) > 0
    assert box.ws.remember("Bought salt.", domain="daily").cold_synced
    assert {row[0].strip() for row in server.rows("SELECT text FROM cold_memories")} == {
        "Bought milk.",
        "Bought bread.",
        "Bought salt.",
    }


def test_cold_query_asks_all_the_same_and_an_answer_ends_the_outage(box: Sandbox, server: Hrana, at: At) -> None:
    box.ws.remember("Bought milk.", domain="daily")
    with hanging(server):
        box.ws.recall("milk")
    assert asked(server, lambda: box.ws.recall("milk")) == 0
    assert [hit.text for hit in box.ws.cold_query("milk")] == ["Bought milk."]
    assert asked(server, lambda: box.ws.recall("milk")) > 0


def test_another_server_is_asked(box: Sandbox, server: Hrana) -> None:
    with hanging(server):
        box.ws.recall("milk")
    with hrana() as other:
        ws = box.ws
        ws.connect(other.url, other.token)
        assert asked(other, lambda: ws.recall("milk")) > 0


def test_a_server_that_refuses_at_once_costs_nothing_and_is_asked_each_time(
    box: Sandbox, server: Hrana, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaching, "COSTLY", 60.0)
    server.down = True
    for _ in range(2):
        [warning] = box.ws.recall("milk").warnings
        assert "503" in warning and "left alone" not in warning
    server.down = False
    assert box.ws.recall("milk").warnings == []


def test_no_node_is_taken_away_while_nobody_can_say_what_it_holds(
    box: Sandbox, server: Hrana, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.ws.tree_add("attic", "Nothing yet")
    at(LATER)
    monkeypatch.setattr(reaching, "COSTLY", 60.0)
    server.down = True
    with pytest.raises(Unavailable):
        box.ws.tree_remove("attic")
    report = box.ws.consolidate("daily")
    assert report.pruned == [] and any("no node" in warning for warning in report.warnings)
    server.down = False
    assert box.ws.consolidate("daily").pruned == ["attic"]


def test_a_warm_server_answers_a_recall_in_one_request(box: Sandbox, server: Hrana) -> None:
    box.ws.remember("Bought milk.", domain="daily")
    ws = box.ws
    ws.recall("milk")
    assert asked(server, lambda: ws.recall("milk")) == 1
    assert asked(server, lambda: box.ws.recall("milk")) == 2
    assert Path(box.root / reaching.AWAY).exists() is False


def test_nobody_else_waits_while_a_consolidate_waits_for_the_server(
    box: Sandbox, server: Hrana, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = box.ws.remember("Bought milk.", domain="daily", importance=0.3).path
    at(LATER)
    server.down = True
    written: list[str] = []

    def meanwhile(_: float) -> None:  # what others do while it waits for the server to come back
        with Workspace.open(box.root) as other:
            written.append(other.remember("Bought salt.", domain="daily", importance=1.0).path)
        server.down = False

    real = libsql.libsql_archive
    monkeypatch.setattr(libsql, "libsql_archive", lambda *given, **how: real(*given, **how, sleep=meanwhile))
    report = box.ws.consolidate()
    assert report.evicted == [path] and box.has(written[0])
    assert server.rows("SELECT text FROM cold_memories WHERE text LIKE '%milk%'")
    box.assert_clean()


def test_what_cannot_be_sent_stays_in_the_tree(box: Sandbox, server: Hrana, at: At) -> None:
    path = box.ws.remember("Bought milk.", domain="daily", importance=0.3).path
    box.write("bonsai.toml", "[cold]\nretries = 0\n")
    box.ws.commit()
    at(LATER)
    before = box.head()
    server.down = True
    with pytest.raises(Unavailable):
        box.ws.consolidate()
    assert box.has(path) and box.head() == before
