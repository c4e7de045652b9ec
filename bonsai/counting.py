"""Counters of what the tiers did, for `metrics`; they stand beside the notes, in `.bonsai/`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.adapters.sqlite_metrics import SqliteMetrics

METRICS = ".bonsai/metrics.db"


class Counting(Place):
    """A workspace that counts, each agent for itself."""

    _metrics: SqliteMetrics | None = None

    @property
    def _me(self) -> str:
        return self.tree.owner

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
