"""What the commands of the care say."""

from collections.abc import Iterator

from bonsai.cli.render import committed, flat, problems
from bonsai.cli.screen import Line
from bonsai.passes.cared import (
    Absolute,
    DatesReport,
    FactsReport,
    FeedbackAdded,
    FeedbackFixed,
    FeedbackList,
    HeartbeatReport,
    RelocateReport,
)


def feedback_added(report: FeedbackAdded) -> Iterator[Line | str]:
    """`feedback add`: the entry as it stands."""
    yield f"Added to {flat(report.path)}"
    yield from (f"  {line}" for line in report.text.rstrip("\n").split("\n"))
    yield from (f"  {flat(item.text)!r} was written as {item.absolute}" for item in report.dates)
    yield from committed(report.commit)


def feedback_listed(report: FeedbackList) -> Iterator[Line | str]:
    """`feedback list`: a line for each entry."""
    for entry in report.entries:
        mark = "keep" if entry.confirmed else "rule"
        place = f"  ({flat(entry.path)}:{entry.line})" if entry.path != report.path else ""
        yield f"{entry.id}  {entry.date or '          '}  {mark}  {flat(entry.rule)}{place}"
    if not report.entries:
        yield f"{flat(report.path)} has no entry yet."
    yield from (f"{flat(path)} is feedback, too, in its own words" for path in report.elsewhere)
    yield from problems(report.problems)


def feedback_fixed(report: FeedbackFixed) -> Iterator[Line | str]:
    """`feedback fix`."""
    yield from (
        f"{item.old} in {flat(item.path)}:{item.line} is {item.new} now: {flat(item.rule)}"
        for item in report.renumbered
    )
    if not report.renumbered:
        yield "Every number is there once."
    yield from committed(report.commit)


def dates_checked(report: DatesReport) -> Iterator[Line | str]:
    """`dates check`: what stands there and what to write."""
    yield from map(_absolute, report.dates)
    if report.dates:
        yield "Nothing was changed: `bonsai dates fix FILE` writes it, or edit it yourself."
    else:
        yield "No relative dates."


def dates_fixed(report: DatesReport) -> Iterator[Line | str]:
    """`dates fix`."""
    yield from map(_absolute, report.dates)
    if not report.dates:
        yield "No relative dates."
    yield from committed(report.commit)


def facts(report: FactsReport) -> Iterator[Line | str]:
    """`check-facts`: what is gone or differs first, then what is there, then what nobody could tell."""
    order = {"missing": 0, "differs": 1, "exists": 2, "unknown": 3}
    style = {"missing": "red", "differs": "yellow", "unknown": "dim"}
    for item in sorted(report.claims, key=lambda item: order.get(item.found, 9)):
        detail = f"  ({flat(item.detail)})" if item.detail else ""
        words = f"{item.found:8}{item.kind:9}{flat(item.name)}  {flat(item.path)}:{item.line}{detail}"
        yield Line(words, style.get(item.found, ""))
    if not report.claims:
        yield "No technical note names a file, a function, an option, a URL or a version."
    yield from problems(report.flags)


def heartbeat(report: HeartbeatReport) -> Iterator[Line | str]:
    """`heartbeat`: the checklist, or HEARTBEAT_OK."""
    if report.answer:
        yield report.answer
        return
    for number, phase in enumerate(report.phases, start=1):
        if not phase.candidates:
            continue
        yield Line(f"{number}. {phase.name}: {phase.ask}", "bold")
        for due in phase.candidates:
            yield f"   {flat(due.path)}{f':{due.line}' if due.line else ''}  {flat(due.what)}"
    if report.done:
        yield "Noted as done."
    else:
        yield "When it is done: `bonsai heartbeat --done`"


def relocated(report: RelocateReport) -> Iterator[Line | str]:
    """`relocate`."""
    for item in report.relocated:
        yield f"{flat(item.heading) or '(text)'} → {flat(item.to)}  ({item.bytes:,} bytes)"
    if report.relocated:
        yield f"{report.before:,} → {report.after:,} bytes (budget {report.limit:,})"
    elif not report.left:
        yield f"Within its budget: {report.before:,} of {report.limit:,} bytes."
    if report.left:
        yield Line(flat(report.left), "yellow")
    if report.dry_run and report.relocated:
        yield "Nothing was changed (--dry-run)."
    yield from committed(report.commit)


def _absolute(item: Absolute) -> str:
    return f"{flat(item.path)}:{item.line}  {item.text} → {item.absolute}"
