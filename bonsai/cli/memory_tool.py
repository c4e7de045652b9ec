"""The commands with which agents write by name: memory-tool; and promote, which only people should use."""

import json
import sys

import click

from bonsai.cli.completion import note_paths
from bonsai.cli.door import Door, door, located_files, verb
from bonsai.errors import Usage


@verb(
    "memory-tool",
    """bonsai memory-tool '{"command": "view", "path": "/memories"}'
    bonsai memory-tool '{"command": "create", "path": "/memories/tea.md", "file_text": "Green, no sugar."}' --json
    bonsai memory-tool - < command.json""",
)
@click.argument("command", metavar="JSON")
@door
def memory_tool(door: Door, command: str) -> int:
    """Carry out a command of Anthropic's memory tool (memory_20250818).

    JSON is the input of the tool; `-` reads it from stdin. The answer is what the model is to be told; where the
    command failed, the exit code is 65. /memories is the folder of the memory. What is deleted is archived.
    """
    from bonsai import memory_tool as tool

    try:
        given = json.loads(sys.stdin.read() if command == "-" else command)
        if not isinstance(given, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        hint = """For example: bonsai memory-tool '{"command": "view", "path": "/memories"}'"""
        raise Usage(f"the command is no JSON object: {error}", hint=hint) from error
    with door.workspace() as workspace:
        try:
            text, code = tool.call(workspace, given), 0
        except tool.ToolFailed as error:
            text, code = error.cause, error.code
    lines = text.split("\n")
    return door.answer({"content": text, "is_error": code != 0}, lines, code)


@verb("promote", "bonsai promote memory/domains/research/web-page.md")
@click.argument("path", shell_complete=note_paths)
@door
def promote(door: Door, path: str) -> int:
    """Let the boot file tell of a note from the web or a tool.

    Notes with `source: web` or `source: tool` are recalled, but no index that an agent reads at boot quotes them. Read
    the note before you speak for it: from then on an agent takes its words for yours.
    """
    from bonsai.cli import render_doors

    with door.workspace() as workspace:
        report = workspace.promote(located_files(workspace, [path])[0])
    return door.answer(report, render_doors.promote(report))
