"""Every archive of the cold tier keeps the same promises: SQLite in a file, and a real libSQL server."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from libsql_server import Server, make_key, needs_server, token

from bonsai.adapters import cold_tables
from bonsai.adapters.cold_tables import ColdTables
from bonsai.adapters.libsql import Libsql, libsql_archive
from bonsai.adapters.sqlite_cold import sqlite_archive
from bonsai.errors import Refused, Unavailable, Usage
from bonsai.facts.archive import ColdRow, Critical
from bonsai.notes import forget


def row(number: int, text: str = "", agent: str = "default", category: str = "projects/x") -> ColdRow:
    return ColdRow(
        f"{number:012x}",
        agent,
        text or f"Fact number {number} about gardens",
        category,
        0.5,
        1_700_000_000 + number,
        number,
        f"memory/domains/{category}/fact-{number}.md",
        f"---\nid: x\n---\n\nFact {number} \xff".encode("latin-1"),
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("sqld") / "db")
    server.start()
    yield server
    server.kill()


@pytest.fixture(params=["sqlite", pytest.param("libsql", marks=needs_server)])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ColdTables]:
    if request.param == "sqlite":
        made = sqlite_archive(str(tmp_path / "cold.db"))
    else:
        server = request.getfixturevalue("server")
        made = libsql_archive(server.url)
        made.init()
        made.drop("default", sorted(made.known("default")))
        made.drop("juno", sorted(made.known("juno")))
    yield made
    made.close()


def test_what_is_put_comes_back_byte_for_byte(archive: ColdTables) -> None:
    rows = [row(1), row(2, "Ünïcode 記憶 'quotes' \"and\" %_! \n lines"), row(3)._replace(note=b"", path="")]
    archive.put(rows)
    assert archive.page("default", "", 10) == rows
    assert archive.page("default", rows[0].id, 1) == [rows[1]]
    assert archive.get("default", rows[0].path) == [rows[0]]
    assert archive.get("default", rows[1].id) == [rows[1]]
    assert archive.get("juno", rows[0].path) == []
    assert archive.known("default") == {item.id for item in rows}
    assert archive.counts("default") == {"projects/x": 3}


def test_rows_that_hold_what_is_forgotten_are_deleted(archive: ColdTables) -> None:
    what = forget.of_text("Zanzibar-7")
    noted = row(3)._replace(note=b"---\nid: x\n---\n\nIt is Zanzibar-7.\n")
    archive.put([row(1), row(2, "The code is Zanzibar-7"), noted, row(4, "zanzibar-7 of juno", agent="juno")])
    archive.put([row(5, "Zanzibar-7 of juno", agent="juno")])
    archive.save_critical("juno", Critical('{"lessons": ["Zanzibar-7"]}', 5))
    assert archive.erase(what, count=True) == 4
    assert archive.known("default") == {row(n).id for n in (1, 2, 3)}
    assert archive.erase(what) == 4
    assert archive.known("default") == {row(1).id}
    assert archive.known("juno") == {row(4).id}
    assert archive.critical("juno") is None
    assert [item.id for item in archive.search("default", ["fact"], 10)] == [row(1).id]
    assert archive.erase(what) == 0


def test_a_note_goes_by_its_path_in_the_tree_of_its_agent_alone(archive: ColdTables) -> None:
    archive.put([row(1), row(2)._replace(path=row(1).path, agent="juno")])
    assert archive.erase(forget.Forget(names=frozenset({row(1).path}))) == 1
    assert archive.known("default") == set()
    assert archive.known("juno") == {row(2).id}


def test_putting_again_changes_nothing_twice(archive: ColdTables) -> None:
    archive.put([row(1)])
    archive.put([row(1), row(1)])
    newer = row(1)._replace(text="Another text", accesses=0)
    archive.put([newer])
    assert archive.page("default", "", 10) == [newer._replace(accesses=1)]  # what was counted is not forgotten
    assert [item.id for item in archive.search("default", ["another"], 5)] == [newer.id]
    assert archive.search("default", ["gardens"], 5) == []


def test_agents_do_not_see_each_other(archive: ColdTables) -> None:
    archive.put([row(1), row(2, agent="juno")])
    archive.put([row(1, "stolen", agent="juno")])  # the id of another agent's row
    assert [item.text for item in archive.page("default", "", 9)] == [row(1).text]
    assert [item.id for item in archive.search("juno", ["fact"], 9)] == [row(2).id]
    archive.drop("juno", [row(1).id, row(2).id])
    assert archive.known("default") == {row(1).id}
    assert archive.known("juno") == set()


def test_it_finds_by_words(archive: ColdTables) -> None:
    archive.put([row(1, "We deploy to the testnet first"), row(2, "Blockchain decision: BSC", category="chain/bsc")])
    archive.put([row(3, "Nothing at all", category="misc")])
    assert [item.id[-1] for item in archive.search("default", ["blockchain", "decision"], 9)] == ["2"]
    assert [item.id[-1] for item in archive.search("default", ["deploy"], 9)] == ["1"]
    assert {item.id[-1] for item in archive.search("default", ["testnet", "chain"], 9)} >= {"1", "2"}
    assert len(archive.search("default", ["deploy", "blockchain", "nothing"], 2)) == 2


def test_it_asks_for_the_words_once_and_not_for_each_row(archive: ColdTables) -> None:
    archive.put([row(number) for number in range(50)])
    [plan] = archive._run([(f"EXPLAIN QUERY PLAN {cold_tables._BY_WORDS}", ('"fact"*', "default", 5))])
    steps = [str(step[-1]) for step in plan if str(step[-1]).startswith(("SCAN", "SEARCH"))]
    assert "cold_words" in steps[0] and all(step.startswith("SEARCH") for step in steps[1:]), steps


@pytest.mark.parametrize(
    "word", ["", "  ", "%", "_", '"', "'; DROP TABLE cold_memories; --", "a OR b", "NEAR(", "*", "\0", "-", "x" * 5000]
)
def test_words_are_only_text(archive: ColdTables, word: str) -> None:
    archive.put([row(1)])
    archive.search("default", [word], 5)
    assert archive.known("default") == {row(1).id}


def test_a_server_without_full_text_finds_too(tmp_path: Path) -> None:
    archive = sqlite_archive(str(tmp_path / "cold.db"))
    run = archive._run

    def without(statements):
        if any("fts5" in sql or "cold_words" in sql for sql, _ in statements):
            raise Refused("no such module: fts5")
        return run(statements)

    archive._run = without
    archive.put([row(1, "100% of gardens"), row(2, "1000 gardens")])
    assert [item.id[-1] for item in archive.search("default", ["100%"], 9)] == ["1"]
    assert {item.id[-1] for item in archive.search("default", ["garden", "nothing"], 9)} == {"1", "2"}
    archive.drop("default", [row(1).id])
    assert archive.known("default") == {row(2).id}


def test_rows_of_the_original_are_taken_over(archive: ColdTables) -> None:
    archive.init()
    columns = "(id, agent_id, text, category, importance, created_at)"
    insert = f"INSERT INTO cold_memories {columns} VALUES (?, ?, ?, ?, ?, ?)"
    archive._run([(insert, ("0123456789ab", "default", "Old fact about trees", "old", 0.7, 1))])
    archive.init()
    assert archive.search("default", ["trees"], 5) == [
        ColdRow("0123456789ab", "default", "Old fact about trees", "old", 0.7, 1)
    ]


def test_an_older_state_never_replaces_a_newer(archive: ColdTables) -> None:
    agent = "someone"
    archive.init()
    archive._run([("DELETE FROM critical_state WHERE agent_id = ?", (agent,))])
    assert archive.critical(agent) is None
    assert archive.save_critical(agent, Critical('{"a": 1}', 100))
    assert not archive.save_critical(agent, Critical('{"a": 0}', 99))
    assert archive.save_critical(agent, Critical('{"a": 1}', 100))  # sent again, since the answer was lost
    assert archive.save_critical(agent, Critical('{"a": 2}', 101))
    assert archive.critical(agent) == Critical('{"a": 2}', 101)


def test_a_batch_is_whole_or_nothing(archive: ColdTables) -> None:
    archive.put([row(1)])
    with pytest.raises(Refused):
        archive._run([("DELETE FROM cold_memories", ()), ("INSERT INTO no_such_table VALUES (1)", ())])
    assert archive.known("default") == {row(1).id}


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("", Usage),
        ("file:///etc/passwd", Usage),
        ("ftp://x", Usage),
        ("http://", Usage),
        ("http://user:pw@host", Usage),
        ("https://host/?authToken=abc", Usage),
        ("http://example.org", Refused),
        ("http://h\n.org", Usage),
    ],
)
def test_an_address_that_is_none_or_would_tell_the_token_is_refused(url: str, wanted: type[Exception]) -> None:
    with pytest.raises(wanted):
        Libsql(url, "t0ken")


def test_it_tries_again_with_longer_and_longer_waits() -> None:
    waits: list[float] = []
    with pytest.raises(Unavailable) as raised:
        libsql_archive("http://127.0.0.1:9", "s3cret-t0ken", sleep=waits.append).init()
    assert waits == [5, 10, 20, 40]
    assert "s3cret" not in f"{raised.value!r} {raised.value} {raised.value.hint} {raised.value.__cause__!r}"
    assert "s3cret" not in repr(Libsql("http://127.0.0.1:9", "s3cret-t0ken"))


@needs_server
def test_the_token_decides_who_may_write(tmp_path: Path) -> None:
    private, public = make_key(tmp_path)
    server = Server(tmp_path / "db", public)
    server.start()
    try:
        libsql_archive(server.url, token(private)).put([row(1)])
        with pytest.raises(Refused):
            libsql_archive(server.url, token(private, "ro")).put([row(2)])
        for wrong in ("", token(private, "rw", -3600), "not.a.token"):
            with pytest.raises(Refused):
                libsql_archive(server.url, wrong).known("default")
        assert libsql_archive(server.url, token(private)).known("default") == {row(1).id}
    finally:
        server.kill()


@needs_server
def test_a_server_killed_in_the_middle_loses_nothing_and_has_nothing_twice(tmp_path: Path) -> None:
    server = Server(tmp_path / "db")
    server.start()
    sent, stop = 0, threading.Event()

    def again(_: float) -> None:
        stop.wait(0.2)

    def send(archive: ColdTables) -> Iterator[int]:
        for batch in range(12):
            archive.put([row(batch * 50 + number) for number in range(50)])
            yield batch

    def disturb() -> None:
        for pause in (0.05, 0.11, 0.23):
            stop.wait(pause)
            server.kill()
            server.start()

    libsql_archive(server.url).init()
    killer = threading.Thread(target=disturb)
    killer.start()
    try:
        for _ in send(libsql_archive(server.url, retries=200, sleep=again)):
            sent += 1
        killer.join()
        archive = libsql_archive(server.url)
        rows = archive.page("default", "", 10_000)
        assert sent == 12
        assert rows == [row(number) for number in range(600)]
        assert len(archive.search("default", ["gardens"], 10_000)) == 600
    finally:
        stop.set()
        killer.join()
        server.kill()
