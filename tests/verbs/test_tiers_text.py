"""Facts out of texts: daily notes, URLs, what is missing; a model that helps, or not."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bonsai.errors import NotFound
from verbs.sandbox import Sandbox, set_time

DAILY = """# 2026-03-14

- Decided to use LTX-Video for the clips. Next step: try it.
- Installed it with `pip install ltx-video==2.1`, see https://docs.example.org/ltx
- ok
- [ ] Call Ann

```bash
git clone https://github.com/Lightricks/LTX-Video.git
```
"""


class Model:
    """A language model that says what it was told to say, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.says = "[]"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body["prompt"])
                data = json.dumps({"text": outer.says}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/complete"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_facts_of_daily_notes_are_taken_in_once(box: Sandbox) -> None:
    box.write("memory/daily/2026-03-14.md", DAILY)
    report = box.ws.ingest_daily()
    assert report.files == ["memory/daily/2026-03-14.md"]
    texts = [box.read(path).decode() for path in report.created]
    assert any("Decided to use LTX-Video" in text for text in texts)
    assert any('commands: ["pip install ltx-video==2.1"]' in text for text in texts)
    assert all("created: 2026-03-14T12:00:00Z" in text for text in texts)
    assert box.read("memory/daily/2026-03-14.md").decode() == DAILY
    before = box.head()
    again = box.ws.ingest_daily("2026-03-14")
    assert (again.created, again.commit, box.head()) == ([], None, before)
    assert box.ws.ingest_daily("2026-03-13").files == []


def test_what_is_missing_is_said(box: Sandbox) -> None:
    note = "- Found Z-Image for photorealistic images\n- Need to install it\n- Decided to go with blue\n"
    box.write("memory/2026-03-15.md", note)
    report = box.ws.validate()
    assert report.file == "memory/2026-03-15.md"
    assert report.status == "warning"
    assert report.warnings == [
        "Tool 'Z-Image' mentioned without URL/documentation link",
        "Action 'install' mentioned without command example",
        "Decision without next step: 'Decided to go with blue'",
    ]
    assert len(report.suggestions) == 3
    box.write("memory/daily/2026-03-14.md", DAILY)
    assert box.ws.validate("memory/daily/2026-03-14.md").warnings == []
    with pytest.raises(NotFound):
        box.ws.validate("memory/2026-01-01.md")


def test_urls_are_found_by_a_part(box: Sandbox) -> None:
    box.ws.remember("Z-Image model", domain="tools", urls=["https://docs.comfy.org/z"])
    box.ws.remember("Code is at https://github.com/a/b", domain="tools")
    assert [hit.text for hit in box.ws.search_url("COMFY.org").results] == ["Z-Image model"]
    report = box.ws.search_url("")
    assert sorted(report.urls) == ["https://docs.comfy.org/z", "https://github.com/a/b"]
    assert box.ws.search_url("nowhere").results_count == 0
    assert box.ws.search_url("", limit=1).results_count == 1


def test_a_model_distils_what_is_long_and_never_sees_a_credential(box: Sandbox, model: Model) -> None:
    model.says = json.dumps([{"fact": "They chose blue", "people": ["Ann"], "outcome": "positive"}])
    long = "User: " + "We talked about colours for long. " * 20 + "See https://example.org/blue. "
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    report = box.ws.distill(f"{long} The key is {secret}.", llm=model.url)
    assert (report.mode, report.distilled.fact) == ("llm", "They chose blue (https://example.org/blue)")
    assert secret not in model.asked[0]
    assert box.ws.distill("User: Let's ship it. Agent: Yes.", llm=model.url).mode == "rule"
    assert len(model.asked) == 1
    model.says = "I would rather talk"
    report = box.ws.distill(long, llm=model.url)
    assert report.mode == "rule" and report.warnings
    assert box.ws.distill(long, llm="http://127.0.0.1:9/x").mode == "rule"


def test_turns_wait_and_are_distilled_in_one_prompt(box: Sandbox, model: Model) -> None:
    long = "User: " + "We talked about the house for long. " * 20
    assert box.ws.distill_later(long + "One.") == 1
    assert box.ws.distill_later(long + "Two.", domain="house") == 2
    assert box.ws.distill_later("User: Let's paint it blue. Agent: Yes.") == 3
    model.says = json.dumps([{"fact": "The first"}, {"fact": "The second"}])
    before = box.count()
    reports = box.ws.distill_waiting(llm=model.url)
    assert len(model.asked) == 1
    assert box.count() == before + 1
    texts = [box.read(report.path).decode().rpartition("---\n\n")[2].strip() for report in reports]
    assert texts == ["The first", "The second", "Decided to paint it blue"]
    assert reports[1].path.startswith("memory/domains/house/")
    assert "importance: 0.7" in box.read(reports[2].path).decode() or b'"0.7"' in box.read(reports[2].path)
    assert box.ws.distill_waiting() == []


def test_a_rebuild_asks_the_model(box: Sandbox, model: Model) -> None:
    box.ws.remember("A.", domain="chain/bsc")
    model.says = '{"moves": [{"from": "chain", "to": "projects/chain"}]}'
    report = box.ws.tree_rebuild(box.ws.tree_ask(model.url), apply=True)
    assert report.paths[0].startswith("memory/domains/projects/chain/bsc/")
    assert "chain/bsc — Bsc (warm:1, cold:0)" in model.asked[0]


def test_what_a_dry_run_names_is_what_is_taken_in(box: Sandbox) -> None:
    box.write("memory/daily/2026-03-14.md", DAILY)
    box.write("memory/daily/2026-03-01.md", "- Agreed to meet at the mill on the first of the month\n")
    box.ws.commit()
    before = box.head()
    told = box.ws.ingest_daily(days=2, dry_run=True)
    assert (box.head(), told.commit, told.files) == (before, None, ["memory/daily/2026-03-14.md"])
    done = box.ws.ingest_daily(days=2)
    assert done.created == told.created and [fact.id for fact in done.facts] == [fact.id for fact in told.facts]
    assert all(box.has(path) for path in done.created)
    assert any("pip install ltx-video==2.1" in fact.metadata.commands for fact in done.facts)
    again = box.ws.ingest_daily(dry_run=True)
    assert len(again.created) == 1 and again.skipped == len(done.facts)
    box.write("memory/daily/2026-03-15.md", "- Need to install it\n")
    [warning] = box.ws.ingest_daily(days=1).warnings
    assert warning == "memory/daily/2026-03-15.md: Action 'install' mentioned without command example"


def test_a_rebuild_without_a_model_counts_every_note_again(box: Sandbox) -> None:
    box.ws.remember("A.", domain="chain/bsc")
    before = box.head()
    report = box.ws.tree_recount()
    assert (report.tree_rebuilt, report.nodes, report.moves, report.commit) == ("counts-only", 3, [], None)
    assert box.head() == before


def test_a_monthly_run_reshapes_the_tree_as_a_model_says_and_undo_takes_it_all_back(box: Sandbox, model: Model) -> None:
    set_time("2026-01-01T08:00:00Z")
    gone = box.ws.remember("Old and worth little.", domain="chain/bsc", importance=0.1).path
    kept = box.ws.remember("No fact, so it stays.", domain="chain/bsc", type="project").path
    box.ws.tree_add("attic", "Nothing yet")
    set_time("2026-03-15T08:15:00Z")
    model.says = '{"moves": [{"from": "chain", "to": "projects/chain", "reason": "one place"}]}'
    before, notes = box.count(), box.files()
    assert box.ws.consolidate("daily", llm=model.url).tree_rebuilt == "" and model.asked == []
    box.ws.undo()
    before = box.count()
    report = box.ws.consolidate("monthly", llm=model.url)
    assert report.tree_rebuilt == "llm"
    assert report.moved == [kept.replace("chain/", "projects/chain/", 1)]
    assert (report.evicted, report.pruned) == ([gone], ["attic"])
    assert box.count() == before + 1
    assert box.has(report.moved[0]) and not box.has(kept) and report.moved[0] in report.report
    box.ws.undo()
    generated = {path: data for path, data in box.files().items() if path.endswith("_index.md") or path == "MEMORY.md"}
    assert box.files() == notes | generated


def test_a_model_that_talks_or_is_away_leaves_the_tree_as_it_is(box: Sandbox, model: Model) -> None:
    path = box.ws.remember("Worth much.", domain="chain/bsc", importance=1.0).path
    assert box.ws.consolidate("monthly").tree_rebuilt == "counts-only"
    model.says = "I would rather talk"
    for endpoint in (model.url, "http://127.0.0.1:9/x"):
        report = box.ws.consolidate("full", llm=endpoint)
        assert report.tree_rebuilt == "failed"
        assert any("keeps its shape" in warning for warning in report.warnings)
    box.ws.remember("Stands there already.", domain="projects/chain/bsc")
    model.says = '{"moves": [{"from": "chain", "to": "../../evil"}, {"from": "nowhere", "to": "x"}]}'
    assert box.ws.consolidate("full", llm=model.url).moved == []
    assert box.has(path)
