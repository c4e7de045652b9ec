"""Two histories of one memory meet in a run: what the other side did is taken in, whole or not at all."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from bonsai.adapters.git_join import Entry, Histories
from bonsai.adapters.git_remote import GitRemote
from bonsai.errors import NotFound, Refused
from bonsai.notes import layout, lifecycle, moment
from bonsai.notes.change import Plan
from bonsai.notes.layout import Kind
from bonsai.notes.printed import counted
from bonsai.notes.view import COMMITTED
from bonsai.passes import erase, pending, sync
from bonsai.passes.sync import Meeting
from bonsai.passes.synced import SyncReport
from bonsai.ports.history import Blob, FileChange
from bonsai.run import Run


class Joining:
    """A history on its way into ours; see `commits.Join`.

    Args:
        entries: what comes with it and no run looks at, by workspace path.
    """

    def __init__(self, far: Histories, run: Run, theirs: str, *, forward: bool, entries: Mapping[str, Entry]) -> None:
        self.onto = theirs if forward else ""
        self.odd: Mapping[str, Blob | None] = {
            path: Blob(item.mode, item.oid) if item.mode else None for path, item in entries.items()
        }
        self._far, self._run, self._theirs, self._entries = far, run, theirs, entries

    def __call__(self, changes: Sequence[FileChange], message: str, head: str) -> str:
        """See commits.Join."""
        if self.onto:
            return self._far.forward(head, self.onto)
        out = self._run.out
        return self._far.join(changes, self._entries, message, head, self._theirs, out.author, self._run.now)


class Encounter:
    """Our side, in a run that holds the lock, and `theirs`, a commit that was fetched. What is done goes to `report`.

    Args:
        far: both histories.
        all_deletions: accept that most of the notes are gone on their side.
    """

    def __init__(self, far: GitRemote, run: Run, theirs: str, report: SyncReport, *, all_deletions: bool) -> None:
        self.far, self.run, self.theirs, self.report = far, run, theirs, report
        self.history, self.store = run.out.history, run.out.store
        self.ours = self.history.head()
        self._all_deletions = all_deletions

    def settle(self) -> None:
        """Commit what was edited here, with its indexes. Raises Refused when most notes are gone."""
        run = self.run
        view = run.look()
        pending.require_no_accident(view, float(run.out.settings["commit", "max_deleted"]))
        run.commit_pending(run.reindex())
        self.ours = self.history.head()

    def require_related(self, met: str) -> None:
        """Raises Refused for a history that is not a continuation of ours; `met`: what the remote had last time."""
        if not self.theirs or self.theirs == self.ours:
            return
        if met and not self.far.holds(self.theirs, met):
            hint = "`bonsai sync --adopt` merges it, keeping both. To have theirs alone, clone it anew."
            raise Refused("its history was rewritten since the last sync", path=self.report.remote, hint=hint)
        if not self.far.base(self.ours, self.theirs):
            hint = "If both are this memory, `bonsai sync --adopt` merges them, keeping both."
            raise Refused("its history has nothing in common with this one", path=self.report.remote, hint=hint)

    def require_forgotten(self) -> None:
        """Raises Refused where something erased would come back, from either side; what was fetched is gone again."""
        if not self.theirs or self.far.holds(self.ours, self.theirs):
            return
        for holder, other, words, hint in (
            (self.theirs, self.ours, "would bring back what was erased here", "Erase it there too, or clone it anew."),
            (
                self.ours,
                self.theirs,
                "has erased what this copy still holds",
                "Clone it anew, and take new notes along.",
            ),
        ):
            forbidden = self._erased(other)
            if forbidden and not forbidden.isdisjoint(self.far.new_objects(holder, other)):
                self.far.discard(self.theirs)
                raise Refused(words, path=self.report.remote, hint=hint)

    def meet(self) -> None:
        """Take their history in, as one plan. Raises Refused; then nothing has changed."""
        far, run = self.far, self.run
        if not self.theirs or far.holds(self.ours, self.theirs):
            return
        base = far.base(self.ours, self.theirs)
        entries = self._odd(base)
        found = self._meeting(base)
        if not self._all_deletions:
            self._need_calm(found)
        if (room := sync.room(found.plan)).drops:
            run.carry_out(room)
            self.ours = self.history.head()
            self.meet()
            return
        taken = {*found.plan.paths, *found.indexes}
        entries |= {put.path: far.entry(self.theirs, put.path) for put in found.heavy}
        links = {path: item for path, item in entries.items() if path not in taken}
        joining = Joining(far, run, self.theirs, forward=base == self.ours, entries=links)
        pulled = far.count(self.ours, self.theirs)
        run.stamp = moment.stamp(moment.at(max(far.time(self.ours), far.time(self.theirs))))
        self._prepare(found)
        sha = run.carry_out(_worded(found, self.report.remote, pulled), joining)
        if joining.onto:  # what they had was not as we would have written it: markers, stale indexes
            run.commit_pending(run.reindex())
        self._tell(found, pulled, None if joining.onto else sha, taken)

    def _tell(self, found: Meeting, pulled: int, commit: str | None, taken: set[str]) -> None:
        report = self.report
        report.pulled += pulled
        report.commit = commit or report.commit
        report.merged = sorted({*report.merged, *found.merged})
        report.kept_both = sorted({*report.kept_both, *found.kept_both})
        problems = self.run.view.all_problems()
        report.problems += [item for item in problems if item.code == "secret" and item.path in taken]

    def _need_calm(self, found: Meeting) -> None:
        """Refuse when most of the notes would go at once: the other side may have had an accident."""
        before = {
            row.path: row.head
            for row in self.run.view.rows.values()
            if layout.kind_of(row.path) is Kind.NOTE and row.head
        }
        gone = {drop.path for drop in found.plan.drops}
        now = {path: oid for path, oid in before.items() if path not in gone}
        now |= {put.path: self.history.blob_id(put.data) for put in found.plan.puts}
        lost = lifecycle.mass_deletion(before, now, float(self.run.out.settings["commit", "max_deleted"]))
        if lost:
            hint = "If that is meant, `bonsai sync --all-deletions` takes it over."
            raise Refused(f"{len(lost)} notes are gone at once on the other side; nothing was merged", hint=hint)

    def _prepare(self, found: Meeting) -> None:
        """Write what no plan writes: indexes, which are generated, from the same text on both devices; and files too
        large for a run to look after, which are taken over by their id.
        """
        for path, data in found.indexes.items():
            if data is None:
                self.store.discard(path)
            else:
                self.store.generate(path, data)
        self.run.see([*found.indexes])
        for put in found.heavy:
            with suppress(NotFound):
                if self.store.read(put.path) == put.data:
                    continue
            if put.old is None:
                self.store.create(put.path, put.data, put.mode)
            else:
                self.store.replace(put.path, put.data, put.old)

    def _meeting(self, base: str) -> Meeting:
        """What comes of both sides."""
        far, tips, wanted = self.far, (self.ours, self.theirs), dict[str, tuple[str, str]]()
        sides = []
        for tip in tips:
            changes = self.history.changes(base, tip)
            sides.append(sync.branch(changes, far.times(base, tip), far.time(tip)))
            for item in changes:
                wanted |= {item.old_oid: (base, item.old)} if item.old_oid else {}
                wanted |= {item.new_oid: (tip, item.new)} if item.new_oid else {}
        blobs = dict(zip(wanted, self.history.read_many(list(wanted.values())), strict=True))

        def blob(oid: str) -> bytes:
            data = blobs.get(oid)
            return self.history.blob(oid) if data is None else data

        trees = [self.history.tree(tip) for tip in tips]
        may_run = {path for tree in trees for path, item in tree.items() if item.mode == 0o100755}
        return sync.meet(sides[0], sides[1], blob, set(trees[0]), may_run)

    def _odd(self, base: str) -> dict[str, Entry]:
        """What they changed that no run looks at: links, submodules, hidden files. Raises Refused for other files."""
        far = self.far
        there, here = far.entries(base, self.theirs), far.entries(base, self.ours)
        found = {}
        for full, entry in there.items():
            path = far.layout.managed(full)
            mine = here.get(full)
            if mine and mine[:2] == entry[:2]:
                continue
            if not path:
                hint = "Run `git pull`, which merges the notes in the same way, then `bonsai sync`."
                raise Refused("was changed by the other side and is not part of the memory", path=full, hint=hint)
            if fault := layout.path_fault(path):
                raise Refused(f"the other side has a file that cannot stand here: {fault}", path=layout.printable(path))
            if layout.kind_of(path) in COMMITTED and entry.is_file:
                continue
            if mine is None or far.time(self.theirs) > far.time(self.ours):
                found[path] = entry
        return found

    def _erased(self, commit: str) -> frozenset[str]:
        """The ids of what a side has erased. Raises BadData where that is damaged."""
        with suppress(NotFound):
            return erase.erased_ids(self.history.read(commit, erase.PLACE))
        return frozenset()


def _worded(found: Meeting, remote: str, commits: int) -> Plan:
    """The plan with the words of its commit."""
    body = [f"merge {path}" for path in found.merged[: pending.LISTED]]
    body += [f"both kept: {path}" for path in found.kept_both[: pending.LISTED]]
    subject = f"sync: {counted(commits, 'commit')} from {layout.printable(remote)}"
    return Plan("sync", subject, "\n".join(body), found.plan.puts, found.plan.drops)
