"""The commands of every day: recall, daily."""

import sys

import click

from bonsai.cli.completion import domains
from bonsai.cli.door import Door, Verb, VerbGroup, door, verb


@verb(
    "recall",
    "bonsai recall 'what do we charge for events'\nbonsai recall pricing --domain business --limit 3 --explain",
)
@click.argument("query", metavar="QUERY", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="So many passages.")
@click.option("--domain", default="", metavar="D", help="Only below this domain.", shell_complete=domains)
@click.option("--type", "type_", default="", metavar="T", help="Only notes of this type, e.g. feedback.")
@click.option("--explain", is_flag=True, help="Say why each passage was found.")
@door
def recall(door: Door, query: tuple[str, ...], *, limit: int, domain: str, type_: str, explain: bool) -> int:
    """Find the passages that answer a question.

    The best first, each with its file and lines.
    """
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.recall(" ".join(query), limit=limit, domain=domain, type=type_)
    return door.answer(report, render.recall(report, explain))


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
