"""The Python API is the verbs: each answers a typed report whose attributes are the keys of its `--json`."""

import dataclasses
import json
from typing import Any

import pytest

import bonsai
from bonsai import Workspace
from bonsai.errors import BonsaiError
from bonsai.passes import reports
from bonsai.passes.plain import as_json
from verbs.sandbox import GENERAL, Sandbox

INBOX = f"{GENERAL}/inbox.md"
#: What the contract promises of every answer.
KEYS: dict[str, set[str]] = {
    "init": {"workspace", "created"},
    "migrate": {"created", "skipped", "backup", "boot_tokens", "commit"},
    "move": {"from", "to", "commit"},
    "reindex": {"notes", "domains", "tokens", "changed", "problems"},
    "commit": {"commit", "paths", "held"},
    "status": {
        *("status", "problems", "last_reindex", "notes", "domains", "total_tokens", "boot_tokens", "blocked"),
        *("general_violations", "pending_purge", "uncommitted", "daemon"),
    },
    "reflect": {"candidates"},
    "reflect_show": {"candidates"},
    "reflect_apply": {"applied", "refused", "commit"},
    "archive": {"archived", "commit"},
    "restore": {"restored", "commit"},
    "purge": {"purged", "waiting", "commit"},
    "recall": {"query", "hits", "fresh"},
    "log": {"commits"},
    "undo": {"undone", "restored", "conflicts", "commit"},
    "daily_add": {"path", "text", "commit"},
    "daily_show": {"path", "text"},
    "doctor": {"checks", "fixed", "problems", "lost"},
    "verify": {"ok", "fsck", "commits", "notes", "problems"},
}
INNER = {
    "problems": {"code", "severity", "path", "message"},
    "daemon": {"running", "pid"},
    "boot_tokens": {"before", "after"},
    "purged": {"path", "age_days"},
    "waiting": {"path", "days_left"},
    "hits": {"path", "lines", "heading", "title", "text", "score", "why", "tier"},
    "commits": {"sha", "time", "op", "actor", "run", "message", "paths"},
}


@pytest.fixture
def answers(garden: Sandbox) -> dict[str, Any]:
    """One real answer of every verb."""
    box = garden
    found: dict[str, Any] = {"init": Workspace.init(box.root)}
    box.write("MEMORY.md", b"# Me\n\n## Pricing\n\nx\n" + box.read("MEMORY.md"))
    box.write(f"{GENERAL}/broken.md", "[x](nothing.md)\n")
    box.write(f"{GENERAL}/old__DELETE.md", "x\n")
    found["reindex"] = box.ws.reindex()
    found["commit"] = box.ws.commit()
    found["migrate"] = box.ws.migrate()
    found["status"] = box.ws.status()
    found["reflect"] = box.ws.reflect()
    found["reflect_show"] = box.ws.reflect_show()
    found["reflect_apply"] = box.ws.reflect_apply({"candidates": []})
    found["move"] = box.ws.move(INBOX, "business")
    found["archive"] = box.ws.archive(found["move"].to)
    found["restore"] = box.ws.restore(found["archive"].archived[0])
    found["purge"] = box.ws.purge(dry_run=True)
    found["recall"] = box.ws.recall("dinner")
    found["log"] = box.ws.log()
    found["daily_add"] = box.ws.daily_add("x")
    found["daily_show"] = box.ws.daily_show()
    found["undo"] = box.ws.undo()
    found["doctor"] = box.ws.doctor()
    found["verify"] = box.ws.verify()
    return found


def test_answers_have_the_keys_of_the_contract(answers: dict[str, Any]) -> None:
    assert set(answers) == set(KEYS)
    seen = set()
    for verb, report in answers.items():
        data = as_json(report)
        json.dumps(data)
        assert set(data) >= KEYS[verb], verb
        for key in KEYS[verb]:
            assert hasattr(report, "from_" if key == "from" else key), (verb, key)
        if data.get("commit", "none") is None:
            assert verb in ("reflect_apply", "purge", "daily_show"), verb
        for key, value in data.items():
            for item in value if isinstance(value, list) else [value]:
                if key in INNER and isinstance(item, dict):
                    assert set(item) >= INNER[key], key
                    seen.add(key)
    assert seen >= set(INNER) - {"purged"}
    status = as_json(answers["status"])
    for key in ("uncommitted", "general_violations", "pending_purge", "notes", "domains"):
        assert type(status[key]) is int, key


def test_every_report_is_a_plain_dataclass() -> None:
    for name, item in vars(reports).items():
        if name.endswith("Report"):
            assert dataclasses.is_dataclass(item), name


def test_calls_of_the_contract(garden: Sandbox) -> None:
    with bonsai.Workspace.open(garden.root) as ws:
        assert ws.recall("dinner", limit=10).hits[0].lines[0] >= 1
        assert ws.commit().commit is None
        garden.write(INBOX, "x\n")
        assert ws.commit(INBOX).commit
        assert ws.reindex(full=True).changed == []
        assert ws.status().status == "HEALTHY"


def test_one_open_workspace_sees_what_others_do(garden: Sandbox) -> None:
    """A program that keeps a workspace open beside people, and beside other programs."""
    with bonsai.Workspace.open(garden.root) as first, bonsai.Workspace.open(garden.root) as second:
        for number in range(3):
            garden.write(f"{GENERAL}/n{number}.md", f"The {'kraken' * (number + 1)} wakes.\n")
            assert first.commit().commit
            assert second.commit().commit is None
            assert second.status().uncommitted == 0
            assert second.recall("kraken" * (number + 1)).hits
            second.archive(f"{GENERAL}/n{number}.md")
            assert first.status().archived == number + 1
            assert first.recall("kraken" * (number + 1)).hits == []
            garden.git("commit", "-q", "--allow-empty", "-m", "by hand")
            assert first.status().uncommitted == 0
        first.undo()
        assert second.status().archived == 2
    garden.assert_clean()


def test_errors_carry_a_path_a_cause_and_a_next_step(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/held.md", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    for verb in (
        lambda: garden.ws.move("memory/x.md", "a"),
        lambda: garden.ws.archive(f"{GENERAL}/held.md"),
        lambda: garden.ws.restore(INBOX),
        lambda: garden.ws.restore(f"{INBOX}@nothing"),
        lambda: garden.ws.commit("src/x.py"),
        lambda: garden.ws.undo("nothing"),
        lambda: garden.ws.daily_show("2020-01-01"),
        lambda: garden.ws.log("memory/never.md"),
        lambda: garden.ws.locate("../x"),
    ):
        with pytest.raises(BonsaiError) as caught:
            verb()
        error = caught.value
        assert error.cause and error.hint and error.path is not None, error
        assert error.code in (64, 65, 66, 73, 75, 77, 78)
