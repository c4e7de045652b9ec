"""The commands about the shape of the tree: init, migrate, move, reindex, status."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from bonsai.cli import screen
from bonsai.cli.completion import domains, note_paths
from bonsai.cli.door import Door, door, located_files, native, verb
from bonsai.errors import BonsaiError
from bonsai.notes.layout import Tree

if TYPE_CHECKING:
    from bonsai.workspace import Workspace

LITTLE = 1000  # boot tokens below which splitting MEMORY.md gains little
STYLES = click.Choice(["bonsai", "original"])
style_option = click.option("--style", type=STYLES, default="bonsai", hidden=True, help="Word it as the scripts did.")
EXIT_OF = {"HEALTHY": 0, "WARNING": 1, "CRITICAL": 2}


@verb("init", "bonsai init\nbonsai init ~/workspace\nbonsai init --bare")
@click.argument("target", metavar="[DIR]", default="")
@click.option("--bare", is_flag=True, help="Leave out the templates: only the repository and the indexes.")
@door
def init(door: Door, target: str, bare: bool) -> int:
    """Make a workspace, or adopt a folder.

    Makes a git repository where there is none. Notes that are there stay as they are; MEMORY.md gets the generated
    block at its end. What is not there is made: MEMORY.md with its four sections, memory/feedback.md, bonsai.toml, and
    a block in AGENTS.md (the rules) and HEARTBEAT.md (the routine).
    """
    from bonsai.cli import render
    from bonsai.workspace import Workspace

    report = Workspace.init(
        native(target or door.folder) or os.environ.get("BONSAI_WORKSPACE") or ".",
        templates=not bare,
        agent=door.agent,
        actor=os.environ.get("BONSAI_ACTOR", ""),
    )
    return door.answer(report, render.init(report, Tree(door.agent), _long(report.workspace, door.agent)))


def _long(root: str, agent: str) -> bool:
    """Whether a first migrate would gain something. A boot file that cannot be read is for `status` to tell."""
    from bonsai.workspace import Workspace

    with suppress(BonsaiError), Workspace.open(root, agent=agent) as made:
        tokens, _, first = made.outlook()
        return first and tokens >= LITTLE
    return False


@verb(
    "migrate",
    """bonsai migrate --dry-run
    bonsai migrate --keep User,Feedback
    bonsai migrate memory/domains/general/pricing.md business""",
)
@click.argument("what", metavar="[FILE DOMAIN]", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show the table of sections and write nothing.")
@click.option("--keep", metavar="NAMES", multiple=True, help="Headings that stay in MEMORY.md, separated by commas.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@style_option
@door
def migrate(door: Door, what: tuple[str, ...], *, dry_run: bool, keep: tuple[str, ...], yes: bool, style: str) -> int:
    """Split MEMORY.md into notes; with FILE DOMAIN, move a note.

    Each section becomes a note; the original is kept byte for byte in memory/MEMORY.md.bak, and `bonsai undo` takes it
    all back. A second run changes nothing.
    """
    from bonsai.cli import render

    if len(what) == 2:
        return _move(door, what[0], what[1], style)
    if what:
        raise click.UsageError("migrate takes either nothing, or FILE and DOMAIN.")
    with door.workspace() as workspace:
        kept = [*keep, *_ask(door, workspace, not keep, yes or dry_run)]
        report = workspace.migrate(keep=kept, dry_run=dry_run)
    return door.answer(report, render.migrate(report))


def _ask(door: Door, workspace: "Workspace", undecided: bool, yes: bool) -> list[str]:
    """Talk about a first migrate before it is done; returns the sections to keep. Raises click.Abort."""
    from bonsai.cli import render

    tokens, types, first = workspace.outlook()
    if not first:
        return []
    if 0 < tokens < LITTLE:
        screen.say(render.little(tokens, Tree(door.agent)))
        if door.may_ask(yes) and not screen.confirm("Split it all the same?", default=True):
            raise click.Abort
    if (
        types
        and undecided
        and door.may_ask(yes)
        and screen.confirm(render.keep_question(types, Tree(door.agent)), default=True)
    ):
        return list(types)
    return []


@verb(
    "move",
    """bonsai move memory/domains/general/pricing.md business
    cd memory/domains/general && bonsai move pricing.md business/seo""",
)
@click.argument("file", metavar="FILE", shell_complete=note_paths)
@click.argument("domain", metavar="DOMAIN", shell_complete=domains)
@style_option
@door
def move(door: Door, file: str, domain: str, style: str) -> int:
    """Move a note to another domain; links to it keep working."""
    return _move(door, file, domain, style)


def _move(door: Door, file: str, domain: str, style: str) -> int:
    from bonsai.cli import render, render_original

    with door.workspace() as workspace:
        [note] = located_files(workspace, [file])
        report = workspace.move(note, domain)
        lines = list(render.move(report))
        if style == "original":  # the script ran the reindex script at the end, and printed its line
            lines += render_original.reindex(workspace.reindex())
    return door.answer(report, lines)


@verb("reindex", "bonsai reindex\nbonsai reindex --check")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when an index is stale.")
@click.option("--full", is_flag=True, help="Read every note again, whatever the cache says.")
@style_option
@door
def reindex(door: Door, check: bool, full: bool, style: str) -> int:
    """Write the indexes that differ from the notes.

    That is each _index.md and the block in MEMORY.md. Commits nothing.
    """
    from bonsai.cli import render, render_original

    with door.workspace() as workspace:
        report = workspace.reindex(check=check, full=full)
    words = render_original.reindex(report) if style == "original" else render.reindex(report, check)
    return door.answer(report, words, code=int(check and report.stale))


@verb("status", "bonsai status\nbonsai status --json")
@style_option
@door
def status(door: Door, style: str) -> int:
    """Tell how healthy the memory is now. Exit code: 0 healthy, 1 warning, 2 critical."""
    from bonsai.cli import render, render_original

    with door.workspace() as workspace:
        report = workspace.status()
        max_age, now = int(workspace.settings["general", "max_age_days"]), workspace.now()
    if style == "original":
        code = EXIT_OF[render_original.health(report)]
        return door.answer(report, render_original.status(report, now, max_age), code)
    return door.answer(report, render.status(report, now, max_age), EXIT_OF[report.status])
