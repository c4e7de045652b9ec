"""The verb that writes: remember, one thing or several in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bonsai.cloud import Cloud

if TYPE_CHECKING:
    from bonsai.notes.dates import Phrase
    from bonsai.passes.remember import Wanted
    from bonsai.passes.tiered import RememberReport


class Remembering(Cloud):
    """A workspace that is told things."""

    def remember(
        self,
        text: str,
        *,
        domain: str = "",
        type: str = "fact",
        importance: float | None = None,
        key: str = "",
        confidence: float | None = None,
        urls: Sequence[str] = (),
        commands: Sequence[str] = (),
        paths: Sequence[str] = (),
        tags: Sequence[str] = (),
        source: str = "",
        scope: str = "",
        keep_confident: bool = False,
    ) -> RememberReport:
        """Write a note, or give the note with this `key` its newer value (its version goes up by one).

        Args:
            text: what to remember, in markdown.
            domain: a path such as `business/seo`; "" lets the words of the text decide.
            type: fact, feedback, project, reference, user, …
            importance: 0 to 1; 0.5 where a new fact says none.
            key: same key = same note. `scope`: the domain below which it is looked for, "" is the whole tree.
            confidence: 0 to 1; 0.8 where a fact by key says none.
            urls, commands, paths: kept word for word, with those that stand in the text.
            source: who says so; the actor of the workspace where it is empty.
            keep_confident: a value that is less sure than the one that stands changes nothing.

        Raises:
            BadData: a domain that cannot be one, a note whose frontmatter is broken.
            Usage: an empty text, an importance that is not between 0 and 1.
            Refused: the text looks like a credential.
        """

        from bonsai.facts.extract import Metadata
        from bonsai.passes.remember import Wanted

        metadata = Metadata(tuple(urls), tuple(commands), tuple(paths))
        wanted = Wanted(
            text,
            domain=domain,
            type=type,
            importance=importance,
            key=key,
            confidence=confidence,
            metadata=metadata,
            tags=tags,
            source=source,
            scope=scope,
            keep_confident=keep_confident,
        )
        return self.remember_all([wanted])[0]

    def remember_all(self, wanted: Sequence[Wanted]) -> list[RememberReport]:
        """Remember several things in one run; all of them or none."""

        from bonsai.facts.score import Rules
        from bonsai.notes import worth
        from bonsai.passes import remember
        from bonsai.passes.cared import Absolute

        sourced, dates = self._sourced(wanted)
        with self._writing() as run:
            run.look()
            run.commit_edits()
            plan, reports = remember.remember(
                run.view, run.draft(), self.tree, sourced, run.now_iso, Rules.of(self.settings)
            )
            sha = run.carry_out(plan)
            run.save()
        changed = set(plan.paths)
        for report in reports:
            report.commit = sha if report.path in changed else None
        synced = self._store_cold([report.path for report in reports]) if reports else False
        for report, item, dated in zip(reports, sourced, dates, strict=True):
            report.cold_synced = synced
            report.dates = [Absolute(report.path, date.line, date.text, date.absolute) for date in dated]
            report.flags = [f"{flag.kind}: {flag.advice}" for flag in worth.find(item.text)]
        return reports

    def _foreseen(self, wanted: Sequence[Wanted]) -> list[RememberReport]:
        """What `remember_all` would say of the notes; nothing is written."""
        from bonsai.facts.score import Rules
        from bonsai.passes import remember

        rules, sourced = Rules.of(self.settings), self._sourced(wanted)[0]
        with self._reading() as (run, _):
            return remember.remember(run.look(), run.draft(), self.tree, sourced, run.now_iso, rules)[1]

    def _sourced(self, wanted: Sequence[Wanted]) -> tuple[list[Wanted], list[list[Phrase]]]:
        """The same with absolute dates and with who says it; and the dates of each that were relative."""
        from bonsai.adapters import clock
        from bonsai.notes import dates, lifecycle

        found: list[Wanted] = []
        known: list[list[Phrase]] = []
        today = clock.local(self.now()).date()
        for item in wanted:
            day = lifecycle.moment(item.created[:10]) if item.created else None
            text, dated = dates.absolute(item.text, day.date() if day else today)
            found.append(replace(item, text=text, source=item.source or self.actor))
            known.append(dated)
        return found, known
