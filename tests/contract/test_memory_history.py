"""The History without git: what the passes lean on when they run on it."""

from datetime import UTC, datetime, timedelta

import pytest

from bonsai.adapters.memory_history import MemoryHistory
from bonsai.errors import Busy, Misconfigured, NotFound
from bonsai.notes.change import PathTime
from bonsai.ports.history import Author, Blob, FileChange, Rename

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
MESSAGE = "archive: a\n\nmemory/a.md\n\nBonsai-Op: archive\nBonsai-Actor: agent:kim\nBonsai-Run: 77aa\n"


def commit(history: MemoryHistory, *changes: FileChange, message: str = "edit: a", days: int = 0) -> str:
    return history.commit(changes, message, history.head(), Author(), NOW + timedelta(days=days))


@pytest.fixture
def history() -> MemoryHistory:
    """a.md is written, renamed to b.md beside c.md, then c.md is changed."""
    made = MemoryHistory()
    commit(made, FileChange("memory/a.md", b"a\n"))
    commit(
        made,
        FileChange("memory/a.md", None),
        FileChange("memory/b.md", b"a\n"),
        FileChange("memory/c.md", b"c\n"),
        message=MESSAGE,
        days=1,
    )
    commit(made, FileChange("memory/c.md", b"cc\n", 0o100755), days=2)
    return made


def test_ids_are_those_of_git() -> None:
    assert MemoryHistory().blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_a_commit_needs_a_repository_and_the_last_commit_as_its_parent(history: MemoryHistory) -> None:
    with pytest.raises(Busy):
        history.commit([FileChange("memory/x.md", b"")], "edit: x", history.resolve("HEAD~1"), Author(), NOW)
    nowhere = MemoryHistory(exists=False)
    with pytest.raises(Misconfigured):
        commit(nowhere, FileChange("memory/x.md", b""))
    nowhere.create()
    assert commit(nowhere, FileChange("memory/x.md", b"")) == nowhere.head() != ""


def test_trees_and_what_differs_between_them(history: MemoryHistory) -> None:
    first, second, third = (history.resolve(rev) for rev in ("HEAD~2", "HEAD^", "HEAD"))
    one, big = Blob(0o100644, history.blob_id(b"a\n")), Blob(0o100755, history.blob_id(b"cc\n"))
    assert history.tree(first) == {"memory/a.md": one}
    assert history.tree_changes(first, third) == {"memory/a.md": None, "memory/b.md": one, "memory/c.md": big}
    assert history.tree_changes("gone", third) is None
    assert history.read(first, "memory/a.md") == history.blob(one.oid) == b"a\n"
    small = history.blob_id(b"c\n")
    assert history.changes(first, second) == [
        Rename("memory/a.md", "memory/b.md", one.oid, one.oid),
        Rename("", "memory/c.md", "", small),
    ]
    assert history.changes(second, third) == [Rename("memory/c.md", "memory/c.md", small, big.oid)]
    assert {item.new for item in history.changes("", third)} == {"memory/b.md", "memory/c.md"}
    assert Rename("memory/a.md", "", one.oid, "") in history.changes(first, second, renames=False)


@pytest.mark.parametrize("rev", ["", "HEAD~3", "nope", "--all", "abc"])
def test_an_unknown_revision_is_not_found(history: MemoryHistory, rev: str) -> None:
    with pytest.raises(NotFound):
        history.resolve(rev)


def test_the_log_is_newest_first_and_follows_renames(history: MemoryHistory) -> None:
    shas = [history.resolve(rev) for rev in ("HEAD", "HEAD~1", "HEAD~2")]
    assert [item.sha for item in history.log()] == shas
    assert [item.sha for item in history.log(["memory"], limit=2)] == shas[:2]
    assert [item.sha for item in history.log(["memory/b.md"])] == [shas[1]]
    assert [item.sha for item in history.log(["memory/b.md"], follow=True)] == shas[1:]
    assert [item.sha for item in history.log(rev="HEAD~1")] == shas[1:]
    told = history.log()[1]
    assert (told.subject, told.op, told.actor, told.run) == ("archive: a", "archive", "agent:kim", "77aa")
    assert told.paths == ("memory/a.md", "memory/b.md", "memory/c.md") and told.parents == (shas[2],)
    assert history.contains_run("77aa", shas[2]) == shas[1]
    assert history.contains_run("77aa", shas[1]) == ""


def test_times_of_the_last_change_and_of_the_name(history: MemoryHistory) -> None:
    day, start = 86400, int(NOW.timestamp())
    assert history.path_times({}, "") == {
        "memory/b.md": PathTime(start + day, start + day),
        "memory/c.md": PathTime(start + 2 * day, start + day),
    }


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        (b"1\n2\n3\n", b"1\n2\n3\n", b"1\nx\n3\n", b"1\nx\n3\n"),
        (b"1\n2\n3\n", b"0\n1\n2\n3\n", b"1\n2\n3\n4", b"0\n1\n2\n3\n4"),
        (b"1\n2\n3\n", b"1\nx\n3\n", b"1\nx\n3\n", b"1\nx\n3\n"),
        (b"1\r\n2\r\n3\r\n", b"1\r\n3\r\n", b"1\r\n2\r\n3\r\n4\r\n", b"1\r\n3\r\n4\r\n"),
        (b"", b"", b"", b""),
    ],
)
def test_changes_in_different_lines_merge(base: bytes, ours: bytes, theirs: bytes, merged: bytes) -> None:
    assert MemoryHistory().merge(base, ours, theirs) == (merged, True)


def test_changes_in_the_same_line_are_marked() -> None:
    text, clean = MemoryHistory().merge(b"1\n2\n", b"1\nx", b"1\ny\n")
    assert not clean
    assert text == b"1\n<<<<<<< now\nx\n=======\ny\n>>>>>>> wanted\n"
