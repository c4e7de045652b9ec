"""Render what is generated: indexes, the block in MEMORY.md, the operational state; write what differs."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bonsai.config import Settings
from bonsai.errors import Busy, NotFound
from bonsai.notes import boot, index, layout
from bonsai.notes.change import Row
from bonsai.notes.index import DomainStat
from bonsai.notes.layout import Tree
from bonsai.notes.summary import Summary
from bonsai.notes.view import EVERYTHING, View
from bonsai.ports import NoteStore

Read = Callable[[str], bytes | None]


@dataclass(slots=True)
class Shape:
    """One tree in numbers, and its notes by folder."""

    tree: Tree
    folders: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))  # domain → notes right in it
    daily: int = 0
    also: list[str] = field(default_factory=list)  # notes outside the domains, as the root index names them

    @property
    def notes(self) -> int:
        """Live notes in the domains."""
        return sum(len(rows) for rows in self.folders.values())

    @property
    def tokens(self) -> int:
        """Their tokens."""
        return sum(row.summary.tokens for rows in self.folders.values() for row in rows if row.summary)

    @property
    def domains(self) -> list[str]:
        """The top-level domains that hold a note, at whatever depth."""
        return sorted({domain.partition("/")[0] for domain in self.folders})

    def listed(self, domain: str) -> list[tuple[str, Summary]]:
        """The notes right in a domain, by file name."""
        rows = sorted(self.folders.get(domain, ()), key=lambda row: row.path)
        return [(layout.name_of(row.path), row.summary) for row in rows if row.summary]

    def every(self) -> set[str]:
        """All domains that have an index: those with notes and their parents."""
        found: set[str] = set()
        for domain in self.folders:
            parts = domain.split("/")
            found.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        return found


def shape(view: View, tree: Tree) -> Shape:
    """Sort the live notes of a tree into its folders."""
    found = Shape(tree)
    prefix, cut, daily = f"{tree.domains}/", len(tree.domains) + 1, f"{tree.daily}/"
    for row in view.notes(tree):
        path = row.path
        if path.startswith(prefix) and "/" in path[cut:]:
            found.folders[path[cut:].rpartition("/")[0]].append(row)
        elif path.startswith(daily) or layout.is_daily(path):
            found.daily += 1
        else:
            found.also.append(path[len(tree.memory) + 1 :].removesuffix(".md"))
    return found


def statistics(found: Shape) -> dict[str, DomainStat]:
    """The numbers of every domain with everything below it, sub-domains before their parents."""
    every = found.every()
    below: dict[str, list[DomainStat]] = defaultdict(list)
    stats: dict[str, DomainStat] = {}
    for domain in sorted(every, key=lambda name: (-name.count("/"), name)):
        stats[domain] = index.domain_stat(domain, found.listed(domain), below[domain])
        below[layout.folder_of(domain)].append(stats[domain])
    return stats


def render(
    view: View, found: Shape, read: Read, settings: Settings, now_iso: str, violations: int, rewrite: str
) -> dict[str, bytes | None]:
    """What the generated files of one tree should hold; None for an index that should not be there.

    Args:
        read: the bytes that stand there now, None for nothing.
        violations: the number of notes in general/ that are too old, for `_stats.json`.
        rewrite: the text of memory/.gitignore, whose lines must all be in the file.
    """
    tree = found.tree
    out: dict[str, bytes | None] = {}
    every = found.every()
    stats = statistics(found)
    dirty_all = EVERYTHING in view.dirty
    for domain in sorted(every):
        folder = f"{tree.domains}/{domain}"
        path = f"{folder}/{layout.INDEX}"
        if dirty_all or folder in view.dirty or not view.on_disk(path):
            notes = found.listed(domain)
            below = [stats[child] for child in sorted(every) if layout.folder_of(child) == domain]
            text = index.domain_index(domain, notes, below, now_iso=now_iso, previous=_text(read(path)))
            out[path] = text.encode("utf-8", "replace")
    for path in view.rows:
        if path.endswith(f"/{layout.INDEX}") and path.startswith(f"{tree.domains}/") and view.on_disk(path):
            domain_of = layout.domain_of(path)
            if domain_of is not None and domain_of not in every:
                out[path] = None
    top = [stats[domain] for domain in found.domains]
    budget = int(settings["index", "block_tokens"]) - boot.HEADER_TOKENS
    root = index.root_index(
        top,
        daily=found.daily,
        daily_folder=f"{tree.daily}/",
        also=found.also,
        budget=budget,
        now_iso=now_iso,
        previous=_text(read(tree.root_index)),
    )
    out[tree.root_index] = root.encode("utf-8", "replace")
    out |= _boot(view, tree, root, read, now_iso)
    out |= _state(found, top, read, now_iso, violations)
    if not tree.agent:
        ignore = f"{layout.MEMORY}/.gitignore"
        out[ignore] = _with_lines(read(ignore), rewrite)
    return {path: data for path, data in out.items() if data != read(path)}


def _boot(view: View, tree: Tree, root: str, read: Read, now_iso: str) -> dict[str, bytes | None]:
    """The boot file with its block, unless somebody must look at it first."""
    row = view.rows.get(tree.boot)
    if tree.boot in view.unread or (row and row.summary and row.summary.held):
        return {}
    old = read(tree.boot)
    backup = view.on_disk(tree.at(layout.BACKUP))
    previous = boot.current(old) if old is not None else None
    text = boot.block(root, backup=backup, agent_memory=tree.memory, now_iso=now_iso, previous=previous)
    return {tree.boot: boot.splice(old or b"", text)}


def _state(found: Shape, top: list[DomainStat], read: Read, now_iso: str, violations: int) -> dict[str, bytes | None]:
    meta, stats = found.tree.at("_meta.json"), found.tree.at("_stats.json")
    return {
        meta: index.meta_json(len(top), found.tokens, now_iso=now_iso, previous=_text(read(meta))).encode(),
        stats: index.stats_json(top, violations).encode("utf-8", "replace"),
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _with_lines(old: bytes | None, wanted: str) -> bytes:
    """A person's .gitignore with our lines at its end where it lacks them."""
    have = set((old or b"").decode("utf-8", "replace").splitlines())
    missing = [line for line in wanted.splitlines() if line and line not in have]
    if not missing:
        return old or b""
    start = old or b""
    if start and not start.endswith(b"\n"):
        start += b"\n"
    return start + "".join(f"{line}\n" for line in missing).encode()


def write(store: NoteStore, out: Mapping[str, bytes | None], read: Read) -> list[str]:
    """Write what was rendered; the boot file with a person's care. Returns the paths that changed, sorted."""
    changed = []
    for path, data in sorted(out.items()):
        if data is None:
            store.discard(path)
            store.prune(layout.folder_of(path))
        elif layout.kind_of(path) is layout.Kind.BOOT:
            if not _write_boot(store, path, data, read(path)):
                continue
        else:
            store.generate(path, data)
        changed.append(path)
    return changed


def _write_boot(store: NoteStore, path: str, data: bytes, old: bytes | None) -> bool:
    """MEMORY.md is a person's file: a save made meanwhile wins, and the next reindex splices again."""
    try:
        if old is None:
            store.create(path, data)
        else:
            store.replace(path, data, old)
    except (Busy, NotFound):
        return False
    return True
