"""Where lines come from, what stood at a time, one path through its names: of git and of the History without git."""

import os
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bonsai.adapters.git_history import GitHistory
from bonsai.adapters.memory_history import MemoryHistory
from bonsai.errors import NotFound, Refused
from bonsai.ports.history import Author, FileChange, History, Origin

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOTE = "memory/domains/a.md"
MOVED = "memory/domains/x/a.md"
SHORT = b"# A\n\nShort.\n"
LONG = b"".join(b"Line %d of a note that is long enough to be known again.\n" % number for number in range(12))

Commit = Callable[..., str]


def git(root: Path) -> History:
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    return GitHistory(str(root))


def git_below(root: Path) -> History:
    """The workspace is a folder of a larger repository, whose name git would take for a pattern."""
    git(root)
    (root / "deep [x]").mkdir()
    return GitHistory(str(root / "deep [x]"))


@pytest.fixture(params=[git, git_below, lambda _: MemoryHistory()], ids=["git", "below", "memory"])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> History:
    return request.param(tmp_path / "repo")


@pytest.fixture(params=[git, git_below], ids=["git", "below"])
def real(request: pytest.FixtureRequest, tmp_path: Path) -> History:
    return request.param(tmp_path / "repo")


def commit(history: History, files: Mapping[str, bytes | None], days: float = 0, message: str = "m") -> str:
    changes = [FileChange(path, data) for path, data in files.items()]
    return history.commit(changes, message, history.head(), Author("Kim"), START + timedelta(days=days))


def places(found: list[Origin]) -> list[tuple[str, str, int]]:
    return [(item.sha, item.path, item.line) for item in found]


# -- blame ---------------------------------------------------------------------------------------------------


def test_each_line_has_the_commit_that_wrote_it(history: History) -> None:
    first = commit(history, {NOTE: b"one\ntwo\nthree\n"})
    second = commit(history, {NOTE: b"one\n2\nthree\nfour"})
    assert history.blame(NOTE, copies=False) == [
        Origin(first, NOTE, 1, "", ""),
        Origin(second, NOTE, 2, first, NOTE),
        Origin(first, NOTE, 3, "", ""),
        Origin(second, NOTE, 4, first, NOTE),
    ]
    assert {item.sha for item in history.blame(NOTE, first)} == {first}


def test_of_some_lines_alone(history: History) -> None:
    commit(history, {NOTE: b"one\ntwo\nthree\n"})
    commit(history, {NOTE: b"one\n2\nthree\nfour"})
    whole = history.blame(NOTE)
    for copies in (True, False):
        assert history.blame(NOTE, copies=copies, lines=[range(1, 2), range(3, 5)]) == [whole[0], *whole[2:]]
    assert history.blame(NOTE, lines=[range(2, 3)]) == [whole[1]]


def test_through_a_rename(history: History) -> None:
    first = commit(history, {NOTE: LONG})
    commit(history, {NOTE: None, MOVED: LONG})
    third = commit(history, {MOVED: LONG + b"more\n"})
    found = history.blame(MOVED)
    assert places(found) == [*((first, NOTE, number) for number in range(1, 13)), (third, MOVED, 13)]
    assert (found[-1].before_path, bool(found[-1].before)) == (MOVED, True)


def test_out_of_another_file_of_the_same_commit(real: History) -> None:
    first = commit(real, {"MEMORY.md": b"# Me\n\n## Price\n\nIt costs 5.\n\n## Other\n"})
    second = commit(real, {"MEMORY.md": b"# Me\n\n## Other\n", NOTE: b"---\ntype: x\n---\n## Price\n\nIt costs 5.\n"})
    assert places(real.blame(NOTE))[3:] == [(first, "MEMORY.md", 3), (first, "MEMORY.md", 4), (first, "MEMORY.md", 5)]
    assert {item.sha for item in real.blame(NOTE, copies=False)} == {second}


@pytest.mark.parametrize(
    "path",
    [
        'memory/q"u\\ote.md',
        "memory/new\nline.md",
        "memory/-x.md",
        "memory/tab\t é 🌿.md",
        "memory/:(top)*.md",
        "memory/ s .md",
    ],
)
def test_names_of_every_kind(real: History, path: str) -> None:
    first = commit(real, {path: b"one\n"})
    second = commit(real, {path: b"one\ntwo\n"})
    assert real.blame(path) == [Origin(first, path, 1, "", ""), Origin(second, path, 2, first, path)]
    assert real.read_many([(first, path), (second, path)]) == [b"one\n", b"one\ntwo\n"]


def test_bytes_of_every_kind_and_no_lines_at_all(history: History) -> None:
    commit(history, {NOTE: b"\xff\r\n\tx\rsame line\n", MOVED: b""})
    assert len(history.blame(NOTE)) == 2
    assert history.blame(MOVED) == []


def test_a_file_that_is_not_there(history: History) -> None:
    commit(history, {NOTE: SHORT})
    for path, rev in ((MOVED, "HEAD"), (NOTE, "nope"), (NOTE, "0" * 40)):
        with pytest.raises(NotFound):
            history.blame(path, rev)


def test_no_path_leaves_the_workspace_and_no_name_is_an_option(real: History) -> None:
    commit(real, {NOTE: SHORT})
    for path in ("../x", "/etc/passwd", "memory/../../x", ""):
        with pytest.raises(Refused):
            real.blame(path)
        with pytest.raises(Refused):
            real.read_many([("HEAD", path)])
    for rev in ("--contents=/etc/passwd", "--all", "-p", ""):
        with pytest.raises(NotFound):
            real.blame(NOTE, rev)


def test_settings_of_the_repository_change_nothing(real: History, tmp_path: Path) -> None:
    first = commit(real, {NOTE: b"one\n"})
    second = commit(real, {NOTE: b"one!\ntwo\n"})
    expected = real.blame(NOTE), real.log([NOTE], follow=True), real.at(START)
    (tmp_path / "repo/ignored").write_text(f"{first}\n{second}\n")
    for pair in (
        *("blame.ignoreRevsFile=ignored", "blame.ignoreRevsFile=missing", "blame.showRoot=true", "blame.date=relative"),
        *("blame.blankBoundary=true", "blame.showEmail=true", "blame.markIgnoredLines=true", "diff.renames=false"),
        *("diff.algorithm=patience", "log.follow=true", "log.date=unix", "color.ui=always", "core.abbrev=5"),
    ):
        subprocess.run(["git", "-C", str(tmp_path / "repo"), "config", *pair.split("=", 1)], check=True)
        assert (real.blame(NOTE), real.log([NOTE], follow=True), real.at(START)) == expected, pair


# -- the state at a time -------------------------------------------------------------------------------------


def test_the_commit_at_a_time(history: History) -> None:
    assert history.at(START) == ""
    shas = [commit(history, {NOTE: b"%d" % day}, day) for day in range(3)]
    assert history.at(START - timedelta(seconds=1)) == ""
    assert [history.at(START + timedelta(days=day)) for day in range(3)] == shas
    assert history.at(START + timedelta(days=1.5)) == shas[1]
    assert history.at(datetime.max.replace(tzinfo=UTC)) == shas[2]


def test_a_wrong_clock_hides_no_other_commit(history: History) -> None:
    first, ahead, back, last = (commit(history, {NOTE: b"%d" % day}, day) for day in (1, 900, 0, 2))
    assert history.at(START + timedelta(days=1.5)) == back, "the last in the order of history, not by its date"
    assert history.at(START + timedelta(days=3)) == last
    assert history.at(START + timedelta(days=0.5)) == back
    assert first and ahead


def test_what_a_side_branch_did_before_the_merge_was_not_there_yet(tmp_path: Path) -> None:
    real = git(tmp_path / "repo")
    base = commit(real, {NOTE: b"base"}, 0)
    person = {f"GIT_{role}_{part}": "P" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}

    def plumb(*words: str) -> str:
        env = {**os.environ, **person, "GIT_COMMITTER_DATE": "2026-03-06T12:00:00Z"}
        command = ["git", "-C", str(tmp_path / "repo"), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout.strip()

    side = commit(real, {MOVED: b"side"}, 1)
    plumb("update-ref", "refs/heads/main", base)
    main = commit(real, {NOTE: b"main"}, 2)
    merge = plumb("commit-tree", "-p", main, "-p", side, "-m", "merge", f"{side}^{{tree}}")
    plumb("update-ref", "refs/heads/main", merge)
    assert real.at(START + timedelta(days=1)) == base != side
    assert real.at(START + timedelta(days=3)) == main
    assert real.at(START + timedelta(days=9)) == real.head() == merge


# -- many at once --------------------------------------------------------------------------------------------


def test_many_files_at_once(history: History) -> None:
    first = commit(history, {NOTE: b"a missing\nblob 3\n", MOVED: b"", "memory/b.png": bytes(range(256)) * 9})
    commit(history, {NOTE: None})
    wanted = [(first, NOTE), ("HEAD", NOTE), (first, MOVED), (first, "memory/b.png"), (first, NOTE)]
    wanted = [(history.resolve(rev), path) for rev, path in wanted]
    assert history.read_many(wanted) == [
        b"a missing\nblob 3\n",
        None,
        b"",
        bytes(range(256)) * 9,
        b"a missing\nblob 3\n",
    ]
    assert history.read_many([]) == []


def test_a_folder_is_no_file(history: History) -> None:
    sha = commit(history, {NOTE: SHORT})
    assert history.read_many([(sha, "memory"), (sha, "memory/domains")]) == [None, None]


def test_commits_by_their_names(history: History) -> None:
    shas = [commit(history, {NOTE: b"%d" % day}, day, f"m{day}\n\nBonsai-Run: r{day}") for day in range(3)]
    found = history.commits([shas[2], shas[0]])
    assert {sha: (item.subject, item.run, item.author) for sha, item in found.items()} == {
        shas[0]: ("m0", "r0", "Kim"),
        shas[2]: ("m2", "r2", "Kim"),
    }
    assert history.commits([]) == {}
    with pytest.raises(NotFound):
        history.commits(["1" * 40])


# -- one path through its names ------------------------------------------------------------------------------


def test_a_note_of_two_lines_is_followed(real: History) -> None:
    """`git log --follow` loses it: with three lines of frontmatter more it is not half alike."""
    first = commit(real, {NOTE: SHORT}, 0)
    archive = "memory/domains/a__DELETE.md"
    second = commit(real, {NOTE: None, archive: b"---\narchived: 2026-03-15T08:15:00Z\n---\n" + SHORT}, 1)
    third = commit(real, {archive: None, NOTE: SHORT}, 2)
    fourth = commit(real, {NOTE: None, MOVED: b"---\ndomain: x\n---\n" + SHORT}, 3)
    assert [item.sha for item in real.log([MOVED], follow=True)] == [fourth, third, second, first]
    assert [item.sha for item in real.log([MOVED], follow=True, limit=2)] == [fourth, third]
    assert [item.sha for item in real.log([NOTE], follow=True)] == [fourth, third, second, first]


def test_what_took_the_old_name_later_is_another_story(real: History) -> None:
    first = commit(real, {NOTE: LONG}, 0)
    second = commit(real, {NOTE: None, MOVED: LONG}, 1)
    other = commit(real, {NOTE: b"another note\n"}, 2)
    assert [item.sha for item in real.log([MOVED], follow=True)] == [second, first]
    assert [item.sha for item in real.log([NOTE], follow=True)] == [other, second, first]


def test_names_that_go_round_in_circles_end(real: History) -> None:
    shas, here, there = [commit(real, {NOTE: LONG})], NOTE, MOVED
    for _ in range(4):
        shas.append(commit(real, {here: None, there: LONG}))
        here, there = there, here
    assert [item.sha for item in real.log([here], follow=True)] == shas[::-1]


def test_a_folder_has_a_log_too(real: History) -> None:
    first = commit(real, {NOTE: SHORT}, 0)
    commit(real, {"memory/other.md": SHORT}, 1)
    assert [item.sha for item in real.log(["memory/domains"], follow=True)] == [first]
