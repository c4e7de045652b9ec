"""Recall: the passages that answer a query, from an index that is in line with the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from bonsai.errors import Busy, Usage
from bonsai.notes import ranking
from bonsai.notes.layout import Kind, domain_of, kind_of
from bonsai.notes.printed import count_tokens
from bonsai.notes.query import parse
from bonsai.notes.thesaurus import stand_ins
from bonsai.passes.found import Hit

if TYPE_CHECKING:
    from bonsai.notes.candidate import About, Candidate, Piece
    from bonsai.notes.meaning import Close, Embedder, Place
    from bonsai.notes.query import Query
    from bonsai.notes.ranking import Ranked
    from bonsai.ports.derived import Passages

LARGE = 30_000  # passages: from here on those that hold several words of a query crowd out the others anyway
MAX_TEXT = 2000  # characters of a hit: a line of a megabyte helps nobody
TOKENS = 750  # of a whole answer, unless more hits than usual are asked for
USUAL = 10  # hits
PLACE = 25  # tokens of what stands around the text of a hit
LEAST = 30  # tokens of a text that is cut: with less nobody can tell what it says


@dataclass(frozen=True)
class Scope:
    """Which notes are searched. Empty fields let everything through."""

    domain: str = ""  # with its sub-domains
    type: str = ""
    tag: str = ""
    tier: str = ""
    since: str = ""  # `YYYY-MM-DD`, inclusive
    until: str = ""
    paths: frozenset[str] | None = None  # only these notes
    below: Callable[[str], bool] | None = None  # only notes for which this is true
    branches: tuple[str, ...] = ()  # what was chosen by that, and why
    dates: Callable[[str], str] = lambda path: ""  # the day of a note that does not say one itself

    def filter(self) -> Callable[[About], bool] | None:
        """The test, None where everything is let through."""
        tests = list(self._tests())
        return (lambda about: all(test(about) for test in tests)) if tests else None

    def _tests(self) -> list[Callable[[About], bool]]:
        found: list[Callable[[About], bool]] = []
        if self.domain:
            wanted = folded(self.domain) + "/"
            found.append(lambda about: f"{folded(domain_of(about.path) or '')}/".startswith(wanted))
        if self.type:
            found.append(lambda about: about.type.casefold() == self.type.casefold())
        if self.tag:
            found.append(lambda about: self.tag.casefold().lstrip("#") in _words(about.tags))
        if self.tier:
            found.append(lambda about: tier(about.path) == self.tier)
        if self.since or self.until:
            last = self.until or "9999"
            found.append(lambda about: self.since <= (about.date or self.dates(about.path)) <= last)
        if (paths := self.paths) is not None:
            found.append(lambda about: about.path in paths)
        if (below := self.below) is not None:
            found.append(lambda about: below(about.path))
        return found


def need_query(query: str, limit: int, tokens: int) -> None:
    """Raises Usage for an empty query or a limit below 1."""
    if not query.strip():
        raise Usage("the query is empty", hint="Say what to look for: bonsai recall 'pricing of events'.")
    if limit < 1:
        raise Usage(f"a limit of {limit} finds nothing", hint="Give a --limit of 1 or more.")
    if tokens < 0:
        raise Usage(f"a budget of {tokens} tokens holds nothing", hint="Give --tokens of 1 or more.")


def find(query: str, sight: Passages, limit: int, scope: Scope, embedder: Embedder | None = None) -> list[Ranked]:
    """The best passages, best first. `embedder`: so that what they mean counts, too."""
    wanted, keep = parse(query), scope.filter()
    if embedder is not None:
        with suppress(Busy):  # somebody else writes: what is not embedded yet is found by its words
            sight.learn(embedder)
    with sight.reading():
        statistics = sight.statistics(wanted.terms)
        width = ranking.WIDTH if statistics.passages < LARGE else ranking.WIDTH // 3
        found, known = candidates(wanted, sight, width, keep, embedder)
    return ranking.rank(wanted, found, statistics, known)[:limit]


def candidates(
    wanted: Query, sight: Passages, width: int, keep: Callable[[About], bool] | None, embedder: Embedder | None
) -> tuple[list[Candidate], dict[Place, Close] | None]:
    """What is worth a look, and how near in meaning it is to the query, None where nobody can tell.

    What holds a word of the query; where that is little, what holds one that stands for it; then what means the same.
    """
    found = sight.search(wanted.search, width, ranking.BESIDE, keep)
    if len(found) < width and (others := stand_ins(wanted.search)):
        more = sight.search(list(others), width - len(found), ranking.BESIDE, keep)
        found = list({(item.about.path, item.number): item for item in [*more, *found]}.values())
    return (found, None) if embedder is None else _meant(wanted, sight, found, keep, embedder)


def _meant(
    wanted: Query, sight: Passages, found: list[Candidate], keep: Callable[[About], bool] | None, embedder: Embedder
) -> tuple[list[Candidate], dict[Place, Close] | None]:
    """The candidates with those that mean what is asked, in any words; and how near all of them are to it."""
    from bonsai.notes.meaning import NEAREST, around, gist_of_query
    from bonsai.notes.signals import people

    cast = people(found)  # who speaks is told by the label of a line: it is no part of what the line means
    [vector] = embedder.embed([gist_of_query(word for term, word in wanted.terms.items() if term not in cast)])
    if not any(vector):
        return found, None
    places = {(item.about.path, item.number): item for item in [*sight.alike(vector, NEAREST, keep), *found]}
    return list(places.values()), sight.closeness(vector, around(places.values()))


def gone(ranked: Sequence[Ranked], read: Callable[[str], bytes | None]) -> list[str]:
    """The notes that no longer hold what was found in them: saved in this very moment, or a damaged index."""
    wrong: dict[str, None] = {}
    texts: dict[str, str | None] = {}
    for item in ranked:
        path, piece = item.candidate.about.path, item.candidate.piece
        if path not in texts:
            data = read(path)
            texts[path] = None if data is None else data.decode("utf-8", "surrogateescape")
        text = texts[path]
        if (text is None or piece.text not in text) and not _stands(path, piece, read(path)):
            wrong[path] = None
    return list(wrong)


def _stands(path: str, piece: Piece, data: bytes | None) -> bool:
    """Whether a passage that is no plain part of its note is one all the same: put together, masked, of odd ends."""
    if data is None:
        return False
    from bonsai.notes.document import document, readable

    if piece.text in readable(data):
        return True
    return (piece.lines, piece.text) in [(other.lines, other.text) for other in document(path, data).pieces]


def hits(ranked: Sequence[Ranked], tokens: int, today: date) -> list[Hit]:
    """Hits within a budget: long texts are cut first, then the last ones are left out. One always stays."""
    texts = [_cut(item.candidate.piece.text, MAX_TEXT) for item in ranked]
    costs = [count_tokens(text) for text in texts]
    count = len(texts)
    while count > 1 and sum(min(cost, LEAST) + PLACE for cost in costs[:count]) > tokens:
        count -= 1
    most = _fair(costs[:count], tokens - PLACE * count)
    shown = [text if cost <= most else _cut_tokens(text, cost, most) for text, cost in zip(texts, costs, strict=True)]
    return [_hit(item, text, today) for item, text in zip(ranked[:count], shown, strict=False)]


def tier(path: str) -> str:
    """The tier of a note: what stands in a boot file is loaded anyway."""
    return "hot" if kind_of(path) is Kind.BOOT else "warm"


def folded(domain: str) -> str:
    """A domain in the form in which it is compared."""
    from bonsai.notes.taxonomy import slug

    return "/".join(slug(part) for part in domain.strip("/").split("/") if part.strip())


def _words(tags: str) -> set[str]:
    return {word for part in tags.casefold().split(",") for word in (part.strip().lstrip("#"), *part.split())}


def _fair(costs: Sequence[int], budget: int) -> int:
    """The tokens that a text may have so that all of them stay in the budget; the short ones leave more to the rest."""
    left = max(budget, LEAST)
    for number, cost in enumerate(sorted(costs)):
        share = left // (len(costs) - number)
        if cost > share:
            return max(share, LEAST)
        left -= cost
    return max(costs, default=0)


def _cut_tokens(text: str, cost: int, most: int) -> str:
    return _cut(text, max(1, len(text) * most // cost))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _hit(item: Ranked, text: str, today: date) -> Hit:
    about, piece = item.candidate.about, item.candidate.piece
    heading = piece.trail[-1] if piece.trail else ""
    return Hit(
        path=about.path,
        lines=piece.lines,
        heading=heading,
        title=about.title,
        text=text,
        score=item.score,
        why=item.why,
        tier=tier(about.path),
        trail=list(piece.trail),
        date=about.date,
        age_days=_age(about.date, today),
        source=about.source,
    )


def _age(day: str, today: date) -> int | None:
    try:
        return max(0, (today - date.fromisoformat(day)).days)
    except ValueError:
        return None
