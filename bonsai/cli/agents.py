"""The agents of a workspace, by a look at names alone: a shell waits for them at Tab, a client at the start."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bonsai.notes.layout import MEMORY, tree_of

MOST = 10  # names in a warning
FOLDER = f"{MEMORY}/agents"


def known(root: str) -> list[str]:
    """The ids of the agents that have a boot file or a folder."""
    return sorted({agent for path in _paths(root) if (agent := tree_of(path).agent)})


def _paths(root: str) -> Iterator[str]:
    with suppress(OSError):
        yield from (entry.name for entry in Path(root).iterdir())
    with suppress(OSError):
        yield from (f"{FOLDER}/{entry.name}/x" for entry in Path(root, FOLDER).iterdir() if entry.is_dir())


def warning(root: str, agent: str) -> list[str]:
    """A line for the person where nobody has seen this agent here before: a slip of the fingers makes a tree, too."""
    if not agent:
        return []
    there = known(root)
    if agent in there:
        return []
    names = ", ".join(there[:MOST]) + (" …" if len(there) > MOST else "")
    others = f"it knows {names}" if there else "it knows no other agent"
    return [f"bonsai: the agent {agent!r} is new in this workspace ({others}); what it writes begins a tree of its own"]
