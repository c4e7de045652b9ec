"""The verbs of the tiers: remember, and what becomes of what is remembered."""

from collections.abc import Sequence
from dataclasses import replace

from bonsai.facts.extract import Metadata
from bonsai.facts.score import Rules
from bonsai.passes import remember
from bonsai.passes.remember import Wanted
from bonsai.passes.tiered import RememberReport
from bonsai.place import Place


class Tiers(Place):
    """A workspace whose facts are scored."""

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
            BadData: an empty text, a domain that cannot be one, a note whose frontmatter is broken.
            Refused: the text looks like a credential.
        """
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
        actor = self._outside.actor
        sourced = [item if item.source else replace(item, source=actor) for item in wanted]
        with self._writing() as run:
            run.look()
            run.commit_edits()
            plan, reports = remember.remember(
                run.view, run.draft(), self.tree, sourced, run.now_iso, Rules.of(self.settings)
            )
            sha = run.carry_out(plan)
            run.save()
        for report in reports:
            report.commit = sha if report.path in plan.paths else None
        return reports
