"""What an erasure says."""

from collections.abc import Iterator

from bonsai.cli.screen import Line
from bonsai.passes.erased import EraseReport

QUESTION = "Erase that for good?"


def erase(report: EraseReport) -> Iterator[Line | str]:
    """What went (or would go), the proof, and who else still has it."""
    yield from (f"  {path}" for path in report.paths)
    if report.shared:
        yield f"{_many(report.shared, 'line stays', 'lines stay')}: other files hold the same."
    yield from _kept(report)
    if not report.paths and not report.commits_rewritten:
        yield "No note and no commit holds it." + (" Nothing was changed." if report.dry_run else "")
        return
    refs = _many(len(report.refs), "branch or tag", "branches and tags")
    what = f"{_many(report.commits_rewritten, 'commit')} and {refs}"
    if report.dry_run:
        yield f"Would write {what} anew. Nothing was changed."
        return
    yield Line("Erased", "bold")
    yield f"Written anew: {what}. All {report.objects_scanned} objects of git were searched: it is in none."
    if report.commit:
        yield f"Commit {report.commit[:10]}"
    yield "Reflogs are empty now: what only they still led to is gone too."
    yield Line("Other clones, remotes and backups still hold it:", "yellow")
    for told in report.remotes:
        yield f"  {told.remote}: {told.command}"
    yield "  every other clone: clone anew, or it brings the old commits back"


def _kept(report: EraseReport) -> Iterator[Line | str]:
    """What of the conversation and of the cold tier went, here and on servers."""
    done = "would be cleared" if report.dry_run else "cleared"
    for place, rows in (("this workspace", report.rows), *((item.server, item.rows) for item in report.servers)):
        if rows:
            yield f"{_many(rows, 'row')} of the conversation or the cold tier {done}: {place}"
    for item in report.servers:
        if item.cause:
            yield Line(f"{item.server} was not asked, and may still hold it: {item.cause}", "red")
            yield f"  {item.hint}"


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or f'{one}s'}"
