"""The verbs of the cold tier: consolidate, cold, and what comes back from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bonsai.counting import Counting
from bonsai.errors import BonsaiError, CannotCreate, NotFound
from bonsai.finding import Finding
from bonsai.notes import layout
from bonsai.servers import cold_address

if TYPE_CHECKING:
    from bonsai.adapters.cold_tables import ColdTables
    from bonsai.adapters.memory_search import MemorySearch
    from bonsai.facts.archive import Archive, ColdRow
    from bonsai.facts.score import Rules
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.passes.consolidate import Leaving, Mode
    from bonsai.passes.recall import Scope
    from bonsai.passes.reports import RestoreReport
    from bonsai.passes.tiered import ColdHit, ConsolidateReport
    from bonsai.run import Run

QUEUE = ".bonsai/unsent.json"  # notes whose rows the database does not have yet
COLD = ".bonsai/cold.db"
PAGE = 500  # rows that are fetched at once
MORE, LEAST = 3, 30  # times as many cold rows are looked at as hits are wanted; at least so many


class Archiving(Counting, Finding):
    """A workspace with a cold tier."""

    _archive: ColdTables | None = None
    _damage_told = False

    def connect(self, url: str = "", token: str = "") -> None:
        """Use a libSQL database as the cold tier; without a URL that of the environment, else a file in .bonsai/."""
        self._disconnect()
        self._database = (url, token)

    def cold_init(self) -> bool:
        """Make the tables of the cold tier where they are missing."""
        self._need_cold(True).init()
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
        return [ColdHit.of(row, rules, now) for row in found]

    def consolidate(self, mode: Mode = "quick") -> ConsolidateReport:
        """Let facts that are worth little leave the tree for the cold tier, tidy, and show what is hot now: one run.

        Args:
            mode: quick; daily takes dead nodes away too; monthly also what is past its retention in the cold tier; full
                the same with every note read again, and a look at the shape of the tree.
        """

        from bonsai.facts import hot
        from bonsai.facts import tree as trees
        from bonsai.facts.score import Rules
        from bonsai.passes import branches, consolidate
        from bonsai.passes.tiered import ConsolidateReport

        rules = Rules.of(self.settings)
        with self._writing() as run:
            run.look(full=mode == "full")
            run.commit_edits()
            report = ConsolidateReport(mode, self._me, run.now_iso, warnings=list(self.config_warnings))
            draft, out = run.draft(), self._leaving(run, report, rules)
            if out:
                archive = self._need_cold(True)
                self._send(archive, [item.row for item in out])  # only what is safe there leaves the tree
                for item in out:
                    draft.drop(item.path)
            report.evicted = sorted(item.path for item in out)
            report.evicted_warm = report.archived_cold = len(out)
            if mode != "quick":
                self._prune(run, draft, report)
            if mode in ("monthly", "full"):
                self._expire(run, report, rules)
                report.tree_rebuilt = True  # as it always is: the index is made of the notes
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
        report.warnings += self.cold_damage()
        self._counted(consolidations=1, evictions=len(out))
        self._noted("last_consolidation", int(self.now().timestamp()))
        return report

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

        return consolidate.leaving(run.view, run.draft(), self.tree, weighed, accesses, by_person, held, rules)

    def _prune(self, run: Run, draft: Draft, report: ConsolidateReport) -> None:
        from bonsai.passes import branches

        days = int(self.settings["tree", "dead_days"])
        report.pruned = branches.prune(run.view, draft, self.tree, run.times(), self._cold_counts(), run.now, days)
        report.pruned_nodes = len(report.pruned)

    def _expire(self, run: Run, report: ConsolidateReport, rules: Rules) -> None:
        from bonsai.passes import consolidate

        archive = self._cold()
        if archive is None:
            return
        try:
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

        archive = self._cold()
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

        archive = self._cold(patient=False)
        rows = archive.get(self._me, path) if archive else []
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
        try:
            archive = self._cold(patient=False)
            words = list(parse_query(query).terms.values())
            rows = archive.search(self._me, words, max(limit * MORE, LEAST)) if archive else []
        except BonsaiError as error:
            warnings.append(f"{error}; the cold tier was not searched")
            return found
        warnings += self.cold_damage()
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

    def cold_damage(self) -> list[str]:
        """What became of a damaged file of the cold tier since the workspace was opened, as warnings; told once."""
        damage = self._archive.damage() if self._archive else ""
        if not damage or self._damage_told:
            return []
        self._damage_told = True
        return [f"{damage}; `bonsai recall --deleted` finds its facts in the history"]

    # -- the database ----------------------------------------------------------------------------------

    @property
    def is_remote(self) -> bool:
        """Whether a database outside of this device is set."""
        return bool(cold_address(self._database)[0])

    def _cold(self, make: bool = False, patient: bool = True) -> Archive | None:
        """The cold tier; None where there is none yet."""

        from bonsai.adapters.files import ensure_private

        url, token = cold_address(self._database)
        if self._archive is None and url:
            from bonsai.adapters.known_servers import remember
            from bonsai.adapters.libsql import libsql_archive, server_name

            retries = int(self.settings["cold", "retries"]) if patient else 0
            wait = float(self.settings["cold", "retry_seconds"])
            made = libsql_archive(url, token, retries=retries, wait=wait)
            remember(self.root, server_name(url))
            if not patient:
                return made
            self._archive = made
        if self._archive is None and (make or self._store.exists(COLD)):
            from bonsai.adapters.sqlite_cold import sqlite_archive

            ensure_private(self.root)
            self._archive = sqlite_archive(f"{self.root}/{COLD}")
        return self._archive

    def _need_cold(self, make: bool) -> Archive:
        archive = self._cold(make)
        assert archive is not None
        return archive

    def _disconnect(self) -> None:
        if self._archive is not None:
            self._archive.close()
        self._archive = None

    def _cold_counts(self) -> dict[str, int]:
        """Rows of the cold tier by category; none where it cannot be asked now."""
        with suppress(BonsaiError):
            archive = self._cold(patient=False)
            return dict(archive.counts(self._me)) if archive else {}
        return {}

    def _rows(self, archive: Archive) -> Iterator[ColdRow]:
        """Every row of this agent."""
        after = ""
        while page := archive.page(self._me, after, PAGE):
            yield from page
            after = page[-1].id

    def _send(self, archive: Archive, rows: Sequence[ColdRow]) -> None:
        size = int(self.settings["cold", "batch"]) if archive.remote else len(rows)  # of one request
        for start in range(0, len(rows), size or 1):
            archive.put(rows[start : start + size])

    # -- what is remembered goes there at once ---------------------------------------------------------

    def _store_cold(self, paths: Sequence[str]) -> bool:
        """Send the rows of notes that have just been written; what cannot be sent now waits for the next time."""
        if not self.is_remote:
            return False
        waiting = list(dict.fromkeys([*self._unsent(), *paths]))
        try:
            archive = self._cold(patient=False)
            assert archive is not None
            self._send(archive, self._rows_of(waiting))
        except BonsaiError:
            self._keep_unsent(waiting)
            return False
        self._keep_unsent([])
        return True

    def _rows_of(self, paths: Sequence[str]) -> list[ColdRow]:
        """The rows of notes as they stand; without those that are gone, or that hold what looks like a credential."""

        from bonsai.facts import archive as archives
        from bonsai.facts import fact as facts
        from bonsai.notes.secrets import find_in

        found = []
        for path in paths:
            with suppress(NotFound):
                data = self._store.read(path)
                if not find_in(data):
                    fact = facts.read(path, data, int(self.now().timestamp()))
                    found.append(archives.row_of(fact, self.agent, data))
        return found

    def _unsent(self) -> list[str]:
        return [path for path in self._json(QUEUE).get("paths", []) if isinstance(path, str)]

    def _keep_unsent(self, paths: Sequence[str]) -> None:
        with suppress(BonsaiError):
            if paths:
                self._store.generate(QUEUE, json.dumps({"paths": list(paths)}).encode())
            elif self._store.exists(QUEUE):
                self._store.discard(QUEUE)

    def _catch_up_cold(self, report: ConsolidateReport) -> None:
        from bonsai.passes import consolidate

        waiting = self._unsent()
        if waiting and self.is_remote:
            try:
                rows = self._rows_of(waiting)
                self._send(self._need_cold(False), rows)
                report.cold_synced = len(rows)
                self._keep_unsent([])
            except BonsaiError as error:
                report.warnings.append(consolidate.reason(error))

    def close(self) -> None:
        """Release the files that are open."""
        self._disconnect()
        super().close()
