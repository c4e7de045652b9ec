"""Ages, grace periods and fuses. The clock is a parameter, and file times are the last resort only.

Every `now` is an aware datetime.
"""

import re
from collections.abc import Container, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from bonsai.notes import layout

DAY = 86_400  # seconds
MIN_VANISHED = 5  # notes: below this a large share means little (two of three notes deleted is a person at work)
MANY_PURGED = 5  # files: above this a purge is also measured against the size of the tree

_CONFLICT = re.compile(r"([ ._-])(?:sync-)?conflict(?:ed)?(?![^\W\d_])", re.IGNORECASE)


class Grace(NamedTuple):
    """Where an archive stands. `days_left` is rounded up: at least 1 while waiting, 0 once it is over."""

    over: bool
    age_days: int
    days_left: int


def moment(text: str) -> datetime | None:
    """An ISO 8601 date or time as an aware datetime, None where it is none. UTC and midnight where it says nothing."""
    try:
        parsed = datetime.fromisoformat(text.strip())
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except ValueError:
        return None


def age_days(dated: str, committed: int | None, mtime_ns: int, now: datetime) -> int:
    """Whole days since a note changed, never negative.

    Args:
        dated: `Summary.dated`, "" where the note names no date.
        committed: Unix seconds of the last commit that changed the path, None where git has never seen it.
        mtime_ns: file time in nanoseconds. A checkout makes every note young, a rename keeps one old: so it comes last.
    """
    at = moment(dated)
    if at is not None:
        return _days(now - at)
    seconds = committed if committed is not None else mtime_ns // 1_000_000_000
    # Plain arithmetic: a damaged commit or file time need not be a year that datetime knows.
    return max(0, (int(now.timestamp()) - seconds) // DAY)


def archived_at(archived: str, named: int | None, now: datetime) -> datetime:
    """When the grace of an archive began: the later of its frontmatter and of the commit that gave it the name.

    A date that somebody wrote can only lengthen the grace. An archive that git has never seen (`named` None) starts
    now, whatever it says of itself: its text could not be had back yet.
    """
    said = moment(archived)
    known = now if named is None else _from_unix(named, now)
    return known if said is None else max(said, known)


def grace(archived_at: datetime, now: datetime, grace_days: int) -> Grace:
    """Whether the grace is over: at `grace_days` times 24 hours exactly, in whatever zone or season."""
    left = timedelta(days=grace_days) - (now - archived_at)
    days_left = max(0, -(-left // timedelta(days=1)))
    return Grace(days_left == 0, _days(now - archived_at), days_left)


def needs_yes(purge_count: int, notes: int, ask_over: int) -> str | None:
    """Why a purge of so many of so many notes is to be confirmed, None where it may just go on."""
    if purge_count > ask_over:
        return f"{purge_count} files would be purged, more than {ask_over} at once"
    if purge_count > MANY_PURGED and purge_count * 10 > notes:
        return f"{purge_count} files would be purged, over 10 % of the {notes} notes"
    return None


def mass_deletion(head_notes: Mapping[str, str], disk_notes: Mapping[str, str], share: float) -> list[str]:
    """The notes that vanished, sorted, where so many at once look like an accident (unmounted, `rm -rf`); else none.

    Args:
        head_notes: path → blob id of the notes in HEAD.
        disk_notes: path → blob id of the notes on disk ("" where it is not known).
        share: the part of the notes, 0 to 1, that may vanish.

    A note did not vanish when its text stands elsewhere on disk (moved, renamed, archived), or when another spelling
    or the archive of its name does.
    """
    blobs = set(disk_notes.values()) - {""}
    missing = [path for path, blob in head_notes.items() if path not in disk_notes and blob not in blobs]
    if not _too_many(len(missing), len(head_notes), share):
        return []
    names = {layout.fold(path) for path in disk_notes}
    gone = sorted(path for path in missing if names.isdisjoint(map(layout.fold, _aliases(path))))
    return gone if _too_many(len(gone), len(head_notes), share) else []


def conflict_copy(path: str, existing: Container[str]) -> str | None:
    """The note that `path` is a sync tool's copy of, by its name (`inbox (1).md`), if that note stands beside it.

    A name alone proves nothing (`chapter 2.md`), and a copy whose note is gone is the only one left: no copy then.
    """
    name = layout.name_of(path)
    if not name.endswith(".md"):
        return None
    folder = path[: len(path) - len(name)]
    for stem in _copied_stems(name.removesuffix(".md")):
        if stem and f"{folder}{stem}.md" in existing:
            return f"{folder}{stem}.md"
    return None


def is_named_like_a_copy(path: str) -> bool:
    """Whether `conflict_copy` may find an original for this path, whatever stands beside it."""
    return path.endswith(".md") and bool(_copied_stems(layout.name_of(path).removesuffix(".md")))


def _days(span: timedelta) -> int:
    return max(0, span // timedelta(days=1))


def _from_unix(seconds: int, now: datetime) -> datetime:
    """Unix seconds as a datetime; a time out of its range says nothing, so the grace starts now."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return now


def _too_many(gone: int, notes: int, share: float) -> bool:
    return gone >= MIN_VANISHED and gone > share * notes


def _aliases(path: str) -> tuple[str, str, str]:
    return path, layout.archived_path(path), layout.live_path(path)


def _copied_stems(stem: str) -> list[str]:
    """What the stem could have been before a sync tool added to it."""
    found = []
    head, _, tail = stem.rpartition(" ")
    if _copy_number(tail):  # iCloud: `inbox 2`
        found.append(head)
    if stem.endswith(")"):
        head, _, inside = stem[:-1].rpartition("(")
        if _copy_number(inside) or "conflict" in inside.casefold():  # Drive: `inbox (1)`, Dropbox, Nextcloud
            found.append(head.rstrip(" "))
    marks = _CONFLICT.finditer(stem)  # Syncthing, ownCloud, Resilio, ours
    return found + [stem[: mark.start()] for mark in marks if _marks_copy(mark[1], stem[mark.end() :])]


def _copy_number(text: str) -> bool:
    """One or two digits: `report 2025.md` beside `report.md` is no copy."""
    return len(text) in (1, 2) and text.isascii() and text.isdigit()


def _marks_copy(separator: str, rest: str) -> bool:
    """A dot makes it ours or a tool's for sure; `plan-conflict-of-interest.md` is a title, tools append dates."""
    return separator == "." or not rest or any(letter.isdigit() for letter in rest)
