"""Bring the search index in line with the disk: what a live daemon names, else what a look finds different."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bonsai.errors import BonsaiError, Busy, NotFound
from bonsai.notes.candidate import About, Candidate, Fields, Statistics
from bonsai.notes.change import NOWHERE, Row
from bonsai.notes.layout import MAX_PARSED, Tree, folder_of, is_searched
from bonsai.notes.meaning import Close, Embedder, Place

if TYPE_CHECKING:
    from bonsai.ports.derived import Passages, SearchIndex
    from bonsai.ports.disk import NoteStore, Vouching
    from bonsai.ports.history import History

#: A file that changed less than this before the look may change again without its times telling (coarse clocks).
RACY_NS = 50_000_000
CHUNK = 500  # notes that are read from git at once
GLANCE = "|"  # in the mark of an index: what the daemon said, and the glance of a look that found nothing stale
MANY = 1000  # paths that a daemon names; for more, a look at everything costs less
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Layered:
    """An index that cannot be written now, and beside it the notes that it has otherwise or not at all."""

    below: Passages
    above: Passages
    hidden: Collection[str]  # notes of `below` that are not as they stand on disk

    def reading(self) -> AbstractContextManager[None]:
        """See Passages."""
        return self.below.reading()

    def search(
        self, terms: Sequence[str], limit: int, beside: int = 0, keep: Callable[[About], bool] | None = None
    ) -> list[Candidate]:
        """See Passages."""
        found = self.below.search(terms, limit, beside, keep)
        shown = [candidate for candidate in found if candidate.about.path not in self.hidden]
        return shown + self.above.search(terms, limit, beside, keep)

    def learn(self, embedder: Embedder) -> None:
        """See Meanings."""
        self.above.learn(embedder)
        self.below.learn(embedder)

    def alike(self, vector: bytes, limit: int, keep: Callable[[About], bool] | None = None) -> list[Candidate]:
        """See Meanings."""
        found = self.below.alike(vector, limit, keep)
        shown = [candidate for candidate in found if candidate.about.path not in self.hidden]
        return shown + self.above.alike(vector, limit, keep)

    def closeness(self, vector: bytes, places: Collection[Place]) -> dict[Place, Close]:
        """See Meanings."""
        below = [place for place in places if place[0] not in self.hidden]
        return self.below.closeness(vector, below) | self.above.closeness(vector, places)

    def statistics(self, terms: Collection[str]) -> Statistics:
        """See Passages. What is hidden is counted twice, as an index cannot tell what one note adds to it."""
        one, two = self.below.statistics(terms), self.above.statistics(terms)
        return Statistics(
            passages=one.passages + two.passages,
            words=one.words + two.words,
            notes=one.notes + two.notes,
            holding={term: one.holding[term] + two.holding[term] for term in terms},
            about={term: one.about[term] + two.about[term] for term in terms},
        )


class Eyes:
    """What looks at everything remember of each other, so that a folder in which nothing differs is quickly done."""

    def __init__(self) -> None:
        self._known: Mapping[str, Row] | None = None
        self._rows: dict[str, Row] = {}  # what the index holds, and the files that recall does not search
        self._folders: dict[str, Any] = {}

    def stale(self, index: SearchIndex, store: NoteStore, tree: Tree) -> list[str]:
        """The notes of the tree that stand otherwise on disk than in the index, or in one of the two only."""
        known = index.known()
        if known is not self._known:
            self._known, self._rows, self._folders = known, dict(known), {}
        entries, same = store.differing(self._rows, self._folders)
        files = {entry.path: entry for entry in entries if entry.kind == "file"}
        notes = {path for path in files if is_searched(path, tree)}
        others = [entry for path, entry in files.items() if path not in notes]
        found = {path for path in notes if path not in known or known[path].stat != files[path].stat}
        if len(same) < len(self._rows):
            gone = self._rows.keys() - same - files.keys()
            found |= gone & known.keys()
            self.forget(gone - known.keys())
        for entry in others:
            self._rows[entry.path] = Row(entry.path, entry.stat)
            self._folders.pop(f"{folder_of(entry.path)}/", None)
        return sorted(found)

    def forget(self, paths: Iterable[str]) -> None:
        """These were changed in the index, or are gone."""
        for path in paths:
            row = self._known.get(path) if self._known is not None else None
            if row is None:
                self._rows.pop(path, None)
            else:
                self._rows[path] = row
            self._folders.pop(f"{folder_of(path)}/", None)


@dataclass(frozen=True)
class Source:
    """What the index of a tree is made from."""

    store: NoteStore
    tree: Tree
    vouching: Vouching
    eyes: Eyes
    glance: Callable[[], str]  # see adapters.glance
    instant_ns: int  # now
    progress: Progress


def catch_up(
    index: SearchIndex, source: Source, aside: Callable[[], SearchIndex], force: Sequence[str] = ()
) -> Passages:
    """The index as it is once it knows all that is on disk; `force` names notes that it is known to have wrong.

    Where it cannot be written, the rest is put into an index that `aside` makes. Raises Busy where it cannot be used.
    """
    before = index.mark()
    old_mark, _, old_glance = (before or "").partition(GLANCE)
    mark, seen = source.vouching.ask(old_mark)
    if before is None or seen is None or len(seen) > MANY:
        glance = source.glance()  # before the look: what changes in between shows in the next one
        same = before is not None and glance == old_glance != ""
        paths = [] if same else source.eyes.stale(index, source.store, source.tree)
        if before is not None and not paths and (not same or mark != old_mark):
            _remember(index, f"{mark}{GLANCE}{glance}")
    else:
        paths = _named(index, source, seen)
    paths = list(dict.fromkeys([*paths, *force]))
    if before is not None and not paths:
        return index
    try:
        with index.writing():
            if before is not None:
                need_complete(index)
            for number, path in enumerate(paths):
                if number % 64 == 0:
                    source.progress("indexing notes", number, len(paths))
                take_in(index, source.store, path, source.instant_ns)
            index.finish(mark)
        source.eyes.forget(paths)
    except Busy:
        if before is None:
            raise
        return Layered(index, _in_memory(source.store, paths, aside()), frozenset(paths))
    return index


def _remember(index: SearchIndex, mark: str) -> None:
    """What was seen by a look that found nothing stale, for the next glance.

    It saw only files that had been at rest for a while when they were read, so the next save of any shows in its times.
    """
    with suppress(Busy), index.writing():
        need_complete(index)
        index.finish(mark)


def need_complete(index: SearchIndex) -> None:
    """Raises Busy where the file was deleted since it was looked at: the empty one in its place is not complete.

    A cache that was taken away in that moment was called complete, and a daemon vouched for it: recall found nothing.
    """
    if index.mark() is None:
        raise Busy("the search index was deleted", hint="Try again.")


def everything(source: Source, index: SearchIndex) -> SearchIndex:
    """All notes, taken into an empty index."""
    for entry in source.store.scan():
        if entry.kind == "file" and is_searched(entry.path, source.tree):
            take_in(index, source.store, entry.path, source.instant_ns)
    index.finish("")
    return index


def as_it_was(index: SearchIndex, history: History, commit: str, tree: Tree, progress: Progress) -> None:
    """The notes of a commit, taken into an empty index."""
    from bonsai.notes.document import document

    paths = sorted(path for path in history.tree(commit) if is_searched(path, tree))
    for number in range(0, len(paths), CHUNK):
        progress("reading the past", number, len(paths))
        part = paths[number : number + CHUNK]
        for path, data in zip(part, history.read_many([(commit, path) for path in part]), strict=True):
            if data is not None:
                index.put(document(path, data), NOWHERE)
    index.finish(commit)


def update(index: SearchIndex, source: Source, paths: Sequence[str]) -> None:
    """Take in what a run has changed, where the index is there already: the next recall has less to do.

    Raises Busy.
    """
    mark = index.mark()
    wanted = [path for path in paths if is_searched(path, source.tree) or path in index.known()]
    if mark is None or not wanted:
        return
    with index.writing():
        for path in wanted:
            take_in(index, source.store, path, source.instant_ns)
    source.eyes.forget(wanted)


def _named(index: SearchIndex, source: Source, paths: Sequence[str]) -> list[str]:
    """The notes that somebody says something happened to; of a folder all that were and are in it."""
    store = source.store
    found = set(paths)
    for path in paths:
        if store.stat(path) is None:  # gone, or a folder
            found.update(known for known in index.known() if known.startswith(f"{path}/"))
            found.update(entry.path for entry in store.scan(path))
    return sorted(path for path in found if is_searched(path, source.tree) or path in index.known())


def _in_memory(store: NoteStore, paths: Sequence[str], index: SearchIndex) -> SearchIndex:
    for path in paths:
        take_in(index, store, path, 0)
    return index


def take_in(index: SearchIndex, store: NoteStore, path: str, instant_ns: int) -> None:
    """One note as it stands now; it is read while nobody else can write the index, so nobody brings back older bytes.

    One that cannot be read is known without a text: it is a problem of status, not of all others.
    """
    from bonsai.notes.document import Document, document

    try:
        data, stat = store.read_stat(path, MAX_PARSED)
    except NotFound:
        index.drop(path)
        return
    except BonsaiError:
        entry = store.stat(path)
        if entry is None or entry.kind != "file":
            index.drop(path)
        else:
            index.put(Document(About(path), Fields([], [], []), []), entry.stat)
        return
    if max(stat.ctime_ns, stat.mtime_ns) > instant_ns - RACY_NS:
        stat = stat._replace(ctime_ns=0)  # so fresh that a later write could look the same: read again next time
    index.put(document(path, data), stat)
