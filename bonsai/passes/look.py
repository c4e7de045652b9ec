"""Look at the tree: compare the disk and HEAD with the cache, read what differs, name what is odd."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from bonsai.errors import BonsaiError, IoFailed, NotFound
from bonsai.notes import layout, secrets
from bonsai.notes.change import Entry, PathTime, Row, Stat
from bonsai.notes.layout import Kind
from bonsai.notes.names import names_of
from bonsai.notes.problem import Problem, problem
from bonsai.notes.secrets import Secret
from bonsai.notes.summary import Summary, summarise
from bonsai.notes.view import COMMITTED, EVERYTHING, View, touch
from bonsai.ports.derived import Cache, Snapshot
from bonsai.ports.disk import NoteStore
from bonsai.ports.history import History

#: A file that changed less than this before the look may change again without its times telling (coarse clocks).
RACY_NS = 50_000_000
NAME_CODES = frozenset({"case-clash", "conflict-copy", "broken-link"})
FOLDERS = "folders"  # in View.memo: see NoteStore.differing
NOTHING: Mapping[str, bytes] = {}
KEEP_FRESH = 1024 * 1024  # bytes: what a look reads is kept for the commit up to here; a daemon never gets rid of it


class Look:
    """One look; `view()` does it, `save` keeps what was learnt (only under the writer lock)."""

    def __init__(
        self,
        store: NoteStore,
        cache: Cache,
        history: History,
        instant_ns: int,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._store, self._cache, self._history, self._instant = store, cache, history, instant_ns
        self._progress = progress or (lambda what, done, total: None)
        self._learnt: dict[str, Row] = {}
        self._gone: set[str] = set()
        self._meta: dict[str, str] = {}
        self._known = Snapshot()
        self._kept = 0
        self._made = NOTHING

    def view(self, only: Sequence[str] | None = None, full: bool = False, head: str | None = None) -> View:
        """Look at everything, or at the paths in `only` (files or folders); `full` reads every file again."""
        if full:
            self._cache.clear()
        known = self._known = self._cache.load()
        first = not known.meta.get("head_known")
        if first and only is not None:
            only = None
        view = View(dict(known.rows), self._history.head() if head is None else head, memo=known.memo)
        view.dirty = set(json.loads(known.meta.get("dirty") or "[]")) | ({EVERYTHING} if first else set())
        self._see_head(view, known)
        names_changed = self._see_disk(view, only)
        self._name_problems(view, names_changed)
        return view

    def again(self, view: View, paths: Sequence[str], made: Mapping[str, bytes] = NOTHING) -> None:
        """Look again at paths that we changed ourselves; `made`: the indexes that we wrote there."""
        self._made = made
        if self._see_disk(view, paths):
            view.problems = [item for item in view.problems if item.code not in NAME_CODES]
            self._name_problems(view, True)

    def head_moved(self, view: View, head: str) -> None:
        """Somebody committed meanwhile: bring the head column up to date."""
        known = Snapshot(meta={"head": view.head, "head_known": "1"})
        view.head = head
        self._see_head(view, known)

    def committed(self, view: View, rows: Iterable[Row], head: str) -> None:
        """We committed these rows ourselves."""
        for row in rows:
            mode = 0 if row.stat is None else row.head_mode or row.stat.mode
            self._set(view, replace(row, head=row.blob, head_mode=mode))
        view.head = head
        self._meta["head"] = head

    def note(self, **meta: str) -> None:
        """Keep facts beside the rows."""
        self._meta.update(meta)

    def recall(self, key: str) -> str:
        """A fact kept beside the rows, "" where there is none."""
        return self._meta.get(key, self._known.meta.get(key, ""))

    def times(self, view: View) -> dict[str, PathTime]:
        """Commit times of every path at HEAD, going on from where the cache knows them."""
        if not view.head:
            return {}
        known = {path: PathTime(*pair) for path, pair in json.loads(self.recall("times") or "{}").items()}
        base = self.recall("times_head")
        if base == view.head:
            return known
        times = self._history.path_times(known, base)
        self.note(times=json.dumps(times), times_head=view.head)
        return times

    def save(self, view: View) -> None:
        """Keep what this look learnt."""
        dirty = json.dumps(sorted(view.dirty))
        if dirty != self._known.meta.get("dirty"):
            self._meta["dirty"] = dirty
        if self._learnt or self._gone or self._meta:
            self._cache.save(self._learnt.values(), self._gone, self._meta)
            self._learnt, self._gone, self._meta = {}, set(), {}

    def _set(self, view: View, row: Row) -> None:
        view.memo.get(FOLDERS, {}).pop(f"{layout.folder_of(row.path)}/", None)
        if row.stat is None and not row.head:
            view.rows.pop(row.path, None)
            self._learnt.pop(row.path, None)
            self._gone.add(row.path)
        else:
            view.rows[row.path] = self._learnt[row.path] = row
            self._gone.discard(row.path)

    # -- HEAD ------------------------------------------------------------------------------------------

    def _see_head(self, view: View, known: Snapshot) -> None:
        before = known.meta.get("head", "")
        if known.meta.get("head_known") and before == view.head:
            return
        changes = self._history.tree_changes(before, view.head) if before and view.head else None
        if changes is None:
            tree = self._history.tree(view.head) if view.head else {}
            stale = {path: None for path, row in view.rows.items() if row.head and path not in tree}
            changes = {**tree, **stale}
        for path, blob in changes.items():
            row = view.rows.get(path) or Row(path)
            oid, mode = (blob.oid, blob.mode) if blob else ("", 0)
            if (row.head, row.head_mode) != (oid, mode):
                self._set(view, replace(row, head=oid, head_mode=mode))
        self._meta.update(head=view.head, head_known="1")

    # -- disk ------------------------------------------------------------------------------------------

    def _see_disk(self, view: View, only: Sequence[str] | None) -> bool:
        """Bring the rows in line with the disk; says whether a path came or went or names or links changed."""
        entries, seen, covered = self._entries(view, only)
        changed, rows = False, view.rows
        closed: list[str] = []  # folders that cannot be looked into: what is in them is not gone
        for number, entry in enumerate(entries):
            row = rows.get(entry.path)
            if number % 64 == 0:
                self._progress("reading notes", number, len(entries))
            if entry.kind == "unreadable":
                closed.append(f"{entry.path}/")
            kind = layout.kind_of(entry.path)
            if kind not in COMMITTED:
                if layout.name_of(entry.path).startswith(layout.TEMPORARY):
                    view.leftovers = True
                if kind is Kind.OUTSIDE and entry.path.lower() == "memory.md":
                    view.problems.append(_second_spelling(entry.path))
                continue
            seen.add(entry.path)
            if entry.kind != "file":
                self._see_odd(view, entry)
                continue
            changed |= self._read(view, entry, kind, row)
        if closed:
            view.unread.update(path for path in rows if path.startswith(tuple(closed)))
        for path in covered - seen if covered is not None else [p for p in rows if p not in seen]:
            row = rows[path]
            if row.stat is not None and path not in view.unread:
                self._set(view, replace(row, stat=None, blob="", summary=None, secrets=()))
                touch(view, path)
                changed = True
        return changed

    def _entries(self, view: View, only: Sequence[str] | None) -> tuple[list[Entry], set[str], set[str] | None]:
        """What to look at, what is as it was, and the paths that may be missed (None: all)."""
        if only is None:
            return *self._store.differing(view.rows, view.memo.setdefault(FOLDERS, {})), None
        entries: list[Entry] = []
        covered: set[str] = set()
        for path in only:
            entry = self._store.stat(path)
            if entry:
                entries.append(entry)
            elif self._store.exists(path):
                entries += self._store.scan(path)
            if view.on_disk(path):
                covered.add(path)
            elif not entry:  # a folder, or what was one
                covered.update(p for p, row in view.rows.items() if row.stat is not None and p.startswith(f"{path}/"))
        rows = view.rows
        same = {
            entry.path
            for entry in entries
            if entry.kind == "file" and (row := rows.get(entry.path)) and row.stat == entry.stat
        }
        return [entry for entry in entries if entry.path not in same], same, covered

    def _see_odd(self, view: View, entry: Entry) -> None:
        words = {
            "symlink": ("symlink", "is a symbolic link, which bonsai does not follow: put the file itself here"),
            "special": ("special-file", "is a pipe, socket or device: move it out of the memory"),
            "unreadable": ("unreadable", "cannot be read: correct its permissions"),
        }
        code, message = words[entry.kind]
        view.problems.append(problem(code, entry.path, message))
        view.unread.add(entry.path)

    def _read(self, view: View, entry: Entry, kind: Kind, row: Row | None) -> bool:
        """Read a file that differs; says whether something that other notes depend on changed."""
        path, stat = entry.path, entry.stat
        new = row is None or row.stat is None
        row = row or Row(path)
        if kind is Kind.ASSET and stat.size > layout.MAX_ASSET:
            view.problems.append(problem("too-large", path, "is over 10 MB and is not committed: keep it elsewhere"))
            view.unread.add(path)  # the row stays as it was, so that every look finds the file again and says so
            return False
        taken = self._take(view, path)
        if taken is None:
            return False
        data, stat = taken
        blob = self._history.blob_id(data)
        path, blob = row.path, row.head if blob == row.head else blob  # not two equal texts for each of 10,000 notes
        if max(stat.ctime_ns, stat.mtime_ns) > self._instant - RACY_NS:
            stat = stat._replace(ctime_ns=0)  # so fresh that a later write could look the same: read again next time
        if blob == row.blob and not new and (row.summary is not None or kind not in (Kind.NOTE, Kind.BOOT)):
            self._set(view, replace(row, stat=stat))
            return False
        self._keep(view, path, data)
        before, (summary, found) = row.summary, self._told(path, kind, data)
        self._set(view, Row(path, stat, blob, row.head, row.head_mode, summary, found))
        touch(view, path)
        same_names = before and summary and (before.links, before.names) == (summary.links, summary.names)
        return new or not (same_names or kind in (Kind.INDEX, Kind.CONFIG))

    def _take(self, view: View, path: str) -> tuple[bytes, Stat] | None:
        """The bytes of a file with their stat; None where it is gone or cannot be read, which is a problem."""
        try:
            return self._store.read_stat(path)
        except NotFound:
            return None  # gone between the scan and the read; the next look finds it missing
        except BonsaiError as error:
            words = error.cause if isinstance(error, IoFailed) else str(error)
            view.problems.append(problem("unreadable", path, f"cannot be read ({words}): correct its permissions"))
            view.unread.add(path)
            return None

    def _keep(self, view: View, path: str, data: bytes) -> None:
        view.fresh.pop(path, None)
        if self._kept + len(data) <= KEEP_FRESH:
            view.fresh[path] = data
            self._kept += len(data)

    def _told(self, path: str, kind: Kind, data: bytes) -> tuple[Summary | None, tuple[Secret, ...]]:
        """The summary of a note, and what looks like a credential in any file."""
        if kind in (Kind.NOTE, Kind.BOOT):
            # Without its credentials: no index, problem or cache can quote what was never taken in.
            shown, found = secrets.without(data)
            return summarise(path, shown[: layout.MAX_PARSED], len(shown)), found
        if data == self._made.get(path):  # made of what has no credential in it: not searched again at each edit
            return None, ()
        searched = len(data) <= layout.MAX_PARSED and secrets.is_text(data)
        return None, secrets.without(data)[1] if searched else ()

    # -- names and links -------------------------------------------------------------------------------

    def _name_problems(self, view: View, changed: bool) -> None:
        stored = self.recall("names")
        if not stored or changed:
            found = names_of(view.memo, view.rows).problems(self._exists)
            stored = json.dumps([asdict(item) for item in found])
            if stored != self.recall("names"):
                self._meta["names"] = stored
        view.problems += [Problem(**item) for item in json.loads(stored)]

    def _exists(self, path: str) -> bool:
        try:
            return self._store.exists(path)
        except BonsaiError:
            return False


def _second_spelling(path: str) -> Problem:
    return problem("case-clash", path, "is a second spelling of MEMORY.md and is not read: merge it into MEMORY.md")
