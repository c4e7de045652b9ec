"""The verb that finds: recall, and what keeps its indexes in line with the disk and with the past."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from bonsai.embedding import Embedding
from bonsai.errors import BadData, BonsaiError, Busy, NotFound, Unavailable, Usage
from bonsai.notes.layout import MAX_PARSED, domain_of
from bonsai.passes import recall

if TYPE_CHECKING:
    from bonsai.adapters.memory_search import MemorySearch
    from bonsai.adapters.sqlite_search import SqliteSearch
    from bonsai.adapters.sqlite_state import SqliteState
    from bonsai.adapters.vouch import Cookies
    from bonsai.notes.meaning import Embedder
    from bonsai.notes.ranking import Ranked
    from bonsai.passes.found import Hit, RecallReport
    from bonsai.passes.recall import Scope
    from bonsai.passes.search import Eyes, Source
    from bonsai.passes.tree_search import Choice, Node
    from bonsai.ports.derived import Passages, SearchIndex

Mode = Literal["", "lexical", "hybrid", "tree", "llm"]
TRIES = 4  # of a recall, while the notes that it finds are saved or the index is damaged
MOST_NAMED = 12  # domains in an error
MORE = 5  # times as many forgotten passages are looked at as are wanted: some of them have come back


class Finding(Embedding):
    """A workspace that is searched."""

    _searched: SqliteSearch | None = None
    _cookies: Cookies | None = None
    _eyes: Eyes | None = None
    _counters: SqliteState | None = None

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
            tier: hot (boot file) or warm.
            at: a day, a time, a revision or a run: the memory as it was then.
            deleted: what was archived, purged or edited away; each hit says how to bring it back.
            mode: lexical: words count; hybrid: what passages mean, too, which needs the extra `embed`; tree: only
                branches whose names and titles answer; llm: those that a language model names. "": what the setting
                recall.mode says, as it comes hybrid where the extra is installed, else lexical.
            llm: the endpoint of the model, for mode llm. One that fails is a warning, and everything is searched.

        Raises:
            Usage: an empty query, a limit below 1. NotFound: no such domain, point or revision. BadData: no such day.
        """

        from bonsai.adapters import clock
        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.passes.found import RecallReport

        recall.need_query(query, limit, tokens)
        if at and deleted:
            raise Usage("--at and --deleted do not go together", hint="Use one of them.")
        if mode not in ("", "lexical") and (at or deleted):
            raise Usage(f"mode {mode} searches what stands now", hint="Leave out --mode, or --at and --deleted.")
        scope = self._scope(domain, type, tag, actor, since, until, tier)
        scope, warnings = self._navigated(query, scope, mode, llm)
        commit = self._point(at) if at else ""
        cold = MemorySearch() if at or deleted else self._cold_passages(query, limit, scope, warnings)
        if deleted:
            ranked = self._find_deleted(query, limit, scope)
        elif at:
            ranked = self._find_at(query, limit, scope, commit)
        else:
            ranked = self._find(query, limit, scope, cold, self._embedding_model(mode, warnings))
        budget = tokens or max(recall.TOKENS, recall.TOKENS * limit // recall.USUAL)
        hits = recall.hits(ranked, budget, clock.local(self.now()).date())
        if deleted:
            _tell_where(hits)
        if not at and not deleted:
            self._count([hit.path for hit in hits])
        for hit in hits:
            if hit.path in cold.known():
                hit.tier, hit.restore = "cold", f"bonsai restore {hit.path}"
        return RecallReport(query, hits, fresh=True, at=commit, branches=list(scope.branches), warnings=warnings)

    def recall_prompt(self, query: str) -> str:
        """What mode llm asks a model: the tree within its limits, and the query. Nothing is searched."""

        from bonsai.passes import tree_search

        recall.need_query(query, recall.USUAL, 0)
        return tree_search.prompt(query, self._tree_nodes())

    # -- inside: what is there -------------------------------------------------------------------------

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
            return recall.find(query, cold, limit, replace(scope, tier=""))
        index, wrong = self._index(), list[str]()
        for _ in range(TRIES if index else 0):
            with suppress(Busy):
                assert index is not None
                sight = search.catch_up(index, self._source(), MemorySearch, wrong)
                _need_domain(index, scope)
                ranked = recall.find(query, _layered(sight, cold), limit, scope, embedder)
                wrong = recall.gone([item for item in ranked if _path(item) not in cold.known()], self._readable)
                if not wrong:
                    return ranked
        everything = search.everything(self._source(), MemorySearch())  # nothing can be written here: slow, but right
        _need_domain(everything, scope)
        return recall.find(query, _layered(everything, cold), limit, scope, embedder)

    def _index(self) -> SqliteSearch | None:
        """The index on disk; None where there is no private folder to keep it in."""

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
        return f"{self._private}/cache/{name}{f'-{self.agent}' if self.agent else ''}.db"

    def _source(self) -> Source:
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
        try:
            return self._store.read(path, MAX_PARSED)
        except BonsaiError:
            return None

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

    # -- inside: the tree ------------------------------------------------------------------------------

    def _tree_nodes(self) -> list[Node]:
        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.passes import search, tree_search

        index = self._index()
        if index is not None:
            with suppress(Busy):
                search.catch_up(index, self._source(), MemorySearch)
                return tree_search.grow(index.abouts())
        return tree_search.grow(search.everything(self._source(), MemorySearch()).abouts())

    def _navigated(self, query: str, scope: Scope, mode: Mode, endpoint: str) -> tuple[Scope, list[str]]:
        """The scope with only the branches that a mode chooses, and what went another way."""

        if mode not in ("", "lexical", "hybrid", "tree", "llm"):
            raise Usage(f"there is no mode {mode!r}", hint="Modes are lexical, hybrid, tree and llm.")
        if mode not in ("tree", "llm"):
            return scope, []
        from bonsai.passes import tree_search

        nodes = self._tree_nodes()
        try:
            chosen = self._asked(query, nodes, endpoint) if mode == "llm" else tree_search.by_words(query, nodes)
        except (Unavailable, BadData) as error:
            return scope, [f"{error}; everything was searched instead"]
        if not chosen:
            return scope, ["no branch of the tree answers; everything was searched instead"]
        names, known = [choice.path for choice in chosen], {node.path for node in nodes}
        told = [f"{choice.path} ({choice.relevance:.2f}): {choice.reason}" for choice in chosen]
        below = replace(scope, below=lambda path: tree_search.is_below(path, names, known), branches=tuple(told))
        return below, []

    def _asked(self, query: str, nodes: list[Node], endpoint: str) -> list[Choice]:
        from bonsai.adapters.llm import ENDPOINT, HttpLlm
        from bonsai.passes import tree_search

        place = endpoint or os.environ.get(ENDPOINT, "")
        if not place:
            hint = f"Name one with --llm-endpoint or {ENDPOINT}, or write the prompt with --llm-prompt-file."
            raise Usage("mode llm needs the endpoint of a language model", hint=hint)
        return tree_search.chosen(
            HttpLlm(place, self.settings.text("llm", "fast_model")).complete(tree_search.prompt(query, nodes)), nodes
        )

    # -- inside: what was there ------------------------------------------------------------------------

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
                    _need_domain(index, scope)
                    return recall.find(query, index, limit, scope)
            finally:
                index.close()
        held = MemorySearch()
        search.as_it_was(held, self._history, commit, self.tree, self._progress)
        _need_domain(held, scope)
        return recall.find(query, held, limit, scope)

    def _find_deleted(self, query: str, limit: int, scope: Scope) -> list[Ranked]:
        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.adapters.sqlite_search import SqliteSearch
        from bonsai.passes import gone, search
        from bonsai.passes.search import Layered

        with self._reading() as (run, _):
            rows = list(run.look().rows.values())
        head = self._history.head() if run.usable else ""
        index: SearchIndex = SqliteSearch(self._cached("gone")) if self._index() is not None else MemorySearch()
        try:
            try:
                gone.catch_up(index, self._history, head, self.tree, self._progress)
            except Busy:  # another process is at it
                index.close()
                index = MemorySearch()
                gone.catch_up(index, self._history, head, self.tree, self._progress)
            late = gone.uncommitted(MemorySearch(), self._history, head, self.tree, rows, self._store)
            ranked = recall.find(query, Layered(index, late, frozenset()), MORE * limit, scope)
        finally:
            index.close()
        live = self._index()
        sight = search.catch_up(live, self._source(), MemorySearch) if live is not None else None
        return gone.forgotten(ranked, sight or search.everything(self._source(), MemorySearch()), limit)

    # -- inside: which notes ---------------------------------------------------------------------------

    def _scope(self, domain: str, type_: str, tag: str, actor: str, since: str, until: str, tier: str) -> Scope:
        """Raises BadData for a day that does not exist, Usage for a tier that there is not."""

        if tier not in ("", "hot", "warm", "cold"):
            raise Usage(f"there is no tier {tier!r}", hint="Tiers are hot, warm and cold.")
        if not (since or until or actor):
            return recall.Scope(domain, type_, tag, tier)
        from bonsai.adapters import clock
        from bonsai.notes import moment
        from bonsai.story import by_actor

        first = clock.local(moment.parse(since, clock.aware, end=False)).date().isoformat() if since else ""
        last = clock.local(moment.parse(until, clock.aware, end=True)).date().isoformat() if until else ""
        days: dict[str, str] = {}
        paths = None
        with self._reading() as (run, _):
            view, times = run.look(), run.times()
        for path, row in view.rows.items():
            if path in times:
                days[path] = _day(times[path].changed)
            elif row.stat is not None:
                days[path] = _day(row.stat.mtime_ns // 10**9)  # git has never seen it
        if actor:
            pending = [row.path for row in view.pending()]
            paths = frozenset(by_actor(self._history.log(), pending, actor))
        return recall.Scope(domain, type_, tag, tier, first, last, paths, dates=lambda path: days.get(path, ""))

    def close(self) -> None:
        """Release the files that are open."""
        for file in (self._searched, self._counters):
            if file is not None:
                file.close()
        super().close()


def _tell_where(hits: Sequence[Hit]) -> None:
    """Of something forgotten, the note that it stood in, and the command that brings it back."""
    from bonsai.passes import gone

    for hit in hits:
        hit.path, hit.restore = gone.place(hit.path)
        hit.tier = "cold"


def _layered(sight: Passages, cold: MemorySearch) -> Passages:
    from bonsai.passes.search import Layered

    return Layered(sight, cold, frozenset()) if cold.known() else sight


def _path(item: Ranked) -> str:
    return item.candidate.about.path


def _need_domain(index: SearchIndex, scope: Scope) -> None:
    """Raises NotFound where no note stands in the domain that is asked for."""
    if not scope.domain:
        return
    domains = sorted({domain for path in index.known() if (domain := domain_of(path))})
    wanted = recall.folded(scope.domain)
    if not any(f"{recall.folded(domain)}/".startswith(f"{wanted}/") for domain in domains):
        names = ", ".join(domains[:MOST_NAMED]) + (" …" if len(domains) > MOST_NAMED else "")
        raise NotFound("there is no such domain", path=scope.domain, hint=f"There are: {names or 'none yet'}.")


def _day(seconds: int) -> str:
    from bonsai.adapters import clock

    return clock.local(datetime.fromtimestamp(seconds, UTC)).date().isoformat()
