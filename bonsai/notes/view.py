"""The tree as a look found it: rows of disk and HEAD, and what is pending between them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bonsai.notes import layout
from bonsai.notes.change import Row
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.problem import Problem, problem
from bonsai.notes.secrets import Secret

AGENTS = "agents"  # in View.memo
EVERYTHING = "*"  # in View.dirty: every index
ARCHIVE_END = f"{layout.ARCHIVED}.md"
MOST_SECRETS = 20  # problems of one file
_GENERATED = {Kind.INDEX, Kind.STATE}
COMMITTED = frozenset({Kind.NOTE, Kind.INDEX, Kind.BOOT, Kind.CONFIG, Kind.ASSET})


@dataclass(slots=True)
class View:
    """One consistent picture. `fresh` holds the bytes that this look has read anyway."""

    rows: dict[str, Row]
    head: str  # the commit that the head column speaks of, "" before the first
    problems: list[Problem] = field(default_factory=list)  # of names and links; those of a note are in its summary
    unread: set[str] = field(default_factory=set)  # stands on disk but cannot be read: never taken for deleted
    dirty: set[str] = field(default_factory=set)  # index folders to render again; "*" is everything
    private: set[str] = field(default_factory=set)  # may not be committed: no index may quote them
    allowed: frozenset[str] = frozenset()  # fingerprints of what looks like a credential and may be committed
    fresh: dict[str, bytes] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict)  # derived from rows in this process; see Snapshot.memo
    accesses: Mapping[str, int] = field(default_factory=dict)  # path → how often recall gave it out
    leftovers: bool = False  # temporary files of a killed run of ours lie about

    def notes(self, tree: Tree, archived: bool = False) -> Iterator[Row]:
        """The notes of a tree that stand on disk: the live ones, or the archives."""
        prefix, agents = f"{tree.memory}/", f"{layout.MEMORY}/agents/"
        for path, row in self.rows.items():  # a hot loop: only notes and boot files have a summary
            if row.summary is None or row.stat is None or not path.startswith(prefix):
                continue
            if path.endswith(ARCHIVE_END) is not archived:
                continue
            if path.startswith(agents) and layout.tree_of(path) != tree:
                continue
            yield row

    def on_disk(self, path: str) -> bool:
        """Whether a regular file stands there."""
        row = self.rows.get(path)
        return row is not None and row.stat is not None

    def pending(self, only: Sequence[str] = ()) -> list[Row]:
        """Rows whose disk and HEAD differ and that may have a place in git, sorted by path.

        `only`: these paths, or what is below them.
        """
        exact = [row for path in only if (row := self.rows.get(path))]
        if only and len(exact) == len(only):
            rows = [row for row in exact if row.blob != row.head]
        else:
            rows = [row for row in self.rows.values() if row.blob != row.head]  # a hot loop: nearly all are equal
        found = {row.path: row for row in rows if self.differs(row)}
        return [found[path] for path in sorted(found) if not only or is_inside(path, only)]

    def differs(self, row: Row) -> bool:
        """Whether disk and HEAD differ, as far as bonsai looks after the path.

        A repository that is adopted may hold more: `memory/.obsidian/`, `MEMORY_OLD.md`. No look ever sees these on
        disk, so they would seem to be deleted.
        """
        seen = bool(row.blob) or (row.stat is None and layout.kind_of(row.path) in COMMITTED)
        return row.blob != row.head and seen and not self.hides(row.path)

    def hides(self, path: str) -> bool:
        """Whether the disk does not tell what stands there: the path, or a folder above it, cannot be read."""
        return bool(self.unread) and is_inside(path, self.unread)

    def secrets(self, row: Row) -> list[Secret]:
        """What in the file looks like a credential and is not allowed."""
        return [item for item in row.secrets if item.fingerprint not in self.allowed]

    def is_held(self, row: Row) -> bool:
        """Whether the file may not be committed as it is: conflict markers, a credential."""
        return (row.summary is not None and row.summary.held) or bool(row.secrets and self.secrets(row))

    def all_problems(self) -> list[Problem]:
        """What is wrong with names, links and the files on disk."""
        found = list(self.problems)
        for row in self.rows.values():
            if row.stat is None:
                continue
            if row.summary is not None:
                found += row.summary.problems
            if row.secrets:
                found += [_secret(row, item) for item in self.secrets(row)[:MOST_SECRETS]]
        return found

    def trees(self) -> list[Tree]:
        """The main tree and that of every agent that has a note or a boot file, or an index beside what it keeps."""
        return [Tree(), *(Tree(agent) for agent, kinds in self._agents().items() if _is_tree(kinds))]

    def deserted(self) -> list[Tree]:
        """The trees of agents of which nothing is left but what was generated, as after the undo of the first note."""
        agents = self._agents().items()
        return [Tree(agent) for agent, kinds in agents if Kind.INDEX in kinds and not kinds - _GENERATED]

    def _agents(self) -> dict[str, set[Kind]]:
        """Each agent with files on disk, sorted, and the kinds of these."""
        if AGENTS not in self.memo:
            prefix, found = f"{layout.MEMORY}/agents/", defaultdict[str, set[Kind]](set)
            paths = [path for path in self.rows if path.startswith((prefix, "MEMORY-")) and self.on_disk(path)]
            for path in paths:
                found[layout.tree_of(path).agent].add(layout.kind_of(path))
            found.pop("", None)
            self.memo[AGENTS] = dict(sorted(found.items()))
        agents: dict[str, set[Kind]] = self.memo[AGENTS]
        return agents


def _is_tree(kinds: set[Kind]) -> bool:
    return bool(kinds & {Kind.NOTE, Kind.BOOT} or (Kind.INDEX in kinds and kinds - _GENERATED))


def _secret(row: Row, found: Secret) -> Problem:
    what = f"looks like a credential (line {found.line}: {found.kind} {found.masked})"
    if row.blob == row.head:
        words = f"{what} and is in git already: renew it and take it out (`bonsai allow {found.fingerprint}` ends this)"
    else:
        words = f"{what} and is held back: take it out or `bonsai allow {found.fingerprint}` where it is none"
    return problem("secret", row.path, words)


def touch(view: View, path: str) -> None:
    """Note that the row of a path changed on disk: what shows it is to be rendered again."""
    tree = layout.tree_of(path)
    view.dirty |= index_folders(path)
    view.memo.setdefault(f"touched:{tree.agent}", set()).add(path)
    if tree.agent:
        view.memo.pop(AGENTS, None)


def is_inside(path: str, tops: Collection[str]) -> bool:
    """Whether a path is one of `tops` or below one."""
    return any(path == top or path.startswith(f"{top}/") for top in tops)


def index_folders(path: str) -> set[str]:
    """The folders whose index shows something of the note at `path`, and the tree's own folder."""
    tree = layout.tree_of(path)
    folders, domain = {tree.memory}, layout.domain_of(path)
    while domain:
        folders.add(f"{tree.domains}/{domain}")
        domain = layout.folder_of(domain)
    return folders
