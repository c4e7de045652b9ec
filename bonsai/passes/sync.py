"""Sync: what both sides did to the notes since they were one, put together note by note, as one plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bonsai.notes import boot, layout, links, merge
from bonsai.notes.change import Drop, Plan, Put
from bonsai.notes.draft import FILE
from bonsai.notes.index import is_generated
from bonsai.notes.layout import Kind
from bonsai.notes.merge import Side
from bonsai.notes.rename import came_from, without_archive_keys
from bonsai.ports.history import Rename

#: What is merged and written; anything else in the tree is taken over as it is, unseen.
_OURS = frozenset({Kind.NOTE, Kind.INDEX, Kind.BOOT, Kind.CONFIG, Kind.ASSET})


class Version(NamedTuple):
    """A file as one side has it; `path` "" where it is gone."""

    path: str
    oid: str
    time: int  # Unix seconds of the commit that changed it last


@dataclass(slots=True)
class Branch:
    """What one side did since the base: by the path in the base, and what it added."""

    kept: dict[str, Version] = field(default_factory=dict)
    added: dict[str, Version] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    was: dict[str, str] = field(default_factory=dict)  # path in the base → object id there


@dataclass(slots=True)
class Meeting:
    """What comes of it. `indexes` are to be written before the plan: they are generated."""

    plan: Plan = field(default_factory=lambda: Plan("sync", ""))
    merged: list[str] = field(default_factory=list)
    kept_both: list[str] = field(default_factory=list)
    indexes: dict[str, bytes | None] = field(default_factory=dict)
    heavy: list[Put] = field(default_factory=list)  # what is over 10 MB: no run reads it


class _Result(NamedTuple):
    """A file of the merge: `data` at `path`, named by `by`. `ours` is what we have of it now, None for nothing."""

    path: str
    data: bytes
    by: Version
    ours: Version | None
    fresh: bool  # the base has nothing of that name


Blob = Callable[[str], bytes]


def branch(changes: Iterable[Rename], times: Mapping[str, int], tip: int) -> Branch:
    """Sort what one side changed. `times`: of the last commit of each path; `tip`: of the side as a whole."""
    found = Branch()
    changes = [item for item in changes if layout.kind_of(item.new or item.old) in _OURS]
    gone = {item.old: item for item in changes if not item.new}
    for item in changes:
        time = times.get(item.new, times.get(item.old, tip))
        old = item.old
        if not old:  # a short note that gained `archived:` is no rename to git
            old = came_from(((name, "") for name in gone), item.new) if layout.kind_of(item.new) is Kind.NOTE else ""
            gone.pop(old, None)
        if old:
            before = item.old_oid or next(there.old_oid for there in changes if there.old == old)
            found.was[old] = before
            found.kept[old] = Version(item.new, item.new_oid, time)
            if item.new and item.new != old:
                found.renamed[old] = item.new
        else:
            found.added[item.new] = Version(item.new, item.new_oid, time)
    return found


def meet(ours: Branch, theirs: Branch, blob: Blob, there: set[str], executable: set[str]) -> Meeting:
    """Plan what the work tree, which is what our side has, is to become.

    Args:
        blob: the bytes of an object. Raises NotFound.
        there: every path of our side.
        executable: paths of files that may be executed, of both sides.
    """
    work = _Work(ours, theirs, blob, there)
    for path in sorted({*ours.kept, *theirs.kept}):
        work.changed(path)
    for path in sorted({*ours.added, *theirs.added}):
        work.new(path)
    work.part()
    found = work.meeting
    old = {item.path: item.oid for item in [*work.gone, *(result.ours for result in work.results)] if item}
    puts: list[Put] = []
    kept: set[str] = set()
    for item in work.results:
        kept.add(item.path)
        before = blob(old[item.path]) if item.path in old else None
        if before == item.data:
            continue
        if layout.kind_of(item.path) is Kind.INDEX and is_generated(item.data):
            found.indexes[item.path] = item.data
        else:
            may_run = item.path in executable or (item.ours is not None and item.ours.path in executable)
            large = layout.kind_of(item.path) is Kind.ASSET and len(item.data) > layout.MAX_ASSET
            (found.heavy if large else puts).append(Put(item.path, item.data, before, 0o100755 if may_run else FILE))
    left = [path for path in sorted(old) if path not in kept]
    found.indexes |= {path: None for path in left if layout.kind_of(path) is Kind.INDEX}
    drops = [Drop(path, blob(old[path])) for path in left if layout.kind_of(path) is not Kind.INDEX]
    found.plan = Plan("sync", "", "", tuple(puts), tuple(drops))
    found.merged.sort()
    found.kept_both = sorted(set(found.kept_both))
    return found


def room(plan: Plan) -> Plan:
    """What of a plan has to be done before the rest: a file that stands where a folder is to be, and the reverse."""
    puts = {put.path for put in plan.puts}
    folders = {folder for path in puts for folder in _folders(path)}
    drops = [drop for drop in plan.drops if layout.fold(drop.path) in folders or puts & set(_above(drop.path))]
    moved = {drop.old for drop in drops}
    first = [put for put in plan.puts if put.old is None and put.data in moved]
    return Plan(plan.op, "sync: make room", "", tuple(first), tuple(drops))


class _Work:
    """The decisions, path by path; none of them depends on which side is ours."""

    def __init__(self, ours: Branch, theirs: Branch, blob: Blob, there: set[str]) -> None:
        self.ours, self.theirs, self.blob, self.there = ours, theirs, blob, there
        self.results: list[_Result] = []
        self.gone: list[Version] = []  # of ours
        self.moves = [
            ({*side.kept.values(), *side.added.values()}, other.renamed)
            for side, other in ((ours, theirs), (theirs, ours))
            if other.renamed
        ]
        self.meeting = Meeting()

    def changed(self, path: str) -> None:
        """A file of the base that at least one side changed."""
        same = Version(path, self.ours.was.get(path) or self.theirs.was[path], 0)
        mine, other = self.ours.kept.get(path, same), self.theirs.kept.get(path, same)
        if mine.path and other.path:
            self.both(same, mine, other)
        elif mine.path or other.path:  # deleted here and edited there: the edit stays
            left = mine if mine.path else other
            if left == same:
                self.gone += [mine] if mine.path else []
                return
            if layout.kind_of(path) is not Kind.INDEX:
                self.meeting.kept_both.append(left.path)
            self.add(left.path, self.text(left), left, mine if mine.path else None, path)

    def both(self, was: Version, mine: Version, other: Version) -> None:
        """A file of the base that both sides still have."""
        name, live = _name(was, mine, other)
        one, two = (self.side(item, live) for item in (mine, other))
        if mine.oid == other.oid or was.oid in (mine.oid, other.oid):
            data = two.data if mine.oid == was.oid else one.data
        else:
            data = self.merged(name, self.blob(was.oid), one, two)
        if live:  # an archive that the other device went on to edit
            self.meeting.kept_both.append(name)
        self.add(name, data, min((mine, other), key=_rank), mine, was.path)

    def new(self, path: str) -> None:
        """A path that the base has not."""
        mine, other = self.ours.added.get(path), self.theirs.added.get(path)
        if mine and other and mine.oid != other.oid:
            data = self.merged(path, None, self.side(mine), self.side(other))
            self.add(path, data, min((mine, other), key=_rank), mine, "")
        elif found := mine or other:
            self.add(path, self.text(found), found, mine, "")

    def merged(self, name: str, base: bytes | None, mine: Side, other: Side) -> bytes:
        """Merge two texts; what can only stand beside goes there."""
        found = merge.merge(name, base, mine, other)
        if _is_work(name, base, mine, other):
            self.meeting.merged.append(name)
        if found.both:
            self.meeting.kept_both.append(name)
        if found.beside:
            place, by = merge.conflict_name(name, found.beside.oid), Version("", found.beside.oid, found.beside.time)
            self.results.append(_Result(place, found.beside.data, by, None, fresh=True))
        return found.data

    def side(self, item: Version, live: bool = False) -> Side:
        """A version as `merge` takes it; `live`: without the keys of an archive."""
        data = self.text(item)
        return Side(without_archive_keys(data) if live else data, item.time, item.oid)

    def text(self, item: Version) -> bytes:
        """The bytes of a version, with its links led to where the other side moved their notes."""
        data = self.blob(item.oid)
        if layout.kind_of(item.path) not in (Kind.NOTE, Kind.BOOT):
            return data
        for changed, renamed in self.moves:
            if item in changed:
                data = links.rewrite(data, item.path, item.path, renamed)
        return merge.healed(data)

    def add(self, path: str, data: bytes, by: Version, ours: Version | None, base: str) -> None:
        """Let a file stand."""
        self.results.append(_Result(path, data, by, ours, fresh=path != base))

    def part(self) -> None:
        """Give each file a name of its own where two clash, also on a disk that ignores case.

        What has its name from the base keeps it; of two that are new to it, the one with the later commit.
        """
        moving = {item.path for item in [*self.gone, *(result.ours for result in self.results)] if item}
        staying = self.there - moving
        taken = {layout.fold(path): path for path in staying}
        folders = {folder for path in [*staying, *(item.path for item in self.results)] for folder in _folders(path)}
        found = []
        for result in sorted(self.results, key=lambda item: (item.fresh, _rank(item.by), item.path)):
            item = result
            rival = taken.get(layout.fold(item.path), item.path if layout.fold(item.path) in folders else None)
            if rival is not None and (item.fresh or rival == item.path):
                item = item._replace(path=merge.conflict_name(item.path, item.by.oid))
                self.meeting.kept_both.append(item.path)
            taken[layout.fold(item.path)] = item.path
            found.append(item)
        self.results = sorted(found, key=lambda item: item.path)


def _is_work(path: str, base: bytes | None, mine: Side, other: Side) -> bool:
    """Whether both sides changed something that a person writes, and not only what is generated."""
    if layout.kind_of(path) is Kind.BOOT:
        was, one, two = (boot.strip(data or b"") for data in (base, mine.data, other.data))
        return one != two and was not in (one, two)
    return layout.kind_of(path) is not Kind.INDEX


def _rank(item: Version) -> tuple[int, str]:
    """The later commit first, of one second the smaller object id: both devices come to the same."""
    return -item.time, item.oid


def _name(was: Version, mine: Version, other: Version) -> tuple[str, bool]:
    """Where a file stands, and whether it comes back from the archive because the other side edited it."""
    for one, two in ((mine, other), (other, mine)):
        away = layout.is_archived(one.path) and not layout.is_archived(was.path)
        if away and not layout.is_archived(two.path) and two.oid != was.oid:
            return two.path, True
    if was.path in (mine.path, other.path):
        return (other.path if mine.path == was.path else mine.path), False
    return min((mine, other), key=lambda item: (_rank(item), item.path)).path, False


def _folders(path: str) -> set[str]:
    return {layout.fold(folder) for folder in _above(path)}


def _above(path: str) -> Iterator[str]:
    """The folders that a path is in."""
    folder = layout.folder_of(path)
    while folder:
        yield folder
        folder = layout.folder_of(folder)
