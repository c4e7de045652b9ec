"""`doctor` looks deeper than status, and repairs without losing a note."""

import os
import time

import pytest

from bonsai.adapters.git_history import GitHistory
from verbs.sandbox import GENERAL, Sandbox


def checks(box: Sandbox, **options: bool) -> dict[str, bool]:
    return {check.name: check.ok for check in box.ws.doctor(**options).checks}


def test_a_sound_workspace(garden: Sandbox) -> None:
    report = garden.ws.doctor()
    assert [check.name for check in report.checks] == ["repository", "objects", "locks", "last run", "cache", "notes"]
    assert all(check.ok and check.message for check in report.checks)
    assert (report.fixed, report.problems) == ([], [])


def test_it_changes_nothing_unasked(garden: Sandbox) -> None:
    garden.write(".git/index.lock", "")
    garden.write(f"{GENERAL}/new.md", "x\n")
    files, head = garden.files(), garden.head()
    garden.ws.doctor()
    assert (garden.files(), garden.head(), garden.has(".git/index.lock")) == (files, head, True)


def test_without_a_repository(bare: Sandbox) -> None:
    bare.write(f"{GENERAL}/a.md", "x\n")
    found = checks(bare)
    assert found["repository"] is False
    assert "objects" not in found


def test_a_damaged_object_is_found(garden: Sandbox) -> None:
    garden.git("unpack-file", "HEAD:memory/dates.md")
    for name in garden.root.glob(".merge_file_*"):
        name.unlink()
    garden.close()
    packs = list(garden.root.glob(".git/objects/pack/*.pack"))
    loose = [path for path in garden.root.glob(".git/objects/??/*") if path.is_file()]
    victim = (packs or loose)[0]
    victim.chmod(0o644)
    victim.write_bytes(victim.read_bytes()[:-30] + b"\0" * 30)
    assert checks(garden)["objects"] is False
    assert garden.ws.recall("fair").hits, "notes are read from the disk"


def test_a_bad_note_fails_the_check_of_the_notes(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/a.md", "---\na: [\n---\nx\n")
    report = garden.ws.doctor()
    assert [check.name for check in report.checks if not check.ok] == ["notes"]
    assert [item.code for item in report.problems if item.severity == "warning"] == ["bad-frontmatter"]


def test_what_waits_for_a_decision_is_no_damage(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/long.md", "word " * 3000)
    garden.ws.reflect()
    report = garden.ws.doctor()
    assert all(check.ok for check in report.checks)
    assert "reflection-waiting" in [item.code for item in report.problems]


def test_fix_rebuilds_the_cache(garden: Sandbox) -> None:
    garden.close()
    garden.write(".bonsai/cache/tree.db", b"nonsense" * 1000)
    report = garden.ws.doctor(fix=True)
    assert report.fixed
    assert garden.ws.status().notes == 3
    assert all(checks(garden).values())


def test_unlock_removes_only_what_is_old(garden: Sandbox) -> None:
    garden.write(".git/index.lock", "")
    assert garden.ws.doctor(unlock=True).fixed == []
    assert garden.has(".git/index.lock")
    old = time.time() - 3600
    os.utime(garden.root / ".git/index.lock", (old, old))
    report = garden.ws.doctor(unlock=True)
    assert len(report.fixed) == 1
    assert not garden.has(".git/index.lock")


def test_a_run_that_was_cut_short_is_cleared_up(garden: Sandbox) -> None:
    journal = garden.opened()._outside.journal
    journal.begin({"run": "0" * 12, "op": "archive", "time": time.time(), "head": garden.head(), "paths": []}, True)
    assert checks(garden)["last run"] is False
    assert garden.ws.doctor(fix=True).fixed
    assert checks(garden)["last run"]


def test_a_clock_that_was_wrong_is_told_until_the_next_commit(garden: Sandbox, at) -> None:
    at("2036-03-15T08:15:00Z")
    garden.write(f"{GENERAL}/a.md", "# A\n")
    garden.ws.commit()
    at("2026-03-15T08:15:00Z")
    found = garden.problems("clock")
    assert [item.severity for item in found] == ["warning"] * 2
    assert ["bonsai commit" in item.message or "bonsai reindex" in item.message for item in found] == [True, True]
    garden.write(f"{GENERAL}/a.md", "# B\n")
    garden.ws.commit()
    assert garden.problems("clock") == []
    at("2026-03-14T20:15:00Z")
    assert garden.problems("clock") == [], "less than a day may be a zone"


def test_fix_after_a_kill_brings_the_index_of_git_in_line(garden: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the person's next commit would take ours back: to the index the old text is what they want."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    garden.write("memory/domains/business/pricing.md", "# Pricing\n\nDearer now.\n")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(GitHistory, "refresh_index", killed)
        garden.ws.commit()
    assert garden.git("diff", "--cached", "--name-only")
    garden.ws.doctor(fix=True)
    assert not garden.git("status", "--porcelain")
