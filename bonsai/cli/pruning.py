"""The commands that thin the tree out: reflect, archive, purge."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from bonsai.cli.completion import note_paths
from bonsai.cli.door import Door, Verb, VerbGroup, door, located_files, native, verb
from bonsai.cli.tree import style_option
from bonsai.errors import BadData, NotFound


@click.group(
    "reflect",
    cls=VerbGroup,
    examples="""bonsai reflect
    bonsai reflect show
    bonsai reflect apply memory/_reflect_staging.json""",
)
@style_option
@click.pass_context
@door
def reflect(door: Door, context: click.Context, style: str) -> int:
    """Stage the notes that need a decision.

    Old, large and similar notes, and large domains, go into memory/_reflect_staging.json.
    """
    from bonsai.cli import render, render_original

    if context.invoked_subcommand:
        return 0
    with door.workspace() as workspace:
        report = workspace.reflect()
    return door.answer(report, (render_original if style == "original" else render).reflect(report))


@reflect.command("show", cls=Verb, examples="bonsai reflect show")
@door
def show(door: Door) -> int:
    """Show the candidates that wait for a decision."""
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.reflect_show()
    return door.answer(report, render.reflect_show(report))


@reflect.command(
    "apply",
    cls=Verb,
    examples="bonsai reflect apply memory/_reflect_staging.json\nmy-agent --decide | bonsai reflect apply -",
)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@door
def apply(door: Door, file: str) -> int:
    """Carry out decisions as one run: FILE is the staging object with a `decision` in each candidate.

    The decisions are keep, migrate (with `domain`), archive (with `reason`), merge (with `into`) and split (with
    `parts`). A note that changed since is left alone.
    """
    from bonsai.cli import render

    decisions = _decisions(file)
    with door.workspace() as workspace:
        report = workspace.reflect_apply(decisions)
    return door.answer(report, render.reflect_apply(report))


def _decisions(file: str) -> dict[str, Any]:
    """The object in a file, `-` for stdin. Raises BadData, NotFound, OSError."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(native(file)).read_bytes()
    except FileNotFoundError as error:
        raise NotFound("there is no such file", path=file, hint="`bonsai reflect` stages one.") from error
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BadData(
            f"not JSON: {error}", path=file, hint="`bonsai reflect show --json` prints the object."
        ) from error
    if not isinstance(found, dict):
        raise BadData("not a JSON object", path=file, hint="`bonsai reflect show --json` prints the object.")
    return found


@verb("archive", "bonsai archive memory/domains/business/old-pricing.md --reason 'replaced in May'")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=note_paths)
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who find it later.")
@door
def archive(door: Door, files: tuple[str, ...], reason: str) -> int:
    """Archive notes.

    They get the suffix __DELETE, leave the indexes, and are purged when the grace period (180 days) is over.
    """
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.archive(*located_files(workspace, files), reason=reason)
    return door.answer(report, render.archive(report))


@verb("purge", "bonsai purge --dry-run\nbonsai purge")
@click.option("--dry-run", is_flag=True, help="Show what would go and delete nothing.")
@click.option("--yes", is_flag=True, help="Accept a large purge.")
@style_option
@door
def purge(door: Door, dry_run: bool, yes: bool, style: str) -> int:
    """Delete archives whose grace period is over.

    Each is named in memory/_purge_log.json and stays in git: `bonsai restore` brings it back.
    """
    from bonsai.cli import render, render_original

    with door.workspace() as workspace:
        report = workspace.purge(dry_run=dry_run, yes=yes)
    return door.answer(report, (render_original if style == "original" else render).purge(report))
