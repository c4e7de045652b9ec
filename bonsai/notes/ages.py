"""How old the notes of a tree are, and how long its archives still wait."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bonsai.notes import lifecycle
from bonsai.notes.change import PathTime, Row
from bonsai.notes.layout import Tree
from bonsai.notes.taxonomy import GENERAL
from bonsai.notes.view import View


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive. `days_left` is 0 once the grace is over."""

    path: str
    age_days: int
    days_left: int


def age_of(row: Row, times: Mapping[str, PathTime], now: datetime) -> int:
    """Whole days since the note was last said, committed or, for one that git has never seen, written."""
    known = times.get(row.path)
    dated = row.summary.dated if row.summary else ""
    return lifecycle.age_days(dated, known.changed if known else None, row.stat.mtime_ns if row.stat else 0, now)


def old_general(
    view: View, tree: Tree, times: Mapping[str, PathTime], now: datetime, days: int
) -> list[tuple[Row, int]]:
    """Notes in general/ that are older than `days`, with their age."""
    prefix = f"{tree.domains}/{GENERAL}/"
    aged = ((row, age_of(row, times, now)) for row in view.notes(tree) if row.path.startswith(prefix))
    return sorted(((row, age) for row, age in aged if age > days), key=lambda pair: pair[0].path)


def archives(view: View, tree: Tree, times: Mapping[str, PathTime], now: datetime, grace_days: int) -> list[Archive]:
    """Every archive of a tree, by path. The grace of one that git has not seen begins now."""
    found = []
    for row in sorted(view.notes(tree, archived=True), key=lambda row: row.path):
        known = times.get(row.path)
        named = known.named if known and row.head else None
        since = lifecycle.archived_at(row.summary.archived if row.summary else "", named, now)
        grace = lifecycle.grace(since, now, grace_days)
        found.append(Archive(row.path, grace.age_days, grace.days_left))
    return found
