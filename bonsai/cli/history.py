"""The commands that change history: commit, undo, restore."""

import re

import click

from bonsai.cli.completion import note_paths
from bonsai.cli.door import Door, door, located, verb
from bonsai.cli.shared_options import connected, tier_options
from bonsai.errors import Refused

_ID = re.compile(r"[0-9a-f]{12}")


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
    bonsai restore memory/domains/business/pricing.md@2026-03-01
    bonsai restore --from-cloud --db-url libsql://NAME.turso.io""",
)
@click.argument("path", metavar="PATH[@REV]", required=False, shell_complete=note_paths)
@click.option("--from-cloud", is_flag=True, help="Bring back all that the database knows of a lost device.")
@tier_options
@door
def restore(door: Door, path: str | None, from_cloud: bool) -> int:
    """Bring a note back.

    An archive or a purged file returns as the note it was; PATH@REV as it was at that
    revision, byte for byte, and PATH@DATE as it was at the end of that day. A fact that has left for the cold tier
    returns too, by its path or its id.
    """
    from bonsai.cli import render, render_tiers

    if (path is None) is not from_cloud:
        raise click.UsageError("Give either PATH or --from-cloud.")
    with connected(door) as workspace:
        if path is None:
            made = workspace.restore_from_cloud()
            return door.answer(made, render_tiers.from_cloud(made))
        report = workspace.restore(path if _ID.fullmatch(path) else located(workspace, [path])[0])
    return door.answer(report, render.restore(report))
