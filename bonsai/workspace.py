"""The public API: a workspace, and every verb on it. Builds the adapters, takes the lock, one commit a run."""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bonsai.adapters import clock
from bonsai.adapters.files import Files, ensure_private
from bonsai.caring import Caring
from bonsai.checks import Checks
from bonsai.connecting import Connecting
from bonsai.devices import Devices
from bonsai.editing import Editing
from bonsai.errors import BadData, Busy, IoFailed, NotFound, Refused, Usage
from bonsai.finding import Finding, Mode
from bonsai.forgetting import Forgetting
from bonsai.notes import ages, layout, review, taxonomy
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.problem import problem
from bonsai.notes.view import View
from bonsai.passes import archive, daily, migrate, move, pending, purge, reflect, restore, status, undo
from bonsai.passes.reindex import count
from bonsai.passes.reports import (
    ApplyReport,
    ArchiveReport,
    CommitReport,
    Created,
    Daemon,
    DailyReport,
    InitReport,
    MigrateReport,
    MoveReport,
    Outlook,
    PurgeReport,
    ReflectReport,
    ReindexReport,
    RestoreReport,
    StatusReport,
    Tokens,
    UndoReport,
)
from bonsai.place import Progress
from bonsai.run import Run
from bonsai.tiers import Tiers

__all__ = ["Mode", "Workspace"]
STAGING = "_reflect_staging.json"
MOMENT = 2.0  # seconds


class Workspace(Tiers, Finding, Forgetting, Checks, Devices, Caring, Editing, Connecting):
    """A folder with a memory under git. `Workspace.open(path)`, then the verbs; each returns a typed report.

    Every verb raises a BonsaiError: NotFound, Busy (somebody else at work, git in the middle of something), Refused
    (not safe), Misconfigured (no repository, bad settings), IoFailed.
    """

    @classmethod
    def init(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        templates: bool = False,
        agent: str = "",
        actor: str = "",
        session: str = "",
        progress: Progress | None = None,
    ) -> InitReport:
        """Make a workspace, or adopt a folder with what it holds; of that, only MEMORY.md gains its block.

        `templates`: also what the care of a memory needs and is not there; AGENTS.md and HEARTBEAT.md gain a block.
        """
        above = Files.find_workspace(os.path.realpath(path))
        if above and os.path.realpath(path).startswith(f"{above}/{layout.MEMORY}"):
            hint = f"`bonsai init {above}` adopts it."
            raise Refused(f"is inside the memory of the workspace {above}", path=os.fspath(path), hint=hint)
        created = []
        if not Path(path).is_dir():
            Path(path).mkdir(parents=True)
            created.append(os.fspath(path))
        with cls.open(path, agent=agent, actor=actor, session=session, progress=progress) as self:
            ensure_private(self.root)
            if not self._history.state().exists:
                self._history.create()
                created.append(".git")
            with self._writing() as run:
                run.look()
                run.commit_edits()
                before = {path for path in run.view.rows if run.view.on_disk(path)}
                self._write_attributes(run)
                made = self._write_templates(run) if templates else []
                run.reindex(agents=[self.tree])
                new = {path for path in run.view.rows if run.view.on_disk(path) and path not in before}
                created += sorted({*new, *made})
                found = pending.sort_out(run.view, self._history, generated=True)
                run.commit_rows(found.rows, "init", "init: the memory is under git from here on")
                run.save()
            return InitReport(self.root, created)

    # -- verbs -----------------------------------------------------------------------------------------

    def outlook(self) -> Outlook:
        """What a migrate would start from: boot tokens, type sections that could stay, whether it is the first."""
        data = self._boot()
        first = not self._store.exists(self.tree.at(layout.BACKUP))
        return Outlook(status.boot_tokens(data), migrate.kept_by_default(data), first)

    def migrate(self, *, keep: Collection[str] = (), dry_run: bool = False) -> MigrateReport:
        """Split MEMORY.md into domain notes; the original is kept byte for byte in memory/MEMORY.md.bak."""

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, MigrateReport]:
            return migrate.draft(view, draft, self.tree, keep, clock.local(run.now).date())

        if dry_run:
            with self._reading() as (run, _):
                view, drafted = run.look(), run.draft()
                found, report = migrate.draft(view, drafted, self.tree, keep, clock.local(run.now).date())
                run.need_no_secret(found)
                report.dry_run, after = True, run.imagined(found, self.tree)
                report.boot_tokens = Tokens(report.boot_tokens.before, status.boot_tokens(after))
                return report
        actor = "import" if self._outside.actor == "human" else ""
        report = self._run(plan, actor=actor)
        with suppress(IoFailed):  # it is done, and must not be told as failed
            report.boot_tokens = Tokens(report.boot_tokens.before, status.boot_tokens(self._boot()))
        with suppress(IoFailed, Busy):  # a run of its own, which the next migrate makes up for
            old = self.adopt()
            report.created += [Created(path, "", 0) for path in old.created]
            report.skipped += old.skipped
            report.commit = report.commit or old.commit
        return report

    def _boot(self) -> bytes:
        with suppress(NotFound, Refused):  # a symlink in its place is a problem of its own
            return self._store.read(self.tree.boot)
        return b""

    def move(self, file: str, domain: str) -> MoveReport:
        """Move a note to another domain; links to it keep working."""
        taxonomy.domain_path(domain)  # refused before anything is done
        return self._run(lambda run, view, draft: move.move(view, draft, file, domain))

    def reindex(self, *, check: bool = False, full: bool = False) -> ReindexReport:
        """Rebuild the indexes that differ; `check` writes nothing; `full` reads every note again."""
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
        days = int(self.settings["general", "max_age_days"])
        count = len(ages.old_general(run.view, self.tree, run.times(), run.now, days))
        run.keep_violations(count)
        return count

    def _reindexed(self, run: Run, changed: list[str], stale: bool = False) -> ReindexReport:
        return ReindexReport(*count(run.view, self.tree), changed, run.view.all_problems(), stale)

    def commit(self, *paths: str, all_deletions: bool = False) -> CommitReport:
        """Commit pending hand edits with their indexes, all of them or those at (or below) `paths`."""
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
        with self._writing() as run:
            view = run.look(only or None)
            if strict:
                self._need(view, only)
            if not all_deletions:
                pending.require_no_accident(view, float(self.settings["commit", "max_deleted"]), only)
            indexes = run.reindex()
            found = pending.sort_out(view, self._history, generated=True, only=[*only, *indexes] if only else ())
            edited = [row for row in found.rows if row.path not in indexes]
            op = "edit" if edited else "reindex"
            sha = run.commit_rows(
                found.rows,
                op,
                f"{op}: {layout.listed([row.path for row in edited or found.rows])}",
                pending.describe(edited),
            )
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

    def status(self) -> StatusReport:
        """The health of the memory, found out live."""
        with self._reading() as (run, _):
            state, view = self._history.state(), run.look()
            stale = run.reindex(check=True)
            usable = run.usable
            found = pending.sort_out(view, self._history, generated=True) if usable else pending.Pending(view.pending())
            numbers = count(view, self.tree)
            blank = [row for row in status.blank_candidates(view) if usable and self._had_text(row.head)]
            problems = [*run.view.all_problems(), *found.problems]
            if self._cache.rebuilt:
                problems.append(
                    problem("cache-rebuilt", ".bonsai/cache", f"was rebuilt ({self._cache.rebuilt}): nothing to do")
                )
            if self._history.unsigned:
                problems.append(
                    problem("unsigned", "", f"commits are not signed ({self._history.unsigned}): unlock your key")
                )
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
                staging=self._store.exists(self.tree.at(STAGING)),
                boot=self._boot(),
                last_reindex=run.last_reindex or str(self._json(self.tree.at("_meta.json")).get("last_reindex") or ""),
                head_time=self._head_time(times),
                notes=numbers.notes,
                domains=numbers.domains,
                tokens=numbers.tokens,
                daemon=Daemon(daemon.running, daemon.pid),
            )
            return status.status(facts, self.settings, run.now)

    def lag(self) -> int:
        """Seconds that the oldest edit which may be committed has waited for it, 0 without one."""
        with self._reading() as (run, _):
            view = run.look()
            rows = pending.sort_out(view, self._history, generated=True).rows if run.usable else view.pending()
            return int(status.waiting(rows, time.time()))

    def _had_text(self, oid: str) -> bool:
        with suppress(NotFound):  # an object that git has lost is for doctor to tell
            return bool(self._history.blob(oid).strip())
        return False

    def archive(self, *files: str, reason: str = "") -> ArchiveReport:
        """Put notes away: renamed to `__DELETE`, dated, purged after the grace period at the earliest."""
        return self._run(lambda run, view, draft: archive.archive(draft, files, reason, run.now_iso))

    def restore(self, path: str) -> RestoreReport:
        """Bring back an archive or a purged note, or with `PATH@REV` the exact bytes of a revision or a day."""

        def plan(_: Run, view: View, draft: Draft) -> tuple[Plan, RestoreReport]:
            return restore.restore(view, draft, self._history, path, self._point)

        try:
            return self._run(plan, forgive=True, spare=path)
        except (NotFound, Usage):  # git never had it, or it is the id of a fact: perhaps the cold tier knows it
            if self._store.exists(path) or (report := self.bring_back(path)) is None:
                raise
            return report

    def purge(self, *, dry_run: bool = False, yes: bool = False) -> PurgeReport:
        """Delete archives whose grace period is over; each is logged and stays in git."""

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

    def undo(self, run: str | None = None) -> UndoReport:
        """Take back one run (default: the newest pass), keeping later edits; with conflicts nothing changes."""

        actor = "" if self._outside.actor == "human" else self._outside.actor

        def plan(_: Run, view: View, draft: Draft) -> tuple[Plan, UndoReport]:
            return undo.undo(draft, self._history, undo.choose(self._history.log(), self._history, run, actor))

        return self._run(plan, forgive=True)

    def daily_add(self, text: str) -> DailyReport:
        """Append an entry to today's daily note (the local day)."""

        return self._run(lambda run, view, draft: daily.add(draft, self.tree, clock.local(run.now).date(), text))

    def daily_show(self, day: str | None = None) -> DailyReport:
        """The daily note of a day (`YYYY-MM-DD`, default today)."""
        when = daily.parse_day(day) if day else clock.local(self.now()).date()
        path, text = daily.show(Draft(self._store.read, self._store.exists), self.tree, when)
        return DailyReport(path, text, None)

    # -- reflection ------------------------------------------------------------------------------------

    def reflect(self) -> ReflectReport:
        """Stage what needs a decision in memory/_reflect_staging.json; decisions that stand there already stay."""
        path = self.tree.at(STAGING)
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
        try:
            staging = review.read_staging(self._store.read(self.tree.at(STAGING)))
        except NotFound:
            return ReflectReport(None, [])
        return ReflectReport(staging.get("triggered_at"), review.staged_candidates(staging))

    def reflect_apply(self, decisions: Mapping[str, Any]) -> ApplyReport:
        """Carry out decisions (the staging object with `decision` in each candidate) as one guarded run."""

        parsed = review.parse_decisions(decisions)
        waiting: list[str] = []

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, ApplyReport]:
            found, report, left = reflect.apply(view, draft, self.tree, self.settings, run.now_iso, parsed)
            waiting.extend(left)
            return found, report

        report = self._run(plan)
        self._keep_waiting(waiting, {decision.file for decision in parsed})
        return report

    def _keep_waiting(self, waiting: Collection[str], decided: Collection[str]) -> None:
        path = self.tree.at(STAGING)
        with suppress(NotFound, BadData, IoFailed):  # the decisions are carried out, and must not be told as failed
            staging = review.read_staging(self._store.read(path))
            files = {item.get("file") for item in staging.get("candidates", [])}
            left = review.left_over(staging, {*waiting, *(files - set(decided))})
            if left is None:
                self._store.discard(path)
            else:
                self._store.generate(path, left.encode("utf-8", "replace"))
