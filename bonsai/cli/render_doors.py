"""The words of the doors for agents: promote, connect, mcp."""

from bonsai.cli.render import committed, flat
from bonsai.cli.screen import Line, Lines
from bonsai.notes.printed import counted
from bonsai.passes.edited import ConnectReport, PromoteReport


def serving(address: str, token: str) -> Lines:
    """`mcp --http`."""
    yield f"Serving the memory at {address}"
    yield Line(f"Clients need the header Authorization: Bearer <what stands in {flat(token)}>", "dim")


def promote(report: PromoteReport) -> Lines:
    """`promote`."""
    yield f"{flat(report.path)} is promoted (it came from: {flat(report.source)})"
    yield from committed(report.commit)


def connect(report: ConnectReport) -> Lines:
    """`connect`: the diffs, then what that means."""
    for change in report.changes:
        yield from map(flat, change.diff.rstrip("\n").split("\n"))
    if not report.changes:
        yield f"{report.agent} is {'not connected' if report.removed else 'connected'}: nothing to change."
    elif report.dry_run:
        yield "Nothing was changed yet."
    else:
        count = counted(len(report.changes), "file")
        yield f"{report.agent} is {'disconnected' if report.removed else 'connected'} ({count})."
    if report.notice and not report.removed:
        yield Line(flat(report.notice), "yellow")
