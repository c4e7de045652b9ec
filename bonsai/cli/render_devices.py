"""The words of `sync` and `trust`."""

from bonsai.cli.screen import Line, Lines
from bonsai.notes.layout import printable
from bonsai.notes.printed import counted
from bonsai.passes.synced import SyncReport, TrustReport

MOST = 20  # notes that are named


def sync(report: SyncReport) -> Lines:
    """`sync`."""
    remote = printable(report.remote)
    if not (report.pulled or report.pushed or report.waiting):
        yield f"Up to date with {remote}"
        return
    yield f"{counted(report.pulled, 'commit')} from {remote}, {report.pushed} to it"
    if report.merged:
        yield f"Merged: {_listed(report.merged)}"
    if report.kept_both:
        yield Line(f"Both versions kept, look at them: {_listed(report.kept_both)}", "yellow")
    for problem in report.problems[:MOST]:
        yield Line(f"{printable(problem.path)}: {problem.message}", "yellow")


def trust(report: TrustReport) -> Lines:
    """`trust`."""
    if not report.keys:
        yield "The repository's own git config names no program"
    else:
        yield "The repository's own git config can make git run programs:"
        yield from (f"  {printable(key)}" for key in report.keys)
        yield "You trust these" if report.trusted else "`bonsai trust --yes` if they are yours; until then no sync"
    if report.helpers:
        yield f"Sync logs in with your own {', '.join(map(printable, report.helpers))}"


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - MOST} more" if len(paths) > MOST else ""
    return ", ".join(map(printable, paths[:MOST])) + more
