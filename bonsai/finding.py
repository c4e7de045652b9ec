"""The verb that finds: recall, in the memory as it stands, as it was, and in what is gone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bonsai.errors import Busy, Usage
from bonsai.narrowing import Mode, Narrowing, need_domain
from bonsai.passes import recall

if TYPE_CHECKING:
    from bonsai.adapters.memory_search import MemorySearch
    from bonsai.notes.meaning import Embedder
    from bonsai.notes.ranking import Ranked
    from bonsai.passes.found import Hit, RecallReport
    from bonsai.passes.recall import Scope
    from bonsai.ports.derived import Passages, SearchIndex

TRIES = 4  # of a recall, while the notes that it finds are saved or the index is damaged
MORE = 5  # times as many forgotten passages are looked at as are wanted: some of them have come back


class Finding(Narrowing):
    """A workspace that is searched."""

    def recall(
        self,
        query: str,
        *,
        limit: int = recall.USUAL,
        tokens: int = 0,
        domain: str = "",
        type: str = "",
        tag: str = "",
        actor: str = "",
        since: str = "",
        until: str = "",
        tier: str = "",
        at: str = "",
        deleted: bool = False,
        mode: Mode = "",
        llm: str = "",
    ) -> RecallReport:
        """Ranked passages of the notes and of the hand-written part of MEMORY.md, as they stand now.

        Args:
            query: words in any language; punctuation is only text.
            limit: so many hits.
            tokens: what the texts of the hits and their places may take; 0: 750, more for a limit above 10.
            domain: only notes below it, ignoring case. Raises NotFound where there is no such domain.
            type, tag: only notes of this type, with this tag.
            actor: only notes that were last changed by human, import, daemon, agent:ID or ID.
            since, until: only notes of these days; a note that says no day is of the day of its last change.
            tier: hot (boot file), warm (notes) or cold (facts that have left the tree).
            at: a day, a time, a revision or a run: the memory as it was then.
            deleted: what was archived, purged or edited away; each hit says how to bring it back.
            mode: lexical: words count; hybrid: what passages mean, too, which needs the extra `embed`; tree: only
                branches whose names and titles answer; llm: those that a language model names. "": what the setting
                recall.mode says, as it comes hybrid where the extra is installed, else lexical.
            llm: the endpoint of the model, for mode llm. One that fails is a warning, and everything is searched.

        Raises:
            Usage: an empty query, a limit below 1, a mode or tier that there is not. NotFound: no such domain, point or
                revision, or the workspace is gone. BadData: no such day. Unavailable: mode hybrid without its model.
        """

        from bonsai.adapters import clock
        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.passes.found import RecallReport

        recall.need_query(query, limit, tokens)
        self.need_standing()
        _need_agreement(mode, tier, at, deleted)
        scope = self._scope(domain, type, tag, actor, since, until, tier)
        scope, warnings = self._navigated(query, scope, mode, llm)
        commit, cold = self._point(at) if at else "", MemorySearch()
        if deleted:
            ranked = self._find_deleted(query, limit, scope)
        elif at:
            ranked = self._find_at(query, limit, scope, commit)
        else:
            cold = self._cold_passages(query, limit, scope, warnings)
            ranked = self._find(query, limit, scope, cold, self._embedding_model(mode, warnings))
        budget = tokens or max(recall.TOKENS, recall.TOKENS * limit // recall.USUAL)
        hits = recall.hits(ranked, budget, clock.local(self.now()).date())
        if deleted:
            _tell_forgotten(hits)
        elif not at:
            self._count([hit.path for hit in hits])
            _tell_cold(hits, cold)
        return RecallReport(query, hits, fresh=True, at=commit, branches=list(scope.branches), warnings=warnings)

    # -- inside ----------------------------------------------------------------------------------------

    def _cold_passages(self, query: str, limit: int, scope: Scope, warnings: list[str]) -> MemorySearch:
        """What the cold tier holds that may answer; see Archiving."""

        from bonsai.adapters.memory_search import MemorySearch

        return MemorySearch()

    def _find(
        self,
        query: str,
        limit: int,
        scope: Scope,
        cold: MemorySearch | None = None,
        embedder: Embedder | None = None,
    ) -> list[Ranked]:
        """What answers, each passage as it stands on disk, and what of the cold tier does."""

        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.passes import search

        cold = MemorySearch() if cold is None else cold
        if scope.tier == "cold":
            cold.finish("")  # what was asked for is in it
            return recall.find(query, cold, limit, replace(scope, tier=""))
        if (index := self._index()) is not None:
            wrong = list[str]()
            for _ in range(TRIES):
                with suppress(Busy):
                    sight = search.catch_up(index, self._source(), MemorySearch, wrong)
                    need_domain(index, scope)
                    ranked = recall.find(query, _layered(sight, cold), limit, scope, embedder)
                    wrong = recall.gone([item for item in ranked if _path(item) not in cold.known()], self._readable)
                    if not wrong:
                        return ranked
        everything = self._everything()
        need_domain(everything, scope)
        return recall.find(query, _layered(everything, cold), limit, scope, embedder)

    def _find_at(self, query: str, limit: int, scope: Scope, commit: str) -> list[Ranked]:
        """What answers in the memory of a commit: read from git, never checked out; the index of it is kept."""

        from bonsai.adapters import past_indexes
        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.adapters.sqlite_search import SqliteSearch
        from bonsai.passes import search

        if self._index() is not None:
            path = past_indexes.place(f"{self._private}/cache/at", f"{commit}-{self.agent}" if self.agent else commit)
            index = SqliteSearch(path)
            try:
                with suppress(Busy):
                    if index.mark() is None:
                        with index.writing():
                            search.as_it_was(index, self._history, commit, self.tree, self._progress)
                    need_domain(index, scope)
                    return recall.find(query, index, limit, scope)
            finally:
                index.close()
        held = MemorySearch()
        search.as_it_was(held, self._history, commit, self.tree, self._progress)
        need_domain(held, scope)
        return recall.find(query, held, limit, scope)

    def _find_deleted(self, query: str, limit: int, scope: Scope) -> list[Ranked]:
        """What answered once and no longer stands anywhere; the index of what is gone is kept."""

        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.adapters.sqlite_search import SqliteSearch
        from bonsai.passes import gone
        from bonsai.passes.search import Layered

        with self._reading() as (run, _):
            rows = list(run.look().rows.values())
        head = self._history.head() if run.usable else ""
        late = gone.uncommitted(MemorySearch(), self._history, head, self.tree, rows, self._store)

        def look(index: SearchIndex) -> list[Ranked]:
            try:
                gone.catch_up(index, self._history, head, self.tree, self._progress)
                return recall.find(query, Layered(index, late, frozenset()), MORE * limit, scope)
            finally:
                index.close()

        ranked = None
        with suppress(Busy):  # another process is at it, or the file is damaged
            ranked = look(SqliteSearch(self._cached("gone"))) if self._index() is not None else None
        ranked = look(MemorySearch()) if ranked is None else ranked
        with suppress(Busy):
            return gone.forgotten(ranked, self._standing(), limit, self._history.log)
        return gone.forgotten(ranked, self._everything(), limit, self._history.log)


def _need_agreement(mode: Mode, tier: str, at: str, deleted: bool) -> None:
    """Raises Usage where two times are asked for, or a mode or a tier that knows only what stands now."""
    if at and deleted:
        raise Usage("--at and --deleted do not go together", hint="Use one of them.")
    if mode not in ("", "lexical") and (at or deleted):
        raise Usage(f"mode {mode} searches what stands now", hint="Leave out --mode, or --at and --deleted.")
    if tier == "cold" and (at or deleted):
        raise Usage("the cold tier has no past", hint="Leave out --tier: the notes of then are searched.")


def _tell_forgotten(hits: Sequence[Hit]) -> None:
    """Of something forgotten, the note that it stood in, and the command that brings it back."""
    from bonsai.passes import gone

    for hit in hits:
        hit.path, hit.restore = gone.place(hit.path)
        hit.tier = "cold"


def _tell_cold(hits: Sequence[Hit], cold: MemorySearch) -> None:
    """Of what has left the tree for the cold tier, the command that brings it back."""
    for hit in hits:
        if hit.path in cold.known():
            hit.tier, hit.restore = "cold", f"bonsai restore {hit.path}"


def _layered(sight: Passages, cold: MemorySearch) -> Passages:
    from bonsai.passes.search import Layered

    return Layered(sight, cold, frozenset()) if cold.known() else sight


def _path(item: Ranked) -> str:
    return item.candidate.about.path
