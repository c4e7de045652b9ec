"""`doctor --fix` after random damage: no note touched, git sound or what is lost named, and everything goes on."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import harness
import pytest
from repository_fuzz import Fuzz, build, git

from bonsai.adapters import git_reflog
from bonsai.errors import IoFailed
from bonsai.workspace import Workspace

TAUGHT = (3, 5, 8, 9, 16, 26, 30, 47, 148, 206)  # seeds that once found something
SEEDS = range(400) if os.environ.get("BONSAI_FAULTS") == "all" else TAUGHT


@pytest.fixture(scope="module")
def fuzz() -> Iterator[Fuzz]:
    with harness.scratch() as folder:
        yield Fuzz(folder)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build(tmp_path / "ws", "packs")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_damage(fuzz: Fuzz, seed: int) -> None:
    found = fuzz.run(seed)
    assert not found.wrong, str(found)


def fixed(root: Path) -> tuple[list[str], list[str]]:
    with Workspace.open(root) as space:
        report = space.doctor(fix=True)
    return [words for words in report.fixed if not words.startswith(("emptied", "what was damaged"))], report.lost


def test_a_branch_that_is_being_begun_stays_so(root: Path) -> None:
    git(root, "switch", "-q", "--orphan", "fresh")
    assert fixed(root)[1] == []
    assert git(root, "symbolic-ref", "HEAD").strip() == "refs/heads/fresh"
    assert not git(root, "for-each-ref", "refs/heads/fresh")


@pytest.mark.parametrize("head", ["ref: refs/heads/maio\n", "ref: refs/heads/ma", "ref: refs/heads/main\n\0\0\0"])
def test_a_head_that_is_a_little_off(root: Path, head: str) -> None:
    before = git(root, "rev-parse", "HEAD")
    (root / ".git/HEAD").write_text(head)
    assert fixed(root)[0] == ["HEAD is on refs/heads/main again"]
    assert (git(root, "symbolic-ref", "HEAD").strip(), git(root, "rev-parse", "HEAD")) == ("refs/heads/main", before)


def test_a_branch_whose_newer_place_is_gone(root: Path) -> None:
    git(root, "pack-refs", "--all")
    with Workspace.open(root) as space:
        space.daily_add("later")
    newest = git(root, "rev-parse", "HEAD")
    (root / ".git/refs/heads/main").unlink()
    assert fixed(root)[0] == [f"refs/heads/main is at {newest[:10]} again"]
    assert git(root, "rev-parse", "HEAD") == newest


def test_a_deleted_branch_stays_deleted(root: Path) -> None:
    git(root, "branch", "-D", "side/line")
    git(root, "update-ref", "-d", "refs/remotes/origin/main")
    assert fixed(root) == ([], [])
    assert not git(root, "for-each-ref", "refs/heads/side", "refs/remotes")


def test_the_config_keeps_what_can_be_read(root: Path) -> None:
    git(root, "remote", "add", "origin", "/srv/memory.git")
    config = root / ".git/config"
    config.write_bytes(b"\xff\0\n[cor\n\tx = 1\n" + config.read_bytes().replace(b"bare = false", b"bare = fa|se"))
    done, lost = fixed(root)
    assert done == ["made the config of the repository readable again"]
    assert "git remote -v" in lost[0]
    assert git(root, "remote", "get-url", "origin").strip() == "/srv/memory.git"


def test_what_is_lost_makes_an_exit_code(root: Path) -> None:
    git(root, "pack-refs", "--all")
    (root / ".git/packed-refs").write_bytes(b"")
    words = [sys.executable, "-m", "bonsai", "-C", str(root), "doctor", "--fix"]
    first, second = (subprocess.run(words, capture_output=True).returncode for _ in range(2))
    assert (first, second) == (1, 0)
    assert git(root, "fsck", "--no-dangling") == ""


def test_a_repair_that_is_cut_short_loses_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(root, "remote", "add", "origin", "/srv/memory.git")
    config = root / ".git/config"
    damaged = config.read_bytes() + b"\0\n"
    config.write_bytes(damaged)
    write = git_reflog.write

    def fails(path: str, data: bytes) -> None:
        if path == str(config):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        write(path, data)

    with monkeypatch.context() as patch, pytest.raises(IoFailed):
        patch.setattr(git_reflog, "write", fails)
        fixed(root)
    assert config.read_bytes() == damaged
    fixed(root)
    assert git(root, "remote", "get-url", "origin").strip() == "/srv/memory.git"


def test_a_merge_in_progress_hides_no_damage(root: Path) -> None:
    (root / ".git/MERGE_HEAD").write_text(git(root, "rev-parse", "side/line"))
    for pack in root.glob(".git/objects/pack/*.pack"):
        pack.chmod(0o644)
        pack.write_bytes(pack.read_bytes()[:-5])
    with Workspace.open(root) as space:
        bad = {check.name for check in space.doctor().checks if not check.ok}
    assert {"repository", "objects"} <= bad
