"""The commands with which other agents come to the memory: connect, boot, and OpenClaw's two."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bonsai.cli import screen
from bonsai.cli.door import Door, door, native, utf8, verb
from bonsai.errors import Refused, Usage

if TYPE_CHECKING:
    from bonsai.workspace import Workspace

AGENTS = ("claude-code", "openclaw", "codex", "gemini", "cursor", "obsidian", "letta", "llms-txt")
READERS = ("obsidian", "letta", "llms-txt")  # they are given files, and run nothing
LOADERS = ("bonsai", "claude-code", "openclaw")


@verb(
    "connect",
    """bonsai connect claude-code
    bonsai connect codex --project ~/code/app --yes
    bonsai connect letta --project ~/letta-memory --dry-run
    bonsai connect claude-code --remove""",
)
@click.argument("name", metavar="AGENT", type=click.Choice(AGENTS))
@click.option("--project", default="", metavar="DIR", help="Tell it in this project; the folder to export to.")
@click.option("--directory", is_flag=True, help="claude-code: it keeps its own files right in the memory.")
@click.option("--remove", is_flag=True, help="Take it back; what others wrote meanwhile stays.")
@click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@door
def connect(door: Door, name: str, *, project: str, directory: bool, remove: bool, dry_run: bool, yes: bool) -> int:
    """Tell another agent of this memory, in its own files.

    AGENT is claude-code, openclaw, codex, gemini, cursor, obsidian, letta or llms-txt. The changes are shown first. A
    second time changes nothing; --remove takes everything back.
    """
    from bonsai.cli import render_doors

    folder = utf8(str(Path(native(project)).expanduser().resolve())) if project else ""
    home = utf8(str(Path.home()))
    with door.workspace() as workspace:
        report = workspace.connect_agent(
            name, home=home, project=folder, directory=directory, remove=remove, dry_run=True
        )
        if not dry_run and report.changes:
            if not yes:
                screen.say(render_doors.connect(report))
                if not door.may_ask(yes):
                    hint = "Add --yes, or --dry-run to see it only."
                    raise Refused("files of another agent would change", path=report.changes[0].path, hint=hint)
                if not screen.confirm("Write this?", False):
                    raise click.Abort
            report = workspace.connect_agent(name, home=home, project=folder, directory=directory, remove=remove)
        report.dry_run = dry_run
    if report.changes and not remove and name not in READERS and not shutil.which("bonsai"):
        here = Path(sys.executable).parent  # as after quickstart, whose .venv alone has it
        screen.say([f"`bonsai` is not on the PATH, so {name} could not run it: add {here} to it."])
    return door.answer(report, render_doors.connect(report))


@verb("boot", "bonsai boot\nbonsai boot --for claude-code")
@click.option("--for", "loader", type=click.Choice(LOADERS), default="bonsai", help="Cut it as this agent does.")
@door
def boot(door: Door, loader: str) -> int:
    """Print the boot file as an agent loads it.

    Claude Code loads 200 lines and 25,000 UTF-16 units of it, OpenClaw 20,000 characters; bonsai keeps it below 10 KB.
    A notice says where that is not all.
    """
    with door.workspace() as workspace:
        found = workspace.boot(loader)
    if door.json:
        return door.answer(found, [])
    screen.write_text(f"{found.text}\n\n{found.notice}\n" if found.notice else found.text)
    return 0


@verb("memory-search", """bonsai memory-search '{"query": "what do we charge", "maxResults": 5}'""")
@click.argument("given", metavar="JSON")
@door
def memory_search(door: Door, given: str) -> int:
    """Answer OpenClaw's memory_search: `{"query", "maxResults", "minScore"}`, as JSON."""
    from bonsai import openclaw

    return _answer(door, given, openclaw.search)


@verb("memory-get", """bonsai memory-get '{"path": "MEMORY.md", "from": 1, "lines": 20}'""")
@click.argument("given", metavar="JSON")
@door
def memory_get(door: Door, given: str) -> int:
    """Answer OpenClaw's memory_get: `{"path", "from", "lines"}`, as JSON."""
    from bonsai import openclaw

    return _answer(door, given, openclaw.get)


def _answer(door: Door, given: str, tool: "Callable[[Workspace, Mapping[str, Any]], dict[str, Any]]") -> int:
    try:
        found = json.loads(given)
        if not isinstance(found, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        raise Usage(f"that is no JSON object: {error}", hint="""For example: '{"query": "words"}'""") from error
    with door.workspace() as workspace:
        screen.write_json(tool(workspace, found))
    return 0
