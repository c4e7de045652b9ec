"""The nodes of the tree index: read from the domains, added, removed, pruned, moved as a proposal says."""

from collections.abc import Mapping
from datetime import datetime

from bonsai.errors import BadData, Refused
from bonsai.facts import fact as facts
from bonsai.facts import tree as trees
from bonsai.facts.tree import ABOUT, ABOUT_TYPE, Leaf, Limits, Node, Proposal
from bonsai.notes import ages, layout, lifecycle, rename
from bonsai.notes.change import PathTime, Plan, Row
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.view import View
from bonsai.passes.tiered import TreeReport


def nodes(view: View, tree: Tree, times: Mapping[str, PathTime], cold: Mapping[str, int]) -> dict[str, Node]:
    """The tree as it is: every domain with what stands in it."""
    found: dict[str, Leaf] = {}
    for row in view.notes(tree):
        domain = layout.domain_of(row.path)
        if domain is None or row.summary is None:
            continue
        own = layout.name_of(row.path) == ABOUT
        leaf = found.get(domain, Leaf(0, 0, ""))
        said = row.summary.lead if own and row.path not in view.private else leaf.about
        found[domain] = Leaf(leaf.warm + (not own), max(leaf.last, _last(row, times)), said)
    return trees.grow(found, cold)


def _last(row: Row, times: Mapping[str, PathTime]) -> int:
    """When something last happened to a note, in Unix seconds."""
    known = times.get(row.path)
    said = lifecycle.moment(row.summary.dated) if row.summary and row.summary.dated else None
    return max(known.changed if known else 0, int(said.timestamp()) if said else 0)


def add(
    view: View, draft: Draft, tree: Tree, path: str, about: str, now_iso: str, limits: Limits
) -> tuple[Plan, TreeReport]:
    """Plan a node with a description, or another description of one that is there. Raises BadData."""
    domain = rename.domain_on_disk(view, tree, path)
    if domain.count("/") + 1 > limits.depth:
        why = f"is deeper than {limits.depth} levels"
        return draft.plan("tree", "tree"), TreeReport(domain, added=False, reason=why)
    file = f"{tree.domains}/{domain}/{ABOUT}"
    old = draft.get(file)
    if old is None:
        fields = {"type": ABOUT_TYPE, "domain": domain, "created": now_iso}
        draft.create(file, facts.note_of(about or domain.rpartition("/")[2], fields))
    elif about:
        draft.put(file, facts.with_value(old, about))
    return draft.plan("tree", f"tree: add {domain}", f"add {domain}"), TreeReport(domain, added=True)


def remove(view: View, draft: Draft, tree: Tree, path: str, cold: Mapping[str, int]) -> tuple[Plan, TreeReport]:
    """Plan to take a node away. Raises Refused where it, or one below it, holds anything."""
    domain = rename.domain_on_disk(view, tree, path)
    empty, files = _emptiness(view, tree, domain)
    rows = sum(count for name, count in cold.items() if f"{name}/".startswith(f"{domain}/"))
    if not empty or rows:
        what = f"{rows} facts in the cold tier" if empty else "notes"
        raise Refused(f"the node {domain} holds {what}", hint="Move or archive them first; then it goes by itself.")
    for file in files:
        draft.drop(file)
    report = TreeReport(domain, removed=bool(files), reason="" if files else "there is no such node")
    return draft.plan("tree", f"tree: remove {domain}", f"remove {domain}"), report


def prune(
    view: View,
    draft: Draft,
    tree: Tree,
    times: Mapping[str, PathTime],
    cold: Mapping[str, int],
    now: datetime,
    days: int,
) -> list[str]:
    """Draft to take away the nodes that hold nothing and in which nothing happened for so many days."""
    gone: list[str] = []
    for row in sorted(view.notes(tree), key=lambda row: row.path):
        domain = layout.domain_of(row.path)
        if domain is None or layout.name_of(row.path) != ABOUT or ages.age_of(row, times, now) < days:
            continue
        empty, files = _emptiness(view, tree, domain)
        old = all(ages.age_of(view.rows[file], times, now) >= days for file in files)
        used = any(f"{name}/".startswith(f"{domain}/") for name, count in cold.items() if count)
        if empty and old and not used:
            draft.drop(row.path)
            gone.append(domain)
    return gone


def rebuild(
    view: View, draft: Draft, tree: Tree, proposal: Proposal, now_iso: str, limits: Limits
) -> tuple[Plan, list[str]]:
    """Plan what a proposal says: the notes of categories move as they are, and links to them go with them."""
    moved: dict[str, str] = {}
    for move in proposal.moves:
        source = rename.domain_on_disk(view, tree, move.from_)
        start = f"{tree.domains}/{source}/"
        for row in sorted([*view.notes(tree), *view.notes(tree, archived=True)], key=lambda row: row.path):
            if row.path.startswith(start) and row.path not in moved and draft.get(row.path) is not None:
                below = layout.folder_of(row.path[len(start) :])
                to = f"{move.to}/{below}".strip("/")
                moved[row.path] = _relocated(view, draft, row.path, to)
    rename.relink(view, draft, moved)
    for path, about in proposal.about.items():
        domain = rename.domain_on_disk(view, tree, path)
        if any(place.startswith(f"{tree.domains}/{domain}/") for place in [*moved.values(), *view.rows]):
            add(view, draft, tree, path, about, now_iso, limits)
    body = "\n".join(f"move {old}\nto {new}" for old, new in moved.items())
    names = ", ".join(move.from_ for move in proposal.moves[:3]) or "descriptions"
    return draft.plan("tree", f"tree: rebuild {names}", body), list(moved.values())


def _relocated(view: View, draft: Draft, file: str, domain: str) -> str:
    if layout.name_of(file) == ABOUT and draft.get(f"{layout.tree_of(file).domains}/{domain}/{ABOUT}") is not None:
        raise BadData(f"both {file} and the one in {domain} say what they are about", hint="Delete one of the two.")
    return rename.relocate(view, draft, file, domain)


def _emptiness(view: View, tree: Tree, domain: str) -> tuple[bool, list[str]]:
    """Whether nothing but descriptions stands at or below a domain, and these."""
    start = f"{tree.domains}/{domain}/"
    inside = [path for path in view.rows if path.startswith(start) and view.on_disk(path)]
    files = [path for path in inside if layout.name_of(path) == ABOUT]
    return all(path in files or layout.kind_of(path) is Kind.INDEX for path in inside), files
