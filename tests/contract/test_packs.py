"""Packs: one a commit, gathered before they pile up, and never at the price of a commit."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from bonsai.adapters import git_graph, git_packs
from bonsai.adapters.git_history import GitHistory
from bonsai.ports.history import Author, FileChange

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def commits(root: Path, count: int) -> list[str]:
    history = GitHistory(str(root))
    history.create()
    made = []
    for number in range(count):
        change = FileChange("memory/domains/general/a.md", f"text {number}\n".encode() * 50)
        made.append(history.commit([change], f"edit {number}\n", history.head(), Author(), NOW))
    return made


def packs(root: Path) -> int:
    return sum(name.endswith(".pack") for name in os.listdir(root / ".git/objects/pack"))


def test_many_commits_leave_few_packs_and_lose_nothing(tmp_path: Path) -> None:
    made = commits(tmp_path, git_packs.MANY + 20)
    assert packs(tmp_path) <= git_packs.MANY
    assert git_graph.is_there(str(tmp_path / ".git")), "what makes the log of many commits fast is kept up with them"
    reachable = subprocess.run(
        ["git", "-C", tmp_path, "rev-list", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert reachable == made[::-1]
    subprocess.run(["git", "-C", tmp_path, "fsck", "--full", "--strict"], check=True, capture_output=True)


def test_a_store_that_cannot_be_gathered_still_takes_commits(tmp_path: Path) -> None:
    commits(tmp_path, 2)
    history = GitHistory(str(tmp_path))
    git_packs.Packs(history._run).gather(str(tmp_path / "no-such-folder"))
    change = FileChange("memory/b.md", b"more\n")
    assert history.commit([change], "edit\n", history.head(), Author(), NOW) == history.head()
