"""The verb that finds: recall, and what keeps its index in line with the disk."""

import time
from collections.abc import Sequence
from contextlib import suppress

from bonsai.adapters import clock
from bonsai.adapters.files import ensure_private
from bonsai.adapters.memory_search import MemorySearch
from bonsai.adapters.sqlite_search import SqliteSearch
from bonsai.adapters.vouch import Cookies
from bonsai.errors import BonsaiError, Busy
from bonsai.notes.layout import MAX_PARSED
from bonsai.notes.ranking import Ranked
from bonsai.passes import recall, search
from bonsai.passes.recall import Scope
from bonsai.passes.reports import RecallReport
from bonsai.passes.search import Source
from bonsai.story import Story

TRIES = 4  # of a recall, while the notes that it finds are saved or the index is damaged


class Finding(Story):
    """A workspace that is searched."""

    _searched: SqliteSearch | None = None
    _cookies: Cookies | None = None

    def recall(
        self,
        query: str,
        *,
        limit: int = recall.USUAL,
        tokens: int = 0,
        domain: str = "",
        type: str = "",
        tag: str = "",
        tier: str = "",
    ) -> RecallReport:
        """Ranked passages of the notes and of the hand-written part of MEMORY.md, as they stand now.

        Args:
            query: words in any language; punctuation is only text.
            limit: so many hits.
            tokens: what the texts of the hits and their places may take; 0: 750, more for a limit above 10.
            domain: only notes below it; ignoring case. Raises NotFound where there is no such domain.
            type: only notes of this type. `tag`: only notes with it. `tier`: hot (boot file) or warm.

        Raises:
            Usage: an empty query, or a limit below 1.
        """
        recall.need_query(query, limit, tokens)
        scope = Scope(domain, type, tag, tier)
        ranked = self._find(query, limit, scope)
        budget = tokens or max(recall.TOKENS, recall.TOKENS * limit // recall.USUAL)
        return RecallReport(query, recall.hits(ranked, budget, clock.local(self.now()).date()), fresh=True)

    # -- inside ----------------------------------------------------------------------------------------

    def _find(self, query: str, limit: int, scope: Scope) -> list[Ranked]:
        """What answers, each passage as it stands on disk."""
        index, wrong = self._index(), list[str]()
        for _ in range(TRIES if index else 0):
            with suppress(Busy):
                assert index is not None
                sight = search.catch_up(index, self._source(), MemorySearch, wrong)
                ranked = recall.find(query, sight, limit, scope)
                wrong = recall.gone(ranked, self._readable)
                if not wrong:
                    return ranked
        everything = search.everything(self._source(), MemorySearch())  # nothing can be written here: slow, but right
        return recall.find(query, everything, limit, scope)

    def _index(self) -> SqliteSearch | None:
        """The index on disk; None where there is no private folder to keep it in."""
        if self._searched is None:
            try:
                ensure_private(self.root)
            except BonsaiError:
                return None
            name = f"search-{self.agent}.db" if self.agent else "search.db"
            self._searched = SqliteSearch(f"{self._private}/cache/{name}")
        return self._searched

    def _source(self) -> Source:
        progress = self._outside.progress or (lambda what, done, total: None)
        return Source(self._store, self.tree, self._vouching(), time.time_ns(), progress)

    def _vouching(self) -> Cookies:
        self._cookies = self._cookies or Cookies(self.root)
        return self._cookies

    def _readable(self, path: str) -> bytes | None:
        try:
            return self._store.read(path, MAX_PARSED)
        except BonsaiError:
            return None

    def _update_search(self, paths: Sequence[str]) -> None:
        """Tell the index what a run has changed; where that is not possible the next recall finds out by itself."""
        index = self._index()
        if index is not None:
            with suppress(BonsaiError):
                search.update(index, self._source(), paths)

    def close(self) -> None:
        """Release the files that are open."""
        if self._searched is not None:
            self._searched.close()
        super().close()
