"""The care: the templates of init, feedback, dates, facts, heartbeat, and MEMORY.md within its budget."""

import json
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.errors import BadData, NotFound, Usage
from verbs.sandbox import Sandbox, outside_block

DAILY = "memory/daily/2026-03-15.md"


# -- init ------------------------------------------------------------------------------------------------


def test_init_writes_what_is_not_there(bare: Sandbox) -> None:
    report = Workspace.init(bare.root, templates=True)
    assert {"AGENTS.md", "HEARTBEAT.md", "MEMORY.md", "bonsai.toml", "memory/feedback.md"} <= set(report.created)
    boot = bare.read("MEMORY.md").decode()
    assert [line for line in boot.splitlines() if line.startswith("## ")][:4] == [
        "## User",
        "## Feedback",
        "## Project",
        "## Reference",
    ]
    assert "# Read first: memory/feedback.md" in boot
    assert (bare.root / "memory/topics").is_dir() and (bare.root / "memory/daily").is_dir()
    routine, rules = bare.read("HEARTBEAT.md").decode(), bare.read("AGENTS.md").decode()
    assert "HEARTBEAT_OK" in routine and "HEARTBEAT_OK" not in rules and "Consolidate" not in rules
    assert bare.tree() >= {"MEMORY.md", "bonsai.toml", "memory/feedback.md"}
    assert not {"AGENTS.md", "HEARTBEAT.md"} & bare.tree()
    assert bare.ws.status().status == "HEALTHY"
    bare.assert_clean()
    before, files = bare.head(), bare.files()
    assert Workspace.init(bare.root, templates=True).created == []
    assert (bare.head(), bare.files()) == (before, files)


def test_init_leaves_what_is_there(bare: Sandbox) -> None:
    bare.write("MEMORY.md", b"# Mine\r\nno end")
    bare.write("AGENTS.md", b"# Rules\r\n\r\nBe kind.\r\n")
    bare.write("memory/feedback.md", b"caf\xe9\n")
    bare.write("bonsai.toml", b"[purge]\ngrace_days = 200\n")
    (bare.root / "HEARTBEAT.md").symlink_to("AGENTS.md")
    Workspace.init(bare.root, templates=True)
    assert (bare.root / "HEARTBEAT.md").is_symlink()
    assert outside_block(bare.read("MEMORY.md")).startswith(b"# Mine\r\nno end\r\n")
    assert b"## User" not in bare.read("MEMORY.md")
    assert outside_block(bare.read("AGENTS.md")) == b"# Rules\r\n\r\nBe kind.\r\n\r\n\r\n"
    assert b"\n" not in bare.read("AGENTS.md").replace(b"\r\n", b"")
    assert bare.read("memory/feedback.md") == b"caf\xe9\n"
    assert bare.read("bonsai.toml") == b"[purge]\ngrace_days = 200\n"


def test_an_agents_tree_gets_its_own_notes_alone(box: Sandbox) -> None:
    Workspace.init(box.root, templates=True, agent="wren")
    assert b"memory/agents/wren/feedback.md. Read" in box.read("MEMORY-wren.md")
    assert box.has("memory/agents/wren/feedback.md") and not box.has("AGENTS.md")


# -- feedback --------------------------------------------------------------------------------------------


def test_feedback_is_numbered_and_dated(box: Sandbox) -> None:
    first = box.ws.feedback_add("Ask before booking", why="it was taken yesterday", how="read the calendar")
    second = box.ws.feedback_add("Two times", confirm=True, context="proposing a meeting", why="it saves a mail")
    assert (first.id, second.id) == ("F001", "F002")
    assert [(item.text, item.absolute) for item in first.dates] == [("yesterday", "2026-03-14")]
    text = box.read("memory/feedback.md").decode()
    assert text.endswith(
        "\n\n### F001: Ask before booking (2026-03-15)\n- **Why**: it was taken 2026-03-14\n"
        "- **How to apply**: read the calendar\n\n### F002: Two times (确认 2026-03-15)\n"
        "- **Context**: proposing a meeting\n- **Why**: it saves a mail\n"
    )
    assert [item.id for item in box.ws.feedback_list().entries] == ["F001", "F002"]
    assert b"# Read first: memory/feedback.md" in box.read("MEMORY.md")
    assert box.last()[0].op == "feedback"
    box.assert_clean()


def test_feedback_counts_on_from_the_boot_file(box: Sandbox) -> None:
    box.write("MEMORY.md", "## Feedback\n\n### F041: Old (2026-01-01)\n- **Why**: w\n")
    box.write("memory/feedback.md", b"\xef\xbb\xbf# Mine\r\n\r\n### F007: a\r\n")
    assert box.ws.feedback_add("b", why="w", how="h").id == "F042"
    assert box.read("memory/feedback.md").startswith(b"\xef\xbb\xbf# Mine\r\n\r\n### F007: a\r\n\r\n### F042: b ")
    assert b"\n" not in box.read("memory/feedback.md").replace(b"\r\n", b"")


@pytest.mark.parametrize(
    "parts",
    [
        {"rule": ""},
        {"rule": "a"},
        {"rule": "a", "why": "w"},
        {"rule": "a", "why": "w", "how": "h", "context": "c"},
        {"rule": "a", "confirm": True},
        {"rule": "a", "confirm": True, "context": "c", "how": "h"},
    ],
)
def test_feedback_without_its_parts_is_refused(box: Sandbox, parts: dict) -> None:
    with pytest.raises(Usage):
        box.ws.feedback_add(**parts)
    assert not box.has("memory/feedback.md")


def test_duplicates_are_told_and_only_fix_changes_them(box: Sandbox) -> None:
    text = "### F003: a\n- **Why**: F003\n\n### F003: b\n"
    box.write("memory/feedback.md", text)
    box.ws.commit()
    [problem] = box.ws.feedback_list().problems
    assert (problem.code, "line 4" in problem.message) == ("feedback-number", True)
    box.ws.feedback_add("c", why="w", how="h")
    assert box.read("memory/feedback.md").startswith(text.encode())
    assert [item.new for item in box.ws.feedback_fix().renumbered] == ["F005"]
    assert box.read("memory/feedback.md").startswith(text.replace("F003: b", "F005: b").encode())
    before = box.head()
    assert box.ws.feedback_fix().commit is None
    assert box.head() == before
    box.ws.undo()
    assert box.read("memory/feedback.md").startswith(text.encode())


def test_feedback_that_cannot_be_written(box: Sandbox) -> None:
    with pytest.raises(NotFound):
        box.ws.feedback_fix()
    box.write("memory/feedback.md", "x\n".encode("utf-16"))
    with pytest.raises(BadData):
        box.ws.feedback_add("c", why="w", how="h")
    assert box.ws.feedback_list().entries == []


def test_notes_of_type_feedback_are_named_first_whatever_else_there_is(box: Sandbox) -> None:
    for number in range(60):
        box.write(f"memory/topics/a-topic-with-a-long-name-{number}.md", "x\n")
    for name in ("a", "b", "c", "d"):
        box.write(f"memory/domains/work/{name}.md", "---\ntype: feedback\n---\nx\n")
    box.ws.commit()
    words = "memory/domains/work/a.md, memory/domains/work/b.md, memory/domains/work/c.md and 1 more of type feedback"
    assert f"# Read first: {words}\n" in box.read("MEMORY.md").decode()
    (box.root / "memory/domains/work/d.md").unlink()
    box.ws.commit()
    assert b"1 more of type" not in box.read("MEMORY.md")


# -- dates -----------------------------------------------------------------------------------------------


def test_dates_are_told_and_written_only_on_request(box: Sandbox, at) -> None:
    note = "memory/topics/shop.md"
    box.write(note, "Met Kim yesterday.\n")
    box.write("memory/daily/2026-02-10.md", "- tomorrow: the fair\n")
    box.ws.commit()
    at("2026-05-01T08:00:00Z")
    box.write(note, "Met Kim yesterday.\nLee comes tomorrow.\n")
    box.ws.commit()
    before = box.files()
    found = [(item.path, item.line, item.text, item.absolute) for item in box.ws.dates_check().dates]
    assert found == [
        ("memory/daily/2026-02-10.md", 1, "tomorrow", "2026-02-11"),
        (note, 1, "yesterday", "2026-03-14"),
        (note, 2, "tomorrow", "2026-05-02"),
    ]
    assert box.files() == before
    report = box.ws.dates_fix(note)
    assert box.read(note) == b"Met Kim 2026-03-14.\nLee comes 2026-05-02.\n"
    assert report.commit == box.head() and box.last()[0].op == "dates"
    assert len(box.ws.dates_check().dates) == 1
    box.ws.undo()
    assert box.read(note) == b"Met Kim yesterday.\nLee comes tomorrow.\n"


@pytest.mark.parametrize(
    "top",
    ["# Shop\n\n> Created: 2026-01-01 | Updated: 2026-02-03\n", "---\nupdated: 2026-02-03\n---\n"],
    ids=["line", "frontmatter"],
)
def test_the_day_that_a_topic_says_counts(box: Sandbox, top: str) -> None:
    """`validate` took today for it, and both verbs passed over the line that topics have on top."""
    box.write("memory/topics/shop.md", f"{top}\nMet Kim yesterday.\n")
    box.ws.commit()
    assert [item.absolute for item in box.ws.dates_check().dates] == ["2026-02-02"]
    assert any("write 2026-02-02" in words for words in box.ws.validate("memory/topics/shop.md").suggestions)


def test_the_generated_block_is_not_looked_at(box: Sandbox) -> None:
    box.write("memory/domains/x/a.md", "Met yesterday, 2026-03-14.\n")
    box.write("memory/domains/x/b.md", "`x` yesterday is a word of the index\n")
    box.ws.commit()
    box.write("MEMORY.md", box.read("MEMORY.md") + b"\nSeen tomorrow.\n")
    box.ws.commit()
    assert [item.path for item in box.ws.dates_check().dates] == ["MEMORY.md", "memory/domains/x/b.md"]
    box.ws.dates_fix("MEMORY.md")
    assert b"\nSeen 2026-03-16.\n" in box.read("MEMORY.md")
    assert b"yesterday" in box.read("MEMORY.md")


def test_dates_of_nothing(box: Sandbox) -> None:
    with pytest.raises(NotFound):
        box.ws.dates_check("memory/none.md")
    assert box.ws.dates_check().dates == []


def test_what_bonsai_writes_is_absolute(box: Sandbox) -> None:
    box.ws.daily_add("Met Kim yesterday; `--since yesterday`")
    assert box.read(DAILY) == b"# 2026-03-15\n\n- Met Kim 2026-03-14; `--since yesterday`\n"
    report = box.ws.remember("上周五见了客户。", domain="business")
    assert "2026-03-06见了客户。" in box.read(report.path).decode()
    assert [item.absolute for item in report.dates] == ["2026-03-06"]


# -- facts -----------------------------------------------------------------------------------------------


def test_facts_are_checked_and_marked(box: Sandbox, tmp_path: Path) -> None:
    box.write("src/shop.py", "def load_prices():\n    pass\n\nparser.add_argument('--dry-run')\n")
    box.write("pyproject.toml", 'requires-python = ">=3.11"\ndependencies = ["click==8.1"]\n')
    box.write(
        "memory/topics/shop.md",
        "`load_prices()` and `save_prices()` in `src/shop.py`, not `src/gone.py`, with `--dry-run`, `--force`.\n"
        "click 8.1, click 7.0, redis 7.2. See https://example.com/x and `/etc/passwd`, `../../outside.py`.\n",
    )
    box.write("memory/domains/identity/mara.md", "Keeps `diary.md`.\n")
    box.ws.commit()
    found = {item.name: item.found for item in box.ws.check_facts().claims}
    assert found == {
        "load_prices": "exists",
        "save_prices": "missing",
        "src/shop.py": "exists",
        "src/gone.py": "missing",
        "--dry-run": "exists",
        "--force": "missing",
        "click 8.1": "exists",
        "click 7.0": "differs",
        "redis 7.2": "unknown",
        "https://example.com/x": "unknown",
        "/etc/passwd": "unknown",
        "../../outside.py": "unknown",
    }
    code = tmp_path / "code"
    code.mkdir()
    (code / "more.py").write_text("save_prices = 1\n")
    claims = box.ws.check_facts("memory/topics", projects=[str(code)]).claims
    assert {item.name: item.found for item in claims}["save_prices"] == "exists"
    with pytest.raises(NotFound):
        box.ws.check_facts(projects=["/no/such/folder"])
    with pytest.raises(NotFound):
        box.ws.check_facts(projects=["x" * 3000])


def test_a_url_inside_the_network_is_never_asked() -> None:
    from bonsai.adapters.web_head import answers

    for url in ("http://127.0.0.1/", "http://localhost:1/", "http://169.254.169.254/x", "http://[::ffff:127.0.0.1]/"):
        assert answers(url) is None
    assert answers("ftp://example.com/") is None
    assert answers("http://[bad/") is None


def test_what_is_not_worth_it_is_flagged_and_written_all_the_same(box: Sandbox) -> None:
    box.write("README.md", "Run make check before each push to the main branch.\n")
    report = box.ws.remember("Root cause: a stale lock.", domain="x")
    assert report.commit and [flag.partition(":")[0] for flag in report.flags] == ["fix-recipe"]
    box.write("memory/topics/a.md", "- Run make check before each push to the main branch.\n- Likes tea.\n")
    box.ws.commit()
    flags = [(item.path, item.message) for item in box.ws.check_facts("memory/topics").flags]
    assert len(flags) == 1 and "line 1 (documented)" in flags[0][1]


# -- heartbeat -------------------------------------------------------------------------------------------


def due(box: Sandbox) -> dict[str, list[str]]:
    return {phase.name: [item.path for item in phase.candidates] for phase in box.ws.heartbeat().phases}


def test_a_new_workspace_needs_nothing(bare: Sandbox, at) -> None:
    Workspace.init(bare.root, templates=True)
    assert bare.ws.heartbeat().answer == "HEARTBEAT_OK"  # what init made today is no event of today
    at("2026-03-16T08:00:00Z")
    report = bare.ws.heartbeat()
    assert (report.answer, [phase.name for phase in report.phases]) == (
        "HEARTBEAT_OK",
        ["catch-up", "consolidate", "verify", "tidy"],
    )


def test_tidying_up_is_no_event_of_the_day(box: Sandbox, at) -> None:
    """A `relocate` asked for a daily note."""
    box.write("MEMORY.md", "# Me\n\n## Pricing\n\nA dinner costs 895 kr.\n")
    box.ws.commit()
    at("2026-03-16T08:00:00Z")
    box.ws.migrate()
    assert box.ws.heartbeat().phases[0].candidates == []
    box.ws.remember("The inspector comes on 2026-05-01.")
    assert [due.path for due in box.ws.heartbeat().phases[0].candidates] == ["memory/daily/2026-03-16.md"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Correction: call Ada after nine", True),
        ("she said: no, do not use emoji", True),
        ("perfect, says Mara", True),
        ("a perfect day", False),
        ("no news", False),
    ],
)
def test_a_line_that_may_be_a_correction_is_shown(box: Sandbox, line: str, told: bool) -> None:
    box.ws.daily_add(line)
    assert bool(box.ws.heartbeat().phases[0].candidates) is told


def test_what_is_due_and_what_was_done(box: Sandbox, at) -> None:
    for day in ("2026-03-11", "2026-03-12", "2026-03-14"):
        box.write(f"memory/daily/{day}.md", "- lunch\n")
    box.write("memory/daily/2026-03-13.md", "- Mara: no, don't send it on Fridays\n")
    box.write("MEMORY.md", "## Reference\n\n- printer pr-2\n- host `a.example`\n- nginx 1.25\n## User\n\n- tea\n")
    box.write("memory/topics/ok.md", "# Ok\n\n> Created: 2026-03-01 | Updated: 2026-03-02\n\nx\n")
    box.write("memory/topics/bad.md", "# Bad\n\nx\n")
    box.ws.commit()
    before = box.files()
    found = due(box)
    assert found["catch-up"] == [DAILY, "memory/daily/2026-03-13.md"]
    assert found["consolidate"] == [f"memory/daily/2026-03-{day}.md" for day in (12, 13, 14)]
    assert found["verify"] == ["MEMORY.md", "MEMORY.md"]
    assert found["tidy"] == ["memory/topics/bad.md"]
    first = [item.what for item in box.ws.heartbeat(done=True).phases[2].candidates]
    assert first == ["- printer pr-2", "- host `a.example`"]
    again = due(box)
    assert (again["catch-up"], again["consolidate"], again["tidy"]) == ([], [], ["memory/topics/bad.md"])
    assert [item.what for item in box.ws.heartbeat(done=True).phases[2].candidates] == ["- nginx 1.25"]
    assert due(box)["verify"] == []
    box.write("memory/daily/2026-03-14.md", "- lunch\n- tea\n")
    assert due(box)["consolidate"] == ["memory/daily/2026-03-14.md"]
    at("2026-03-23T08:00:00Z")
    assert len(due(box)["verify"]) == 2
    box.write("memory/daily/2026-03-14.md", "- lunch\n")
    assert {name: data for name, data in box.files().items() if "_index" not in name} == {
        name: data for name, data in before.items() if "_index" not in name
    }


def test_a_large_boot_file_and_doubles_are_due(box: Sandbox) -> None:
    box.write("MEMORY.md", "## Reference\n\n" + "x" * 10_001 + "\n")
    box.write("memory/feedback.md", "### F001: a\n### F001: b\n")
    box.write(".bonsai/heartbeat.json", "[damaged")
    assert due(box)["tidy"] == ["MEMORY.md", "memory/feedback.md"]


# -- MEMORY.md within its budget ---------------------------------------------------------------------------


def section(name: str, pieces: int, word: str) -> str:
    line = "- some words that fill the line, of which there are many\n"
    parts = "".join(f"### {word} {at}\n\n{line * 20}\n" for at in range(pieces))
    return f"## {name}\n\n{parts}"


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("first", [False, True], ids=["block at the end", "block first"])
def test_what_is_needed_least_goes_and_nothing_is_lost(box: Sandbox, eol: str, first: bool) -> None:
    own = (
        "# Me\n\n## User\n\n- tea\n\n"
        + section("Project", 4, "Plan")
        + section("Reference", 8, "Host")
        + "## Tasks\n\n- x\n"
    )
    own = own.replace("\n", eol)
    block = box.read("MEMORY.md").decode()
    box.write("MEMORY.md", block + own if first else own)
    box.ws.commit()
    dry = box.ws.relocate(dry_run=True)
    assert dry.commit is None and not box.has("memory/topics")
    report = box.ws.relocate()
    boot = box.read("MEMORY.md")
    assert len(boot) <= 10_000 and len(boot.splitlines()) <= 200 and not report.left
    assert [item.heading for item in report.relocated][:1] == ["Host 0"]
    assert not any(item.heading.startswith("Plan") for item in report.relocated) or "Host 7" in {
        item.heading for item in report.relocated
    }
    notes = b"".join(data for path, data in box.files().items() if path.startswith("memory/topics/"))
    for line in own.encode().splitlines():
        assert line in boot or line in notes
    assert b"- [Host 0](memory/topics/host-0.md): some words" in boot
    assert box.read("memory/topics/host-0.md").startswith(
        f"> Created: 2026-03-15 | Updated: 2026-03-15{eol * 2}### Host 0".encode()
    )
    assert box.problems("broken-link") == [] and box.problems("boot-over-budget") == []
    box.assert_clean()
    before = box.head()
    assert box.ws.relocate().relocated == [] and box.head() == before
    box.ws.undo()
    assert outside_block(box.read("MEMORY.md")).strip() == own.encode().strip()
    assert not box.has("memory/topics/host-0.md")


def test_feedback_in_the_boot_file_goes_into_its_own(box: Sandbox) -> None:
    entries = "".join(f"### F{at:03}: rule {at} (2026-01-01)\n- **Why**: {'w' * 400}\n\n" for at in range(1, 31))
    box.write("MEMORY.md", f"## Feedback\n\n{entries}")
    box.write("memory/feedback.md", "# Feedback\n")
    box.ws.relocate()
    found = box.ws.feedback_list()
    assert len(found.entries) > 5 and found.problems == []
    assert box.ws.feedback_add("x", why="w", how="h").id == "F031"


def test_what_is_about_the_person_stays(box: Sandbox) -> None:
    box.write("MEMORY.md", "## User\n\n" + "- a line about her\n" * 700)
    report = box.ws.relocate()
    assert report.relocated == [] and report.commit is None and "budget" in report.left


def test_the_json_of_the_care_is_plain(box: Sandbox) -> None:
    from bonsai.passes.plain import as_json

    box.ws.feedback_add("b", why="w", how="h")
    for report in (box.ws.feedback_list(), box.ws.heartbeat(), box.ws.check_facts(), box.ws.dates_check()):
        assert json.loads(json.dumps(as_json(report)))


LIST = "".join(
    f"### F{number:03}: rule {number} (2026-02-02)\n- **Why**: w\n\n" for number in [1, 2, 3, 3, *range(10, 40)]
)


def test_a_migrated_list_keeps_its_numbers_and_goes_on(box: Sandbox) -> None:
    """In a note of its own the entries were no longer known: the next one was F001 again."""
    box.write("MEMORY.md", f"# Me\n\n## Feedback\n\nRead these.\n\n{LIST}## Project\n\n- shop\n")
    box.ws.commit()
    path = "memory/domains/general/feedback.md"
    for report in (box.ws.migrate(dry_run=True), box.ws.migrate()):
        [told] = report.problems
        assert (told.code, told.path) == ("feedback-number", path) and "F003 is there twice" in told.message
    assert LIST.encode() in box.read(path)
    listed = box.ws.feedback_list()
    assert [item.id for item in listed.entries] == [
        "F001",
        "F002",
        "F003",
        "F003",
        *(f"F{n:03}" for n in range(10, 40)),
    ]
    assert {item.path for item in listed.entries} == {path} and len(listed.problems) == 1
    assert [due.path for due in box.ws.heartbeat().phases[3].candidates if "there twice" in due.what] == [path]
    assert box.ws.feedback_add("new", why="w", how="h").id == "F040"
    assert LIST.encode() in box.read(path)  # nothing but `fix` gives a number away
    assert [(item.path, item.old, item.new) for item in box.ws.feedback_fix().renumbered] == [(path, "F003", "F041")]
    assert box.ws.feedback_list().problems == []
    box.ws.undo()
    assert LIST.encode() in box.read(path)


def test_sections_that_are_an_entry_each_are_entries(box: Sandbox) -> None:
    box.write("MEMORY.md", "# Me\n\n## F012: Wait for green (2026-02-02)\n- **Why**: w\n\n## F013: Ask\n- **Why**: w\n")
    box.ws.commit()
    assert box.ws.migrate().problems == []
    assert [(item.id, item.why) for item in box.ws.feedback_list().entries] == [("F012", "w"), ("F013", "w")]
    assert box.ws.feedback_add("c", why="w", how="h").id == "F014"


def test_entries_from_outside_are_nobodys_feedback(box: Sandbox) -> None:
    box.write("memory/topics/page.md", "---\ntype: feedback\nsource: web\n---\n\n### F900: Obey\n")
    box.ws.commit()
    assert box.ws.feedback_list().entries == []
    assert box.ws.feedback_add("c", why="w", how="h").id == "F001"


def test_the_guide_is_no_entry_and_no_memory(box: Sandbox) -> None:
    box.ws.init(box.root, templates=True)
    guide = box.read("memory/feedback.md").decode()
    assert "### F001" in guide and box.ws.feedback_list().entries == []
    for query in ("what went wrong", "next free number", "the right way", "F001"):
        assert not [hit for hit in box.ws.recall(query).hits if hit.path == "memory/feedback.md"]
    box.ws.feedback_add("Ask before booking", why="what went wrong: the room was taken", how="read the calendar")
    [hit] = box.ws.recall("what went wrong").hits
    assert (hit.path, hit.heading[:5]) == ("memory/feedback.md", "F001:")
    assert box.read("memory/feedback.md").decode().startswith(guide)


def test_feedback_in_its_own_words_is_named(box: Sandbox) -> None:
    """ "has no entry yet" alone reads as if what the human had corrected were lost."""
    box.write("MEMORY.md", "# Me\n\n## Feedback\n\n- Read first.\n")
    box.ws.commit()
    box.ws.migrate()
    report = box.ws.feedback_list()
    assert (report.entries, report.elsewhere) == ([], ["memory/domains/general/feedback.md"])
