"""The commands about git: commit, log, undo, restore."""

import click

from bonsai.cli import screen
from bonsai.cli.completion import note_paths
from bonsai.cli.door import Door, door, located, verb
from bonsai.errors import Refused

SCREENFUL = 20  # commits that `log` lists for a person who names no number


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


@verb("log", "bonsai log\nbonsai log --limit 5\nbonsai log memory/domains/business/pricing.md")
@click.argument("path", metavar="[PATH]", required=False, shell_complete=note_paths)
@click.option("--limit", type=click.IntRange(0), help="So many commits, 0 for all (20; all with --json).")
@door
def log(door: Door, path: str | None, limit: int | None) -> int:
    """List the commits of the memory, or of one note.

    Newest first: when, who, what, and the run that `bonsai undo` takes.
    """
    from bonsai.cli import render

    most = (0 if door.json else SCREENFUL) if limit is None else limit
    with door.workspace() as workspace:
        report = workspace.log(*located(workspace, [path] if path else []), limit=most)
    code = door.answer(report, render.log(report, path or ""))
    if report.commits and len(report.commits) == most and not door.json:
        screen.say(["Older ones: --limit 0"])  # on stderr: programs read the lines above
    return code


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
    bonsai restore memory/domains/business/pricing.md@HEAD~3""",
)
@click.argument("path", metavar="PATH[@REV]", shell_complete=note_paths)
@door
def restore(door: Door, path: str) -> int:
    """Bring a note back.

    An archive or a purged file returns as the note it was; PATH@REV as it was at that revision, byte for byte.
    """
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.restore(*located(workspace, [path]))
    return door.answer(report, render.restore(report))
