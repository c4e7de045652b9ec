"""The verbs that tidy up: reflect, archive, purge. What they put away can be brought back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bonsai.errors import BadData, IoFailed, NotFound
from bonsai.notes import layout
from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.notes.view import View
    from bonsai.passes.reports import ApplyReport, ArchiveReport, PurgeReport, ReflectReport
    from bonsai.run import Run


class Pruning(Place):
    """A memory that is kept small."""

    def reflect(self) -> ReflectReport:
        """Stage what needs a decision in memory/_reflect_staging.json; decisions that stand there already stay."""

        from bonsai.notes import review
        from bonsai.passes import reflect
        from bonsai.passes.reports import ReflectReport

        path = self.tree.at(layout.STAGING)
        with self._writing() as run:
            run.look()
            candidates = reflect.stage(run.view, self.tree, run.times(), self.settings, run.now, self._store.read)
            run.reindex()
            if candidates:
                text = review.staging_json(candidates, run.now_iso, self._json(path))
                self._store.generate(path, text.encode("utf-8", "replace"))
            else:
                self._store.discard(path)
            run.save()
            return ReflectReport(run.now_iso, candidates)

    def reflect_show(self) -> ReflectReport:
        """The reflection that waits; no candidates where there is none."""

        from bonsai.notes import review
        from bonsai.passes.reports import ReflectReport

        try:
            staging = review.read_staging(self._store.read(self.tree.at(layout.STAGING)))
        except NotFound:
            return ReflectReport(None, [])
        return ReflectReport(staging.get("triggered_at"), review.staged_candidates(staging))

    def reflect_apply(self, decisions: Mapping[str, Any]) -> ApplyReport:
        """Carry out decisions (the staging object with `decision` in each candidate) as one guarded run.

        Raises BadData (no such object), Refused (too much text would be gone).
        """

        from bonsai.notes.decision import parse_decisions
        from bonsai.passes import reflect

        parsed = parse_decisions(decisions)
        waiting: list[str] = []

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, ApplyReport]:
            found, report, left = reflect.apply(view, draft, self.tree, self.settings, run.now_iso, parsed)
            waiting.extend(left)
            return found, report

        report = self._run(plan)
        self._keep_waiting(waiting, {decision.file for decision in parsed})
        return report

    def _keep_waiting(self, waiting: Collection[str], decided: Collection[str]) -> None:
        from bonsai.notes import review

        path = self.tree.at(layout.STAGING)
        with suppress(NotFound, BadData, IoFailed):  # the decisions are carried out, and must not be told as failed
            staging = review.read_staging(self._store.read(path))
            files = {item.get("file") for item in staging.get("candidates", [])}
            left = review.left_over(staging, {*waiting, *(files - set(decided))})
            if left is None:
                self._store.discard(path)
            else:
                self._store.generate(path, left.encode("utf-8", "replace"))

    def archive(self, *files: str, reason: str = "") -> ArchiveReport:
        """Put notes away: renamed to `__DELETE`, dated, purged after the grace period at the earliest.

        Raises NotFound, Usage (no note, or archived already), CannotCreate (too long a name).
        """

        from bonsai.passes import archive

        return self._run(lambda run, view, draft: archive.archive(draft, files, reason, run.now_iso))

    def purge(self, *, dry_run: bool = False, yes: bool = False) -> PurgeReport:
        """Delete archives whose grace period is over; each is logged and stays in git.

        Raises Refused for a large purge without `yes`.
        """

        from bonsai.passes import purge

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, PurgeReport]:
            return purge.purge(
                view,
                draft,
                self.tree,
                run.times(),
                now=run.now,
                yes=yes,
                dry_run=dry_run,
                grace_days=int(self.settings["purge", "grace_days"]),
                ask_over=int(self.settings["purge", "ask_over"]),
            )

        if dry_run:
            with self._reading() as (run, _):
                return plan(run, run.look(), run.draft())[1]
        return self._run(plan)
