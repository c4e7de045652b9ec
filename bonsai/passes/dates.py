"""Dates: find relative dates in notes that people wrote, and write the absolute ones when told to."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date

from bonsai.errors import NotFound
from bonsai.notes import boot, dates, layout, lifecycle
from bonsai.notes.change import Plan, Row
from bonsai.notes.dates import Phrase
from bonsai.notes.draft import Draft
from bonsai.notes.layout import MAX_PARSED, Kind, Tree
from bonsai.notes.problem import Problem, problem
from bonsai.notes.view import View, is_inside
from bonsai.passes.cared import Absolute, DatesReport

_DAY = 10  # characters of `2026-03-15`
#: The day on which each of some lines (1-based) of a file was written, where git knows.
Written = Callable[[str, Collection[int]], dict[int, date]]


def check(
    view: View, tree: Tree, read: Callable[[str], bytes], written: Written, today: date, only: Sequence[str] = ()
) -> DatesReport:
    """The relative dates of the notes of a tree, of its boot file, or of what is at or below `only`."""
    found = []
    for row in _notes(view, tree, only):
        phrases = _phrases(row, _text(read(row.path)), written, today)
        found += [Absolute(row.path, item.line, item.text, item.absolute) for item in phrases]
    return DatesReport(found)


def fix(
    view: View, draft: Draft, tree: Tree, written: Written, today: date, only: Sequence[str]
) -> tuple[Plan, DatesReport]:
    """Plan to write the absolute dates. Raises NotFound where there is no such note."""
    changed = []
    for row in _notes(view, tree, only):
        text = _text(draft.need(row.path))
        phrases = _phrases(row, text, written, today)
        if phrases:
            draft.put(row.path, dates.rewritten(text, phrases).encode("utf-8", "surrogateescape"))
            changed += [Absolute(row.path, item.line, item.text, item.absolute) for item in phrases]
    body = "\n".join(f"{item.path}:{item.line}: {item.text} is {item.absolute}" for item in changed)
    return draft.plan("dates", f"dates: {len(changed)} made absolute", body), DatesReport(changed)


def problems(found: DatesReport) -> list[Problem]:
    """The same as problems, each with the proposed edit."""
    return [
        problem("relative-date", item.path, f"line {item.line}: write {item.absolute} for {item.text!r}")
        for item in found.dates
    ]


def _notes(view: View, tree: Tree, only: Sequence[str]) -> Iterator[Row]:
    rows = [*view.notes(tree), *(row for row in [view.rows.get(tree.boot)] if row and row.stat)]
    for path in only:
        if not any(is_inside(row.path, [path]) for row in rows):
            raise NotFound("there is no such note", path=path, hint="Name a note, or a folder with notes.")
    for row in sorted(rows, key=lambda row: row.path):
        wanted = not only or is_inside(row.path, only)
        if wanted and row.stat and row.stat.size <= MAX_PARSED and not view.is_held(row):
            yield row


def _phrases(row: Row, text: str, written: Written, today: date) -> list[Phrase]:
    if layout.kind_of(row.path) is Kind.BOOT:
        text = _without_block(text)
    said = _said(row) or dates.stamped(text)
    found = dates.find(text, said or today)
    if not found or said:
        return found
    # Which day a line was written matters only now: few notes hold a relative date, and blame costs a process each.
    return dates.find(text, today, written(row.path, {item.line for item in found}))


def _said(row: Row) -> date | None:
    """The day that a note says it is of: that in the name of a daily note, else `updated` or `created`."""
    name = layout.name_of(row.path)[:_DAY] if layout.is_daily(row.path) else ""
    dated = row.summary.dated if row.summary else ""
    moment = lifecycle.moment(name) or lifecycle.moment(dated)
    return moment.date() if moment else None


def _without_block(text: str) -> str:
    """A boot file with blanks for its generated block, so that places stay."""
    start, end = text.find(boot.BEGIN), text.find(boot.END)
    if not 0 <= start < end:
        return text
    inner = "".join(char if char in "\r\n" else " " for char in text[start:end])
    return text[:start] + inner + text[end:]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
