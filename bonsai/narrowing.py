"""Which notes a recall looks at: those of a domain, a type, a time, an actor, or of branches of the tree."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from bonsai.errors import BadData, Busy, NotFound, Unavailable, Usage
from bonsai.indexing import Indexing
from bonsai.notes.layout import domain_of
from bonsai.passes import recall

if TYPE_CHECKING:
    from bonsai.passes.recall import Scope
    from bonsai.passes.tree_search import Choice, Node
    from bonsai.ports.derived import SearchIndex

Mode = Literal["", "lexical", "hybrid", "tree", "llm"]
MOST_NAMED = 12  # domains in an error


class Narrowing(Indexing):
    """A workspace of which only a part may be searched."""

    def recall_prompt(self, query: str) -> str:
        """What mode llm asks a model: the tree within its limits, and the query. Nothing is searched."""

        from bonsai.passes import tree_search

        recall.need_query(query, recall.USUAL, 0)
        return tree_search.prompt(query, self._tree_nodes())

    # -- inside ----------------------------------------------------------------------------------------

    def _scope(self, domain: str, type_: str, tag: str, actor: str, since: str, until: str, tier: str) -> Scope:
        """Raises BadData for a day that does not exist, Usage for a tier that there is not and for days in reverse."""

        if tier not in ("", "hot", "warm", "cold"):
            raise Usage(f"there is no tier {tier!r}", hint="Tiers are hot, warm and cold.")
        if not (since or until or actor):
            return recall.Scope(domain, type_, tag, tier)
        from bonsai.adapters import clock
        from bonsai.notes import moment
        from bonsai.story import by_actor

        first = clock.local(moment.parse(since, clock.aware, end=False)).date().isoformat() if since else ""
        last = clock.local(moment.parse(until, clock.aware, end=True)).date().isoformat() if until else ""
        if first and last and first > last:
            raise Usage(f"since {since} is later than until {until}", hint="Name the earlier day with --since.")
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

    def _tree_nodes(self) -> list[Node]:
        from bonsai.adapters.memory_search import MemorySearch
        from bonsai.passes import search, tree_search

        index = self._index()
        if index is not None:
            with suppress(Busy):
                search.catch_up(index, self._source(), MemorySearch)
                return tree_search.grow(index.abouts())
        return tree_search.grow(self._everything().abouts())

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


def need_domain(index: SearchIndex, scope: Scope) -> None:
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
    from bonsai.notes import moment

    return clock.local(moment.at(seconds)).date().isoformat()
