"""The public API: a workspace, and every verb on it. Builds the adapters, takes the lock, one commit a run."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bonsai.adapters.files import Files, ensure_private
from bonsai.caring import Caring
from bonsai.checks import Checks
from bonsai.connecting import Connecting
from bonsai.devices import Devices
from bonsai.editing import Editing
from bonsai.errors import Busy, IoFailed, NotFound, Refused, Usage
from bonsai.finding import Finding
from bonsai.forgetting import Forgetting
from bonsai.narrowing import Mode
from bonsai.notes import layout
from bonsai.place import Progress
from bonsai.pruning import Pruning
from bonsai.tiers import Tiers
from bonsai.watched import Watched

if TYPE_CHECKING:
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.notes.view import View
    from bonsai.passes.reports import (
        DailyReport,
        InitReport,
        MigrateReport,
        MoveReport,
        Outlook,
        RestoreReport,
        UndoReport,
    )
    from bonsai.run import Run

__all__ = ["Mode", "Workspace"]


class Workspace(Tiers, Finding, Pruning, Forgetting, Checks, Devices, Watched, Caring, Editing, Connecting):
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

        from bonsai.passes import pending
        from bonsai.passes.reports import InitReport

        _need_place(path)
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

        from bonsai.passes import migrate, status
        from bonsai.passes.reports import Outlook

        data = self._boot()
        first = not self._store.exists(self.tree.at(layout.BACKUP))
        return Outlook(status.boot_tokens(data), migrate.kept_by_default(data), first)

    def migrate(self, *, keep: Collection[str] = (), dry_run: bool = False) -> MigrateReport:
        """Split MEMORY.md into domain notes; the original is kept byte for byte in memory/MEMORY.md.bak.

        `keep`: headings of sections that stay, each alone or several with commas. Raises BadData (conflict markers),
        Usage (no such section), Refused (a credential, or a MEMORY.md that may not be committed).
        """

        from bonsai.adapters import clock
        from bonsai.passes import migrate, status
        from bonsai.passes.reports import Created, Tokens

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, MigrateReport]:
            return migrate.draft(view, draft, self.tree, keep, clock.local(run.now).date())

        if dry_run:
            with self._reading() as (run, _):
                found, report = plan(run, run.look(), run.draft())
                run.need_no_secret(found)
                report.dry_run, after = True, run.imagined(found, self.tree)
                report.boot_tokens = Tokens(report.boot_tokens.before, status.boot_tokens(after))
                return report
        actor = "import" if self.actor == "human" else ""
        report = self._run(plan, actor=actor)
        with suppress(IoFailed):  # it is done, and must not be told as failed
            report.boot_tokens = Tokens(report.boot_tokens.before, status.boot_tokens(self._boot()))
        with suppress(IoFailed, Busy):  # a run of its own, which the next migrate makes up for
            old = self.adopt()
            report.created += [Created(path, "", 0) for path in old.created]
            report.skipped += old.skipped
            report.commit = report.commit or old.commit
        return report

    def move(self, file: str, domain: str) -> MoveReport:
        """Move a note to another domain; links to it keep working.

        Raises NotFound, Usage (no note, or it stands there already), CannotCreate (the name is taken), BadData (no
        domain).
        """

        from bonsai.notes import taxonomy
        from bonsai.passes import move

        taxonomy.domain_path(domain)  # refused before anything is done
        return self._run(lambda run, view, draft: move.move(view, draft, file, domain))

    def restore(self, path: str) -> RestoreReport:
        """Bring back an archive or a purged note, or with `PATH@REV` the exact bytes of a revision or a day.

        Raises NotFound (git never had it), Usage (it stands there, or is no part of the memory), CannotCreate (the name
        is taken).
        """

        from bonsai.passes import restore

        def plan(_: Run, view: View, draft: Draft) -> tuple[Plan, RestoreReport]:
            return restore.restore(view, draft, self._history, path, self._point)

        try:
            return self._run(plan, forgive=True, spare=path)
        except (NotFound, Usage):  # git never had it, or it is the id of a fact: perhaps the cold tier knows it
            if self._store.exists(path) or (report := self.bring_back(path)) is None:
                raise
            return report

    def undo(self, run: str | None = None) -> UndoReport:
        """Take back one run (default: the newest pass), keeping later edits; with conflicts nothing changes.

        `run`: its id, how that begins (4 characters or more), or a revision. Raises NotFound, Usage (an erasure, a
        merge), Refused (this clone lacks what was before).
        """

        from bonsai.passes import undo

        actor = "" if self.actor == "human" else self.actor

        def plan(_: Run, view: View, draft: Draft) -> tuple[Plan, UndoReport]:
            commits = self._history.log()
            chosen = undo.choose(commits, self._history, run, actor)
            found, report = undo.undo(draft, self._history, chosen)
            report.later_edit = "" if run else undo.later_edit(commits, chosen)
            return found, report

        return self._run(plan, forgive=True)

    def daily_add(self, text: str) -> DailyReport:
        """Append an entry to today's daily note (the local day). Raises Usage (no text), BadData (a note in UTF-16)."""

        from bonsai.adapters import clock
        from bonsai.passes import daily

        return self._run(lambda run, view, draft: daily.add(draft, self.tree, clock.local(run.now).date(), text))

    def daily_show(self, day: str | None = None) -> DailyReport:
        """The daily note of a day (`YYYY-MM-DD`, default today). Raises BadData for what is no day, NotFound."""

        from bonsai.adapters import clock
        from bonsai.notes.draft import Draft
        from bonsai.passes import daily
        from bonsai.passes.reports import DailyReport

        when = daily.parse_day(day) if day else clock.local(self.now()).date()
        path, text = daily.show(Draft(self._store.read, self._store.exists), self.tree, when)
        return DailyReport(path, text, None)


def _need_place(path: str | os.PathLike[str]) -> None:
    """Raises Refused where no workspace may be made: inside the memory of another one, or all of the disk."""
    place = os.path.realpath(path)
    above = Files.find_workspace(place)
    if above and place.startswith(f"{above}/{layout.MEMORY}"):
        hint = f"`bonsai init {above}` adopts it."
        raise Refused(f"is inside the memory of the workspace {above}", path=os.fspath(path), hint=hint)
    if place == os.sep:  # every folder below would be taken for a part of it
        raise Refused("is the root of the file system", path=os.sep, hint="Name a folder: `bonsai init FOLDER`.")
