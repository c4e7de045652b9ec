"""The words of the commands that look back: log, why, show, diff."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import groupby

from bonsai.cli.render import flat
from bonsai.cli.screen import Line, Lines
from bonsai.notes.printed import counted
from bonsai.passes.reports import Changed, DiffReport, LogReport, WhyLine, WhyReport

Local = Callable[[datetime], datetime]
MOST_REPLACED = 3  # lines that a line replaced
_COLOUR = {"+": "green", "-": "red", "@": "cyan"}
_SIGN = {"added": "+", "deleted": "-", "edited": "~", "renamed": "→"}


def log(report: LogReport, path: str, filtered: bool, _local: Local) -> Lines:
    """`log` for a program: one line a commit, its run in the third column."""
    for item in report.commits:
        run = item.run or "-"
        yield f"{item.time}  {item.sha[:10]}  {run:<12}  {item.actor or item.author}  {flat(item.message)}"
    yield from _none(report, path, filtered)


def timeline(report: LogReport, path: str, filtered: bool, local: Local) -> Lines:
    """`log` for a person: the days, and below each its commits."""
    for number, (day, items) in enumerate(groupby(report.commits, key=lambda item: _day(item.time, local))):
        if number:
            yield ""
        yield Line(day, "bold")
        for item in items:
            at = local(datetime.fromisoformat(item.time))
            who = item.actor or item.author
            yield f"  {at:%H:%M}  {item.run or item.sha[:12]:<12}  {flat(who):<10}  {flat(item.message)}"
    yield from _none(report, path, filtered)


def why(report: WhyReport, text: str, local: Local) -> Lines:
    """`why`: each line, and below it how it came to be; lines in a row with one story are told together."""
    shown = [item for item in report.lines if item.text.strip() or len(report.lines) == 1]  # blank lines say nothing
    for number, (_, group) in enumerate(groupby(shown, key=_story)):
        items = list(group)
        if number:
            yield ""
        yield from (Line(f"{flat(item.path)}:{item.line}  {item.text}", "bold") for item in items)
        yield from _told(items[0], local)
        gone = [row for item in items for row in item.replaced]
        rows = list(dict.fromkeys(gone))
        yield from (Line(f"  instead of: {row}", "red") for row in rows[:MOST_REPLACED])
        if len(rows) > MOST_REPLACED:
            yield f"  … and {counted(len(rows) - MOST_REPLACED, 'more line')}"
    if not report.lines:
        past = "`bonsai recall --deleted` finds what is gone."
        yield f"No line of the memory says {flat(text)!r}: {past}" if text else "It has no lines."
    if report.more:
        yield f"… {counted(report.more, 'more line')}: --limit"


def diff(report: DiffReport, named: bool) -> Lines:
    """`diff`: unified diffs; of what is generated, unless a path was named, only how many."""
    shown = [item for item in report.changes if named or not item.generated]
    for item in shown:
        old = f" (was {flat(item.old)})" if item.kind == "renamed" else ""
        yield Line(f"{_SIGN[item.kind]} {flat(item.path)}{old}  +{item.added} -{item.removed}", "bold")
        yield from _coloured(item)
    if not report.changes:
        since = f"since {report.time}" if report.time else "yet"
        yield f"Nothing differs {since}."
    elif len(shown) < len(report.changes):
        yield f"… and {len(report.changes) - len(shown)} that are generated"


def patch(report: DiffReport) -> Lines:
    """`diff` for a program, which may hand it to `git apply`: nothing but the diffs."""
    return (row for item in report.changes for row in item.diff.removesuffix("\n").split("\n") if item.diff)


def _coloured(item: Changed) -> Iterator[Line]:
    for row in item.diff.removesuffix("\n").split("\n") if item.diff else []:
        if not row.startswith(("--- ", "+++ ")):
            yield Line(row, _COLOUR.get(row[:1], ""))


def _day(time: str, local: Local) -> str:
    at = local(datetime.fromisoformat(time))
    return f"{at:%Y-%m-%d %A} ({at:%z})"


def _none(report: LogReport, path: str, filtered: bool) -> Iterator[str]:
    if report.commits:
        return
    if path:
        yield f"{flat(path)}: no commit{' that fits' if filtered else ''} touches it."
    else:
        yield "No commit fits." if filtered else "No commits."


def _story(item: WhyLine) -> tuple[str, str | None, str]:
    return item.path, item.sha, item.via.sha if item.via else ""


def _told(item: WhyLine, local: Local) -> Iterator[str]:
    if item.sha is None or item.time is None:
        yield "  not committed yet"
        return
    by = f"human ({item.author})" if item.actor == "human" and item.author not in ("", "bonsai") else item.actor
    session = f", session {flat(item.session)}" if item.session else ""
    yield f"  {_time(item.time, local)}  {flat(by)}{session}  {item.run or item.sha[:12]}  {flat(item.message)}"
    if item.cut:
        yield "  or earlier: this copy's history begins there (`git fetch --unshallow` gets the rest)"
    if item.via:
        via = item.via
        yield f"  from {flat(item.origin)}  {_time(via.time, local)}  {flat(via.actor)}  {via.run}  {flat(via.message)}"


def _time(time: str, local: Local) -> str:
    return local(datetime.fromisoformat(time)).isoformat(sep=" ", timespec="minutes")
