"""Erasing from git: whatever shape a repository has, only what must change does, and no program of it runs."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.adapters.git_erase import Eraser
from bonsai.errors import Busy, IoFailed, Refused

pytest.importorskip("git_filter_repo")
SECRET = "canary-kraken-7731"
NOTE = "memory/domains/general/door.md"
WHO = ("-c", "user.name=Pat", "-c", "user.email=pat@example.com")


class Repo:
    """A repository with a workspace at its top."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main", *options)
        self.commit("README", "mine\n")

    def git(self, *words: str, data: bytes = b"") -> str:
        done = subprocess.run(["git", *WHO, *words], cwd=self.root, capture_output=True, input=data)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def commit(self, path: str, text: str, message: str = "m") -> str:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        self.git("add", "-f", path)
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def erase(self, text: str = SECRET) -> None:
        with Workspace.open(self.root) as space:
            space.erase(match=text, yes=True)

    def holds(self) -> bool:
        done = subprocess.run(
            ["git", "cat-file", "--batch-all-objects", "--batch"], cwd=self.root, capture_output=True, check=True
        )
        return SECRET.encode() in done.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def raw_commit(repo: Repo, extra: bytes, message: bytes) -> str:
    """A commit on top of HEAD as no rewriting tool would write it again."""
    tree, parent = repo.git("rev-parse", "HEAD^{tree}"), repo.git("rev-parse", "HEAD")
    person = b"Pat <pat@example.com> 1700000000 +0100"
    head = b"tree %s\nparent %s\nauthor %s\ncommitter %s\n" % (tree.encode(), parent.encode(), person, person)
    sha = repo.git("hash-object", "-t", "commit", "-w", "--stdin", data=head + extra + b"\n" + message)
    repo.git("reset", "-q", "--soft", sha)
    return sha


def test_commits_before_the_first_that_held_it_keep_their_ids(repo: Repo) -> None:
    signed = raw_commit(repo, b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n", b"s\n")
    odd = raw_commit(repo, b"encoding latin-1\n", "Gr\u00fc\u00dfe, no line end".encode("latin-1"))
    repo.commit(NOTE, f"the code is {SECRET}\n")
    repo.git("branch", "untouched", odd)
    repo.erase()
    assert not repo.holds()
    assert repo.git("rev-parse", "untouched") == odd
    assert {signed, odd} <= set(repo.git("rev-list", "HEAD").split())


def test_merges_stay_merges_and_messages_their_bytes(repo: Repo) -> None:
    repo.commit(NOTE, f"the code is {SECRET}\n")
    repo.git("switch", "-q", "-c", "side")
    repo.commit("side", "side\n", f"about {SECRET}\n\n  indented\n")
    repo.git("switch", "-q", "main")
    repo.commit("main", "main\n")
    repo.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    before = len(repo.git("rev-list", "--all").split())
    repo.erase()
    assert not repo.holds()
    assert len(repo.git("log", "--merges", "--format=%H").split()) == 1
    assert repo.git("log", "-1", "--format=%B", "side", "--") == "about [erased]\n\n  indented"
    assert len(repo.git("rev-list", "--all").split()) == before + 1
    assert repo.git("show", "HEAD:side") == "side"


def test_tags_of_tags_and_lightweight_ones_move(repo: Repo) -> None:
    repo.commit(NOTE, f"the code is {SECRET}\n")
    repo.git("tag", "light")
    repo.git("tag", "-a", "one", "-m", f"one {SECRET}")
    repo.git("tag", "-a", "two", "one", "-m", "two")
    repo.erase()
    assert not repo.holds()
    assert repo.git("show", f"light:{NOTE}") == repo.git("show", f"two^{{commit}}:{NOTE}") == "the code is [erased]"
    assert repo.git("cat-file", "-t", "two") == "tag"


def test_odd_paths_and_modes_survive(repo: Repo) -> None:
    os.symlink("nowhere", repo.root / "link")
    for name in ('a "quoted" name', "uml\u00e4ut", "line\nbreak", "\udcff"):
        (repo.root / os.fsdecode(name.encode("utf-8", "surrogateescape"))).write_text("x\n")
    (repo.root / "run").write_text("#!/bin/sh\n")
    (repo.root / "run").chmod(0o755)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "odd")
    repo.commit(NOTE, f"the code is {SECRET}\n")
    (repo.root / "run").write_text("#!/bin/sh\n:\n")
    repo.git("commit", "-q", "-a", "-m", "more")
    before = {line for line in repo.git("ls-tree", "-r", "-z", "HEAD").split("\0") if "memory" not in line}
    repo.erase()
    after = {line for line in repo.git("ls-tree", "-r", "-z", "HEAD").split("\0") if "memory" not in line}
    assert before <= after


def shallow(repo: Repo, other: Path) -> Path:
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repo.root}", str(other)], check=True)
    return other


def borrowing(repo: Repo, other: Path) -> Path:
    subprocess.run(["git", "clone", "-q", "--shared", str(repo.root), str(other)], check=True)
    return other


def sha256(repo: Repo, other: Path) -> Path:
    new = Repo(other, "--object-format=sha256")
    new.commit(NOTE, f"the code is {SECRET}\n")
    return new.root


def keeping(repo: Repo, _: Path) -> Path:
    repo.git("gc", "-q")
    next(repo.root.glob(".git/objects/pack/*.pack")).with_suffix(".keep").touch()
    return repo.root


def replacing(repo: Repo, _: Path) -> Path:
    repo.git("replace", "HEAD", "HEAD^")
    return repo.root


def named(repo: Repo, _: Path) -> Path:
    repo.git("branch", SECRET)
    return repo.root


def merging_elsewhere(repo: Repo, other: Path) -> Path:
    repo.git("worktree", "add", "-q", "--detach", str(other), "HEAD^")
    (repo.root / ".git/worktrees" / other.name / "MERGE_HEAD").write_text(repo.git("rev-parse", "HEAD"))
    return repo.root


def checked_out_elsewhere(repo: Repo, other: Path) -> Path:
    repo.git("worktree", "add", "-q", "--detach", str(other), "HEAD")
    return repo.root


@pytest.mark.parametrize(
    "shape", [sha256, shallow, borrowing, keeping, replacing, named, merging_elsewhere, checked_out_elsewhere]
)
def test_where_it_could_not_be_proven_nothing_is_changed(
    repo: Repo, tmp_path: Path, shape: Callable[[Repo, Path], Path]
) -> None:
    repo.commit("memory/domains/general/one.md", "one\n")
    repo.commit(NOTE, f"the code is {SECRET}\n")
    root = shape(repo, tmp_path / "other")
    with Workspace.open(root) as space:
        space.commit()
        before = subprocess.run(["git", "for-each-ref"], cwd=root, capture_output=True).stdout
        with pytest.raises(Refused) as caught:
            space.erase(match=SECRET, yes=True)
    assert SECRET not in str(caught.value) and caught.value.hint
    assert subprocess.run(["git", "for-each-ref"], cwd=root, capture_output=True).stdout == before
    assert SECRET in (root / NOTE).read_text()


def test_no_program_of_the_repository_or_the_person_runs(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    names = ["reference-transaction", "post-rewrite", "pre-auto-gc", "post-checkout", "post-index-change", "pre-commit"]
    for name in names:
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> '{ran}'\n")
        (hooks / name).chmod(0o755)
    template = tmp_path / "template"
    template.mkdir()
    (template / "hooks").symlink_to(hooks)
    repo.commit(NOTE, f"the code is {SECRET}\n")
    repo.commit(".gitattributes", "*.md filter=evil diff=evil merge=evil\n")
    (repo.root / ".gitattributes").write_text("\n")
    repo.git("commit", "-q", "-am", "x")
    program = f"!echo run >> '{ran}'; cat"
    for key, text in {
        "core.hooksPath": str(hooks),
        "core.fsmonitor": str(hooks / names[0]),
        "core.pager": program,
        "filter.evil.clean": program,
        "filter.evil.smudge": program,
        "diff.evil.textconv": program,
        "uploadpack.packObjectsHook": program,
        "gpg.program": str(hooks / names[0]),
        "log.showSignature": "true",
        "alias.fast-export": program,
    }.items():
        repo.git("config", key, text)
    person = tmp_path / "gitconfig"
    person.write_text(f"[core]\n hooksPath = {hooks}\n[init]\n templateDir = {template}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(person))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    repo_env = os.environ.pop("GIT_DIR")
    ran.unlink(missing_ok=True)
    os.environ["GIT_DIR"] = repo_env
    repo.erase()
    del os.environ["GIT_DIR"]
    assert not ran.exists(), ran.read_text()
    assert not repo.holds()


def test_a_branch_that_moves_meanwhile_stops_it_before_anything_changed(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit(NOTE, f"the code is {SECRET}\n")
    take_over = Eraser.take_over

    def late(self: Eraser, mirror: str) -> None:
        take_over(self, mirror)
        repo.commit("README", "somebody at work\n")

    monkeypatch.setattr(Eraser, "take_over", late)
    with pytest.raises(Busy):
        repo.erase()
    assert repo.git("log", "-1", "--format=%s") == "m"
    assert (repo.root / NOTE).read_text() == f"the code is {SECRET}\n"
    assert not (repo.root / ".bonsai/erasing").exists()
    monkeypatch.undo()
    repo.erase()
    assert not repo.holds()


def test_what_is_left_is_told_with_its_place(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(NOTE, f"the code is {SECRET}\n")
    sweep = Eraser.sweep

    def late(self: Eraser, stash: list[str]) -> None:
        sweep(self, stash)
        repo.git("hash-object", "-w", "--stdin", data=SECRET.encode())

    monkeypatch.setattr(Eraser, "sweep", late)
    with pytest.raises(IoFailed, match="git blob") as caught:
        repo.erase()
    assert caught.value.code == 74 and "again" in caught.value.hint
