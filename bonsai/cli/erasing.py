"""The command that forgets for good: erase."""

import sys

import click

from bonsai.cli import screen
from bonsai.cli.completion import note_paths
from bonsai.cli.door import Door, door, located_files, verb
from bonsai.errors import Unavailable


@verb(
    "erase",
    """bonsai erase memory/domains/general/wifi.md --dry-run
    bonsai erase memory/domains/general/wifi.md --yes --reason 'they asked for it'
    bonsai erase --match - --yes < secret.txt""",
)
@click.argument("path", required=False, shell_complete=note_paths)
@click.option(
    "--match", default="", metavar="TEXT", help="Erase this text wherever it stands; `-` reads it from stdin."
)
@click.option("--reason", default="", metavar="TEXT", help="Why, for the log.")
@click.option("--dry-run", is_flag=True, help="Show what would go and change nothing.")
@click.option("--yes", is_flag=True, help="Do it: there is no way back.")
@door
def erase(door: Door, path: str | None, match: str, reason: str, dry_run: bool, yes: bool) -> int:
    """Erase a note, or a text, for good.

    It goes from disk, from the indexes and caches, from what was said, and from all of git's history, which gets new
    commit ids. Nothing brings it back: to put a note away, `bonsai archive` it. Servers that the environment names
    (REDIS_URL, DATABASE_URL, BONSAI_DB_URL) forget it too; one that does not answer, or that was used here and is not
    named now, makes this exit with 69.
    """
    from bonsai.cli import render_erase

    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").strip("\r\n") if match == "-" else match
    with door.workspace() as workspace:
        name = located_files(workspace, [path])[0] if path else ""
        ask = door.may_ask(yes or dry_run) and match != "-"
        if ask:
            plan = workspace.erase(name, match=text, dry_run=True)
            screen.say(render_erase.erase(plan))
            if not screen.confirm(render_erase.QUESTION, False):
                raise click.Abort
        report = workspace.erase(name, match=text, reason=reason, dry_run=dry_run, yes=yes or ask)
    return door.answer(report, render_erase.erase(report), 0 if report.complete else Unavailable.code)
