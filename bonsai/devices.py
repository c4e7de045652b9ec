"""The verbs between devices: sync, trust. Two clones of one memory come to the same tree, and neither loses a word."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bonsai.adapters.files import ensure_private
from bonsai.errors import BadData, BonsaiError, Busy, NotFound, Refused
from bonsai.notes import layout
from bonsai.notes.change import Plan, Row
from bonsai.notes.view import COMMITTED
from bonsai.passes import erase, pending, sync
from bonsai.passes.sync import Meeting
from bonsai.passes.synced import SyncReport, TrustReport
from bonsai.place import Place
from bonsai.ports import Blob, FileChange
from bonsai.run import Run

if TYPE_CHECKING:
    from bonsai.adapters.git_join import Entry
    from bonsai.adapters.git_remote import GitRemote, Remote

TRIES = 8  # of a push, when other devices push at the same time


class _Joining:
    """A history on its way into ours; see `commits.Join`.

    Args:
        entries: what comes with it and no run looks at, by workspace path.
    """

    def __init__(
        self, far: "GitRemote", run: Run, theirs: str, *, forward: bool, entries: Mapping[str, "Entry"]
    ) -> None:
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


class Devices(Place):
    """A workspace and its other copies."""

    def sync(self, remote: str = "", *, adopt: bool = False, cwd: str | None = None) -> SyncReport:
        """Fetch, merge note by note, push; again when another device was faster.

        Args:
            remote: a name or an address; "": that of the branch, else origin.
            adopt: merge also a history that has nothing in common with ours, or that was rewritten.
            cwd: where a relative path counts from.

        Raises Misconfigured (no remote), Unavailable (nobody answers), Refused (not trusted, an unrelated or rewritten
        history, erased content), Busy. What was committed here stays, whatever happens.
        """
        far = self._far()
        where = far.find(remote, cwd or self.root)
        report = SyncReport(where.name or where.fetch.shown)
        for attempt in range(TRIES):
            where, theirs = far.fetch(where)
            with self._writing() as run:
                self._settle(run)
                self._meet(far, where, theirs, run, report, adopt)
            try:
                if self._hand_over(far, where, theirs, report):
                    return report
            except Busy:
                if attempt == TRIES - 1:
                    raise
                time.sleep(random.uniform(0.05, 0.3) * (attempt + 1))
        return report

    def trust(self, *, yes: bool = False, helpers: bool = False) -> TrustReport:
        """What in the repository's own config can make git run a program; `yes`: let `sync` go on all the same.

        `helpers`: let it log in as the person's own git config says (credential.helper, core.sshCommand).
        """
        from bonsai.adapters import git_trust
        from bonsai.adapters.git_remote import GitRemote

        far = GitRemote(self.root)
        items, own = git_trust.programs(far.run), git_trust.helpers(far.run)
        known = set(git_trust.agreed(self.root))
        wanted = {git_trust.fingerprint(items, far.layout)} if yes and items else set()
        wanted |= {git_trust.fingerprint(own, far.layout)} if helpers and own else set()
        if wanted - known:
            ensure_private(self.root)
            with self._outside.lock():
                git_trust.agree(self.root, sorted(known | wanted))
            known |= wanted
        trusted = not items or git_trust.fingerprint(items, far.layout) in known
        allowed = [item.key for item in own] if own and git_trust.fingerprint(own, far.layout) in known else []
        return TrustReport([item.key for item in items], trusted, allowed)

    # -- inside ----------------------------------------------------------------------------------------

    def _far(self) -> "GitRemote":
        """The remotes, once it is sure that talking to them runs nothing that the repository names."""
        from bonsai.adapters import git_trust
        from bonsai.adapters.git_remote import GitRemote

        far = GitRemote(self.root)
        known = git_trust.agreed(self.root)
        items = git_trust.programs(far.run)
        if items and git_trust.fingerprint(items, far.layout) not in known:
            names = ", ".join(sorted({layout.printable(item.key) for item in items}))
            raise Refused(
                f"the repository's own config can make git run programs ({names}), so nothing is sent or fetched",
                path=self.root,
                hint="Look at them with `git config --local --list`; `bonsai trust --yes` if they are yours.",
            )
        own = git_trust.helpers(far.run)
        return GitRemote(self.root, own if git_trust.fingerprint(own, far.layout) in known else ())

    def _settle(self, run: Run) -> None:
        """Commit what was edited here, with its indexes, and name the merge drivers."""
        view = run.look()
        pending.require_no_accident(view, float(self.settings["commit", "max_deleted"]))
        indexes = run.reindex()
        found = pending.sort_out(view, self._history, generated=True)
        run.kept_back = {*found.held, *(item.path for item in found.problems)}
        self._commit_found(run, found.rows, indexes)

    def _commit_found(self, run: Run, rows: Sequence[Row], indexes: Sequence[str]) -> None:
        edited = [row for row in rows if row.path not in indexes]
        op = "edit" if edited else "reindex"
        subject = f"{op}: {layout.listed([row.path for row in edited or rows])}"
        run.commit_rows(rows, op, subject, pending.describe(edited))

    @contextmanager
    def _writing(self, usable: bool = True, actor: str = "") -> Iterator[Run]:
        """See Place. A clone brings no config, so the first run that writes names the merge drivers in it."""
        with super()._writing(usable, actor) as run:
            self._name_drivers()
            yield run

    def _name_drivers(self) -> None:
        """Let a plain `git pull` here merge notes as `sync` does."""
        with suppress(OSError):  # a worktree, or a folder in a larger repository: `init` and `sync` look closer
            if "bonsai merge-driver" in Path(self.root, ".git", "config").read_text("utf-8", "replace"):
                return
        from bonsai.adapters import git_drivers
        from bonsai.adapters.git_join import Histories

        with suppress(BonsaiError):
            here = Histories(self.root)
            git_drivers.install(here.run, here.layout)

    def _write_attributes(self, run: Run) -> None:
        """Have memory/.gitattributes name the merge drivers for the notes, beside what a person wrote there."""
        from bonsai.adapters import git_drivers

        old = None
        with suppress(NotFound):
            old = self._store.read(git_drivers.ATTRIBUTES)
        new = git_drivers.attributes(old)
        if old is None:
            self._store.create(git_drivers.ATTRIBUTES, new)
        elif new != old:
            self._store.replace(git_drivers.ATTRIBUTES, new, old)
        run.see([git_drivers.ATTRIBUTES])

    def _meet(self, far: "GitRemote", where: "Remote", theirs: str, run: Run, report: SyncReport, adopt: bool) -> None:
        """Take their history in. Raises Refused; then nothing has changed."""
        ours = self._history.head()
        if not theirs or theirs == ours:
            run.save()
            return
        met = far.synced(where)
        if met and not far.holds(theirs, met) and not adopt:
            hint = "`bonsai sync --adopt` merges it, keeping both. To have theirs alone, clone it anew."
            raise Refused("its history was rewritten since the last sync", path=report.remote, hint=hint)
        if far.holds(ours, theirs):
            run.save()
            return
        base = far.base(ours, theirs)
        if not base and not adopt:
            hint = "If both are this memory, `bonsai sync --adopt` merges them, keeping both."
            raise Refused("its history has nothing in common with this one", path=report.remote, hint=hint)
        self._need_erased(far, ours, theirs, base, report.remote)
        entries = self._odd(far, base, ours, theirs)
        found = self._meeting(far, base, ours, theirs, entries)
        if (room := sync.room(found.plan)).drops:
            run.carry_out(room)
            self._meet(far, where, theirs, run, report, adopt)
            return
        taken = {*found.plan.paths, *found.indexes}
        links = {path: item for path, item in entries.items() if path not in taken}
        joining = _Joining(far, run, theirs, forward=base == ours, entries=links)
        pulled = far.count(ours, theirs)
        run.stamp = _iso(max(far.time(ours), far.time(theirs)))
        for path, data in found.indexes.items():
            self._put_index(path, data)
        run.see([*found.indexes])
        sha = run.carry_out(_worded(found, report.remote, pulled), joining)
        if joining.onto:  # what they had was not as we would have written it: healed notes, stale indexes
            indexes = run.reindex()
            self._commit_found(run, pending.sort_out(run.view, self._history, generated=True).rows, indexes)
        report.pulled += pulled
        report.commit = None if joining.onto else sha
        report.merged = sorted({*report.merged, *found.merged})
        report.kept_both = sorted({*report.kept_both, *found.kept_both})
        report.problems = [item for item in run.view.all_problems() if item.code == "secret" and item.path in taken]
        run.save()

    def _put_index(self, path: str, data: bytes | None) -> None:
        """Indexes are generated: both devices start from the same one, and write the same from there."""
        if data is None:
            self._store.discard(path)
        else:
            self._store.generate(path, data)

    def _meeting(self, far: "GitRemote", base: str, ours: str, theirs: str, entries: Mapping[str, "Entry"]) -> Meeting:
        """What comes of both sides."""
        tips = {"ours": ours, "theirs": theirs}
        sides, wanted = {}, dict[str, tuple[str, str]]()
        for name, tip in tips.items():
            changes = self._history.changes(base, tip)
            sides[name] = sync.branch(changes, far.times(base, tip), far.time(tip))
            for item in changes:
                wanted |= {item.old_oid: (base, item.old)} if item.old_oid else {}
                wanted |= {item.new_oid: (tip, item.new)} if item.new_oid else {}
        blobs = dict(zip(wanted, self._history.read_many(list(wanted.values())), strict=True))

        def blob(oid: str) -> bytes:
            data = blobs.get(oid)
            return self._history.blob(oid) if data is None else data

        trees = [self._history.tree(tip) for tip in (ours, theirs)]
        may_run = {path for tree in trees for path, item in tree.items() if item.mode == 0o100755}
        return sync.meet(sides["ours"], sides["theirs"], blob, set(trees[0]), may_run)

    def _odd(self, far: "GitRemote", base: str, ours: str, theirs: str) -> dict[str, "Entry"]:
        """What they changed that no run looks at: links, submodules, hidden files. Raises Refused for other files."""
        there, here = far.entries(base, theirs), far.entries(base, ours)
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
            if mine is None or far.time(theirs) > far.time(ours):
                found[path] = entry
        return found

    def _need_erased(self, far: "GitRemote", ours: str, theirs: str, base: str, remote: str) -> None:
        """Nothing that was erased comes back, from neither side. Raises Refused."""
        for one, other, words, hint in (
            (
                ours,
                theirs,
                "would bring back what was erased here",
                "Erase it there too, or clone this memory anew there.",
            ),
            (theirs, ours, "has erased what this copy still holds", "Clone it anew, and take new notes over by hand."),
        ):
            with suppress(NotFound, BadData):
                forbidden = erase.erased_ids(self._history.read(one, erase.PLACE))
                if forbidden and not forbidden.isdisjoint(far.new_objects(other, one)):
                    raise Refused(words, path=remote, hint=hint)

    def _hand_over(self, far: "GitRemote", where: "Remote", theirs: str, report: SyncReport) -> bool:
        """Push what they lack; says whether there is nothing left to do. Raises Busy when others were faster."""
        head = self._history.head()
        if not head or head == theirs or (theirs and far.holds(theirs, head)):
            far.remember(where, theirs)
            return True
        report.waiting = far.push(where, head)
        report.pushed = 0 if report.waiting else far.count(theirs, head)
        far.remember(where, theirs if report.waiting else head)
        return True


def _worded(found: Meeting, remote: str, commits: int) -> Plan:
    """The plan with the words of its commit."""
    body = [f"merge {path}" for path in found.merged[: pending.LISTED]]
    body += [f"both kept: {path}" for path in found.kept_both[: pending.LISTED]]
    number = f"{commits} commit{'' if commits == 1 else 's'}"
    plan = found.plan
    return Plan("sync", f"sync: {number} from {layout.printable(remote)}", "\n".join(body), plan.puts, plan.drops)


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
