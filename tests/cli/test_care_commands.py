"""The commands of the care, as they are typed, and the script of the document."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from console import NOW, TOP

from bonsai.cli.main import run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BONSAI_NOW", NOW)
    assert run(["init", str(tmp_path / "ws")]) == 0
    monkeypatch.chdir(tmp_path / "ws")
    return tmp_path / "ws"


@pytest.mark.parametrize(
    "words",
    [
        ["--confirm", "Two times", "--context", "a meeting"],
        ["--confirm", "--context", "a meeting", "Two times"],
        ["--rule", "Two times", "--confirm", "--context", "a meeting"],
        ["Two times", "--confirm", "--context", "a meeting"],
    ],
)
def test_a_confirmation_can_be_said_in_several_ways(here: Path, words: list[str]) -> None:
    assert run(["feedback", "add", *words]) == 0
    text = (here / "memory/feedback.md").read_text("utf-8")
    assert text.endswith("### F001: Two times (确认 2026-03-15)\n- **Context**: a meeting\n")


@pytest.mark.parametrize(
    "words",
    [
        ["remember", ""],
        ["store", "--text", " "],
        ["recall", ""],
        ["retrieve", "--query", ""],
        ["cold", "--query", ""],
        ["distill", "--text", ""],
        ["daily", "add", ""],
        ["feedback", "add", "--rule", ""],
        ["why", ""],
    ],
)
def test_nothing_said_is_a_usage_error_everywhere(here: Path, words: list[str]) -> None:
    assert run(words) == 64


@pytest.mark.parametrize("verb", ["restore", "archive", "show", "why", "log", "promote"])
def test_a_note_that_is_not_there_is_66_everywhere(here: Path, verb: str) -> None:
    assert run([verb, "nothere"]) == (66 if verb != "why" else 0)  # of `why`, a bare word is a text to look for


def test_one_entry_at_a_time(here: Path) -> None:
    assert run(["feedback", "add", "--rule", "a", "--confirm", "b", "--context", "c"]) == 64
    assert run(["feedback", "add", "--rule", "a"]) == 64


def test_the_care_from_the_shell(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def shell(*words: str) -> dict:
        capfd.readouterr()
        assert run([*words, "--json"]) == 0
        return json.loads(capfd.readouterr().out)

    added = shell("feedback", "add", "--rule", "Ask", "--why", "it was taken yesterday", "--how", "read")
    assert set(added) == {"id", "path", "text", "dates", "commit"} and added["dates"][0]["absolute"] == "2026-03-14"
    assert shell("feedback")["entries"][0]["id"] == "F001"
    assert shell("feedback", "fix")["renumbered"] == []
    (here / "memory/topics/a.md").write_text("Seen yesterday. `gone.py`\n")
    assert [item["absolute"] for item in shell("dates")["dates"]] == ["2026-03-14"]
    assert shell("dates", "fix", "memory/topics/a.md")["commit"]
    assert [item["found"] for item in shell("check-facts")["claims"]] == ["missing"]
    beat = shell("heartbeat")
    assert [phase["name"] for phase in beat["phases"]] == ["catch-up", "consolidate", "verify", "tidy"]
    assert beat["answer"] == "" and beat["phases"][3]["candidates"][0]["path"] == "memory/topics/a.md"
    assert shell("relocate", "--dry-run")["relocated"] == []
    assert "line 3: write 2026-03-14 for 'yesterday'" in validated(here, shell)


def validated(here: Path, shell) -> list[str]:
    (here / "memory/daily/2026-03-15.md").write_text("# Day\n\n- Met Kim yesterday.\n")
    found: list[str] = shell("validate")["suggestions"]
    return found


def test_each_command_says_something(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (here / "memory/daily/2026-03-14.md").write_text("- Mara: no, not on Fridays\n")
    (here / "memory/topics/a.md").write_text("Seen tomorrow. `gone.py`\n")
    for words in (["feedback"], ["dates"], ["check-facts"], ["heartbeat"], ["heartbeat", "--done"], ["relocate"]):
        capfd.readouterr()
        assert run(words) == 0
        assert capfd.readouterr().out.strip()


def test_the_script_of_the_document(tmp_path: Path) -> None:
    script = TOP / "scripts/init_memory.py"
    code = [line for line in script.read_text("utf-8").splitlines() if line.strip() and line[:1] not in ('#"', "#")]
    assert len([line for line in code if not line.startswith('"""')]) <= 10
    done = subprocess.run([sys.executable, script, tmp_path / "new"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new/memory/feedback.md").exists() and (tmp_path / "new/HEARTBEAT.md").exists()
    again = subprocess.run([sys.executable, script, tmp_path / "new"], capture_output=True, text=True, timeout=120)
    assert again.returncode == 0 and "made" not in again.stdout
    for words, code in ([], 64), (["--nonsense"], 64), (["--help"], 0):  # no workspace of that name is made
        told = subprocess.run([sys.executable, script, *words], cwd=tmp_path, capture_output=True, text=True)
        assert (told.returncode, "WORKSPACE" in told.stdout) == (code, True)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_an_agent_that_nobody_has_seen_is_told_with_those_that_are_known(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`--agent wern` made a second tree without a word."""
    root = str(tmp_path / "ws")

    def said(*words: str) -> str:
        assert run(["-C", root, *words]) == 0
        return capfd.readouterr().err

    assert run(["init", root]) == 0
    assert "no other agent" in said("--agent", "wren", "recall", "dawn")
    assert not (tmp_path / "ws/MEMORY-wren.md").exists()  # who only looks makes nothing
    said("--agent", "wren", "remember", "It sings at dawn.")
    assert said("--agent", "wren", "recall", "dawn", "--json") == ""
    told = said("--agent", "wern", "status")
    assert "'wern' is new" in told and "it knows wren" in told
    assert "new" in said("remember", "--agent-id", "wern", "It nests in May.")
    assert said("--agent", "wern", "status") == said("status") == ""
