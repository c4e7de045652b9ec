"""The verbs of the tiers: hot, tree, metrics; others are in `archiving`, `cloud`, `remembering`, `gleaning`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bonsai.errors import Usage
from bonsai.gleaning import Gleaning

if TYPE_CHECKING:
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.notes.view import View
    from bonsai.passes.tiered import (
        HotReport,
        Metrics,
        PruneReport,
        RebuildReport,
        TreeReport,
        TreeShown,
    )
    from bonsai.run import Run


class Tiers(Gleaning):
    """A workspace whose facts are scored."""

    # -- hot -------------------------------------------------------------------------------------------

    def hot(self) -> dict[str, Any]:
        """The hot state: identity, owner_profile, active_context, critical_lessons."""

        from bonsai.facts import hot

        return hot.state(self._boot())

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

        cold = self._sure_counts()
        return self._run(lambda run, view, draft: branches.remove(view, draft, self.tree, path, cold))

    def tree_prune(self) -> PruneReport:
        """Take away the nodes that hold nothing and in which nothing has happened for long."""

        from bonsai.passes import branches
        from bonsai.passes.tiered import PruneReport

        cold, days = self._sure_counts(), int(self.settings["tree", "dead_days"])

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
        from bonsai.adapters.llm import ENDPOINT

        place = llm or os.environ.get(ENDPOINT, "")
        if not place:
            hint = f"Name one with --llm-endpoint or {ENDPOINT}, or give a proposal with --proposal FILE."
            raise Usage("a rebuild needs the endpoint of a language model", hint=hint)
        return self._ask_for_shape(place, self._all_nodes())

    def tree_recount(self) -> RebuildReport:
        """Make the index anew without a model: every note is read again, every node counted."""
        from bonsai.passes.tiered import RebuildReport

        nodes = self._all_nodes(full=True)
        return RebuildReport([], {}, tree_rebuilt="counts-only", nodes=len(nodes))

    def tree_rebuild(self, answer: Any, *, apply: bool = False) -> RebuildReport:
        """What of a proposal (a model's answer, or an object) makes sense here; `apply`: do it, as one guarded run.

        Raises BadData for what is no proposal, CannotCreate where a name is taken in a category that notes go to.
        """

        from bonsai.facts import tree as trees
        from bonsai.passes import branches
        from bonsai.passes.tiered import RebuildReport

        limits = trees.Limits.of(self.settings)
        nodes = self._all_nodes()
        found = trees.proposal(answer, nodes, limits)
        moves = [{"from": move.from_, "to": move.to, "reason": move.reason} for move in found.moves]
        report = RebuildReport(moves, dict(found.about), nodes=len(nodes))
        if not apply:
            return report

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, RebuildReport]:
            made, report.paths = branches.rebuild(view, draft, self.tree, found, run.now_iso, limits)
            return made, report

        report.applied, report.tree_rebuilt = True, "llm"
        return self._run(plan)

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
        boot = self._boot()
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
            timestamp=self.now_iso,
        )

    def _count(self, paths: Sequence[str]) -> None:
        """Notes that were of use are remembered as such, and that there was a retrieval."""
        super()._count(paths)
        if self._index() is not None:
            self._counted(retrievals=1, reinforcements=len(set(paths)))
