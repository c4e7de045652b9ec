"""No clock is too odd: the first day that there is, 1970, the last one, a commit that is dated beyond it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from console import NOW

from bonsai.cli.main import COMMANDS, run

USAGE, BUG = 64, 70
CLOCKS = ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"]
#: Command → what it is called with; a list of lists for more than one call.
CALLS: dict[str, list[list[str]]] = {
    "status": [[]],
    "heartbeat": [[], ["--done"]],
    "feedback": [["add", "--rule", "Ask", "--why", "it broke yesterday", "--how", "next week"], ["list"], ["fix"]],
    "dates": [["check"], ["fix", "memory"]],
    "check-facts": [[]],
    "relocate": [[]],
    "daily": [["add", "met Kim yesterday, 上周"], ["show"]],
    "remember": [["the fair is next Friday"], ["shipped last week", "--type", "project", "--key", "a/b"]],
    "recall": [["fair"], ["met", "--at", "2026-01-01"], ["old", "--deleted"]],
    "retrieve": [["--query", "fair"]],
    "log": [[], ["--since", "2026-01-01"], ["--until", "9999-12-31", "--json"]],
    "why": [["MEMORY.md"], ["memory/topics/t.md:3"]],
    "show": [["MEMORY.md"], ["MEMORY.md", "--at", "2026-01-01"]],
    "diff": [[], ["2026-01-01"]],
    "commit": [[]],
    "reindex": [[], ["--full"]],
    "migrate": [[]],
    "move": [["memory/topics/m.md", "business"]],
    "reflect": [[], ["show"]],
    "archive": [["memory/topics/t.md"]],
    "restore": [["memory/topics/t__DELETE.md"]],
    "promote": [["memory/topics/t.md"]],
    "purge": [["--dry-run"], []],
    "undo": [[]],
    "hot": [[]],
    "tree": [[]],
    "consolidate": [["--mode", "quick"], ["--mode", "monthly"]],
    "cold": [["--query", "fair"]],
    "sync-critical": [[]],
    "metrics": [[]],
    "distill": [["--text", "we met yesterday"]],
    "ingest-daily": [[]],
    "validate": [[]],
    "extract-metadata": [["--file", "memory/topics/t.md"]],
    "search-url": [["--url", "https://example.org"]],
    "turn": [["add", "I moved yesterday.", "Noted.", "--fact", "city=Oslo"], ["list"]],
    "context": [["--query", "Where?"]],
    "prompt": [["--query", "Where?"]],
    "fact": [["set", "city", "Oslo"], ["set", "city", "Bergen"], ["why", "city"], ["list"]],
    "event": [["add", "workout", "{}"], ["list"]],
    "summary": [["set", "She moved."], ["get"]],
    "scratch": [["set", "plan", "ask"], ["get", "plan"]],
    "followup": [["set", "{}"], ["get"]],
    "boot": [[]],
    "connect": [["llms-txt", "--yes"]],
    "memory-tool": [['{"command": "view", "path": "/memories"}']],
    "sync": [[]],
    "trust": [[]],
    "allow": [["0000000000000000"]],
    "verify": [[]],
    "doctor": [[]],
    "erase": [["memory/topics/t.md", "--yes"]],
    "init": [[]],
    "daemon": [["status"]],
    "completion": [["bash"]],
}
SERVERS = {"mcp", "watch"}  # they do not end by themselves
ODD = {
    "MEMORY.md": "# Me\n\n## Project\n\n- shipped yesterday\n\n## Pricing\n\nlast week\n",
    "memory/topics/t.md": "---\ncreated: 9999-12-31\nupdated: 0001-01-01\nsource: web\n---\n\n"
    "yesterday, last week, 3 years ago, 上个月, 下周, 半年后, 去年, next Friday, vor 3 Tagen, in 2 weeks\n\n"
    "- 0001-01-01: met yesterday, last week, 去年, last month\n- 9999-12-31: tomorrow, next month, 明年, next week\n",
    "memory/topics/m.md": "next year\n",
    "memory/daily/0001-01-01.md": "met yesterday, last year, 上季度\n",
    "memory/daily/9999-12-31.md": "see tomorrow, next weekend, 下周末\n",
    "memory/0001-01-01.md": "loose\n",
    "memory/domains/general/old__DELETE.md": "---\narchived: 0001-01-01T00:00:00Z\n---\nold\n",
    "memory/domains/general/new__DELETE.md": "---\narchived: 9999-12-31T23:59:59Z\n---\nnew\n",
    "memory/domains/general/fact.md": "---\ntype: fact\nimportance: 0.5\ncreated: 0001-01-01T00:00:00+14:00\n"
    "updated: 9999-12-31T23:59:59-12:00\n---\nmet at the fair\n",
}


def test_every_command_is_called() -> None:
    assert set(CALLS) | SERVERS == set(COMMANDS)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with notes and a commit at the ends of time."""
    root = tmp_path_factory.mktemp("odd") / "ws"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BONSAI_NOW", NOW)
        assert run(["init", str(root)]) == 0
        for path, text in ODD.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        assert run(["-C", str(root), "commit"]) == 0
    words = ["git", "-c", "user.name=Pat", "-c", "user.email=pat@example.com", "commit", "--quiet", "-m", "far"]
    (root / "memory/topics/m.md").write_text("next year, they say\n", encoding="utf-8")
    far = {"GIT_AUTHOR_DATE": "@300000000000 +0000", "GIT_COMMITTER_DATE": "@300000000000 +0000"}
    subprocess.run([*words, "memory/topics/m.md"], cwd=root, env={**os.environ, **far}, check=True)
    return root


@pytest.mark.parametrize("clock", CLOCKS)
def test_no_clock_is_too_odd(odd: Path, tmp_path: Path, clock: str, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    root = tmp_path / "ws"
    shutil.copytree(odd, root, symlinks=True)
    monkeypatch.setenv("BONSAI_NOW", clock)
    monkeypatch.chdir(root)
    bad = []
    for command, calls in CALLS.items():
        for words in calls:
            capfd.readouterr()
            code = run(["-C", str(root), command, *words])
            if code in (USAGE, BUG):
                bad.append((command, words, capfd.readouterr().err))
    assert not bad


def test_the_year_has_four_digits(odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "ws"
    shutil.copytree(odd, root, symlinks=True)
    monkeypatch.setenv("BONSAI_NOW", CLOCKS[0])
    assert run(["-C", str(root), "remember", "the fair is today", "--domain", "fair"]) == 0
    [note] = root.glob("memory/domains/fair/the*.md")
    assert "created: 0001-01-01" in note.read_text("utf-8")
    assert "0001-01-01T00:00:00Z" in (root / "MEMORY.md").read_text("utf-8")
