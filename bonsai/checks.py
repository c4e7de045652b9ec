"""The verbs that look whether all is as it should be: status, doctor, verify. Only `doctor --fix` changes anything."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bonsai.committing import Committing
from bonsai.errors import BonsaiError, NotFound
from bonsai.notes import layout
from bonsai.place import COLD
from bonsai.watched import Watched

if TYPE_CHECKING:
    from bonsai.adapters import git_repair
    from bonsai.notes.change import PathTime
    from bonsai.passes import verify as verifying
    from bonsai.passes.reports import DoctorReport, StatusReport, VerifyReport


class Checks(Committing, Watched):
    """A workspace that can be checked."""

    if TYPE_CHECKING:  # of Archiving, which stands beside this

        def cold_fault(self) -> str:
            """See Rescuing."""

        def cold_mend(self) -> list[str]:
            """See Rescuing."""

    def status(self) -> StatusReport:
        """The health of the memory, found out live."""

        from bonsai.notes.shape import count
        from bonsai.passes import pending, status
        from bonsai.passes.reports import Daemon

        with self._reading() as (run, _):
            state, view = self._history.state(), run.look()
            stale = run.reindex(check=True)
            usable = run.usable
            found = pending.sort_out(view, self._history, generated=True) if usable else pending.Pending(view.pending())
            blank = [row for row in status.blank_candidates(view) if usable and self._had_text(row.head)]
            problems = [*run.view.all_problems(), *found.problems]
            problems += status.of_stores(self._cache.rebuilt, self._history.unsigned)
            times = run.times()
            daemon, wait = self.daemon(), status.waiting(found.rows, time.time())
            problems += status.of_daemon(daemon, wait)
            facts = status.Facts(
                view=view,
                tree=self.tree,
                state=state,
                times=times,
                problems=problems,
                stale=stale,
                vanished=pending.vanished(view, float(self.settings["commit", "max_deleted"])),
                pending=[*found.rows, *(view.rows[path] for path in found.held)],
                emptied=[row.path for row in blank],
                staging=self._store.exists(self.tree.at(layout.STAGING)),
                boot=self._boot(),
                last_reindex=run.last_reindex or str(self._json(self.tree.at("_meta.json")).get("last_reindex") or ""),
                head_time=self._head_time(times),
                numbers=count(view, self.tree),
                daemon=Daemon(daemon.running, daemon.pid),
            )
            return status.status(facts, self.settings, run.now)

    def lag(self) -> int:
        """Seconds that the oldest edit which may be committed has waited for it, 0 without one."""

        from bonsai.passes import pending, status

        with self._reading() as (run, _):
            view = run.look()
            rows = pending.sort_out(view, self._history, generated=True).rows if run.usable else view.pending()
            return int(status.waiting(rows, time.time()))

    def _had_text(self, oid: str) -> bool:
        with suppress(NotFound):  # an object that git has lost is for doctor to tell
            return bool(self._history.blob(oid).strip())
        return False

    def doctor(self, *, fix: bool = False, unlock: bool = False, secrets: bool = False) -> DoctorReport:
        """Look whether the workspace can work at all; `fix` repairs what can be repaired without losing a note.

        `secrets`: have detect-secrets look through every text as well.
        """

        from bonsai.adapters import secret_audit
        from bonsai.adapters.files import ensure_private
        from bonsai.passes import allow, doctor

        if fix or unlock:
            ensure_private(self.root)
        with self._outside.lock() if fix or unlock else nullcontext():
            return doctor.doctor(
                self._store,
                self._cache,
                self._history,
                self._outside.journal,
                lambda: self.status().problems,
                fix=fix,
                unlock=unlock,
                mend=self._mend,
                cold=self.cold_fault if self._store.exists(COLD) else None,
                audit=secret_audit.audit if secrets else None,
                allowed=allow.allowed(self._store),
            )

    @staticmethod
    def tend(root: str) -> list[str]:
        """What a daemon does for the repository now and then, from any thread: look for damage, keep git fast.

        Returns what fsck finds. Raises Misconfigured.
        """

        from bonsai.adapters import git_graph
        from bonsai.adapters.git_history import GitHistory
        from bonsai.adapters.git_run import GitRun

        history = GitHistory(root)
        found = history.check() and history.check()  # twice: meanwhile somebody may have put packs together
        if not found:
            git_graph.write(GitRun(root))
        return found

    def verify(self) -> VerifyReport:
        """Read everything anew and compare: git with itself, the disk with HEAD, the logs with the commits.

        Changes nothing. Raises Misconfigured without a repository.
        """

        from bonsai.passes import verify as verifying
        from bonsai.passes.reports import VerifyReport

        fsck = self._history.check()
        try:
            return verifying.verify(self._evidence(fsck), self.now())
        except BonsaiError:
            if not fsck:
                raise
            return VerifyReport(False, fsck, 0, 0, verifying.damages(fsck))  # too damaged for a closer look

    def _evidence(self, fsck: list[str]) -> verifying.Evidence:
        from bonsai.passes import pending
        from bonsai.passes import verify as verifying
        from bonsai.ports.history import Blob

        cached = self._cache.load()
        remembered, head = {path: replace(row) for path, row in cached.rows.items()}, dict[str, Blob]()
        try:
            head = self._history.tree(cached.meta.get("head", ""))
        except NotFound:  # history was written anew since: the cache will see it
            remembered = {}
        with self._reading() as (run, _):
            view = run.look(full=True)
            stale = run.reindex(check=True)
            found = pending.sort_out(view, self._history, generated=False)
            return verifying.Evidence(
                fsck=fsck,
                view=view,
                remembered=remembered,
                head=head,
                pending=[row.path for row in found.rows],
                held=found.held,
                stale=[] if found.rows else stale,  # they follow from the edits
                commits=self._history.log(),
                strays=self._history.strays(),
                times=run.times(),
                read=self._store.read,
            )

    def _head_time(self, times: Mapping[str, PathTime]) -> str:
        """When the commit of HEAD says that it was made, asked only where some commit is from the future; else ""."""
        now = self.now().timestamp()
        with suppress(BonsaiError):
            if any(item.changed > now for item in times.values()):
                head = self._history.head()
                return self._history.commits([head])[head].time
        return ""

    def _mend(self) -> tuple[list[str], list[str]]:
        """Repair the repository; where the branch had to go back, what stands on disk is committed on top."""

        from bonsai.adapters import git_repair

        folder = f"{self._private}/damaged/{self.now():%Y-%m-%dT%H%M%SZ}"
        rows = self._cache.load().rows.values()
        known = [(row.path, row.head_mode, row.head) for row in rows if row.head]
        found = git_repair.mend(self.root, self._disk_files, known, self._history.blob_id, folder)
        if found.back:
            self._cache.clear()  # it knows a HEAD that is no more
            try:
                sha = self.commit(all_deletions=True).commit
                found.done.append(f"committed what stands on disk: {sha[:10]}" if sha else "nothing was left to commit")
            except BonsaiError as error:
                found.done.append(f"what stands on disk is not committed yet: {error}")
        return [*found.done, *self.cold_mend()], found.lost

    def _disk_files(self) -> Iterator[git_repair.DiskFile]:
        """Every file that may be in git, as it stands."""

        from bonsai.adapters import git_repair
        from bonsai.notes.view import COMMITTED

        for entry in self._store.scan():
            if entry.kind == "file" and layout.kind_of(entry.path) in COMMITTED:
                with suppress(BonsaiError):  # what cannot be read helps nobody
                    yield git_repair.DiskFile(entry.path, entry.stat.mode, self._store.read(entry.path))
