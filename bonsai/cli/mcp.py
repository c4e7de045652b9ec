"""The command that serves MCP clients: mcp."""

import os
from importlib.util import find_spec
from pathlib import Path

import click

from bonsai.cli import agents, screen
from bonsai.cli.door import Door, door, verb
from bonsai.errors import Misconfigured, install_hint

PORT = 7332


@verb(
    "mcp",
    """bonsai mcp
    bonsai -C ~/notes mcp --http --port 7332""",
)
@click.option("--http", is_flag=True, help="Serve HTTP on loopback instead of stdin and stdout.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="With --http.")
@door
def mcp(door: Door, http: bool, port: int) -> int:
    """Serve the memory to MCP clients (Claude, Codex, Gemini, Cursor, …).

    Over stdin and stdout, as a client starts it; `bonsai connect AGENT` tells the client. With --http on loopback, for
    whoever knows the token in .bonsai/mcp-token.
    """
    if find_spec("mcp") is None:
        raise Misconfigured("the MCP server needs a package", hint=install_hint("mcp"))
    root = door.find()
    screen.say(agents.warning(root, door.agent))
    from bonsai.mcp import server
    from bonsai.mcp.memory import Memory

    actor, session = (os.environ.get(f"BONSAI_{name}", "") for name in ("ACTOR", "SESSION"))
    memory = Memory(root, door.agent, actor, session)
    if not http:
        server.stdio(memory)
        return 0
    from bonsai.cli import render_doors
    from bonsai.mcp.http import TOKEN, serve

    serve(memory, port, lambda address: screen.say(render_doors.serving(address, str(Path(root, TOKEN)))))
    return 0
