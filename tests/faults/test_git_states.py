"""The repository in every state that a person's git leaves it in: what blocks, what does not, whose locks go."""

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import harness
import pytest
from harness import git, in_head, managed, small_disk

from bonsai.adapters import git_repo
from bonsai.adapters.git_history import GitHistory
from bonsai.errors import BonsaiError, Busy
from bonsai.workspace import Workspace

NOTE, FRESH = "memory/domains/general/note.md", "memory/domains/general/fresh.md"


@pytest.fixture
def root(folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A workspace in a repository with two branches that cannot be merged by themselves, for the code's sake."""
    root = folder / request.node.name
    make(root)
    yield root
    shutil.rmtree(root)


def make(root: Path) -> None:
    (root / NOTE).parent.mkdir(parents=True)
    (root / NOTE).write_text("# Note\n")
    git(root, "init", "-q", "-b", "main", "--template=")
    for key, value in (("user.name", "Pat"), ("user.email", "pat@example.com"), ("advice.detachedHead", "false")):
        git(root, "config", key, value)
    _code(root, "one")
    Workspace.init(root)
    git(root, "branch", "side")
    _code(root, "two")
    git(root, "checkout", "-q", "side")
    _code(root, "three")
    git(root, "checkout", "-q", "main")
    (root / "staged.txt").write_text("staged\n")


def _code(root: Path, text: str) -> None:
    (root / "code.txt").write_text(f"{text}\n")
    git(root, "add", "code.txt")
    git(root, "commit", "-qm", text)


def commit(root: Path) -> str | None:
    with Workspace.open(root) as workspace:
        return workspace.commit().commit


def everything(root: Path) -> dict[str, bytes]:
    """Every file of the workspace and of its repository, but for our own state."""
    files = [path for path in root.rglob("*") if path.is_file() and ".bonsai" not in path.relative_to(root).parts]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def caught_up(root: Path) -> None:
    """Nothing is pending, HEAD has what stands on disk, and the person's index knows."""
    assert commit(root) is None
    assert in_head(root) == managed(root) and not harness.sound(root)


# -- blocked ---------------------------------------------------------------------------------------------------------


class State(NamedTuple):
    """How to get into a state that `status` calls `name`, and out of it."""

    name: str
    enter: Callable[[Path], object]
    leave: Callable[[Path], object]


def _does(*args: str) -> Callable[[Path], object]:
    return lambda root: git(root, *args, check=False)


def _stash_that_conflicts(root: Path) -> None:
    (root / "code.txt").write_text("stashed\n")
    git(root, "stash", "-q")
    _code(root, "four")
    git(root, "stash", "pop", check=False)


def _lock(name: str) -> Callable[[Path], object]:
    return lambda root: (root / ".git" / name).touch()


def _unlock(name: str) -> Callable[[Path], object]:
    return lambda root: (root / ".git" / name).unlink()


def _make_sparse(root: Path) -> None:
    git(root, "status")  # git leaves out only what its index has seen
    git(root, "sparse-checkout", "set", "--no-cone", "/*", f"!/{NOTE}")
    assert not (root / NOTE).exists(), "nothing is left out"


def _nest(root: Path) -> None:
    git(root / "memory", "init", "-q")


STATES = [
    State("merge", _does("merge", "-q", "side"), _does("merge", "--abort")),
    State("merge", _does("merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "side"), _does("merge", "--abort")),
    State("rebase", _does("rebase", "-q", "side"), _does("rebase", "--abort")),
    State("rebase", _does("rebase", "-q", "--apply", "side"), _does("rebase", "--abort")),
    State("cherry-pick", _does("cherry-pick", "side"), _does("cherry-pick", "--abort")),
    State("revert", _does("revert", "--no-commit", "HEAD"), _does("revert", "--abort")),
    State("bisect", _does("bisect", "start"), _does("bisect", "reset")),
    State("detached", _does("checkout", "-q", "--detach"), _does("checkout", "-q", "main")),
    State("unmerged", _stash_that_conflicts, _does("reset", "-q", "--", "code.txt")),
    State("bare", _does("config", "core.bare", "true"), _does("config", "core.bare", "false")),
    State("locked", _lock("HEAD.lock"), _unlock("HEAD.lock")),
    State("locked", _lock("refs/heads/main.lock"), _unlock("refs/heads/main.lock")),
    State(
        "unusable",
        lambda root: (root / ".git/HEAD").write_text("garbage\n"),
        lambda root: (root / ".git/HEAD").write_text("ref: refs/heads/main\n"),
    ),
    State("unusable", _make_sparse, _does("sparse-checkout", "disable")),  # what is left out is not deleted
    State("unusable", _nest, lambda root: shutil.rmtree(root / "memory/.git")),
]


@pytest.mark.parametrize("number", range(len(STATES)), ids=[f"{at}-{state.name}" for at, state in enumerate(STATES)])
def test_while_git_is_busy_nothing_changes_and_then_all_is_caught_up(number: int, root: Path):
    state = STATES[number]
    state.enter(root)
    (root / FRESH).write_text("# Written meanwhile\n")
    before = everything(root)
    with Workspace.open(root) as workspace:
        report = workspace.status()
        assert report.blocked == state.name and report.status != "HEALTHY" and report.uncommitted > 0
        assert any(item.code == "git-blocked" for item in report.problems)
        assert workspace.reindex(check=True).stale
        for act in (
            workspace.commit,
            lambda: workspace.archive(NOTE),
            lambda: workspace.move(NOTE, "tech"),
            lambda: workspace.daily_add("text"),
            workspace.undo,
            *([] if state.name == "unusable" else [workspace.reindex, workspace.reflect]),
        ):
            with pytest.raises(Busy):
                act()
    assert everything(root) == before
    state.leave(root)
    assert (root / FRESH).exists() and commit(root)
    assert in_head(root)[FRESH] == b"# Written meanwhile\n"
    caught_up(root)


def test_the_indexes_are_kept_up_although_git_is_unusable(root: Path):
    STATES[-1].enter(root)
    (root / FRESH).write_text("# Written meanwhile\n")
    with Workspace.open(root) as workspace:
        workspace.reindex()
    assert "fresh.md" in (root / "memory/domains/general/_index.md").read_text()
    STATES[-1].leave(root)
    commit(root)
    caught_up(root)


def test_a_note_with_conflict_markers_is_held_back_and_the_others_are_not(root: Path):
    (root / NOTE).write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    (root / FRESH).write_text("# Fresh\n")
    with Workspace.open(root) as workspace:
        report = workspace.commit()
    assert report.held == [NOTE] and report.commit
    assert in_head(root)[NOTE] == b"# Note\n" and in_head(root)[FRESH] == b"# Fresh\n"


def test_an_operation_that_a_person_begins_after_a_kill_is_left_alone(root: Path):
    """The killed run is taken back only when git is free again."""
    moved = "memory/domains/tech/note.md"
    act = harness.verb(root, lambda workspace: workspace.move(NOTE, "tech"))
    at = 1
    while not (root / moved).exists():
        assert harness.run(act, kill_at=at, only="link").killed
        at += 1
    git(root, "bisect", "start")
    before = everything(root)
    with pytest.raises(Busy):
        commit(root)
    assert everything(root) == before
    git(root, "bisect", "reset")
    commit(root)
    assert (root / NOTE).exists() and not (root / moved).exists()
    caught_up(root)


# -- not blocked -----------------------------------------------------------------------------------------------------


def _unborn(root: Path) -> Path:
    git(root, "checkout", "-q", "--orphan", "new")
    git(root, "rm", "-rq", "--cached", ".")
    return root


def _worktree(root: Path) -> Path:
    git(root, "worktree", "add", "-q", "-b", "other", "../" + root.name + "-worktree")
    return root.with_name(root.name + "-worktree")


def _submodule(root: Path) -> Path:
    outer = root.with_name(root.name + "-outer")
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main", "--template=")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(root), "inner")
    return outer / "inner"


def _shallow(root: Path) -> Path:
    copy = root.with_name(root.name + "-shallow")
    git(root, "clone", "-q", "--depth=1", f"file://{root}", str(copy))
    return copy


def _nested(root: Path) -> Path:
    inner = root / "deep/er"
    shutil.copytree(root / "memory", inner / "memory")
    (inner / "MEMORY.md").write_text("# Inner\n")
    return inner


@pytest.mark.parametrize("get", [_unborn, _worktree, _submodule, _shallow, _nested])
def test_what_looks_unusual_but_blocks_nothing(get: Callable[[Path], Path], root: Path):
    place = get(root)
    (place / FRESH).write_text("# Fresh\n")
    assert commit(place)
    prefix = "deep/er/" if get is _nested else ""
    assert git(place, "show", f"HEAD:{prefix}{FRESH}") == "# Fresh\n"
    with Workspace.open(place) as workspace:
        assert workspace.status().blocked is None
        workspace.archive(FRESH)
        assert workspace.undo().commit and workspace.commit().commit is None
    assert (place / FRESH).exists()
    assert git(place, "status", "--porcelain", "--", "memory", "MEMORY.md") == ""
    if get is _nested:
        assert git(root, "show", "HEAD:MEMORY.md") and not git(root, "diff", "HEAD", "--", "MEMORY.md", "memory")


# -- locks -----------------------------------------------------------------------------------------------------------

BLOCKING = ("HEAD.lock", "refs/heads/main.lock")
LOCKS = (*BLOCKING, "index.lock", "packed-refs.lock")


@contextmanager
def a_live_git(root: Path) -> Iterator[None]:
    """Somebody's git at work in the repository."""
    process = subprocess.Popen(
        ["git", "hash-object", "--stdin"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        assert process.stdin
        process.stdin.close()
        process.wait()


def _kill_in_the_middle(root: Path) -> None:
    act = harness.verb(root, lambda workspace: workspace.archive(NOTE))
    at = 1
    while not (root / NOTE.replace(".md", "__DELETE.md")).exists():
        assert harness.run(act, kill_at=at, only="link").killed
        at += 1


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_our_killed_run_left_goes_by_itself(name: str, root: Path):
    _kill_in_the_middle(root)
    lock = root / ".git" / name
    lock.touch()
    (root / FRESH).write_text("# Fresh\n")
    assert commit(root) and not lock.exists()
    caught_up(root)


@pytest.mark.parametrize("killed", [True, False], ids=["after-a-kill", "just-so"])
@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_of_a_git_that_lives_is_never_touched(name: str, killed: bool, root: Path):
    if killed:
        _kill_in_the_middle(root)
    lock = root / ".git" / name
    lock.touch()
    (root / FRESH).write_text("# Fresh\n")
    with a_live_git(root):
        if name in BLOCKING:
            before = everything(root)
            with pytest.raises(Busy):
                commit(root)
            assert everything(root) == before
        else:
            assert commit(root)
        with Workspace.open(root) as workspace:
            workspace.doctor(unlock=True)
            assert workspace.status().status != "HEALTHY" or name == "packed-refs.lock"
        assert lock.exists()
    lock.unlink()
    commit(root)
    caught_up(root)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_somebody_left_is_told_and_goes_when_asked_to_once_it_is_old(name: str, root: Path):
    lock = root / ".git" / name
    lock.touch()
    (root / FRESH).write_text("# Fresh\n")
    with Workspace.open(root) as workspace:
        if name in BLOCKING:
            with pytest.raises(Busy) as told:
                workspace.commit()
            assert name in str(told.value)
        else:
            assert workspace.commit().commit
        workspace.doctor(unlock=True)
        assert lock.exists(), "too young to be sure"
        long_ago = time.time() - 20 * 60
        os.utime(lock, (long_ago, long_ago))
        with pytest.raises(Busy) if name in BLOCKING else contextmanager(lambda: iter([None]))():
            workspace.archive(NOTE)
        assert lock.exists(), "nobody asked"
        assert workspace.doctor(unlock=True).fixed
    assert not lock.exists()
    commit(root)
    caught_up(root)


def test_an_index_that_was_locked_is_brought_in_line_later_by_whatever_comes_next(root: Path):
    lock = root / ".git/index.lock"
    lock.touch()
    (root / NOTE).write_text("# Changed\n")
    commit(root)
    assert NOTE in git(root, "diff", "--cached", "--name-only").split()
    lock.unlink()
    with Workspace.open(root) as workspace:
        workspace.status()
    assert git(root, "status", "--porcelain", "--", "memory") == ""


@pytest.mark.parametrize("after", ["doctor", "kill"])
def test_an_index_that_is_behind_is_not_forgotten(after: str, root: Path):
    lock = root / ".git/index.lock"
    lock.touch()
    (root / NOTE).write_text("# Changed\n")
    commit(root)
    if after == "kill":
        _kill_in_the_middle(root)
    lock.unlink(missing_ok=True)
    if after == "doctor":
        with Workspace.open(root) as workspace:
            workspace.doctor(fix=True)
    try:
        commit(root)
    except BonsaiError as error:
        pytest.fail(str(error))
    caught_up(root)


def test_a_repository_above_the_disk_that_the_workspace_is_on_is_another_one(root: Path) -> None:
    # git stops at the edge of a file system. A `.git` above it was taken for one that git cannot use.
    before = managed(root)
    with small_disk(root / "disk", "4m") as disk:
        Workspace.init(disk / "ws")
        assert (disk / "ws/.git").is_dir()
        (disk / "ws" / NOTE).parent.mkdir(parents=True)
        (disk / "ws" / NOTE).write_text("# Mine\n")
        assert commit(disk / "ws")
    assert managed(root) == before


def test_a_repository_above_that_nobody_may_look_into_is_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "ws").mkdir()

    def denied(path: str) -> list[str]:  # root may look into every folder
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(git_repo.os, "listdir", denied)
    state = GitHistory(str(tmp_path / "ws")).state()
    assert (state.exists, state.blocked) == (True, "unusable")


def test_a_git_that_is_too_old_is_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 2.31 `rev-parse` handed `--path-format` back, and nothing after it was where it is looked for."""
    real = shutil.which("git")
    shim = tmp_path / "git"
    shim.write_text(f"""#!/bin/sh
for word; do
    shift
    if [ "$word" = --path-format=absolute ]; then echo "$word"; else set -- "$@" "$word"; fi
done
exec {real} "$@"
""")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with Workspace.open(root) as workspace:
        assert workspace.status().blocked == "unusable"
        with pytest.raises(Busy, match=r"install git 2\.31 or newer"):
            workspace.commit()
