"""Which of the passages that the index found answer a query best, and why."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import log
from typing import NamedTuple

from bonsai.notes.candidate import Candidate, Statistics
from bonsai.notes.query import Query

WIDTH = 300  # passages that the index gives
BESIDE = 1  # passages before and after each of them that are candidates, too
BOOSTS = {"title": 2.0, "heading": 1.0, "tags": 1.5, "path": 1.0}  # against 1.0 for the text


class Ranked(NamedTuple):
    """A passage that answers, with the reasons (`deploy in text`)."""

    candidate: Candidate
    score: float
    why: list[str]


def rank(query: Query, candidates: Sequence[Candidate], statistics: Statistics) -> list[Ranked]:
    """The candidates that answer, best first; equal ones in the order of path and line."""
    weights = {term: _weight(statistics, term) for term in query.terms}
    usual = statistics.words / statistics.passages if statistics.passages else 1.0
    found = []
    for candidate in candidates:
        score, why = _score(candidate, query, weights, usual)
        if why:
            found.append(Ranked(candidate, round(score, 4), why))
    return sorted(found, key=lambda item: (-item.score, item.candidate.about.path, item.candidate.piece.lines))


def expand(query: Query, ranked: Sequence[Ranked], statistics: Callable[[Collection[str]], Statistics]) -> Query | None:
    """What else to look for after a first round, None where that would not help."""
    return None


def _weight(statistics: Statistics, term: str) -> float:
    holding = statistics.holding.get(term, 0) or statistics.about.get(term, 0)
    return log(1 + (statistics.passages - holding + 0.5) / (holding + 0.5)) + 0.1


def _score(candidate: Candidate, query: Query, weights: dict[str, float], usual: float) -> tuple[float, list[str]]:
    piece, fields = candidate.piece, candidate.fields
    counts = Counter(piece.terms)
    length = 0.5 + 0.5 * len(piece.terms) / usual
    here = {"title": fields.title, "heading": piece.heading, "tags": fields.tags, "path": fields.path}
    score, why = 0.0, []
    for term, weight in weights.items():
        times = counts[term]
        places = [name for name in BOOSTS if term in here[name]]
        score += weight * (2.2 * times / (times + 1.2 * length) + 0.25 * sum(BOOSTS[name] for name in places))
        why += [f"{query.terms[term]} in {name}" for name in (["text"] if times else []) + places]
    return score, why
