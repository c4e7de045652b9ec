"""The commands that change history: commit, undo, restore."""

import click

from bonsai.cli.completion import note_paths
from bonsai.cli.door import Door, door, located, verb
from bonsai.errors import Refused


@verb("commit", "bonsai commit\nbonsai commit memory/domains/business/pricing.md")
@click.argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=note_paths)
@click.option("--all-deletions", is_flag=True, help="Accept that most of the notes are gone.")
@door
def commit(door: Door, paths: tuple[str, ...], all_deletions: bool) -> int:
    """Commit what was edited by hand, and its indexes. Exit code 77 when a note had to be held back."""
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.commit(*located(workspace, paths), all_deletions=all_deletions)
    return door.answer(report, render.commit(report), code=Refused.code if report.held else 0)


@verb("undo", "bonsai undo\nbonsai undo 5f1c0e7a21b4")
@click.argument("run", metavar="[RUN]", required=False)
@door
def undo(door: Door, run: str | None) -> int:
    """Take one run back, keeping later edits.

    Without RUN that is the last run of a command, not a hand edit. Where a later edit touches the same lines nothing
    is changed: both versions are printed, exit code 77.
    """
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.undo(run)
    return door.answer(report, render.undo(report), code=Refused.code if report.conflicts else 0)


@verb(
    "restore",
    """bonsai restore memory/domains/business/old-pricing__DELETE.md
    bonsai restore memory/domains/business/pricing.md@HEAD~3
    bonsai restore memory/domains/business/pricing.md@2026-03-01""",
)
@click.argument("path", metavar="PATH[@REV]", shell_complete=note_paths)
@door
def restore(door: Door, path: str) -> int:
    """Bring a note back.

    An archive or a purged file returns as the note it was; PATH@REV as it was at that
    revision, byte for byte, and PATH@DATE as it was at the end of that day.
    """
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.restore(*located(workspace, [path]))
    return door.answer(report, render.restore(report))
