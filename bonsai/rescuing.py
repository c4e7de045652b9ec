"""The file of the cold tier, mended: nothing that can still be read of it is lost, and the history knows the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonsai.errors import BonsaiError
from bonsai.notes import layout
from bonsai.place import COLD
from bonsai.reaching import Reaching

if TYPE_CHECKING:
    from bonsai.facts.archive import ColdRow


class Rescuing(Reaching):
    """A workspace whose cold tier can be made anew."""

    def cold_fault(self) -> str:
        """How the file of the cold tier is damaged, and what to do; "" where it is sound, or there is none.

        Raises Busy, Refused, IoFailed.
        """
        from bonsai.adapters import sqlite_cold

        return sqlite_cold.fault(f"{self.root}/{COLD}")

    def cold_mend(self) -> list[str]:
        """Make a damaged file of the cold tier anew, and keep it beside the new one; says what was done.

        The new one holds the rows that can still be read, and of those that cannot each note that a consolidate took
        out of the tree, as the history has it.
        """
        from bonsai.adapters import sqlite_cold

        self._disconnect()
        path = f"{self.root}/{COLD}"
        try:
            if not self.cold_fault():
                return []
            departed = self._departed()
        except BonsaiError as error:
            return [f"left {COLD} as it is: {error}"]
        rows, states = sqlite_cold.readable(path)
        known = {(row.agent, row.path or row.id) for row in rows}
        again = [row for row in departed if (row.agent, row.path) not in known]
        kept = sqlite_cold.renew(path, [*rows, *again], states)
        told = f"{len(rows)} of its rows could be read, {len(again)} are from the history"
        return [f"made {COLD} anew ({told}); the damaged one is kept as .bonsai/{kept}"]

    def _departed(self) -> list[ColdRow]:
        """The rows of all notes that a consolidate took out of the tree, and that do not stand there now."""
        from bonsai.facts import archive as archives
        from bonsai.facts import fact as facts

        last: dict[str, str] = {}  # path → the commit before it left for the last time
        for commit in self._history.log(saying=["Bonsai-Op: consolidate"]):
            if commit.op == "consolidate" and commit.parents:
                for path in commit.paths:
                    last.setdefault(path, commit.parents[0])
        gone = [path for path in last if layout.domain_of(path) and not self._store.exists(path)]
        found = []
        for path, data in zip(gone, self._history.read_many([(last[path], path) for path in gone]), strict=True):
            fact = facts.read(path, data or b"")
            if data and fact.evictable:
                found.append(archives.row_of(fact, layout.tree_of(path).agent, data))
        return found
