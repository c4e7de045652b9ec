"""The search index of a workspace, kept in line with its notes, and the counters of what was found in it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from bonsai.embedding import Embedding
from bonsai.errors import BonsaiError, Busy
from bonsai.notes.layout import MAX_PARSED

if TYPE_CHECKING:
    from bonsai.adapters.sqlite_search import SqliteSearch
    from bonsai.adapters.sqlite_state import SqliteState
    from bonsai.adapters.vouch import Cookies
    from bonsai.passes.search import Eyes, Source
    from bonsai.ports.derived import Passages, SearchIndex


class Indexing(Embedding):
    """A workspace with an index of its passages."""

    _searched: SqliteSearch | None = None
    _cookies: Cookies | None = None
    _eyes: Eyes | None = None
    _counters: SqliteState | None = None

    def _index(self) -> SqliteSearch | None:
        """The index on disk, as it was left; None where there is no private folder to keep it in."""

        from bonsai.adapters.files import ensure_private
        from bonsai.adapters.sqlite_search import SqliteSearch

        if self._searched is None:
            try:
                ensure_private(self.root)
            except BonsaiError:
                return None
            self._searched = SqliteSearch(self._cached("search"))
        return self._searched

    def _cached(self, name: str) -> str:
        """The absolute path of a database that can be made again, one for each agent."""
        return f"{self._private}/cache/{name}{f'-{self.agent}' if self.agent else ''}.db"

    def _source(self) -> Source:
        """What the index is made from: the notes, and whoever can tell which of them have changed."""

        from bonsai.adapters.glance import glance
        from bonsai.adapters.vouch import Cookies
        from bonsai.passes.search import Eyes, Source

        self._cookies = self._cookies or Cookies(self.root)
        self._eyes = self._eyes or Eyes()
        look = partial(glance, self.root)
        return Source(self._store, self.tree, self._cookies, self._eyes, look, time.time_ns(), self._progress)

    def _progress(self, what: str, done: int, total: int) -> None:
        if self._bar:
            self._bar(what, done, total)

    def _readable(self, path: str) -> bytes | None:
        """The bytes of a note as they stand now, None where it cannot be read."""
        try:
            return self._store.read(path, MAX_PARSED)
        except BonsaiError:
            return None

    def _standing(self) -> Passages:
        """All passages as they stand on disk; read into memory where the index cannot be used now."""

        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.passes import search

        if (index := self._index()) is not None:
            with suppress(Busy):
                return search.catch_up(index, self._source(), MemorySearch)
        return self._everything()

    def _everything(self) -> SearchIndex:
        """All notes, read into memory: slow, but right where nothing can be written."""

        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.passes import search

        return search.everything(self._source(), MemorySearch())

    def _update_search(self, paths: Sequence[str]) -> None:
        """Tell the index what a run has changed; where that is not possible the next recall finds out by itself."""

        from bonsai.passes import search

        index = self._index()
        if index is not None:
            with suppress(BonsaiError):
                search.update(index, self._source(), paths)

    def _count(self, paths: Sequence[str]) -> None:
        """Notes that are of use are remembered as such, beside the notes and never in them."""

        from bonsai.adapters.sqlite_state import SqliteState

        if paths and self._index() is not None:
            self._counters = self._counters or SqliteState(f"{self._private}/state.db")
            self._counters.count(list(dict.fromkeys(paths)), self.now_iso)

    def close(self) -> None:
        """Release the files that are open."""
        for file in (self._searched, self._counters):
            if file is not None:
                file.close()
        super().close()
