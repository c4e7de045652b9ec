"""The commands that look back: what programs rely on, bytes as they are, and the words at a terminal."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from bonsai.cli import render_story, screen
from bonsai.cli.main import run
from bonsai.passes.reports import Changed, DiffReport, LogReport, WhyLine, WhyReport
from bonsai.ports.history import Commit

NOTE = "memory/domains/general/a.md"
BYTES = b"One.\r\n\xff two\n\x1b[31m three"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BONSAI_NOW", "2026-03-15T23:30:00Z")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ws/memory/domains/general").mkdir(parents=True)
    (tmp_path / "ws" / NOTE).write_bytes(BYTES)
    assert run(["init", "ws"]) == 0
    monkeypatch.chdir(tmp_path / "ws")
    return tmp_path / "ws"


def answer(capfd: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capfd.readouterr()
    assert run(["--json", *words]) == 0
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    return found


def test_keys(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert set(answer(capfd, "log", "--since", "2026-03-15")) == {"commits"}
    why = answer(capfd, "why", f"{NOTE}:1")
    keys = {
        "line",
        "text",
        "sha",
        "time",
        "actor",
        "op",
        "run",
        "session",
        "title",
        "replaced",
        "path",
        "origin",
        "via",
    }
    assert keys <= set(why["lines"][0])
    shown = answer(capfd, "show", NOTE, "--at", "HEAD")
    assert set(shown) == {"path", "commit", "time", "text"}
    assert shown["text"].startswith("One.\r\n")
    (root / NOTE).write_bytes(b"Two.\n")
    diff = answer(capfd, "diff")
    assert set(diff["changes"][0]) == {"path", "old", "kind", "added", "removed", "diff", "generated"}
    assert answer(capfd, "diff", "HEAD", NOTE) == diff == answer(capfd, "diff", NOTE)


def test_show_hands_over_every_byte(root: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for words in (["show", NOTE], ["show", NOTE, "--at", "HEAD"], ["show", NOTE, "--at", "2026-03-15"]):
        capfdbinary.readouterr()
        assert run(words) == 0
        assert capfdbinary.readouterr().out == BYTES


def test_a_file_is_named_from_the_current_folder(
    root: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root / "memory/domains/general")
    assert [item["line"] for item in answer(capfd, "why", "a.md:2")["lines"]] == [2]
    assert answer(capfd, "show", "a.md")["path"] == NOTE
    (root / NOTE).write_bytes(b"Two.\n")
    assert [item["path"] for item in answer(capfd, "diff", "a.md")["changes"]] == [NOTE]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["why", "../../secret.md:1"], 77),
        (["show", "../../secret.md"], 77),
        (["diff", "HEAD", "../../secret.md"], 77),
        (["why", "nothing says this"], 0),
        (["why", f"{NOTE}:9"], 66),
        (["why"], 64),
        (["log", "--since", "soon"], 65),
        (["show", NOTE, "--at", "2026-02-30"], 65),
        (["show", NOTE, "--at=--output=x"], 66),
        (["diff", "--", "--output=x"], 66),
    ],
)
def test_exit_codes(root: Path, words: list[str], code: int) -> None:
    assert run(words) == code
    assert not (root / "x").exists()


# -- words ---------------------------------------------------------------------------------------------------


def east(moment: datetime) -> datetime:
    return moment.astimezone(timezone(timedelta(hours=2)))


def commit(hour: int, message: str) -> Commit:
    time = datetime(2026, 3, 15, hour, tzinfo=UTC).isoformat()
    return Commit("a" * 40, time, "Pat", message, "", "edit", "human", f"run{hour}", "", "", ("memory/a.md",), ())


def texts(lines: screen.Lines) -> list[str]:
    return [line if isinstance(line, str) else line.text for line in lines]


def test_the_timeline_has_local_days() -> None:
    report = LogReport([commit(23, "late"), commit(22, "at midnight"), commit(21, "before")])
    assert texts(render_story.timeline(report, "", False, east)) == [
        "2026-03-16 Monday (+0200)",
        "  01:00  run23         human       late",
        "  00:00  run22         human       at midnight",
        "",
        "2026-03-15 Sunday (+0200)",
        "  23:00  run21         human       before",
    ]


def test_lines_with_one_story_are_told_together() -> None:
    said = {"sha": "a" * 40, "time": "2026-03-15T08:00:00+00:00", "actor": "human", "author": "Pat", "run": "r1"}
    one = WhyLine("m.md", 1, "one", **said, message="edit: m", replaced=["0"])  # type: ignore[arg-type]
    two = WhyLine("m.md", 2, "two", **said, message="edit: m")  # type: ignore[arg-type]
    assert texts(render_story.why(WhyReport([one, two, WhyLine("m.md", 3, "new")], 4), "", east)) == [
        "m.md:1  one",
        "m.md:2  two",
        "  2026-03-15 10:00+02:00  human (Pat)  r1  edit: m",
        "  instead of: 0",
        "",
        "m.md:3  new",
        "  not committed yet",
        "… 4 more lines: --limit",
    ]


def test_a_diff_at_a_terminal_is_coloured_and_counts_what_is_generated() -> None:
    note = Changed("b.md", "a.md", "renamed", 1, 1, "--- a/a.md\n+++ b/b.md\n@@ -1,1 +1,1 @@\n-x\n+y\n", False)
    index = Changed("_index.md", "_index.md", "edited", 1, 1, "--- a\n+++ b\n@@ @@\n-x\n", True)
    lines = list(render_story.diff(DiffReport("a", "t", [note, index]), named=False))
    assert texts(lines) == ["→ b.md (was a.md)  +1 -1", "@@ -1,1 +1,1 @@", "-x", "+y", "… and 1 that are generated"]
    assert [line.style for line in lines if isinstance(line, screen.Line)] == ["bold", "cyan", "red", "green"]
    assert len(texts(render_story.diff(DiffReport("a", "t", [index]), named=True))) == 3
