"""The verbs for a device that may be lost: sync-critical, restore --from-cloud."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bonsai.archiving import Archiving
from bonsai.errors import BadData, NotFound, Refused
from bonsai.notes import layout
from bonsai.place import STATE

if TYPE_CHECKING:
    from bonsai.facts.archive import ColdRow, Critical
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.passes.tiered import FromCloudReport, SyncedReport
    from bonsai.run import Run

MOST_USES = 1000  # of a note, that a state from elsewhere may claim


class Cloud(Archiving):
    """A workspace of which a database knows enough to make it again."""

    def sync_critical(self) -> SyncedReport:
        """Keep in the cold tier what a new device starts from: the hot state, the tree, how often notes were used.

        Raises Refused where the boot file holds what looks like a credential.
        """

        from bonsai.facts import hot
        from bonsai.facts import tree as trees
        from bonsai.facts.archive import Critical
        from bonsai.passes import branches
        from bonsai.passes.tiered import SyncedReport

        with self._reading() as (run, _):
            view = run.look()
            row = view.rows.get(self.tree.boot)
            if row is not None and (row.secrets or view.is_held(row)):
                hint = "`bonsai status` says what; take it out first."
                raise Refused("may not leave this device", path=self.tree.boot, hint=hint)
            nodes = branches.nodes(view, self.tree, run.times(), self._cold_counts())
            memory = f"{self.tree.memory}/"
            state = {
                "hot_state": hot.state(self._boot()),
                "tree_nodes": trees.as_json(nodes),
                "timestamp": self.now().timestamp(),
                "accesses": {path: count for path, count in self._accesses().items() if path.startswith(memory)},
            }
        stamp = int(self.now().timestamp())
        archive = self._need_cold(True)
        data = json.dumps(state, ensure_ascii=False, sort_keys=True)
        synced = archive.save_critical(self._me, Critical(data, stamp))
        if self.is_remote and (waiting := self._unsent()):
            self._send(archive, self._rows_of(waiting))
            self._keep_unsent([])
        return SyncedReport(synced, self.now_iso, len(data.encode()))

    def restore_from_cloud(self) -> FromCloudReport:
        """Rebuild on a new device what the cold tier holds: hot state, nodes of the tree, facts, and use counters.

        What stands here already stays as it is. Facts that had left the tree stay in the cold tier, where recall finds
        them. Raises NotFound where the cold tier knows nothing of this agent.
        """

        from bonsai.facts import hot
        from bonsai.facts.score import Rules
        from bonsai.passes import consolidate
        from bonsai.passes.tiered import FromCloudReport

        archive = self._need_cold(True)
        kept = archive.critical(self._me)
        rows = list(self._rows(archive))
        if kept is None and not rows:
            raise NotFound(
                "the cold tier holds nothing of this agent", path=self._me, hint="Check --db-url and --agent."
            )
        state = _loaded(kept)
        stay: list[ColdRow] = []

        def plan(run: Run, _: Any, draft: Draft) -> tuple[Plan, FromCloudReport]:
            report = FromCloudReport([], 0, hot.state(b""), None)
            rules, now = Rules.of(self.settings), run.now.timestamp()
            for row in rows:
                if consolidate.has_left(row, rules, now):
                    stay.append(row)
                elif path := self._bring(draft, row, run.now_iso):
                    report.restored.append(path)
            for path, node in _dicts(state.get("tree_nodes")).items():
                self._bring_node(draft, path, node, run.now_iso)
            boot = draft.get(self.tree.boot) or b""
            theirs = state.get("hot_state")
            new = hot.merged(boot, theirs, int(now)) if isinstance(theirs, dict) else boot
            if new != boot:
                draft.put(self.tree.boot, new)
            report.hot_state, report.cold = hot.state(new), len(stay)
            return draft.plan("restore", f"restore: {len(report.restored)} notes from the cold tier"), report

        report = self._run(plan)
        self._bring_counters(state.get("accesses"))
        return report

    def _bring_node(self, draft: Draft, path: str, node: Any, now_iso: str, tree: layout.Tree | None = None) -> None:
        from bonsai.facts import fact as facts
        from bonsai.facts import tree as trees
        from bonsai.notes import taxonomy

        with suppress(BadData):
            domain = taxonomy.domain_path(path)
            file = f"{(tree or self.tree).domains}/{domain}/{trees.ABOUT}"
            about = str(node.get("desc", "")) if isinstance(node, dict) else ""
            if path != trees.ROOT and about and draft.get(file) is None and draft.free(file):
                fields = {"type": trees.ABOUT_TYPE, "domain": domain, "created": now_iso}
                draft.create(file, facts.note_of(about, fields))

    def _bring_counters(self, accesses: Any) -> None:
        if not isinstance(accesses, dict) or self._store.exists(STATE):
            return
        from bonsai.adapters.sqlite_state import SqliteState

        state = SqliteState(f"{self.root}/{STATE}")
        now = self.now_iso
        for path, count in accesses.items():
            if isinstance(count, int):
                state.count([str(path)] * min(count, MOST_USES), now)
        state.close()


def _loaded(kept: Critical | None) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        found = json.loads(kept.data) if kept else {}
        return found if isinstance(found, dict) else {}
    return {}


def _dicts(value: Any) -> dict[str, Any]:
    return {str(name): item for name, item in value.items()} if isinstance(value, dict) else {}
