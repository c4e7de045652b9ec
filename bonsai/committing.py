"""The verbs that take in what was edited by hand: reindex, commit, and absorb, which the daemon calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bonsai.adapters.files import ensure_private
from bonsai.errors import NotFound, Refused
from bonsai.indexing import Indexing
from bonsai.notes import layout

if TYPE_CHECKING:
    from bonsai.notes.view import View
    from bonsai.passes.reports import CommitReport, ReindexReport
    from bonsai.run import Run

MOMENT = 2.0  # seconds that a daemon waits for others: it tries again anyway


class Committing(Indexing):
    """A workspace whose notes people edit."""

    def reindex(self, *, check: bool = False, full: bool = False) -> ReindexReport:
        """Rebuild the indexes that differ; `check` writes nothing; `full` reads every note again."""

        from bonsai.passes import pending

        if check:
            with self._reading() as (run, _):
                run.look(full=full)
                changed = run.reindex(check=True)
                return self._reindexed(run, changed, stale=bool(changed))
        with self._writing(usable=False) as run:
            view = run.look(full=full)
            changed = run.reindex(agents=[self.tree], violations=lambda: self._violations(run))
            run.save()
            report = self._reindexed(run, changed)
            if run.usable:
                report.problems += pending.sort_out(view, self._history, generated=False).problems
            return report

    def _violations(self, run: Run) -> int:
        from bonsai.notes import ages

        days = int(self.settings["general", "max_age_days"])
        count = len(ages.old_general(run.view, self.tree, run.times(), run.now, days))
        run.keep_violations(count)
        return count

    def _reindexed(self, run: Run, changed: list[str], stale: bool = False) -> ReindexReport:
        from bonsai.notes.shape import count
        from bonsai.passes.reports import ReindexReport

        return ReindexReport(*count(run.view, self.tree), changed, run.view.all_problems(), stale)

    def commit(self, *paths: str, all_deletions: bool = False) -> CommitReport:
        """Commit pending hand edits with their indexes, all of them or those at (or below) `paths`.

        `all_deletions`: although most of the notes are gone. Raises NotFound, Refused (not part of the memory; most
        notes gone at once), Busy.
        """
        only = [path.rstrip("/") for path in paths if path not in ("", ".")] if "." not in paths else []
        return self._commit(only, strict=True, all_deletions=all_deletions)

    def absorb(self, paths: Sequence[str]) -> CommitReport:
        """Like `commit`, for paths where something was seen to happen: what is nothing of ours is passed over.

        Waits for others only a moment, then raises Busy: a daemon tries again anyway, and must end when it is told to.
        """
        ensure_private(self.root)
        with self._outside.lock(MOMENT):
            return self._commit(paths, strict=False, all_deletions=False)

    def _commit(self, only: Sequence[str], *, strict: bool, all_deletions: bool) -> CommitReport:
        from bonsai.passes import pending
        from bonsai.passes.reports import CommitReport

        with self._writing() as run:
            view = run.look(only or None)
            if strict:
                self._need(view, only)
            if not all_deletions:
                pending.require_no_accident(view, float(self.settings["commit", "max_deleted"]), only)
            sha, found = run.commit_pending(run.reindex(), only)
            run.save()
        self._update_search([row.path for row in found.rows])
        return CommitReport(sha, [row.path for row in found.rows] if sha else [], found.held, found.problems)

    def _need(self, view: View, only: Sequence[str]) -> None:
        for path in only:
            known = path in view.rows or self._store.exists(path)
            if not known and not any(other.startswith(f"{path}/") for other in view.rows):  # a folder that was removed
                raise NotFound("there is no such file", path=path, hint="`bonsai status` lists what is pending.")
            if layout.kind_of(path) is layout.Kind.OUTSIDE and path != layout.MEMORY:
                raise Refused("is not part of the memory", path=path, hint="Name a path under memory/, or MEMORY.md.")
