"""Templates: what `init` writes for the care of a memory, and how much of it a workspace lacks."""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from bonsai.errors import Refused
from bonsai.notes import boot, feedback, layout
from bonsai.notes.layout import Tree

FOLDERS = ("topics", "daily")
#: What agents read that is no part of the memory: a block in it is ours, the rest is the person's.
SHARED = ("AGENTS.md", "HEARTBEAT.md")


class Text(NamedTuple):
    """A file to write; `old` are the bytes that stand there, None for a new one."""

    path: str
    data: bytes
    old: bytes | None


def missing(read: Callable[[str], bytes | None], template: Callable[[str], str], tree: Tree) -> list[Text]:
    """The files to write. Of one that is there, only the block of AGENTS.md and of HEARTBEAT.md is ours.

    The rules stand in AGENTS.md, which every session reads; the routine only in HEARTBEAT.md, which is read when it is
    time for it.

    Args:
        read: the bytes of a file, None for nothing.
        template: the text of a template by its name.
        tree: an agent's own tree gets no AGENTS.md: that is the same for all agents of a workspace.
    """
    new = {tree.boot: "MEMORY.md", tree.at(feedback.NAME): feedback.NAME}
    if not tree.agent:
        new[layout.CONFIG] = layout.CONFIG
    texts = []
    for path, name in new.items():
        if not _stands(read, path):
            texts.append(Text(path, template(name).replace("$MEMORY", tree.memory).encode(), None))
    for path in () if tree.agent else SHARED:
        with suppress(Refused):  # a symlink, often to CLAUDE.md: left alone
            old = read(path)
            data = boot.splice(old or b"", template(path).rstrip("\n"))
            if data != old:
                texts.append(Text(path, data, old))
    return texts


def _stands(read: Callable[[str], bytes | None], path: str) -> bool:
    try:
        return read(path) is not None
    except Refused:
        return True
