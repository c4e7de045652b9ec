"""The tree as a look found it: rows of disk and HEAD, and what is pending between them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bonsai.notes import layout
from bonsai.notes.change import Row
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.problem import Problem

EVERYTHING = "*"  # in View.dirty: every index
ARCHIVE_END = f"{layout.ARCHIVED}.md"
COMMITTED = frozenset({Kind.NOTE, Kind.INDEX, Kind.BOOT, Kind.CONFIG, Kind.ASSET})


@dataclass(slots=True)
class View:
    """One consistent picture. `fresh` holds the bytes that this look has read anyway."""

    rows: dict[str, Row]
    head: str  # the commit that the head column speaks of, "" before the first
    problems: list[Problem] = field(default_factory=list)  # of names and links; those of a note are in its summary
    unread: set[str] = field(default_factory=set)  # stands on disk but cannot be read: never taken for deleted
    changed: set[str] = field(default_factory=set)  # paths whose row this look changed
    dirty: set[str] = field(default_factory=set)  # index folders to render again; "*" is everything
    fresh: dict[str, bytes] = field(default_factory=dict)
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

    def pending(self) -> list[Row]:
        """Rows whose disk and HEAD differ and that may have a place in git, sorted by path."""
        return sorted((row for row in self.rows.values() if self.differs(row)), key=lambda row: row.path)

    def differs(self, row: Row) -> bool:
        """Whether disk and HEAD differ, as far as git may hold the path."""
        if row.path in self.unread:
            return False
        if row.stat is None:
            return bool(row.head)
        return bool(row.blob) and row.blob != row.head

    def trees(self) -> list[Tree]:
        """The main tree and that of every agent that has a note or a boot file."""
        agents = {
            layout.tree_of(row.path).agent
            for row in self.rows.values()
            if row.stat is not None and layout.kind_of(row.path) in (Kind.NOTE, Kind.BOOT, Kind.INDEX)
        }
        return [Tree(), *(Tree(agent) for agent in sorted(agents - {""}))]


def index_folders(path: str) -> set[str]:
    """The folders whose index shows something of the note at `path`, and the tree's own folder."""
    tree = layout.tree_of(path)
    folders, domain = {tree.memory}, layout.domain_of(path)
    while domain:
        folders.add(f"{tree.domains}/{domain}")
        domain = layout.folder_of(domain)
    return folders
