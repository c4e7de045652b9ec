"""Consolidate: what facts are worth now, which of them leave the tree, and what a person reads about it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from bonsai.errors import BonsaiError
from bonsai.facts import fact as facts
from bonsai.facts.archive import ColdRow, row_of
from bonsai.facts.fact import Fact
from bonsai.facts.score import DAY, IMPORTANCE, Rules, Weighed, evicted, is_spent, score, tier
from bonsai.notes import layout, lifecycle
from bonsai.notes.change import PathTime, Row
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.secrets import find_in
from bonsai.notes.view import View
from bonsai.passes.tiered import ConsolidateReport
from bonsai.ports.history import Commit

Mode = Literal["quick", "daily", "monthly", "full"]
MODES: tuple[Mode, ...] = ("quick", "daily", "monthly", "full")
LISTED = 20  # facts that a report names


@dataclass(frozen=True, slots=True)
class Leaving:
    """A note that leaves the tree, and the row that keeps it."""

    path: str
    row: ColdRow
    score: float


def weigh(
    view: View, tree: Tree, times: Mapping[str, PathTime], accesses: Mapping[str, int], now: datetime, rules: Rules
) -> list[Weighed]:
    """Every fact of a tree that may ever leave it, as far as its summary tells, and what it is worth."""
    found = []
    for row in view.notes(tree):
        summary = row.summary
        if summary is None or row.stat is None or summary.type != facts.TYPE or summary.key:
            continue
        if layout.domain_of(row.path) is None:
            continue
        age = _age(row, times, now)
        weight = IMPORTANCE if summary.importance is None else summary.importance
        value = score(weight, age, accesses.get(row.path, 0), rules)
        found.append(Weighed(row.path, value, age, row.stat.size))
    return found


def _age(row: Row, times: Mapping[str, PathTime], now: datetime) -> float:
    """Days since a fact was said, or last committed where it says no date."""
    said = lifecycle.moment(row.summary.dated) if row.summary else None
    known = times.get(row.path)
    if said is None:
        return max(0.0, (now.timestamp() - known.changed) / DAY) if known else 0.0
    return max(0.0, (now - said).total_seconds() / DAY)


def leaving(
    view: View,
    draft: Draft,
    tree: Tree,
    weighed: Sequence[Weighed],
    accesses: Mapping[str, int],
    by_person: Callable[[Sequence[str]], Collection[str]],
    held: Collection[str],
    rules: Rules,
) -> list[Leaving]:
    """The facts that leave the tree now.

    Args:
        by_person: of some notes, those that a person edited last; asked only where it matters.
        held: notes that may not be committed: they go nowhere.
    """
    left = {item.path: item for item in weighed if item.path not in held and not _is_private(view, item.path)}
    known: dict[str, Fact] = {}
    while True:
        out = evicted(list(left.values()), rules)
        # Only what may leave counts for the size: before one leaves for it, that has to be known of all.
        asked = out if all(is_spent(item, rules) for item in out) else list(left.values())
        new = [item.path for item in asked if item.path not in known]
        if not new:
            return [_left(draft, tree, known[item.path], item, accesses) for item in out]
        known |= {path: facts.read(path, draft.need(path)) for path in new}
        stay = {path for path in new if not known[path].evictable or find_in(draft.need(path))}
        stay |= set(by_person([path for path in new if path not in stay]))
        for path in stay:
            del left[path]


def apart(out: Sequence[Leaving], taken: Mapping[str, ColdRow]) -> list[Leaving]:
    """Those whose row takes the place of no other fact; the others stay. Copies of a note bear one id.

    Args:
        taken: by their ids, rows that the cold tier has already.
    """
    rows, kept = dict(taken), []
    for item in out:
        row = rows.setdefault(item.row.id, item.row)
        if row.path == item.path or row.note == item.row.note:
            kept.append(item)
    return kept


def _is_private(view: View, path: str) -> bool:
    row = view.rows.get(path)
    return path in view.private or (row is not None and view.is_held(row))


def _left(draft: Draft, tree: Tree, fact: Fact, weighed: Weighed, accesses: Mapping[str, int]) -> Leaving:
    counted = replace(fact, access_count=accesses.get(fact.path, 0))
    return Leaving(fact.path, row_of(counted, tree.agent, draft.need(fact.path)), weighed.score)


def edited_by_hand(paths: Sequence[str], log: Sequence[Commit]) -> set[str]:
    """Of some notes those whose last commit is an edit of the file: nobody's but a person's, as far as one can tell.

    Args:
        log: the commits that touch them, newest first.
    """
    wanted, found = set(paths), set()
    for commit in log:
        for path in wanted.intersection(commit.paths):
            wanted.discard(path)
            if commit.op in ("", "edit"):  # a commit that somebody made with git has no trailers
                found.add(path)
        if not wanted:
            break
    return found


def expired(rows: Sequence[ColdRow], now: datetime, rules: Rules) -> list[str]:
    """Ids of cold rows that are frozen and older than the retention."""
    return [
        row.id
        for row in rows
        if (age := (now.timestamp() - row.created_at) / DAY) > rules.cold_years * 365.25
        and tier(score(row.importance, age, row.accesses, rules), rules) == "frozen"
    ]


def has_left(row: ColdRow, rules: Rules, now: float) -> bool:
    """Whether a fact of the cold tier has no place in the tree any more: what a consolidate would let go of at once."""
    age = (now - row.created_at) / DAY
    value = score(row.importance, age, row.accesses, rules)
    may_leave = not row.note or facts.read(row.path, row.note).evictable
    return may_leave and age > rules.warm_days and value < rules.evict_below


def in_tiers(weighed: Sequence[Weighed], rules: Rules) -> dict[str, int]:
    """How many facts each tier would have by their scores."""
    found = {"hot": 0, "warm": 0, "cold": 0, "frozen": 0}
    for item in weighed:
        found[tier(item.score, rules)] += 1
    return found


def told(report: ConsolidateReport, out: Sequence[Leaving]) -> str:
    """What was done, in words: the body of the commit, and what a person reads."""
    lines = [f"Consolidated ({report.mode}) at {report.timestamp}"]
    if report.tiers:
        lines.append("Facts by score: " + ", ".join(f"{count} {name}" for name, count in report.tiers.items()))
    lines.append(f"Left the tree for the cold tier: {len(out)}")
    for item in sorted(out, key=lambda item: item.score)[:LISTED]:
        lines.append(f"- {layout.printable(item.path)} (score {item.score:.2f})")
    if len(out) > LISTED:
        lines.append(f"- … {len(out) - LISTED} more")
    if report.pruned:
        lines.append(f"Empty nodes taken away: {', '.join(report.pruned)}")
    if report.moved:
        lines.append(f"Notes that moved as a model proposed for the tree: {len(report.moved)}")
        lines += [f"- {layout.printable(path)}" for path in report.moved[:LISTED]]
    if report.cold_deleted:
        lines.append(f"Frozen rows past their retention, deleted from the cold tier: {report.cold_deleted}")
    lines += report.analysis
    lines += [f"Warning: {warning}" for warning in report.warnings]
    return "\n".join(lines)


def reason(error: BonsaiError) -> str:
    """An error as one warning."""
    return f"{error}" + (f" ({error.hint})" if error.hint else "")
