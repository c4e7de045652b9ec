"""The verbs of the cold tier: consolidate, cold, and what comes back from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bonsai.errors import BonsaiError, CannotCreate
from bonsai.finding import Finding
from bonsai.notes import layout
from bonsai.reaching import PAGE
from bonsai.rescuing import Rescuing

if TYPE_CHECKING:
    from bonsai.adapters.memory_search import MemorySearch
    from bonsai.facts.archive import ColdRow
    from bonsai.facts.score import Rules
    from bonsai.facts.tree import Node
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.passes.consolidate import Leaving, Mode
    from bonsai.passes.recall import Scope
    from bonsai.passes.reports import RestoreReport
    from bonsai.passes.tiered import ColdHit, ConsolidateReport
    from bonsai.run import Run

REBUILD_MODEL = "BONSAI_LLM_REBUILD_MODEL"
MORE, LEAST = 3, 30  # times as many cold rows are looked at as hits are wanted; at least so many


class Archiving(Rescuing, Finding):
    """A workspace whose facts leave for a cold tier, and come back."""

    def cold_init(self) -> bool:
        """Make the tables of the cold tier where they are missing."""
        self._need_cold(True).init()
        self._answers()
        return True

    def cold_query(self, query: str, *, limit: int = 10) -> list[ColdHit]:
        """What the cold tier holds about something, the best first. Raises Usage for an empty query."""

        from bonsai.facts.score import Rules
        from bonsai.notes.query import parse as parse_query
        from bonsai.passes import recall
        from bonsai.passes.tiered import ColdHit

        recall.need_query(query, limit, 0)
        archive = self._cold()
        if archive is None:
            return []
        rules, now = Rules.of(self.settings), self.now().timestamp()
        found = archive.search(self._me, list(parse_query(query).terms.values()) or query.split(), limit)
        self._answers()
        return [ColdHit.of(row, rules, now) for row in found]

    def consolidate(self, mode: Mode = "quick", *, llm: str = "") -> ConsolidateReport:
        """Let facts that are worth little leave the tree for the cold tier, tidy, and show what is hot now: one run.

        Args:
            mode: quick; daily takes dead nodes away too; monthly also what is past its retention in the cold tier; full
                the same with every note read again, and a look at the shape of the tree.
            llm: the endpoint of a language model that may reshape the tree, in the same run (monthly and full). Without
                one, and where it fails, the counts of the tree are all that is made anew.
        """

        from bonsai.facts import hot
        from bonsai.facts import tree as trees
        from bonsai.facts.score import Rules
        from bonsai.passes import branches, consolidate
        from bonsai.passes.tiered import ConsolidateReport

        rules, report = Rules.of(self.settings), ConsolidateReport(mode, self._me, self.now_iso)
        report.warnings += self.config_warnings
        shape = self._shape(llm, report) if mode in ("monthly", "full") else ""
        ahead = self._send_ahead(report, rules) if self.is_remote else frozenset()
        with self._writing() as run:
            run.look(full=mode == "full")
            run.commit_edits()
            draft, out = run.draft(), self._leaving(run, report, rules)
            if rest := [item.row for item in out if item.row not in ahead]:  # only what is safe there leaves the tree
                self._send(self._need_cold(True, patient=False), rest)
            for item in out:
                draft.drop(item.path)
            report.evicted = sorted(item.path for item in out)
            report.evicted_warm = report.archived_cold = len(out)
            if mode != "quick":
                self._prune(run, draft, report)
            if mode in ("monthly", "full"):
                self._expire(run, report, rules)
                self._reshape(run, draft, report, shape)
            if mode == "full":
                nodes = branches.nodes(run.view, self.tree, run.times(), self._cold_counts())
                report.analysis = trees.analysis(nodes, trees.Limits.of(self.settings))
            report.report = consolidate.told(report, out)
            plan = draft.plan("consolidate", f"consolidate: {mode}, {len(out)} facts leave the tree", report.report)
            run.view.dirty.add(self.tree.memory)  # what is hot changes with time alone
            report.commit = run.carry_out(plan) or self._only_generated(run, mode, report.report)
            report.hot_size_bytes = hot.size(self._boot())
            run.save()
        self._catch_up_cold(report)
        report.warnings += self.cold_warnings()
        self._counted(consolidations=1, evictions=len(out))
        self._noted("last_consolidation", int(self.now().timestamp()))
        return report

    def _send_ahead(self, report: ConsolidateReport, rules: Rules) -> frozenset[ColdRow]:
        """Send what will leave to a server before anything is locked: it may keep one waiting for minutes."""
        with self._reading() as (run, _):
            run.look()
            rows = [item.row for item in self._leaving(run, report, rules)]
        if rows:
            self._send(self._need_cold(True), rows)
        return frozenset(rows)

    def _leaving(self, run: Run, report: ConsolidateReport, rules: Rules) -> list[Leaving]:
        from bonsai.facts import fact as facts
        from bonsai.passes import consolidate

        accesses = self._accesses()
        undated = any(
            row.summary and row.summary.type == facts.TYPE and not row.summary.dated
            for row in run.view.notes(self.tree)
        )
        weighed = consolidate.weigh(run.view, self.tree, run.times() if undated else {}, accesses, run.now, rules)
        report.tiers = consolidate.in_tiers(weighed, rules)
        held = {*run.kept_back, *(path for path in run.view.private)}

        def by_person(paths: Sequence[str]) -> set[str]:
            # git compares each name it is given with each change there was: many are asked for as one folder.
            asked = paths if len(paths) <= PAGE else [self.tree.domains]
            return consolidate.edited_by_hand(paths, self._history.log(asked)) if paths else set()

        found = consolidate.leaving(run.view, run.draft(), self.tree, weighed, accesses, by_person, held, rules)
        taken: dict[str, ColdRow] = {}
        if found and not self.is_remote and (archive := self._cold()):  # a server has the rows of what stands, too
            known = archive.known(self._me)
            same = [item.row.id for item in found if item.row.id in known]
            taken = {row.id: row for id_ in same for row in archive.get(self._me, id_)}
        return consolidate.apart(found, taken)

    def _shape(self, endpoint: str, report: ConsolidateReport) -> str:
        """What a model says to the tree, asked before anything is locked; "" where nobody is asked, or it fails."""
        from bonsai.passes import consolidate

        report.tree_rebuilt = "counts-only"
        if not endpoint:
            return ""
        try:
            return self._ask_for_shape(endpoint, self._all_nodes())
        except BonsaiError as error:
            report.tree_rebuilt = "failed"
            report.warnings.append(f"{consolidate.reason(error)}; the tree keeps its shape")
            return ""

    def _ask_for_shape(self, endpoint: str, nodes: dict[str, Node]) -> str:
        """A proposal for a better shape of the tree, from the model at an endpoint. Raises Unavailable, Refused."""
        from bonsai.adapters.llm import HttpLlm
        from bonsai.facts import tree as trees

        model = os.environ.get(REBUILD_MODEL, "") or self.settings.text("llm", "rebuild_model")
        return HttpLlm(endpoint, model).complete(trees.prompt(nodes, trees.Limits.of(self.settings)))

    def _all_nodes(self, *, full: bool = False) -> dict[str, Node]:
        """The nodes of the tree with their counts; `full`: with every note read again."""
        from bonsai.passes import branches

        cold = self._cold_counts()
        with self._reading() as (run, _):
            return branches.nodes(run.look(full=full), self.tree, run.times(), cold)

    def _reshape(self, run: Run, draft: Draft, report: ConsolidateReport, answer: str) -> None:
        """Draft what of a model's answer makes sense for the tree as it is now; all of it or nothing."""
        from bonsai.facts import tree as trees
        from bonsai.passes import branches, consolidate

        if not answer:
            return
        limits = trees.Limits.of(self.settings)
        nodes = branches.nodes(run.view, self.tree, run.times(), self._cold_counts())
        try:
            with draft.whole():
                found = trees.proposal(answer, nodes, limits)
                report.moved = branches.rebuild(run.view, draft, self.tree, found, run.now_iso, limits)[1]
            report.tree_rebuilt = "llm"
        except BonsaiError as error:
            report.tree_rebuilt = "failed"
            report.warnings.append(f"{consolidate.reason(error)}; the tree keeps its shape")

    def _prune(self, run: Run, draft: Draft, report: ConsolidateReport) -> None:
        from bonsai.passes import branches, consolidate

        days = int(self.settings["tree", "dead_days"])
        try:
            cold = self._sure_counts()
        except BonsaiError as error:
            report.warnings.append(f"{consolidate.reason(error)}; so no node of the tree was taken away")
            return
        report.pruned = branches.prune(run.view, draft, self.tree, run.times(), cold, run.now, days)
        report.pruned_nodes = len(report.pruned)

    def _expire(self, run: Run, report: ConsolidateReport, rules: Rules) -> None:
        from bonsai.passes import consolidate

        try:
            archive = self._cold(patient=False)
            if archive is None:
                return
            archive.init()
            old = consolidate.expired(list(self._rows(archive)), run.now, rules)
            archive.drop(self._me, old)
            report.cold_deleted = len(old)
        except BonsaiError as error:
            report.warnings.append(consolidate.reason(error))

    def _only_generated(self, run: Run, mode: str, body: str) -> str | None:
        """Commit the indexes and the boot block, where they differ now."""
        changed = run.reindex()
        rows = [row for path in changed if (row := run.view.rows.get(path)) and run.view.differs(row)]
        rows = [row for row in rows if row.path not in run.kept_back]
        return run.commit_rows(rows, "consolidate", f"consolidate: {mode}, what is hot has changed", body)

    # -- what comes back -------------------------------------------------------------------------------

    def bring_back(self, path: str) -> RestoreReport | None:
        """Bring a note back out of the cold tier, by its path or its id; None where that holds no such note."""

        from bonsai.passes.reports import RestoreReport

        archive = self._cold(patient=False)  # a mistyped path must not wait for a server again and again
        rows = archive.get(self._me, path) if archive else []
        if not rows:
            return None

        def plan(run: Run, _: Any, draft: Draft) -> tuple[Plan, RestoreReport]:
            place = self._bring(draft, rows[0], run.now_iso)
            if not place:
                raise CannotCreate("the name is taken", path=rows[0].path, hint="Rename what stands there first.")
            made = draft.plan("restore", f"restore: {layout.short(place)}", f"restore {place}\nfrom the cold tier")
            return made, RestoreReport([place], None)

        return self._run(plan)

    def _cold_note(self, path: str) -> bytes:
        """The bytes of a note in the cold tier, empty where that has none."""

        from bonsai.facts import archive as archives

        rows: list[ColdRow] = self._in_passing(lambda archive: archive.get(self._me, path), [])
        return archives.note_of(rows[0], "") if rows else b""

    def _bring(self, draft: Draft, row: ColdRow, now_iso: str) -> str:
        """Draft the note of a row where it stood; "" where it stands, or something else does."""

        from bonsai.facts import archive as archives

        path = archives.place(row, self.tree)
        if draft.get(path) is not None or not draft.free(path):
            return ""
        draft.create(path, archives.note_of(row, now_iso))
        return path

    def _cold_passages(self, query: str, limit: int, scope: Scope, warnings: list[str]) -> MemorySearch:
        """Passages of the facts that have left the tree and may answer."""

        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.notes.query import parse as parse_query

        found = MemorySearch()
        if scope.tier in ("hot", "warm") or scope.paths is not None:
            return found
        words, most = list(parse_query(query).terms.values()), max(limit * MORE, LEAST)
        rows: list[ColdRow] = self._in_passing(lambda archive: archive.search(self._me, words, most), [])
        warnings += [f"the cold tier was not searched: {warning}" for warning in self.cold_warnings()]
        if not rows:
            return found
        from bonsai.facts import archive as archives
        from bonsai.notes.change import Stat
        from bonsai.notes.document import document

        nowhere = Stat(0, 0, 0, 0, 0)
        for row in rows:
            path = archives.place(row, self.tree)
            if not self._store.exists(path):
                found.put(document(path, archives.note_of(row, "")), nowhere)
        return found
