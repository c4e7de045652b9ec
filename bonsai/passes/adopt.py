"""Take over what the original tiered memory kept as JSON: facts become notes; its tree and hot state stand here too."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bonsai.errors import BadData
from bonsai.facts import hot, original
from bonsai.facts.original import HOT, METRICS, TREE, WARM
from bonsai.notes import layout
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.view import View
from bonsai.passes.reports import Skipped


@dataclass(slots=True)
class Adopted:
    """What was found for one tree; the facts are still to be remembered."""

    tree: Tree
    facts: list[original.Old] = field(default_factory=list)
    nodes: dict[str, str] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


def folders(view: View, tree: Tree) -> list[tuple[str, Tree]]:
    """The folders with files of the original, each with the tree that they belong to."""
    names = {row.path for row in view.rows.values() if row.stat and layout.name_of(row.path) in original.FILES}
    found: list[tuple[str, Tree]] = []
    for folder in sorted({layout.folder_of(path) for path in names}):
        parts = folder.split("/")
        if folder in (tree.memory, f"{layout.MEMORY}/default") and not tree.agent:
            found.append((folder, tree))
        elif len(parts) == 2 and parts[0] == layout.MEMORY and (not tree.agent or parts[1] == tree.agent):
            found.append((folder, Tree(parts[1])))
    return found


def adopt(draft: Draft, folder: str, tree: Tree, known: Collection[str], now: datetime) -> Adopted:
    """Read the files of a folder; the hot state is drafted into the boot file.

    Args:
        known: ids of facts that the tree or the cold tier has: these stay as they are.
    """
    found = Adopted(tree)
    for name in original.FILES:
        path = f"{folder}/{name}"
        data = draft.get(path)
        if data is None:
            continue
        try:
            told = original.loaded(data, path)
            if name == WARM:
                found.facts = [item for item in original.warm(told) if item.id not in known]
            elif name == TREE:
                found.nodes = original.nodes(told)
            elif name == METRICS:
                found.counters = original.counters(told)
            elif name == HOT and isinstance(told, dict):
                _hot(draft, tree, told, now)
        except BadData as error:
            found.skipped.append(Skipped(path, error.cause))
    return found


def _hot(draft: Draft, tree: Tree, state: dict[str, object], now: datetime) -> None:
    old, backup = draft.get(tree.boot), tree.at(layout.BACKUP)
    if draft.get(backup) is None:  # else the next migrate would be the first, and split these sections
        draft.create(backup, old or b"")
    new = hot.merged(old or b"", state, int(now.timestamp()))
    if old is None:
        draft.create(tree.boot, new)
    else:
        draft.put(tree.boot, new)


def told(found: Sequence[Adopted]) -> str:
    """What was taken over, for the commit."""
    lines = [f"{item.tree.memory}: {len(item.facts)} facts, {len(item.nodes)} categories" for item in found]
    return "\n".join(lines)
