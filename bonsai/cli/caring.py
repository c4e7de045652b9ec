"""The commands of the care: feedback, dates, check-facts, heartbeat, relocate."""

import click

from bonsai.cli.completion import note_paths
from bonsai.cli.door import Door, Verb, VerbGroup, door, located, native, verb


@click.group(
    "feedback",
    cls=VerbGroup,
    examples="""bonsai feedback
    bonsai feedback add --rule 'Ask before booking' --why 'the room was taken' --how 'read the calendar first'
    bonsai feedback add --confirm 'Two times, never one' --context 'proposing a meeting'""",
)
@click.pass_context
@door
def feedback(door: Door, context: click.Context) -> int:
    """List what the human corrected and approved.

    `feedback add` writes the next entry into memory/feedback.md.
    """
    return 0 if context.invoked_subcommand else _list(door)


@feedback.command(
    "add",
    cls=Verb,
    examples="""bonsai feedback add --rule 'Ask before booking' --why 'it was taken' --how 'read the calendar first'
    bonsai feedback add --confirm 'Two times, never one' --context 'proposing a meeting' --why 'it saves a mail'""",
)
@click.argument("text", metavar="[TEXT]", required=False, default="")
@click.option("--rule", default="", metavar="TEXT", help="What to do, or not to do.")
@click.option("--why", default="", metavar="TEXT", help="What went wrong; for a confirmation, why it was right.")
@click.option("--how", default="", metavar="TEXT", help="When and how to apply it.")
@click.option(
    "--confirm", is_flag=False, flag_value="", default=None, metavar="TEXT", help="What was approved and is to be kept."
)
@click.option("--context", default="", metavar="TEXT", help="What was being done when it was approved.")
@door
def add(door: Door, text: str, *, rule: str, why: str, how: str, confirm: str | None, context: str) -> int:
    """Write the next entry: a correction (--rule, --why, --how) or a confirmation (--confirm, --context).

    Relative dates become absolute.
    """
    from bonsai.cli import render_care

    said = [part for part in (rule, confirm or "", text) if part]
    if len(said) > 1:
        raise click.UsageError("one entry at a time: name either --rule or --confirm.")
    with door.workspace() as workspace:
        report = workspace.feedback_add("".join(said), why=why, how=how, confirm=confirm is not None, context=context)
    return door.answer(report, render_care.feedback_added(report))


@feedback.command("list", cls=Verb, examples="bonsai feedback list\nbonsai feedback list --json")
@door
def list_(door: Door) -> int:
    """List the entries; a number that is there twice is named."""
    return _list(door)


@feedback.command("fix", cls=Verb, examples="bonsai feedback fix")
@door
def fix(door: Door) -> int:
    """Give an entry whose number is there twice the next free one; the first keeps it."""
    from bonsai.cli import render_care

    with door.workspace() as workspace:
        report = workspace.feedback_fix()
    return door.answer(report, render_care.feedback_fixed(report))


def _list(door: Door) -> int:
    from bonsai.cli import render_care

    with door.workspace() as workspace:
        report = workspace.feedback_list()
    return door.answer(report, render_care.feedback_listed(report))


@click.group(
    "dates",
    cls=VerbGroup,
    examples="bonsai dates\nbonsai dates check memory/topics\nbonsai dates fix memory/topics/shop.md",
)
@click.pass_context
@door
def dates(door: Door, context: click.Context) -> int:
    """Find relative dates in notes.

    Nobody knows a month later which day "yesterday" was.
    """
    return 0 if context.invoked_subcommand else _check(door, ())


@dates.command("check", cls=Verb, examples="bonsai dates check\nbonsai dates check memory/topics/shop.md --json")
@click.argument("files", metavar="[FILE]...", nargs=-1, shell_complete=note_paths)
@door
def check(door: Door, files: tuple[str, ...]) -> int:
    """Say what to write instead; changes nothing.

    The day is that of the entry, else of the note, else of the commit that brought the line.
    """
    return _check(door, files)


@dates.command("fix", cls=Verb, examples="bonsai dates fix memory/topics/shop.md")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=note_paths)
@door
def fix_dates(door: Door, files: tuple[str, ...]) -> int:
    """Write what `dates check` proposes into these files, as one run."""
    from bonsai.cli import render_care

    with door.workspace() as workspace:
        report = workspace.dates_fix(*located(workspace, files))
    return door.answer(report, render_care.dates_fixed(report))


def _check(door: Door, files: tuple[str, ...]) -> int:
    from bonsai.cli import render_care

    with door.workspace() as workspace:
        report = workspace.dates_check(*located(workspace, files))
    return door.answer(report, render_care.dates_checked(report))


@verb(
    "check-facts",
    """bonsai check-facts
    bonsai check-facts memory/topics/server.md --project ~/src/shop --online""",
)
@click.argument("files", metavar="[FILE]...", nargs=-1, shell_complete=note_paths)
@click.option("--project", "projects", multiple=True, metavar="DIR", help="Look in this folder of code, too.")
@click.option("--online", is_flag=True, help="Ask the servers of URLs.")
@door
def check_facts(door: Door, files: tuple[str, ...], projects: tuple[str, ...], online: bool) -> int:
    """Check whether what notes name is still there.

    Files, functions, options, URLs and versions of technical notes; people, preferences and history are not checked.
    Also names what is not worth remembering. Changes nothing.
    """
    from bonsai.cli import render_care

    with door.workspace() as workspace:
        report = workspace.check_facts(
            *located(workspace, files), projects=[native(folder) for folder in projects], online=online
        )
    return door.answer(report, render_care.facts(report))


@verb("heartbeat", "bonsai heartbeat\nbonsai heartbeat --json\nbonsai heartbeat --done")
@click.option("--done", is_flag=True, help="All of it was gone through: the same does not come again.")
@door
def heartbeat(door: Door, done: bool) -> int:
    """List what is due in the care of the memory.

    The phases are catch up, consolidate, verify, tidy. Prints HEARTBEAT_OK when nothing is. Changes no note.
    """
    from bonsai.cli import render_care

    with door.workspace() as workspace:
        report = workspace.heartbeat(done=done)
    return door.answer(report, render_care.heartbeat(report))


@verb("relocate", "bonsai relocate --dry-run\nbonsai relocate")
@click.option("--dry-run", is_flag=True, help="Show what would go and change nothing.")
@door
def relocate(door: Door, dry_run: bool) -> int:
    """Bring MEMORY.md within its budget.

    What is needed least goes into notes under memory/topics/, word for word. A pointer stays in its place; what tells
    who the person is stays, too.
    """
    from bonsai.cli import render_care

    with door.workspace() as workspace:
        report = workspace.relocate(dry_run=dry_run)
    return door.answer(report, render_care.relocated(report))
