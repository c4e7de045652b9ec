"""`reflect` stages what needs a decision; `apply` carries decisions out as one guarded run, or refuses a note alone."""

import json
from typing import Any

import pytest

from bonsai.errors import BadData, Refused
from bonsai.passes.reports import ApplyReport
from verbs.sandbox import GENERAL, Sandbox

INBOX = f"{GENERAL}/inbox.md"
STAGING = "memory/_reflect_staging.json"
PRICING = "memory/domains/business/pricing.md"
LONG = "".join(f"Line {number} of a note that is long enough to be known again.\n" for number in range(40))
LATER = "2026-05-01T08:15:00Z"


def decide(box: Sandbox, **decisions: dict[str, Any]) -> dict[str, Any]:
    """The staging object with decisions, by the stem of the file."""
    staging: dict[str, Any] = json.loads(box.read(STAGING))
    for item in staging["candidates"]:
        stem = item["file"].rpartition("/")[2].removesuffix(".md")
        item.update(decisions.get(stem, {}))
    return staging


def apply(box: Sandbox, **decisions: dict[str, Any]) -> ApplyReport:
    return box.ws.reflect_apply(decide(box, **decisions))


@pytest.fixture
def waiting(garden: Sandbox, at) -> Sandbox:
    """A garden with notes of every kind that a reflection asks about, staged."""
    garden.write(f"{GENERAL}/old.md", "# Old\n\nSomething small.\n")
    garden.write(f"{GENERAL}/long.md", f"---\ntags: [a]\n---\n# Long\n\nIntro.\n\n## One\n\n{LONG}\n## Two\n\n{LONG}")
    garden.write("memory/domains/business/words.md", f"# Words\n\n{LONG}")
    garden.write("memory/domains/legal/words-again.md", f"# Words\n\n{LONG}And one more.\n")
    garden.ws.commit()
    at(LATER)
    garden.ws.reflect()
    return garden


# -- stage ---------------------------------------------------------------------------------------------------


def test_what_is_staged_and_how(waiting: Sandbox) -> None:
    staging = json.loads(waiting.read(STAGING))
    assert staging["triggered_at"] == LATER
    by_file = {item["file"]: item for item in staging["candidates"]}
    assert {INBOX, f"{GENERAL}/old.md", f"{GENERAL}/long.md", "memory/domains/business/words.md"} <= set(by_file)
    old = by_file[f"{GENERAL}/old.md"]
    assert set(old) >= {"file", "domain", "age_days", "tokens", "reason", "hash"}
    assert (old["domain"], old["age_days"]) == ("general", 47)
    assert old["hash"] == waiting.git("hash-object", f"{GENERAL}/old.md").strip()
    assert "older than 15 days" in old["reason"]
    assert [part["name"] for part in by_file[f"{GENERAL}/long.md"]["suggest"]["parts"]] == ["One", "Two"]
    assert by_file["memory/domains/business/words.md"]["suggest"]["into"] == "memory/domains/legal/words-again.md"


def test_staging_changes_no_note_and_is_not_committed(garden: Sandbox, at) -> None:
    at(LATER)
    files, head = garden.files(), garden.head()
    report = garden.ws.reflect()
    assert [item.file for item in report.candidates] == [INBOX]
    assert (garden.files(), garden.head()) == (files, head)
    assert garden.ws.commit().commit is None
    assert garden.git("status", "--porcelain", "--untracked-files=all") == ""


def test_the_rules(garden: Sandbox, at) -> None:
    def files() -> set[str]:
        return {item.file for item in garden.ws.reflect().candidates}

    assert files() == set()
    at("2026-03-30T08:15:00Z")
    assert files() == set(), "fifteen days are not more than fifteen"
    at("2026-03-31T08:15:00Z")
    assert files() == {INBOX}
    at("2026-03-15T08:15:00Z")
    for number in range(20):
        garden.write(f"memory/domains/many/n{number}.md", f"{number} {'x' * number}\n")
    assert files() == set()
    garden.write("memory/domains/many/n20.md", "another\n")
    assert files() == {"memory/domains/many"}
    garden.write("memory/domains/legal/big.md", "word " * 401)
    assert {"memory/domains/legal/big.md", "memory/domains/legal"} <= files()


def test_show_gives_what_is_staged(waiting: Sandbox, garden: Sandbox) -> None:
    report = waiting.ws.reflect_show()
    assert report.triggered_at == LATER
    assert [item.file for item in report.candidates] == [
        item["file"] for item in json.loads(waiting.read(STAGING))["candidates"]
    ]


def test_without_a_staging_file(garden: Sandbox) -> None:
    report = garden.ws.reflect_show()
    assert (report.triggered_at, report.candidates) == (None, [])


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b'{"candidates": 3}', b'{"candidates": [{"file": 1}]}'])
def test_a_damaged_staging_file(garden: Sandbox, damage: bytes) -> None:
    garden.write(STAGING, damage)
    with pytest.raises(BadData):
        garden.ws.reflect_show()
    assert garden.problems("reflection-waiting")
    garden.ws.reflect()
    assert garden.ws.reflect_show().candidates == []


# -- apply ---------------------------------------------------------------------------------------------------


def test_each_decision_in_one_run(waiting: Sandbox) -> None:
    before = waiting.count()
    report = apply(
        waiting,
        inbox={"decision": "keep"},
        old={"decision": "archive", "reason": "done with"},
        long={"decision": "split", "parts": [{"name": "One"}, {"name": "Two"}]},
        words={"decision": "merge", "into": "memory/domains/legal/words-again.md"},
    )
    assert {item.file: item.decision for item in report.applied} == {
        INBOX: "keep",
        f"{GENERAL}/old.md": "archive",
        f"{GENERAL}/long.md": "split",
        "memory/domains/business/words.md": "merge",
    }
    assert report.refused == []
    assert waiting.count() == before + 1
    assert report.commit == waiting.head()
    assert waiting.last()[0].op == "reflect"
    assert b"archive_reason: done with" in waiting.read(f"{GENERAL}/old__DELETE.md")
    assert waiting.read(f"{GENERAL}/one.md") == f"---\ntags: [a]\n---\n# Long\n\nIntro.\n\n## One\n\n{LONG}\n".encode()
    assert waiting.read(f"{GENERAL}/two.md") == f"---\ntags: [a]\n---\n## Two\n\n{LONG}".encode()
    assert waiting.has(f"{GENERAL}/long__DELETE.md")
    merged = waiting.read("memory/domains/legal/words-again.md")
    assert merged == f"# Words\n\n{LONG}And one more.\n\n# Words\n\n{LONG}".encode()
    assert waiting.has("memory/domains/business/words__DELETE.md")
    assert waiting.has(INBOX)
    waiting.assert_clean()


def test_migrate_moves_with_links(waiting: Sandbox) -> None:
    waiting.write("memory/dates.md", "[i](domains/general/inbox.md)\n")
    report = apply(waiting, inbox={"decision": "migrate", "domain": "Business/SEO"})
    assert [item.to for item in report.applied] == ["memory/domains/business/seo/inbox.md"]
    assert waiting.read("memory/dates.md") == b"[i](domains/business/seo/inbox.md)\n"
    assert b"domain: business/seo" in waiting.read("memory/domains/business/seo/inbox.md")


def test_links_to_a_merged_note_lead_to_the_one_it_went_into(waiting: Sandbox) -> None:
    waiting.write("memory/dates.md", "[w](domains/business/words.md)\n")
    apply(waiting, words={"decision": "merge", "into": "memory/domains/legal/words-again.md"})
    assert waiting.read("memory/dates.md") == b"[w](domains/legal/words-again.md)\n"
    assert not [item for item in waiting.problems("broken-link") if item.path == "memory/dates.md"]


def test_a_note_that_changed_since_is_refused_alone(waiting: Sandbox) -> None:
    waiting.write(INBOX, "changed since\n")
    report = apply(
        waiting,
        inbox={"decision": "archive"},
        old={"decision": "archive"},
    )
    assert [(item.file, item.reason) for item in report.refused] == [(INBOX, "changed since it was staged")]
    assert [item.file for item in report.applied] == [f"{GENERAL}/old.md"]
    assert waiting.read(INBOX) == b"changed since\n"
    assert INBOX in [item.file for item in waiting.ws.reflect_show().candidates]
    assert f"{GENERAL}/old.md" not in [item.file for item in waiting.ws.reflect_show().candidates]


@pytest.mark.parametrize(
    ("decision", "where"),
    [
        ({"decision": "archive", "hash": ""}, INBOX),
        ({"decision": "archive", "hash": "0" * 40}, INBOX),
        ({"decision": "migrate", "domain": "con"}, INBOX),
        ({"decision": "migrate", "domain": "../../x"}, INBOX),
        ({"decision": "merge", "into": "memory/domains/x/none.md"}, INBOX),
        ({"decision": "merge", "into": "MEMORY.md"}, INBOX),
        ({"decision": "split", "parts": [{"name": "Nothing"}, {"name": "There"}]}, INBOX),
        ({"decision": "split", "parts": [{"name": "A", "lines": [1, 1]}, {"name": "B", "lines": [1, 3]}]}, INBOX),
        ({"decision": "split", "parts": [{"name": "A", "lines": [1, 2]}, {"name": "B", "lines": [4, 9]}]}, INBOX),
    ],
)
def test_a_decision_that_cannot_be_carried_out_leaves_no_trace(
    waiting: Sandbox, decision: dict[str, Any], where: str
) -> None:
    files, head = waiting.files(), waiting.head()
    try:
        report = apply(waiting, inbox=decision)
        assert [item.file for item in report.refused] == [where]
        assert report.refused[0].reason
        assert report.commit is None
    except BadData as error:
        assert error.path == where or "inbox" in str(error)
    assert (waiting.files(), waiting.head()) == (files, head)
    assert waiting.has(STAGING)


def test_a_refused_decision_leaves_nothing_of_what_it_had_begun(waiting: Sandbox, at) -> None:
    """The name with __DELETE would be too long: found after the text was put into the other note."""
    name = "x" * 246
    waiting.write(f"{GENERAL}/{name}.md", f"# A\n\nText.\n\n## One\n\n{LONG}\n## Two\n\n{LONG}")
    waiting.ws.commit()
    waiting.ws.reflect()
    into = waiting.read("memory/dates.md")
    for decision in (
        {"decision": "merge", "into": "memory/dates.md"},
        {"decision": "split", "parts": [{"name": "One"}, {"name": "Two"}]},
    ):
        report = apply(waiting, **{name: decision, "old": {"decision": "keep"}})
        assert [item.file for item in report.refused] == [f"{GENERAL}/{name}.md"]
        assert waiting.read("memory/dates.md") == into
        assert not waiting.has(f"{GENERAL}/one.md")


def test_the_guard_refuses_a_run_that_loses_text(waiting: Sandbox) -> None:
    files, head = waiting.files(), waiting.head()
    with pytest.raises(Refused):
        apply(
            waiting,
            words={"decision": "merge", "into": "memory/domains/legal/words-again.md", "text": "Much shorter.\n"},
        )
    assert (waiting.files(), waiting.head()) == (files, head)
    assert waiting.has(STAGING)


def test_a_merge_may_give_the_whole_text(waiting: Sandbox) -> None:
    report = apply(
        waiting,
        words={
            "decision": "merge",
            "into": "memory/domains/legal/words-again.md",
            "text": f"# Both\n\n{LONG}And one.\n",
        },
    )
    assert report.refused == []
    assert waiting.read("memory/domains/legal/words-again.md") == f"# Both\n\n{LONG}And one.\n".encode()


def test_two_decisions_about_one_place(waiting: Sandbox) -> None:
    """The second finds what the first has done."""
    report = apply(
        waiting,
        inbox={"decision": "merge", "into": f"{GENERAL}/old.md"},
        old={"decision": "archive"},
    )
    outcome = {item.file: item.decision for item in [*report.applied, *report.refused]}
    assert set(outcome) == {INBOX, f"{GENERAL}/old.md"}
    text = b"".join(data for path, data in waiting.files().items() if path.startswith(GENERAL))
    assert b"Sort me." in text and b"Something small." in text
    live = [path for path in waiting.files() if "__DELETE" not in path and path.startswith(GENERAL)]
    assert any(b"Sort me." in waiting.read(path) for path in live)


def test_notes_that_would_get_one_name_do_not_meet(waiting: Sandbox) -> None:
    waiting.write(f"{GENERAL}/Case.md", "---\nupdated: 2026-01-01\n---\nUpper\n")
    waiting.write(f"{GENERAL}/sub/case.md", "---\nupdated: 2026-01-01\n---\nLower\n")
    waiting.ws.commit()
    waiting.ws.reflect()
    report = apply(waiting, Case={"decision": "migrate", "domain": "x"}, case={"decision": "migrate", "domain": "x"})
    assert (len(report.applied), len(report.refused)) == (1, 1)
    assert not waiting.problems("case-clash")


# -- the staging file ----------------------------------------------------------------------------------------


def test_it_goes_when_all_is_applied(garden: Sandbox, at) -> None:
    at(LATER)
    garden.ws.reflect()
    apply(garden, inbox={"decision": "archive"})
    assert not garden.has(STAGING)
    assert not garden.problems("reflection-waiting")


def test_it_keeps_what_has_no_decision_yet(waiting: Sandbox) -> None:
    before = {item.file for item in waiting.ws.reflect_show().candidates}
    apply(waiting, inbox={"decision": "archive"})
    assert {item.file for item in waiting.ws.reflect_show().candidates} == before - {INBOX}
    assert waiting.ws.reflect_show().triggered_at == LATER


def test_keep_is_a_decision(garden: Sandbox, at) -> None:
    at(LATER)
    garden.ws.reflect()
    before = garden.head()
    report = apply(garden, inbox={"decision": "keep"})
    assert ([item.decision for item in report.applied], report.commit) == (["keep"], None)
    assert garden.head() == before
    assert not garden.has(STAGING)


def test_decisions_without_a_staging_file(waiting: Sandbox) -> None:
    plan = decide(waiting, inbox={"decision": "archive"})
    (waiting.root / STAGING).unlink()
    assert [item.file for item in waiting.ws.reflect_apply(plan).applied] == [INBOX]


@pytest.mark.parametrize(
    "plan",
    [
        {},
        {"candidates": 3},
        {"candidates": [3]},
        {"candidates": [{"decision": "archive"}]},
        {"candidates": [{"file": INBOX, "decision": "burn"}]},
        {"candidates": [{"file": "../x.md", "decision": "archive"}]},
        {"candidates": [{"file": INBOX, "decision": "archive"}, {"file": INBOX, "decision": "keep"}]},
        {"candidates": [{"file": INBOX, "decision": "merge"}]},
        {"candidates": [{"file": INBOX, "decision": "split"}]},
    ],
)
def test_a_plan_that_makes_no_sense_is_bad_data(waiting: Sandbox, plan: dict[str, Any]) -> None:
    files, head = waiting.files(), waiting.head()
    with pytest.raises(BadData):
        waiting.ws.reflect_apply(plan)
    assert (waiting.files(), waiting.head()) == (files, head)


def test_pending_edits_of_others_go_first(waiting: Sandbox) -> None:
    waiting.write("memory/dates.md", "edited\n")
    apply(waiting, inbox={"decision": "archive"})
    assert [commit.op for commit in waiting.last(2)] == ["reflect", "edit"]


def test_a_held_note_is_not_staged_and_a_decision_about_it_stops_the_run(waiting: Sandbox) -> None:
    path, text = f"{GENERAL}/old.md", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
    waiting.write(path, text)
    waiting.ws.reflect()
    plan = decide(waiting, inbox={"decision": "archive"})
    assert path not in [item["file"] for item in plan["candidates"]]
    digest = waiting.git("hash-object", path).strip()
    plan["candidates"].append({"file": path, "decision": "archive", "hash": digest})
    with pytest.raises(Refused):
        waiting.ws.reflect_apply(plan)
    assert waiting.has(INBOX) and waiting.read(path) == text.encode()
