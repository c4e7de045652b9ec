"""What programs rely on: the keys of every command's --json, on a real workspace."""

import json
from pathlib import Path
from typing import Any

import pytest
from console import NOW

from bonsai.cli.main import run

NOTE = "memory/domains/general/a.md"
STATUS = {
    *("status", "problems", "last_reindex", "notes", "domains", "total_tokens", "boot_tokens", "general_violations"),
    *("pending_purge", "uncommitted", "blocked", "daemon"),
}


class Shell:
    """Runs commands with --json in one workspace."""

    def __init__(self, root: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.root, self.capfd = root, capfd

    def __call__(self, *words: str, code: int = 0) -> dict[str, Any]:
        self.capfd.readouterr()
        got = run(["-C", str(self.root), "--json", *words])
        out, err = self.capfd.readouterr()
        assert got == code, err
        found: dict[str, Any] = json.loads(out)
        return found

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")


@pytest.fixture
def sh(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("BONSAI_NOW", NOW)
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path / "ws", capfd)
    shell.write("MEMORY.md", "# Me\n\n## Pricing\n\nA dinner costs 895 kr.\n\n## Cron\n\nAt night.\n")
    shell("init")
    return shell


def test_init_and_migrate(sh: Shell) -> None:
    assert set(sh("init")) == {"workspace", "created"}
    trial = sh("migrate", "--dry-run")
    assert {"created", "skipped", "backup", "boot_tokens", "commit"} <= set(trial)
    assert not (sh.root / "memory/domains").exists()
    done = sh("migrate")
    assert [item["path"] for item in done["created"]] == [item["path"] for item in trial["created"]]
    assert set(done["boot_tokens"]) == {"before", "after"}
    assert done["backup"] == "memory/MEMORY.md.bak"
    again = sh("migrate")
    assert (again["created"], again["commit"]) == ([], None)


def test_moving_and_putting_away(sh: Shell) -> None:
    sh.write(NOTE, "A note.\n")
    moved = sh("move", NOTE, "Business/SEO")
    assert (moved["from"], moved["to"]) == (NOTE, "memory/domains/business/seo/a.md")
    assert len(moved["commit"]) >= 40
    archived = sh("archive", moved["to"], "--reason", "old")
    assert archived["archived"] == ["memory/domains/business/seo/a__DELETE.md"]
    purge = sh("purge")
    assert purge["purged"] == []
    assert purge["waiting"] == [{"path": archived["archived"][0], "days_left": 180}]
    restored = sh("restore", archived["archived"][0])
    assert restored["restored"] == ["memory/domains/business/seo/a.md"]


def test_indexes_commits_and_health(sh: Shell) -> None:
    sh.write(NOTE, "A note.\n")
    assert {"notes", "domains", "tokens", "changed", "problems"} <= set(sh("reindex", "--check", code=1))
    assert sh("reindex")["notes"] == 1
    assert sh("reindex", "--check")["changed"] == []
    committed = sh("commit")
    assert NOTE in committed["paths"] and committed["held"] == []
    assert sh("commit")["commit"] is None
    status = sh("status")
    assert set(status) >= STATUS
    assert set(status["daemon"]) == {"running", "pid"}
    sh.write("memory/domains/general/bad.md", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    problem = next(item for item in sh("status", code=1)["problems"] if item["code"] == "conflict-markers")
    assert set(problem) == {"code", "severity", "path", "message"}
    assert sh("commit", code=77)["held"] == ["memory/domains/general/bad.md"]
    assert set(sh("doctor", code=1)) >= {"checks", "fixed", "problems"}
    assert sh("verify")["ok"] is True
    (sh.root / ".git/index").write_bytes(b"")
    verified = sh("verify", code=65)
    assert (verified["ok"], bool(verified["fsck"])) == (False, True)
    assert set(verified["problems"][0]) == {"code", "severity", "path", "message"}


def test_looking_back(sh: Shell) -> None:
    sh.write(NOTE, "A note.\n")
    sh("commit")
    sh("archive", NOTE)
    commits = sh("log", "--limit", "2")["commits"]
    assert [item["op"] for item in commits] == ["archive", "edit"]
    assert all({"sha", "time", "op", "actor", "run", "message", "paths"} <= set(item) for item in commits)
    undone = sh("undo", commits[0]["run"])
    assert {"undone", "restored", "conflicts", "commit"} <= set(undone)
    assert (sh.root / NOTE).exists()


def test_reading(sh: Shell) -> None:
    sh("migrate")
    found = sh("recall", "what does a dinner cost", "--limit", "1")
    assert {"query", "hits", "fresh", "at", "warnings"} <= set(found)
    [hit] = found["hits"]
    assert {"path", "lines", "heading", "title", "text", "score", "why", "tier"} <= set(hit)
    assert (hit["path"], len(hit["lines"])) == ("memory/domains/business/pricing.md", 2)
    assert sh("recall", "xyzzy")["hits"] == []
    added = sh("daily", "Called.")
    assert added["path"] == "memory/daily/2026-03-15.md"
    assert "Called." in sh("daily", "show", "2026-03-15")["text"]


def test_reflection(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    sh.write(NOTE, "A note.\n")
    sh("commit")
    monkeypatch.setenv("BONSAI_NOW", "2026-05-01T08:00:00Z")
    staged = sh("reflect")
    [candidate] = staged["candidates"]
    assert {"file", "domain", "age_days", "tokens", "reason", "hash"} <= set(candidate)
    assert sh("reflect", "show")["candidates"] == staged["candidates"]
    plan = {**staged, "candidates": [{**candidate, "decision": "migrate", "domain": "business"}]}
    sh.write("plan.json", json.dumps(plan))
    applied = sh("reflect", "apply", str(sh.root / "plan.json"))
    assert [item["file"] for item in applied["applied"]] == [NOTE]
    assert applied["refused"] == [] and applied["commit"]


def test_a_file_argument_starts_at_the_current_folder(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    sh.write(NOTE, "A note.\n")
    sh("commit")
    monkeypatch.chdir(sh.root / "memory/domains/general")
    assert sh("archive", "a.md")["archived"] == ["memory/domains/general/a__DELETE.md"]
    assert sh("log", "a__DELETE.md", "--limit", "1")["commits"][0]["op"] == "archive"
    assert sh("restore", "a.md")["restored"] == [NOTE]
    sh.write(NOTE, "Another text.\n")
    sh("commit")
    assert sh("restore", "a.md@HEAD~1")["restored"] == [NOTE]
    assert (sh.root / NOTE).read_text(encoding="utf-8") == "A note.\n"
