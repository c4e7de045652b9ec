"""The commands that look back: log, why, show, diff."""

import click

from bonsai.cli import screen
from bonsai.cli.completion import note_paths
from bonsai.cli.door import Door, current_folder, door, located, located_files, verb

SCREENFUL = 20  # commits that `log` lists for a person who names no number
WHEN = "DATE"


@verb(
    "log",
    """bonsai log
    bonsai log --limit 5
    bonsai log memory/domains/business/pricing.md
    bonsai log --since 2026-03-01 --until 2026-03-15 --actor agent:wren
    bonsai log --op archive --session 4711""",
)
@click.argument("path", metavar="[PATH]", required=False, shell_complete=note_paths)
@click.option("--limit", type=click.IntRange(0), help="So many commits, 0 for all (20; all with --json).")
@click.option("--since", default="", metavar=WHEN, help="From this day or time on.")
@click.option("--until", default="", metavar=WHEN, help="Up to this time, or the end of this day.")
@click.option("--actor", default="", metavar="WHO", help="By human, import, daemon, agent:ID.")
@click.option("--op", default="", metavar="VERB", help="Made by this command: archive, edit, migrate, …")
@click.option("--run", default="", metavar="ID", help="Of this run.")
@click.option("--session", default="", metavar="ID", help="Of this session.")
@door
def log(
    door: Door,
    path: str | None,
    *,
    limit: int | None,
    since: str,
    until: str,
    actor: str,
    op: str,
    run: str,
    session: str,
) -> int:
    """List the commits of the memory, or of one note through all its names.

    Newest first: when, who, what, and the run that `bonsai undo` takes. At a terminal they are grouped by day, else one
    line a commit.
    """
    from bonsai.adapters import clock
    from bonsai.cli import render_story

    most = (0 if door.json else SCREENFUL) if limit is None else limit
    filters = {"since": since, "until": until, "actor": actor, "op": op, "run": run, "session": session}
    with door.workspace() as workspace:
        report = workspace.log(*located(workspace, [path] if path else []), limit=most, **filters)
    words = render_story.timeline if screen.is_terminal() else render_story.log
    code = door.answer(report, words(report, path or "", any(filters.values()), clock.local))
    if report.commits and len(report.commits) == most and not door.json:
        screen.say(["Older ones: --limit 0"])  # on stderr: programs read the lines above
    return code


@verb(
    "why",
    """bonsai why memory/domains/business/pricing.md
    bonsai why memory/domains/business/pricing.md:12
    bonsai why 'a dinner costs'""",
)
@click.argument("target", metavar="PATH[:LINE]|TEXT", nargs=-1, required=True, shell_complete=note_paths)
@click.option("--text", is_flag=True, help="TEXT it is, though it looks like a path.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="So many lines that hold TEXT.")
@door
def why(door: Door, target: tuple[str, ...], *, text: bool, limit: int) -> int:
    """Tell who wrote a line, when, in which run, and what it replaced.

    Of a note, of one line or a few (PATH:12-15), or of every line that holds a text; through moves, archives and the
    migrate that made the note.
    """
    from bonsai.adapters import clock
    from bonsai.cli import render_story

    with door.workspace() as workspace:
        report = workspace.why(" ".join(target), cwd=current_folder(), text=text, limit=limit)
    return door.answer(report, render_story.why(report, " ".join(target), clock.local))


@verb(
    "show",
    """bonsai show memory/domains/business/pricing.md
    bonsai show memory/domains/business/pricing.md --at 2026-03-01
    bonsai show memory/domains/business/old.md --at HEAD~3 > old.md""",
)
@click.argument("path", metavar="PATH", shell_complete=note_paths)
@click.option("--at", default="", metavar="REV|DATE", help="As it was then; of a day, at its end.")
@door
def show(door: Door, path: str, at: str) -> int:
    """Print a file as it stands or as it was, byte for byte; one that is gone as it was last."""
    with door.workspace() as workspace:
        report = workspace.show(*located_files(workspace, [path]), at=at)
    if door.json:
        return door.answer(report, [])
    screen.write_text(report.text)
    return 0


@verb(
    "diff",
    """bonsai diff
    bonsai diff 2026-03-01
    bonsai diff HEAD~3 memory/domains/business/pricing.md""",
)
@click.argument("point", metavar="[REV|DATE]", required=False)
@click.argument("path", metavar="[PATH]", required=False, shell_complete=note_paths)
@door
def diff(door: Door, point: str | None, path: str | None) -> int:
    """Show what differs between a revision or a day and the notes as they stand.

    Without REV or DATE: what is not committed yet. At a terminal in colour, else as a patch.
    """
    from bonsai.cli import render_story

    with door.workspace() as workspace:
        if point and path is None and not workspace.is_point(point):
            point, path = None, point
        report = workspace.diff(point or "HEAD", *located(workspace, [path] if path else []))
    person = screen.is_terminal() or not report.changes
    return door.answer(report, render_story.diff(report, bool(path)) if person else render_story.patch(report))
