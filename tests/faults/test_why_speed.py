"""`why` and `log` in a long history: as git's own blame says, in the right order, and not much slower than git."""

import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import ALL, git
from past_bench import long_history

from bonsai.adapters import git_graph
from bonsai.adapters.git_history import GitHistory
from bonsai.passes.reports import WhyLine
from bonsai.workspace import Workspace

COMMITS, LINES = (5000, 1000) if ALL else (1500, 60)
SLOWER = 3.0  # times what `git blame -C -C` takes


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("long") / "ws"
    long_history(found, COMMITS, notes=400 if ALL else 60)
    return found


@pytest.fixture
def space(root: Path) -> Iterator[Workspace]:
    with Workspace.open(root) as found:
        found.status()
        yield found


def spent() -> float:
    """Seconds of the processor that we and our children took: on a busy machine a clock measures the others."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def notes(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.glob("memory/domains/*/note-*.md"))


def sample(root: Path, count: int) -> Iterator[tuple[str, int]]:
    dice, paths = random.Random(count), notes(root)
    for _ in range(count):
        path = dice.choice(paths)
        yield path, dice.randint(1, (root / path).read_text().count("\n"))


def test_why_agrees_with_git_and_is_not_much_slower(root: Path, space: Workspace) -> None:
    ours = theirs = 0.0
    for path, number in sample(root, LINES):
        start = spent()
        said = git(root, "blame", "-C", "-C", "--porcelain", f"-L{number},{number}", "HEAD", "--", path)
        theirs += spent() - start
        start = spent()
        [line] = space.why(f"{path}:{number}").lines
        ours += spent() - start
        assert line.sha == said.split(" ")[0], (path, number)
    assert ours < SLOWER * theirs, f"{ours:.2f} s for what git does in {theirs:.2f} s"
    print(f"why takes {ours / theirs:.2f} x what git blame -C -C takes")


def test_a_line_alone_is_told_as_in_its_note(root: Path, space: Workspace) -> None:
    """Whatever came with it: git is asked for a few lines only, and a piece that moved is known by its length."""

    def story(line: WhyLine) -> tuple[object, ...]:
        return line.line, line.sha, line.origin, line.replaced, line.via

    moved = [path for path in notes(root) if any(line.via for line in space.why(path).lines)]
    assert moved, "the history has pieces that moved to another note"
    for path in moved if ALL else moved[:1]:
        whole = space.why(path).lines
        assert [story(space.why(f"{path}:{line.line}").lines[0]) for line in whole] == list(map(story, whole))


def test_words_in_many_notes_are_told_as_each_is(space: Workspace) -> None:
    report = space.why("anchor barley", limit=30)
    assert len({line.path for line in report.lines}) > 5
    for line in report.lines[::7]:
        assert space.why(f"{line.path}:{line.line}").lines == [line]


def test_the_order_is_that_of_history_whatever_the_clock_said(root: Path, space: Workspace) -> None:
    order = git(root, "rev-list", "--topo-order", "HEAD").split()
    plain = [commit.sha for commit in space.log().commits]
    assert plain == order
    assert git_graph.write(GitHistory(str(root))._run)
    assert [commit.sha for commit in space.log().commits] == order
    assert [commit.sha for commit in space.log(limit=20).commits] == order[:20]
    moves = [commit.sha for commit in space.log(op="move").commits]
    assert [commit.sha for commit in space.log(op="move", limit=3).commits] == moves[:3]
    assert len(moves) > 3
    path = next(path for path in notes(root) if path.endswith("m.md"))
    trail = [commit.sha for commit in space.log(path).commits]
    assert trail == [sha for sha in order if sha in trail]
    assert len(trail) > len(git(root, "rev-list", "HEAD", "--", path).split())


@pytest.mark.skipif(not ALL, reason="measures; BONSAI_FAULTS=all runs it")
def test_the_newest_commits_come_at_once(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    long_history(root, 10_000)
    git_graph.write(GitHistory(str(root))._run)
    with Workspace.open(root) as space:
        start = time.perf_counter()
        space.log(limit=20)
        assert time.perf_counter() - start < 0.05
