"""The verbs of the care: feedback, dates, check-facts, heartbeat, relocate; and the templates of `init`."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bonsai.errors import NotFound
from bonsai.notes import layout
from bonsai.notes.layout import Kind
from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.adapters.project import Project
    from bonsai.notes.change import Plan
    from bonsai.notes.claims import Claim
    from bonsai.notes.draft import Draft
    from bonsai.notes.view import View
    from bonsai.passes.cared import (
        Checked,
        DatesReport,
        FactsReport,
        FeedbackAdded,
        FeedbackFixed,
        FeedbackList,
        HeartbeatReport,
        RelocateReport,
    )
    from bonsai.passes.dates import Written
    from bonsai.run import Run

RECENT = 200  # commits among which those of a day are looked for
#: What only puts in order what was there before is no event of the day.
TIDYING = frozenset({"init", "migrate", "relocate", "dates", "move", "archive", "reflect", "consolidate", "promote"})


class Caring(Place):
    """A memory that is looked after."""

    def _write_templates(self, run: Run) -> list[str]:
        """Write what of the templates is not there; returns what was made or got its block."""

        from bonsai.passes import templates
        from bonsai.place import template

        made = []
        for text in templates.missing(self._readable_or_none, template, self.tree):
            if text.old is None:
                self._store.create(text.path, text.data)
            else:
                self._store.replace(text.path, text.data, text.old)
            made.append(text.path)
        for name in templates.FOLDERS:
            folder = self.tree.at(name)
            if not self._store.exists(folder):
                Path(self.root, folder).mkdir(parents=True)
                made.append(f"{folder}/")
        run.see([path for path in made if layout.kind_of(path) is not Kind.OUTSIDE and not path.endswith("/")])
        return made

    def _readable_or_none(self, path: str) -> bytes | None:
        """The bytes of a file, None for nothing. A symlink counts as a file that is to be left alone."""
        with suppress(NotFound):
            return self._store.read(path)
        return None

    def _today(self, run: Run | None = None) -> date:
        """The local day."""

        from bonsai.adapters import clock

        return clock.local(run.now if run else self.now()).date()

    # -- feedback --------------------------------------------------------------------------------------

    def feedback_add(
        self, rule: str, *, why: str = "", how: str = "", confirm: bool = False, context: str = ""
    ) -> FeedbackAdded:
        """Write the next entry of feedback.md: a correction (why, how), or with `confirm` what was approved (context).

        Raises Usage where a part is missing.
        """

        from bonsai.passes import feedback
        from bonsai.place import template

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, FeedbackAdded]:
            guide = template("feedback.md").replace("$MEMORY", self.tree.memory)
            return feedback.add(
                view,
                draft,
                self.tree,
                guide,
                self._today(run),
                rule=rule,
                why=why,
                how=how,
                confirmed=confirm,
                context=context,
            )

        return self._run(plan)

    def feedback_list(self) -> FeedbackList:
        """The entries of feedback.md, then those of the boot file and of notes of that type; doubles are problems."""

        from bonsai.passes import feedback

        with self._reading() as (run, _):
            return feedback.entries(run.look(), self._readable_or_none, self.tree)

    def feedback_fix(self) -> FeedbackFixed:
        """Give entries whose number is there twice the next free one; the first keeps it. Raises NotFound."""

        from bonsai.passes import feedback

        return self._run(lambda run, view, draft: feedback.fix(view, draft, self.tree))

    # -- dates -----------------------------------------------------------------------------------------

    def dates_check(self, *paths: str) -> DatesReport:
        """The relative dates in notes (all, or these files and folders), and what they say. Changes nothing."""

        from bonsai.passes import dates

        with self._reading() as (run, _):
            view = run.look()
            return dates.check(view, self.tree, self._store.read, self._written(run), self._today(run), paths)

    def dates_fix(self, *paths: str) -> DatesReport:
        """Write what `dates_check` proposes into these files and folders, as one run. Raises NotFound, Refused."""

        from bonsai.passes import dates

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, DatesReport]:
            return dates.fix(view, draft, self.tree, self._written(run), self._today(run), paths)

        return self._run(plan)

    def _written(self, run: Run) -> Written:
        """When lines were written, as git tells it; a line that is in no commit yet is of today."""

        from bonsai.adapters import clock

        def written(path: str, lines: Collection[int]) -> dict[int, date]:
            row = run.view.rows.get(path)
            if not run.usable or row is None or not row.head or row.head != row.blob:
                return {}
            wanted = sorted(lines)
            ranges = [range(number, number + 1) for number in wanted]
            try:
                origins = self._history.blame(path, run.view.head, copies=bool(wanted), lines=ranges)
                commits = self._history.commits(sorted({origin.sha for origin in origins}))
            except NotFound:  # a shallow clone ends somewhere
                return {}
            days = [clock.local(datetime.fromisoformat(commits[origin.sha].time)).date() for origin in origins]
            return dict(zip(wanted or range(1, len(days) + 1), days, strict=False))

        return written

    # -- facts, heartbeat, size ------------------------------------------------------------------------

    def check_facts(self, *paths: str, projects: Sequence[str] = (), online: bool = False) -> FactsReport:
        """Whether what technical notes name (all, or these) is still there, and what is not worth remembering.

        Args:
            projects: folders of code beside the repository around the workspace.
            online: ask the servers of URLs, too.
        """

        from bonsai.adapters import web_head
        from bonsai.passes import check_facts

        with self._reading() as (run, _):
            project, view = self._project(projects), run.look()
            answers = cache(web_head.answers) if online else _not_asked
            return check_facts.check(view, self.tree, self._store.read, project, answers, paths)

    def _project(self, more: Sequence[str] = ()) -> Project:
        """The repository around the workspace, and more folders. Raises NotFound."""

        from bonsai.adapters.project import Project

        for folder in more:
            found = False
            with suppress(OSError):  # a name that is too long for one
                found = Path(folder).is_dir()
            if not found:
                raise NotFound("there is no such folder", path=folder, hint="Name the folder of the code.")
        above = next((up for up in [Path(self.root), *Path(self.root).parents] if (up / ".git").exists()), self.root)
        return Project([self.root, str(above), *more], skip=[f"{self.root}/memory"])

    def heartbeat(self, *, done: bool = False) -> HeartbeatReport:
        """What is due in the care of the memory; with `done`, note that all of it was gone through."""

        from bonsai.passes import heartbeat

        place = f".bonsai/heartbeat{'-' if self.agent else ''}{self.agent}.json"
        state = heartbeat.done_of(self._json(place))
        with self._reading() as (run, _):
            view = run.look()
            tended = heartbeat.Tended(
                view,
                self.tree,
                self._store.read,
                self.settings,
                self._today(run),
                self._changed_today(run),
                self._looked,
            )
            report = heartbeat.heartbeat(tended, state)
            if done:
                marked = heartbeat.mark(tended, state, report)
                self._store.generate(place, json.dumps(asdict(marked), ensure_ascii=False).encode("utf-8", "replace"))
                report.done = True
        return report

    def _changed_today(self, run: Run) -> bool:
        """Whether a note of the tree is pending, or was changed by a commit of today that did more than tidy up."""
        times, today = run.times(), self._today(run)
        rows = {row.path: row for row in run.view.notes(self.tree)}
        if any(row.blob != row.head for row in rows.values()):
            return True
        new = {path for path in rows if (known := times.get(path)) and _day(known.changed) == today}
        commits = self._history.log(limit=RECENT) if new else []
        tidied = {path for commit in commits if commit.op in TIDYING for path in commit.paths}
        written = {path for commit in commits if commit.op not in TIDYING for path in commit.paths}
        return bool(new - (tidied - written))

    def _looked(self, claims: Sequence[tuple[str, Claim]]) -> list[Checked]:
        from bonsai.passes import check_facts

        return list(check_facts.checked(claims, self._project(), _not_asked)) if claims else []

    def relocate(self, *, dry_run: bool = False) -> RelocateReport:
        """Bring the boot file within its budget: what is needed least goes into notes, whole, with a pointer."""

        from bonsai.passes import relocate

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, RelocateReport]:
            days = self._written(run)(self.tree.boot, ())
            return relocate.relocate(draft, self.tree, self.settings, self._today(run), days)

        if dry_run:
            with self._reading() as (run, _):
                report = plan(run, run.look(), run.draft())[1]
                report.dry_run = True
                return report
        return self._run(plan)


def _not_asked(_: str) -> bool | None:
    return None


def _day(seconds: int) -> date | None:
    """The local day of a commit; one with a damaged time is of none."""

    from bonsai.adapters import clock

    try:
        return clock.local(datetime.fromtimestamp(seconds, UTC)).date()
    except (ValueError, OverflowError, OSError):
        return None
