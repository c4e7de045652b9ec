"""What of the pending edits may be committed, what is held back, and how the commit says it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bonsai.errors import Refused
from bonsai.notes import layout, lifecycle
from bonsai.notes.change import Row
from bonsai.notes.layout import Kind
from bonsai.notes.problem import Problem, problem
from bonsai.notes.view import View, is_inside
from bonsai.ports.history import History

LISTED = 200  # paths in the body of a commit message before it only counts


@dataclass(slots=True)
class Pending:
    """Pending paths, sorted by what may happen to them."""

    rows: list[Row] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def sort_out(view: View, history: History, generated: bool, only: Sequence[str] = ()) -> Pending:
    """Find what to commit. `generated`: with the indexes; `only`: these paths, or what is below them."""
    found = Pending()
    rows = [row for row in view.pending(only) if generated or layout.kind_of(row.path) is not Kind.INDEX]
    here = [row.path for row in rows if row.stat is not None]
    ignored = history.ignored([row.path for row in rows if row.stat is not None and not row.head]) if here else set()
    filtered = history.filtered(here) if here else set()
    for row in rows:
        if view.is_held(row):
            found.held.append(row.path)
        elif row.path in ignored:
            if layout.kind_of(row.path) is not Kind.INDEX:  # that of an ignored folder: its notes are named
                found.problems.append(_ignored(row.path))
        elif row.path in filtered:
            found.problems.append(_filtered(row.path))
        else:
            found.rows.append(row)
    return found


def _ignored(path: str) -> Problem:
    return problem("ignored", path, "is excluded by .gitignore and has no history: correct the rule or move the note")


def _filtered(path: str) -> Problem:
    words = (
        "has a `filter` attribute, so its plain text may not be committed: commit it with git, or drop the attribute"
    )
    return problem("ignored", path, words)


def vanished(view: View, share: float, only: Sequence[str] = ()) -> list[str]:
    """Notes that are gone all at once, so many that it looks like an accident; of `only`, where it names paths."""
    missing = [
        path
        for path, row in view.rows.items()
        if row.stat is None and row.head and not view.hides(path) and layout.kind_of(path) is Kind.NOTE
        if not only or is_inside(path, only)
    ]
    if len(missing) < lifecycle.MIN_VANISHED:
        return []
    before = {row.path: row.head for row in view.rows.values() if row.head and layout.kind_of(row.path) is Kind.NOTE}
    now = {path: row.blob for path, row in view.rows.items() if row.stat is not None}
    now |= {path: row.head for path, row in view.rows.items() if view.hides(path)}
    if only:  # what a commit of these paths alone would delete; the others are not touched
        now |= {path: oid for path, oid in before.items() if not is_inside(path, only)}
    return lifecycle.mass_deletion(before, now, share)


def require_no_accident(view: View, share: float, only: Sequence[str] = ()) -> None:
    """Raises Refused when the notes (those at or below `only`) vanished all at once."""
    gone = vanished(view, share, only)
    if gone:
        raise Refused(
            f"{len(gone)} notes are gone at once; nothing was committed",
            path=layout.MEMORY,
            hint="`bonsai restore memory` brings them back, `bonsai commit --all-deletions` accepts it.",
        )


def subject(rows: Sequence[Row]) -> str:
    """What an edit changed, as the subject of its commit says it: `business/pricing; deleted general/todo`."""
    gone = [row.path for row in rows if row.stat is None]
    there = [row.path for row in rows if row.stat is not None]
    told = [layout.listed(there)] if there else []
    return "; ".join([*told, f"deleted {layout.listed(gone)}"] if gone else told)


def describe(rows: Sequence[Row]) -> str:
    """The body of the commit message of an edit: a line for each note."""
    lines = []
    for row in rows[:LISTED]:
        verb = "delete" if row.stat is None else "add" if not row.head else "edit"
        lines.append(f"{verb} {layout.printable(row.path)}")
    if len(rows) > LISTED:
        lines.append(f"… {len(rows) - LISTED} more")
    return "\n".join(lines)
