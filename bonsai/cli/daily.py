"""The command of every day: daily."""

import sys

import click

from bonsai.cli.door import Door, Verb, VerbGroup, door


@click.group(
    "daily",
    cls=VerbGroup,
    otherwise="add",
    examples="""bonsai daily 'Called the plumber.'
    bonsai daily add 'Called the plumber.'
    bonsai daily show 2026-03-15""",
)
@click.pass_context
@door
def daily(door: Door, context: click.Context) -> int:
    """Write into today's note (`daily TEXT`), or show it."""
    return 0 if context.invoked_subcommand else _show(door, None)


@daily.command("add", cls=Verb, examples="bonsai daily add 'Called the plumber.'\ndate | bonsai daily add -")
@click.argument("text", metavar="TEXT", nargs=-1, required=True)
@door
def add(door: Door, text: tuple[str, ...]) -> int:
    """Append to today's note; `-` reads stdin."""
    from bonsai.cli import render

    entry = sys.stdin.buffer.read().decode("utf-8", "surrogateescape") if text == ("-",) else " ".join(text)
    with door.workspace() as workspace:
        report = workspace.daily_add(entry)
    return door.answer(report, render.daily_added(report))


@daily.command("show", cls=Verb, examples="bonsai daily show\nbonsai daily show 2026-03-15")
@click.argument("day", metavar="[DATE]", required=False)
@door
def show(door: Door, day: str | None) -> int:
    """Show today's note, or that of a date (YYYY-MM-DD)."""
    return _show(door, day)


def _show(door: Door, day: str | None) -> int:
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.daily_show(day)
    return door.answer(report, render.daily_shown(report))
