"""The verbs of the tiers: remember, hot, tree, metrics; others are in `archiving`, `cloud`, `gleaning`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bonsai.errors import Usage
from bonsai.gleaning import Gleaning

if TYPE_CHECKING:
    from bonsai.adapters.sqlite_metrics import SqliteMetrics
    from bonsai.facts import tree as trees
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.notes.view import View
    from bonsai.passes.remember import Wanted
    from bonsai.passes.tiered import (
        HotReport,
        Metrics,
        PruneReport,
        RebuildReport,
        RememberReport,
        TreeReport,
        TreeShown,
    )
    from bonsai.run import Run

METRICS = ".bonsai/metrics.db"
REBUILD_MODEL = "BONSAI_LLM_REBUILD_MODEL"


class Tiers(Gleaning):
    """A workspace whose facts are scored."""

    _metrics: SqliteMetrics | None = None

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

        from bonsai.adapters import clock
        from bonsai.facts.score import Rules
        from bonsai.notes import dates, lifecycle, worth
        from bonsai.passes import remember
        from bonsai.passes.cared import Absolute

        today = clock.local(self.now()).date()
        sourced, known = [], []
        for item in wanted:
            day = lifecycle.moment(item.created[:10]) if item.created else None
            text, dated = dates.absolute(item.text, day.date() if day else today)
            known.append((dated, worth.find(text)))
            sourced.append(replace(item, text=text, source=item.source or self.actor))
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
        for report, (dated, flags) in zip(reports, known, strict=True):
            report.cold_synced = synced
            report.dates = [Absolute(report.path, item.line, item.text, item.absolute) for item in dated]
            report.flags = [f"{flag.kind}: {flag.advice}" for flag in flags]
        return reports

    # -- hot -------------------------------------------------------------------------------------------

    def hot(self) -> dict[str, Any]:
        """The hot state: identity, owner_profile, active_context, critical_lessons."""

        from bonsai.facts import hot

        return hot.state(self._boot_bytes())

    def hot_update(self, key: str, value: Any) -> HotReport:
        """Set something in the hot sections of the boot file; what no longer fits there moves into notes.

        Args:
            key: identity, owner_profile, lesson, event, task, project.
            value: an object; see `facts/hot`. Raises Usage, BadData.
        """

        from bonsai.passes import heat

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, HotReport]:
            return heat.update(view, draft, self.tree, key, value, run.now, self.settings)

        return self._run(plan)

    def hot_rebuild(self) -> HotReport:
        """Bring the hot sections within their limits: what is done and what does not fit moves into notes."""

        from bonsai.passes import heat

        return self._run(lambda run, view, draft: heat.rebuild(view, draft, self.tree, run.now, self.settings))

    # -- tree ------------------------------------------------------------------------------------------

    def tree_show(self) -> TreeShown:
        """The tree index within its limits, with the counts of each node."""

        from bonsai.facts import tree as trees
        from bonsai.passes import branches
        from bonsai.passes.tiered import TreeShown

        limits, cold = trees.Limits.of(self.settings), self._cold_counts()
        with self._reading() as (run, _):
            nodes = branches.nodes(run.look(), self.tree, run.times(), cold)
        kept = trees.shown(nodes, limits)
        text = trees.show(nodes, limits)
        size = len(text.encode())
        hidden = len(nodes) - len(kept)
        return TreeShown(text, trees.as_json(kept), len(kept), limits.nodes, size, limits.size, hidden)

    def tree_add(self, path: str, about: str) -> TreeReport:
        """Make a node with a description, or describe one that is there anew."""

        from bonsai.facts import tree as trees
        from bonsai.passes import branches

        limits = trees.Limits.of(self.settings)
        return self._run(
            lambda run, view, draft: branches.add(view, draft, self.tree, path, about, run.now_iso, limits)
        )

    def tree_remove(self, path: str) -> TreeReport:
        """Take an empty node away. Raises Refused where it, or one below it, holds anything."""

        from bonsai.passes import branches

        cold = self._cold_counts()
        return self._run(lambda run, view, draft: branches.remove(view, draft, self.tree, path, cold))

    def tree_prune(self) -> PruneReport:
        """Take away the nodes that hold nothing and in which nothing has happened for long."""

        from bonsai.passes import branches
        from bonsai.passes.tiered import PruneReport

        cold, days = self._cold_counts(), int(self.settings["tree", "dead_days"])

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, PruneReport]:
            gone = branches.prune(view, draft, self.tree, run.times(), cold, run.now, days)
            body = "\n".join(f"remove {path}" for path in gone)
            return draft.plan("tree", f"tree: prune {len(gone)} dead nodes", body), PruneReport(gone)

        return self._run(plan)

    def tree_prompt(self) -> str:
        """What a language model is asked for a better shape of the tree."""

        from bonsai.facts import tree as trees

        return trees.prompt(self._all_nodes(), trees.Limits.of(self.settings))

    def tree_ask(self, llm: str = "") -> str:
        """A proposal for a better shape of the tree, from the language model at an endpoint. Raises Unavailable."""
        place = llm or os.environ.get("BONSAI_LLM_ENDPOINT", "")
        if not place:
            hint = "Name one with --llm-endpoint, or give a proposal with --proposal FILE."
            raise Usage("a rebuild needs the endpoint of a language model", hint=hint)
        model = os.environ.get(REBUILD_MODEL, "") or self.settings.text("llm", "rebuild_model")
        return self._model(place, model).complete(self.tree_prompt())

    def tree_rebuild(self, answer: Any, *, apply: bool = False) -> RebuildReport:
        """What of a proposal (a model's answer, or an object) makes sense here; `apply`: do it, as one guarded run.

        Raises BadData for what is no proposal, CannotCreate where a name is taken in a category that notes go to.
        """

        from bonsai.facts import tree as trees
        from bonsai.passes import branches
        from bonsai.passes.tiered import RebuildReport

        limits = trees.Limits.of(self.settings)
        found = trees.proposal(answer, self._all_nodes(), limits)
        moves = [{"from": move.from_, "to": move.to, "reason": move.reason} for move in found.moves]
        report = RebuildReport(moves, dict(found.about))
        if not apply:
            return report

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, RebuildReport]:
            made, report.paths = branches.rebuild(view, draft, self.tree, found, run.now_iso, limits)
            return made, report

        report.applied = True
        return self._run(plan)

    def _all_nodes(self) -> dict[str, trees.Node]:
        from bonsai.passes import branches

        cold = self._cold_counts()
        with self._reading() as (run, _):
            return branches.nodes(run.look(), self.tree, run.times(), cold)

    # -- metrics ---------------------------------------------------------------------------------------

    def metrics(self) -> Metrics:
        """The numbers of this agent's memory."""

        from bonsai.facts import hot
        from bonsai.facts.score import Rules
        from bonsai.passes import consolidate
        from bonsai.passes.tiered import Metrics

        rules, shown, day = Rules.of(self.settings), self.tree_show(), f"{self.now():%Y-%m-%d}"
        with self._reading() as (run, _):
            view = run.look()
            weighed = consolidate.weigh(view, self.tree, {}, {}, run.now, rules)
            rows = [row for row in view.notes(self.tree) if row.summary]
        tokens = sum(row.summary.tokens for row in rows if row.summary)
        boot = self._boot_bytes()
        loaded = (len(boot) + shown.size_bytes) // 4
        return Metrics(
            tree_index_size_bytes=shown.size_bytes,
            tree_node_count=shown.node_count,
            hot_memory_size_bytes=hot.size(boot),
            warm_memory_count=len(weighed),
            warm_memory_size_kb=round(sum(item.size for item in weighed) / 1024, 1),
            retrieval_count=self._total("retrievals"),
            evictions_today=self._total("evictions", day),
            reinforcements_today=self._total("reinforcements", day),
            consolidation_count=self._total("consolidations"),
            last_consolidation=self._total("last_consolidation"),
            context_tokens_saved=max(0, tokens - loaded),
            timestamp=self.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    def _count(self, paths: Sequence[str]) -> None:
        """Notes that were of use are remembered as such, and that there was a retrieval."""
        super()._count(paths)
        if self._index() is not None:
            self._counted(retrievals=1, reinforcements=len(set(paths)))

    def _counted(self, **by: int) -> None:
        """Count for `metrics`."""
        self._open_metrics().add(self._me, f"{self.now():%Y-%m-%d}", by)

    def _noted(self, name: str, value: int) -> None:
        self._open_metrics().set(self._me, name, value)

    def _noted_for(self, agent: str, values: Mapping[str, int]) -> None:
        for name, value in values.items():
            self._open_metrics().set(agent, name, value)

    def _total(self, name: str, day: str = "") -> int:
        return self._open_metrics().total(self._me, name, day) if self._store.exists(METRICS) else 0

    def _open_metrics(self) -> SqliteMetrics:
        from bonsai.adapters.sqlite_metrics import SqliteMetrics

        self._metrics = self._metrics or SqliteMetrics(f"{self.root}/{METRICS}")
        return self._metrics

    def close(self) -> None:
        """Release the files that are open."""
        if self._metrics is not None:
            self._metrics.close()
        super().close()
