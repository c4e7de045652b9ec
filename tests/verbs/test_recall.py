"""Recall as it was, what is gone, filters, modes; and that an index is never believed where the disk says otherwise."""

import json
import os
import random
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.adapters.sqlite_search import SqliteSearch
from bonsai.adapters.sqlite_state import SqliteState
from bonsai.errors import BadData, Busy, NotFound, Refused, Usage
from bonsai.finding import Finding
from verbs.sandbox import GENERAL, Sandbox, set_time

NOTE = f"{GENERAL}/sea.md"


def paths(report) -> list[str]:
    return [hit.path for hit in report.hits]


def found(space: Workspace, query: str, **more) -> list[tuple]:
    return [(hit.path, hit.lines, hit.text, hit.score) for hit in space.recall(query, **more).hits]


@pytest.fixture
def sea(garden: Sandbox) -> Sandbox:
    """A note with a past: written, edited, and edited again on three days."""
    for day, text in (("01", "The kraken wakes.\n"), ("05", "The kraken sleeps.\n"), ("09", "The squid sleeps.\n")):
        set_time(f"2026-04-{day}T12:00:00Z")
        garden.write(NOTE, f"# Sea\n\n{text}")
        garden.ws.commit()
    return garden


# -- as it was -----------------------------------------------------------------------------------------------


def test_at_a_day_the_memory_answers_as_it_was(sea: Sandbox) -> None:
    assert sea.ws.recall("kraken").hits == []
    assert "wakes" in sea.ws.recall("kraken", at="2026-04-02").hits[0].text
    assert "sleeps" in sea.ws.recall("kraken", at="2026-04-05").hits[0].text
    report = sea.ws.recall("squid", at="HEAD")
    assert report.at == sea.head() and paths(report) == [NOTE]
    assert sea.ws.recall("squid", at="HEAD~1").hits == []


def test_at_changes_nothing_and_is_kept_within_bounds(sea: Sandbox) -> None:
    before, head = sea.files(), sea.head()
    for number in range(sea.count()):
        sea.ws.recall("kraken", at=f"HEAD~{number}")
    assert (sea.files(), sea.head()) == (before, head)
    kept = [path for path in (sea.root / ".bonsai/cache/at").iterdir() if path.suffix == ".db"]
    assert 1 <= len(kept) <= 8
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept)


def test_at_a_point_that_there_is_not(sea: Sandbox) -> None:
    for point in ("1999-01-01", "no-such-branch"):
        with pytest.raises(NotFound):
            sea.ws.recall("kraken", at=point)
    with pytest.raises(BadData):
        sea.ws.recall("kraken", at="2026-02-31")
    with pytest.raises(Usage):
        sea.ws.recall("kraken", at="HEAD", deleted=True)


def test_at_equals_a_checkout_of_that_day(garden: Sandbox, tmp_path: Path) -> None:
    chance = random.Random(11)
    words = [f"word{number}" for number in range(30)] + ["kraken", "multi-agent", "getUserName", "数据库"]
    commits = []
    for step in range(8):
        set_time(f"2026-04-{step + 1:02}T12:00:00Z")
        for _ in range(4):
            path = f"memory/domains/d{chance.randint(0, 2)}/n{chance.randint(0, 6)}.md"
            if chance.random() < 0.2 and garden.has(path):
                os.remove(garden.root / path)
                continue
            lines = "".join(f"- {' '.join(chance.choices(words, k=6))}\n" for _ in range(chance.randint(1, 8)))
            garden.write(
                path, f"---\ntitle: {chance.choice(words)}\nupdated: 2026-04-{step + 1:02}\n---\n# N\n\n{lines}"
            )
        garden.ws.commit()
        garden.ws.recall(chance.choice(words))  # the index goes on from one state to the next
        commits.append(garden.head())
    old = Sandbox(tmp_path / "old")
    subprocess.run(["git", "clone", "-q", str(garden.root), str(old.root)], check=True)
    pairs = [(" ".join(chance.sample(words, 2)), chance.choice(commits)) for _ in range(100)]
    here, there, last = garden.ws, old.ws, ""
    for number, (query, commit) in enumerate(sorted(pairs, key=lambda pair: pair[1])):
        if commit != last:
            old.git("checkout", "-q", commit)
            last = commit
        if number % 25 == 0:
            shutil.rmtree(old.root / ".bonsai", ignore_errors=True)  # an index made at once, and one that went on
        assert found(here, query, at=commit) == found(there, query), (query, commit)
    assert found(here, "kraken") == found(here, "kraken", at="HEAD") != []
    old.close()


# -- what is gone --------------------------------------------------------------------------------------------


def test_what_was_edited_away_is_found_and_brought_back(sea: Sandbox) -> None:
    hits = sea.ws.recall("kraken", deleted=True).hits
    assert {hit.text.splitlines()[-1] for hit in hits} == {"The kraken wakes.", "The kraken sleeps."}
    assert {hit.path for hit in hits} == {NOTE}
    (hit,) = [hit for hit in hits if "wakes" in hit.text]
    assert hit.restore.startswith(f"bonsai restore {NOTE}@")
    sea.ws.restore(hit.restore.removeprefix("bonsai restore "))
    assert sea.read(NOTE) == b"# Sea\n\nThe kraken wakes.\n"
    again = sea.ws.recall("kraken wakes", deleted=True).hits
    assert "wakes" not in " ".join(hit.text for hit in again)  # it is not gone any more
    assert "squid" in " ".join(hit.text for hit in sea.ws.recall("squid", deleted=True).hits)


def test_what_stands_is_not_gone(sea: Sandbox) -> None:
    assert sea.ws.recall("squid", deleted=True).hits == []
    sea.ws.move(NOTE, "ocean")
    assert sea.ws.recall("squid", deleted=True).hits == []
    sea.write("memory/domains/ocean/sea.md", "# Sea\n\nThe squid sleeps.\nAnd more.\n")
    assert sea.ws.recall("squid", deleted=True).hits == []


def test_an_archive_and_a_deleted_note_are_found(sea: Sandbox) -> None:
    sea.ws.archive(NOTE)
    archive = NOTE.replace(".md", "__DELETE.md")
    hits = {hit.path: hit.restore for hit in sea.ws.recall("squid", deleted=True).hits}
    assert hits == {archive: f"bonsai restore {archive}"}
    os.remove(sea.root / archive)
    sea.ws.commit()
    (hit,) = sea.ws.recall("squid", deleted=True).hits
    sea.ws.restore(hit.restore.removeprefix("bonsai restore "))
    assert sea.ws.recall("squid").hits or sea.ws.recall("squid", deleted=True).hits


def test_of_equal_texts_the_one_that_stood_last_comes_back(sea: Sandbox) -> None:
    """After a migrate every note has an older twin in MEMORY.md; that one would bring back all of the others, too."""
    twin = f"{GENERAL}/moved.md"
    sea.write("MEMORY.md", "# Sea\n\n## Squid kraken\n\nThe kraken dives.\n")
    sea.ws.commit()
    sea.write("MEMORY.md", "# Sea\n")
    sea.write(twin, "The kraken dives.\n")
    sea.ws.commit()
    sea.write(twin, "It dives.\n")
    sea.ws.commit()
    (hit,) = [hit for hit in sea.ws.recall("squid kraken dives", deleted=True).hits if "dives" in hit.text]
    assert hit.path == twin and hit.restore.startswith(f"bonsai restore {twin}@")


def test_an_edit_that_no_commit_has_yet(sea: Sandbox) -> None:
    sea.write(NOTE, "# Sea\n\nNothing.\n")
    (hit,) = sea.ws.recall("squid", deleted=True).hits
    assert hit.text.endswith("The squid sleeps.") and f"@{sea.head()[:10]}" in hit.restore


def test_a_rewritten_past_is_read_anew(sea: Sandbox) -> None:
    assert sea.ws.recall("kraken", deleted=True).hits
    sea.git("checkout", "-q", "--orphan", "fresh")
    sea.git("commit", "-q", "-m", "all anew")
    assert sea.ws.recall("kraken", deleted=True).hits == []


# -- filters -------------------------------------------------------------------------------------------------


def test_actor_is_who_changed_a_note_last(sea: Sandbox) -> None:
    sea.write(f"{GENERAL}/ours.md", "The kraken dreams.\n")
    sea.opened(actor="agent:wren").commit()
    sea.write(f"{GENERAL}/late.md", "The kraken drifts.\n")
    assert paths(sea.ws.recall("kraken", actor="agent:wren")) == [f"{GENERAL}/ours.md"]
    assert paths(sea.ws.recall("kraken", actor="wren")) == [f"{GENERAL}/ours.md"]
    assert paths(sea.ws.recall("kraken", actor="human")) == [f"{GENERAL}/late.md"]
    assert sea.ws.recall("kraken", actor="nobody").hits == []


def test_a_note_without_a_day_is_of_the_day_of_its_last_change(sea: Sandbox) -> None:
    assert paths(sea.ws.recall("squid", since="2026-04-09")) == [NOTE]
    assert sea.ws.recall("squid", until="2026-04-08").hits == []
    with pytest.raises(BadData):
        sea.ws.recall("squid", since="2026-02-31")
    with pytest.raises(Usage, match="is later than"):
        sea.ws.recall("squid", since="2026-04-10", until="2026-04-09")


def test_another_agents_tree_is_its_own(sea: Sandbox) -> None:
    sea.write("memory/agents/juno/domains/x/n.md", "The kraken of Juno.\n")
    sea.write("MEMORY-juno.md", "- Juno likes squid\n")
    assert "juno" not in " ".join(paths(sea.ws.recall("kraken squid")))
    assert set(paths(sea.opened(agent="juno").recall("kraken squid"))) == {
        "memory/agents/juno/domains/x/n.md",
        "MEMORY-juno.md",
    }


# -- an index is only a cache --------------------------------------------------------------------------------


def test_it_is_found_whatever_became_of_the_index(sea: Sandbox) -> None:
    cache = sea.root / ".bonsai/cache"
    for number, harm in enumerate((shutil.rmtree, lambda path: (path / "search.db").write_bytes(b"x" * 9000))):
        sea.ws.recall("squid")
        sea.close()
        harm(cache)
        sea.write(f"{GENERAL}/n{number}.md", f"The whale {number} sings.\n")
        assert paths(sea.ws.recall(f"whale {number}"))[0] == f"{GENERAL}/n{number}.md"
        assert paths(sea.ws.recall("squid")) == [NOTE]


def test_an_index_that_lies_is_not_believed(sea: Sandbox) -> None:
    """A text in the index that the note does not hold: damage that SQLite does not see."""
    space = sea.ws
    space.recall("squid")
    index = space._index()
    with index.writing(), index._using() as db:
        db.execute("UPDATE passages SET text = 'The squid lies.' WHERE text LIKE '%squid sleeps%'")
    (hit,) = space.recall("squid").hits
    assert hit.text == "# Sea\n\nThe squid sleeps."


def test_an_index_that_lost_a_note_is_not_believed(sea: Sandbox) -> None:
    """Passages of a note that is not there: two processes at one damaged file leave such; a traceback."""
    space = sea.ws
    space.recall("squid")
    index = space._index()
    with index.writing(), index._using() as db:
        db.execute("DELETE FROM notes WHERE path = ?", (NOTE.encode(),))
    assert paths(space.recall("squid")) == [NOTE]
    with index.writing(), index._using() as db:
        db.execute("UPDATE passages SET note = 4711 WHERE text LIKE '%squid%'")
    assert paths(space.recall("squid")) == [NOTE]
    assert "contradict" in index.rebuilt


def test_it_reads_beside_a_writer_and_without_a_place_to_write(sea: Sandbox) -> None:
    space = sea.ws
    space.recall("squid")
    other = Workspace.open(sea.root)
    other.recall("squid")
    with other._index().writing():
        sea.write(NOTE, "# Sea\n\nThe whale sings.\n")
        sea.write(f"{GENERAL}/new.md", "A whale, too.\n")
        os.remove(sea.root / f"{GENERAL}/todo.md") if sea.has(f"{GENERAL}/todo.md") else None
        assert set(paths(space.recall("whale"))) == {NOTE, f"{GENERAL}/new.md"}
        assert space.recall("squid").hits == []
    other.close()
    assert set(paths(space.recall("whale"))) == {NOTE, f"{GENERAL}/new.md"}
    sea.close()
    shutil.rmtree(sea.root / ".bonsai")
    (sea.root / ".bonsai").symlink_to(sea.root / "memory")  # refused, so nothing is kept
    assert set(paths(sea.ws.recall("whale"))) == {NOTE, f"{GENERAL}/new.md"}


def test_the_same_size_and_time_do_not_hide_an_edit(sea: Sandbox) -> None:
    before = os.stat(sea.root / NOTE)
    sea.ws.recall("squid")
    sea.write(NOTE, "# Sea\n\nThe whale sleeps.\n")
    os.utime(sea.root / NOTE, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert sea.ws.recall("squid").hits == [] and paths(sea.ws.recall("whale")) == [NOTE]


def test_many_recalls_while_notes_are_saved(garden: Sandbox) -> None:
    """No error, no hit whose text was gone before the question, none missing that stood there."""
    rounds = 2000 if os.environ.get("BONSAI_FAULTS") == "all" else 40
    stop, errors = threading.Event(), list[BaseException]()
    spaces = [Workspace.open(garden.root) for _ in range(3)]

    def edit() -> None:
        number = 0
        while not stop.wait(0.002):
            number += 1
            garden.write(f"{GENERAL}/busy{number % 7}.md", f"The busy bee {number}.\n")
            if number % 5 == 0:
                temp = garden.root / f"{GENERAL}/.tmp.swp"
                temp.write_text(f"The busy wasp {number}.\n")
                os.replace(temp, garden.root / f"{GENERAL}/wasp.md")

    def ask(space: Workspace) -> None:
        try:
            for number in range(rounds):
                text = f"The marker {id(space)}x{number}."
                garden.write(f"{GENERAL}/m{id(space)}.md", f"{text}\n")
                hits = space.recall(f"marker {id(space)}x{number} bee wasp").hits
                assert text in [hit.text for hit in hits]
                assert not [hit.text for hit in hits if f"{id(space)}x" in hit.text and hit.text != text]
        except BaseException as error:
            errors.append(error)

    editor = threading.Thread(target=edit)
    askers = [threading.Thread(target=ask, args=(space,)) for space in spaces]
    for thread in (editor, *askers):
        thread.start()
    for thread in askers:
        thread.join()
    stop.set()
    editor.join()
    for space in spaces:
        space.close()
    assert errors == []


def test_use_is_counted_beside_the_notes(sea: Sandbox) -> None:
    before = sea.files()
    for _ in range(3):
        sea.ws.recall("squid")
    sea.ws.recall("squid", at="HEAD")
    state = SqliteState(f"{sea.root}/.bonsai/state.db")
    count, last = state.uses()[NOTE]
    assert (count, last) == (3, "2026-04-09T12:00:00Z")
    state.close()
    assert sea.files() == before
    assert stat.S_IMODE((sea.root / ".bonsai/state.db").stat().st_mode) == 0o600
    (sea.root / ".bonsai/state.db").write_bytes(b"nonsense" * 1000)
    assert sea.ws.recall("squid").hits  # counting never stands in the way


def test_a_workspace_that_is_gone_is_not_an_empty_one(sea: Sandbox) -> None:
    """A server that runs answered that nothing is found, and made the folder anew for its index."""
    space = sea.ws
    space.recall("squid")
    away = sea.root.with_name("away")
    sea.root.rename(away)
    for ask in (
        lambda: space.recall("squid"),
        space.status,
        lambda: space.daily_add("x"),
        lambda: space.recall("s", at="HEAD"),
    ):
        with pytest.raises(NotFound, match="is gone"):
            ask()
    assert not sea.root.exists()
    away.rename(sea.root)
    assert paths(space.recall("squid")) == [NOTE]


def test_what_is_gone_is_found_whatever_became_of_the_index(sea: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that another process harms while it is asked: it was told as `Busy`, with the path of a cache."""
    sea.write(NOTE, "# Sea\n\nThe whale sings.\n")
    sea.ws.commit()
    assert [hit.text for hit in sea.ws.recall("squid", deleted=True).hits] == ["# Sea\n\nThe squid sleeps."]

    def harmed(*_: object, **__: object) -> None:
        raise Busy("the search index cannot be used: database disk image is malformed")

    monkeypatch.setattr(SqliteSearch, "search", harmed)
    assert [hit.text for hit in sea.ws.recall("squid", deleted=True).hits] == ["# Sea\n\nThe squid sleeps."]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/etc/passwd", path)], ids=["pipe", "symlink"])
def test_what_is_gone_is_found_beside_an_archive_that_is_no_file(sea: Sandbox, make: Callable[[Path], None]) -> None:
    sea.write(NOTE, "# Sea\n\nThe whale sings.\n")
    sea.write(f"{GENERAL}/odd__DELETE.md", "An octopus.\n")
    sea.ws.commit()
    (sea.root / f"{GENERAL}/odd__DELETE.md").unlink()
    make(sea.root / f"{GENERAL}/odd__DELETE.md")
    assert [hit.text for hit in sea.ws.recall("squid", deleted=True).hits] == ["# Sea\n\nThe squid sleeps."]


# -- by branches of the tree ---------------------------------------------------------------------------------


@pytest.fixture
def grove(garden: Sandbox) -> Sandbox:
    garden.write("memory/domains/projects/evoclaw/bsc.md", "---\ntitle: BSC integration\n---\nThe deadline is May.\n")
    garden.write("memory/domains/travel/trips.md", "---\ntitle: Trips\n---\nThe deadline of the visa is June.\n")
    return garden


def test_mode_tree_searches_the_branches_whose_names_answer(grove: Sandbox) -> None:
    report = grove.ws.recall("evoclaw deadline", mode="tree")
    assert paths(report) == ["memory/domains/projects/evoclaw/bsc.md"]
    assert report.branches[0].startswith("projects/evoclaw (") and report.warnings == []
    report = grove.ws.recall("visa", mode="tree")
    assert paths(report) == ["memory/domains/travel/trips.md"] and "everything" in report.warnings[0]


def test_mode_tree_knows_every_title_of_a_large_branch(grove: Sandbox) -> None:
    """A prompt has room for a few titles; with words alone there is no such reason, and 40 rules hid the 41st."""
    for number in range(40):
        grove.write(f"{GENERAL}/a{number}.md", f"---\ntitle: Rule {number} for those who come after us\n---\nText.\n")
    grove.write(f"{GENERAL}/z.md", "---\ntitle: Walrus\n---\nIt likes mussels.\n")
    report = grove.ws.recall("walrus", mode="tree")
    assert report.branches == ["general (0.50): holds walrus"] and report.warnings == []


class Model(BaseHTTPRequestHandler):
    """A model that says what the test wants it to say."""

    status, answer, asked = 200, "", list[tuple[str, dict, dict]]()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, dict(self.headers), body))
        data = self.answer.encode()
        self.send_response(self.status)
        if self.status == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/other")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr(Model, "status", 200)
    monkeypatch.setattr(Model, "asked", [])
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


CHOICE = '[{"path": "travel", "relevance": 0.9, "reason": "visa"}, {"path": "../etc", "relevance": 1}]'


def test_mode_llm_searches_the_branches_that_a_model_names(
    grove: Sandbox, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BONSAI_LLM_KEY", "canary-key")
    monkeypatch.setattr(Model, "answer", json.dumps({"text": f"Here you are:\n{CHOICE}"}))
    report = grove.ws.recall("what is the deadline", mode="llm", llm=f"{model}/complete")
    assert paths(report) == ["memory/domains/travel/trips.md"]
    assert report.branches == ["travel (0.90): visa"]
    path, headers, body = Model.asked[0]
    assert path == "/complete" and headers["Authorization"] == "Bearer canary-key"
    assert "projects/evoclaw" in body["prompt"] and "what is the deadline" in body["prompt"]
    assert "canary-key" not in json.dumps(body)

    monkeypatch.setattr(Model, "answer", json.dumps({"choices": [{"message": {"content": CHOICE}}]}))
    report = grove.ws.recall("what is the deadline", mode="llm", llm=f"{model}/v1")
    assert paths(report) == ["memory/domains/travel/trips.md"]
    assert Model.asked[1][0] == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("status", "answer"),
    [(500, ""), (302, ""), (200, "no json"), (200, '{"text": "none"}'), (200, '{"text": 5}'), (200, "x" * 2_000_000)],
)
def test_a_model_that_fails_is_a_warning_and_everything_is_searched(
    grove: Sandbox, model: str, monkeypatch: pytest.MonkeyPatch, status: int, answer: str
) -> None:
    monkeypatch.setattr(Model, "status", status)
    monkeypatch.setattr(Model, "answer", answer)
    report = grove.ws.recall("deadline", mode="llm", llm=model)
    assert len(report.hits) >= 2 and "everything was searched instead" in report.warnings[0]
    assert len(Model.asked) == 1  # nothing is sent elsewhere


@pytest.mark.parametrize(
    "url",
    [
        *("http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/"),
        *("http://2130706433/", "http://0x7f000001/", "http://rebound.example/", "http://224.0.0.1/"),
    ],
)
def test_no_prompt_goes_where_no_model_can_be(grove: Sandbox, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    real = socket.getaddrinfo

    def resolved(host: str, *rest, **more):
        return real("127.0.0.1" if host == "rebound.example" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    with pytest.raises(Refused):
        grove.ws.recall("deadline", mode="llm", llm=url)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://x/", "http://user:key@localhost/", "http://", "x", ""])
def test_what_is_no_endpoint_is_a_usage_error(grove: Sandbox, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BONSAI_LLM_ENDPOINT", raising=False)
    with pytest.raises(Usage) as caught:
        grove.ws.recall("deadline", mode="llm", llm=url)
    assert "key@" not in str(caught.value)


def test_the_prompt_holds_the_tree_and_no_credential(grove: Sandbox) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    grove.write("memory/domains/travel/key.md", f"---\ntitle: The token {token}\n---\nx\n")
    prompt = grove.ws.recall_prompt(f"where is {token}")
    assert "travel (2)" in prompt and token not in prompt and "(secret)" in prompt


def test_two_prompts_begin_with_the_same_tree(grove: Sandbox) -> None:
    one, two = grove.ws.recall_prompt("the first question"), grove.ws.recall_prompt("another one")
    same, _, rest = one.partition("the first question")
    assert "travel (1)" in same
    assert two == f"{same}another one{rest}"
    assert len(rest) < 80


def test_a_workspace_is_a_finding_one() -> None:
    assert issubclass(Workspace, Finding)


def test_a_daemon_is_believed_once_it_has_been_asked(sea: Sandbox) -> None:
    """Also where nothing had to be written: else every question would look at all notes again."""
    space, asked = sea.ws, list[str]()
    for _ in range(3):  # the second look finds all at rest, and is remembered
        time.sleep(0.06)
        space.recall("squid")

    class Daemon:
        def ask(self, since: str) -> tuple[str, list[str] | None]:
            asked.append(since)
            return "life.1", ([] if since == "life.1" else None)

    space._cookies = Daemon()
    for _ in range(3):
        assert paths(space.recall("squid")) == [NOTE]
    assert asked == ["", "life.1", "life.1"]
    space._cookies = None
    sea.write(NOTE, "# Sea\n\nThe whale sings.\n")
    assert space.recall("squid").hits == [] and paths(space.recall("whale")) == [NOTE]


def test_a_tier_is_searched_alone(box: Sandbox, at: Callable[[str], None]) -> None:
    box.write("MEMORY.md", b"# Me\n\nMilk is for cats.\n\n" + box.read("MEMORY.md"))
    box.ws.remember("Bought milk at the corner shop.", domain="daily", importance=0.3)
    kept = box.ws.remember("The milk comes on Mondays.", domain="rules", importance=1.0).path
    at("2026-04-20T08:15:00Z")
    [gone] = box.ws.consolidate().evicted
    found = {tier: [hit.path for hit in box.ws.recall("milk", tier=tier).hits] for tier in ("hot", "warm", "cold")}
    assert found == {"hot": ["MEMORY.md"], "warm": [kept], "cold": [gone]}
    for more in ({"tier": "frozen"}, {"tier": "cold", "at": "HEAD"}, {"tier": "cold", "deleted": True}):
        with pytest.raises(Usage):
            box.ws.recall("milk", **more)  # type: ignore[arg-type]
