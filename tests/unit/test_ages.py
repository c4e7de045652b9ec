"""Ages of notes and the grace of archives, from frontmatter and git; a file time only where there is nothing else."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bonsai.notes.ages import Archive, age_of, archives, old_general
from bonsai.notes.change import PathTime, Row, Stat
from bonsai.notes.layout import Tree
from bonsai.notes.summary import Summary
from bonsai.notes.view import View

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
SHORT = Summary("T", "A line.", 3, False, "", "", "", "", (), (), (), False)


def row(path: str, *, dated: str = "", archived: str = "", mtime_days: int = 0, head: str = "1") -> Row:
    mtime = int((NOW - timedelta(days=mtime_days)).timestamp()) * 10**9
    stat = Stat(1, mtime, mtime, 1, 0o100644)
    return Row(path, stat, "1", head, 0o100644, replace(SHORT, dated=dated, archived=archived))


def view(*rows: Row) -> View:
    return View({item.path: item for item in rows}, "head")


def days_ago(changed: int, named: int | None = None) -> PathTime:
    now = int(NOW.timestamp())
    return PathTime(now - changed * 86_400, now - (changed if named is None else named) * 86_400)


def test_the_order_of_what_tells_an_age() -> None:
    note = row("memory/domains/a/n.md", dated="2026-03-10", mtime_days=99)
    assert age_of(note, {note.path: days_ago(50)}, NOW) == 5
    note = row("memory/domains/a/n.md", mtime_days=99)
    assert age_of(note, {note.path: days_ago(50)}, NOW) == 50
    assert age_of(note, {}, NOW) == 99


def test_old_notes_in_general_and_below_it_only() -> None:
    paths = [
        "memory/domains/general/old.md",
        "memory/domains/general/sub/old.md",
        "memory/domains/generally/old.md",
        "memory/domains/business/old.md",
        "memory/domains/general/away__DELETE.md",
        "memory/agents/w/domains/general/old.md",
    ]
    found = view(*(row(path) for path in paths))
    times = {path: days_ago(31) for path in paths}
    assert [(item.path, age) for item, age in old_general(found, Tree(), times, NOW, 30)] == [
        ("memory/domains/general/old.md", 31),
        ("memory/domains/general/sub/old.md", 31),
    ]
    assert old_general(found, Tree(), times, NOW, 31) == []
    assert [item.path for item, _ in old_general(found, Tree("w"), times, NOW, 30)] == [paths[-1]]


def grace(note: Row, times: dict[str, PathTime]) -> Archive:
    [found] = archives(view(note), Tree(), times, NOW, 180)
    return found


def test_grace_begins_with_the_name_and_not_with_the_last_edit() -> None:
    note = row("memory/domains/a/n__DELETE.md", mtime_days=999)
    assert grace(note, {note.path: days_ago(changed=1, named=200)}) == Archive(note.path, 200, 0)
    assert grace(note, {note.path: days_ago(changed=1, named=100)}) == Archive(note.path, 100, 80)


def test_a_written_date_only_lengthens_it() -> None:
    late = row("memory/domains/a/n__DELETE.md", archived="2026-03-05T12:00:00")
    assert grace(late, {late.path: days_ago(200)}) == Archive(late.path, 10, 170)
    early = row("memory/domains/a/n__DELETE.md", archived="2020-01-01")
    assert grace(early, {early.path: days_ago(20)}) == Archive(early.path, 20, 160)


def test_what_git_has_never_seen_begins_now() -> None:
    note = row("memory/domains/a/n__DELETE.md", archived="2020-01-01", mtime_days=999, head="")
    assert grace(note, {}) == Archive(note.path, 0, 180)
    assert grace(note, {note.path: days_ago(500)}) == Archive(note.path, 0, 180), "deleted once, and here again"


def test_a_live_note_is_no_archive() -> None:
    assert archives(view(row("memory/domains/a/n.md", archived="2020-01-01")), Tree(), {}, NOW, 180) == []
