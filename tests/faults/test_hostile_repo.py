"""A repository that somebody else prepared: none of the programs that it names runs, whatever bonsai asks of git."""

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from traps import VECTORS, git

from bonsai.adapters import git_packs
from bonsai.adapters.git_history import GitHistory
from bonsai.errors import BonsaiError
from bonsai.ports.history import Author, Blob, FileChange

NOW = datetime(2026, 3, 4, tzinfo=UTC)
NOTE = "memory/domains/a.md"


def every_method(history: GitHistory, root: Path) -> None:
    """Call all that the port has, as runs do, and what asks for objects that are missing."""
    missing = "1" * 40
    head = history.head()
    assert history.state().exists
    data = b"new\n"
    calls: list[Callable[[], object]] = [
        lambda: history.commit([FileChange(NOTE, data), FileChange("memory/new.md", data)], "m", head, Author(), NOW),
        lambda: history.refresh_index({NOTE: Blob(0o100644, history.blob_id(data))}),
        history.state,
        lambda: history.tree(history.head()),
        lambda: history.tree_changes(head, history.head()),
        lambda: history.tree_changes(missing, history.head()),
        lambda: history.read("HEAD", NOTE),
        lambda: history.read(missing, NOTE),
        lambda: history.blob(history.blob_id(data)),
        lambda: history.blob(missing),
        lambda: history.resolve("HEAD"),
        lambda: history.resolve(missing),
        lambda: history.contains_run("x", head),
        history.log,
        lambda: history.log([NOTE]),
        lambda: history.log([NOTE], follow=True),
        lambda: history.blame(NOTE),
        lambda: history.blame(NOTE, copies=False),
        lambda: history.blame(NOTE, missing),
        lambda: history.commits([history.head()]),
        lambda: history.commits([missing]),
        lambda: history.at(NOW),
        lambda: history.read_many([("HEAD", NOTE), (missing, NOTE), ("HEAD", "memory/line\nbreak.md")]),
        lambda: history.changes(head, history.head()),
        lambda: history.changes("", history.head(), renames=False),
        lambda: history.path_times({}, ""),
        lambda: history.path_times({}, head),
        lambda: history.ignored([NOTE]),
        lambda: history.filtered([NOTE]),
        lambda: history.merge(b"1\n", b"2\n", b"3\n"),
        history.check,
        history.locks,
        lambda: history.remove_stale_locks(0),
        history.create,
        lambda: history.commit([FileChange("memory/big.md", os.urandom(20_000))], "m", history.head(), Author(), NOW),
    ]
    for call in calls:
        try:
            call()
        except BonsaiError:
            continue  # a refusal is an answer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two commits, one of which claims to be signed, and an edit pending."""
    folder = tmp_path / "ws"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Pat")
    git(folder, "config", "user.email", "p@x")
    place = folder / NOTE
    place.parent.mkdir(parents=True)
    place.write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    lines = git(folder, "cat-file", "commit", "HEAD").split("\n")
    lines.insert(3, "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----")
    raw = ("\n".join(lines) + "\n").encode()
    done = subprocess.run(
        ["git", "-C", str(folder), "hash-object", "-t", "commit", "-w", "--stdin"],
        input=raw,
        capture_output=True,
        check=True,
    )
    git(folder, "reset", "-q", "--soft", done.stdout.decode().strip())
    place.write_text("two\n")
    return folder


@pytest.mark.parametrize("vector", VECTORS)
def test_no_program_of_a_repository_runs(
    root: Path, canary: tuple[Path, str], vector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, run = canary
    VECTORS[vector](root, run)
    mark.unlink(missing_ok=True)
    monkeypatch.setattr(git_packs, "MANY", 0)
    history = GitHistory(str(root))
    every_method(history, root)
    assert not mark.exists(), mark.read_text()
    assert history.unsigned == ""


def test_all_at_once_and_the_work_is_still_done(root: Path, canary: tuple[Path, str]) -> None:
    mark, run = canary
    for name, plant in VECTORS.items():
        if "transport" not in name and name not in ("uploadpack", "core.sshCommand", "remote.vcs"):
            plant(root, run)
    mark.unlink(missing_ok=True)
    history = GitHistory(str(root))
    every_method(history, root)
    assert not mark.exists(), mark.read_text()
    assert [item.subject for item in history.log()] == ["m", "m", "one"]
    assert history.read("HEAD", NOTE) == b"new\n"


@pytest.mark.parametrize(
    ("vector", "command"),
    [
        ("core.fsmonitor", ["status"]),
        ("hooks", ["commit", "-q", "-a", "-m", "x"]),
        ("core.hooksPath", ["commit", "-q", "-a", "-m", "x"]),
        ("filter.clean", ["add", "-A"]),
        ("diff.textconv", ["diff"]),
        ("diff.textconv", ["blame", "HEAD", "--", NOTE]),
        ("filter.clean", ["blame", NOTE]),
        ("diff.external", ["diff"]),
        ("gpg.program", ["log"]),
        ("uploadpack", ["cat-file", "-p", "1" * 40]),
        ("core.sshCommand", ["cat-file", "-p", "1" * 40]),
        ("ext transport", ["cat-file", "-p", "1" * 40]),
    ],
)
def test_the_trap_works_on_a_git_that_is_not_hardened(
    root: Path, canary: tuple[Path, str], vector: str, command: list[str]
) -> None:
    mark, run = canary
    VECTORS[vector](root, run)
    subprocess.run(["git", "-C", str(root), *command], capture_output=True)
    assert mark.exists(), "the trap is no trap: the tests above prove nothing"


def test_settings_of_a_repository_do_not_change_what_is_read(root: Path) -> None:
    history = GitHistory(str(root))
    expected = history.log(), history.changes("", "HEAD"), history.path_times({}, ""), history.tree("HEAD")
    settings = (
        "color.ui=always color.diff=always log.date=relative log.follow=true log.showRoot=false "
        "log.abbrevCommit=true log.decorate=full log.mailmap=true log.diffMerges=off format.pretty=oneline "
        "format.notes=true diff.orderFile=/nowhere diff.relative=true diff.noprefix=true diff.renames=copies "
        "diff.renameLimit=1 diff.ignoreSubmodules=all diff.statGraphWidth=1 core.quotePath=true core.abbrev=7 "
        "core.ignorecase=true core.autocrlf=true core.safecrlf=true i18n.logOutputEncoding=UTF-16 "
        "i18n.commitEncoding=latin1 core.commentChar=x status.relativePaths=false core.precomposeUnicode=true "
        "grep.patternType=perl fastimport.unpackLimit=1 core.logAllRefUpdates=false core.splitIndex=true "
    )
    for pair in settings.split():
        git(root, "config", *pair.split("=", 1))
        again = GitHistory(str(root))
        assert (again.log(), again.changes("", "HEAD"), again.path_times({}, ""), again.tree("HEAD")) == expected, pair
    again = GitHistory(str(root))
    again.commit([FileChange(NOTE, b"a\r\n")], "m: ü\n\nBonsai-Run: r", again.head(), Author("Jürgen"), NOW)
    assert again.read("HEAD", NOTE) == b"a\r\n" and again.contains_run("r", "") == again.head()
    assert (again.log(limit=1)[0].author, again.log(limit=1)[0].subject) == ("Jürgen", "m: ü")


def test_a_worktree_setting_that_leads_outside_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    git(root, "config", "core.worktree", str(tmp_path / "victim"))
    history = GitHistory(str(root))
    assert history.state().blocked == "unusable"
    with pytest.raises(BonsaiError):
        history.commit([FileChange(NOTE, b"x")], "m", "", Author(), NOW)
