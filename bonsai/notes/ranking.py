"""Which of the passages that the index found answer a query best, and why."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import log
from typing import NamedTuple

from bonsai.notes.candidate import About, Candidate, Statistics
from bonsai.notes.layout import tree_of
from bonsai.notes.query import Query, index_terms

WIDTH = 300  # passages that the index gives
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
    notes: dict[str, dict[str, set[str]]] = {}
    found = []
    for candidate in candidates:
        path = candidate.about.path
        if path not in notes:
            notes[path] = _fields(candidate.about)
        score, why = _score(candidate, notes[path], query, weights, usual)
        if why:
            found.append(Ranked(candidate, round(score, 4), why))
    return sorted(found, key=lambda item: (-item.score, item.candidate.about.path, item.candidate.passage.lines))


def expand(query: Query, ranked: Sequence[Ranked], statistics: Callable[[Collection[str]], Statistics]) -> Query | None:
    """What else to look for after a first round, None where that would not help."""
    return None


def _weight(statistics: Statistics, term: str) -> float:
    holding = statistics.holding.get(term, 0) or statistics.about.get(term, 0)
    return log(1 + (statistics.passages - holding + 0.5) / (holding + 0.5)) + 0.1


def _fields(about: About) -> dict[str, set[str]]:
    tree = tree_of(about.path)
    place = about.path.removeprefix(f"{tree.memory}/").removeprefix("domains/").removesuffix(".md")
    texts = {"title": f"{about.title} {about.description}", "tags": about.tags, "path": place}
    return {name: set(index_terms(text)) for name, text in texts.items()}


def _score(
    candidate: Candidate, fields: dict[str, set[str]], query: Query, weights: dict[str, float], usual: float
) -> tuple[float, list[str]]:
    counts = Counter(index_terms(candidate.passage.text))
    length = 0.5 + 0.5 * counts.total() / usual
    here = {**fields, "heading": set(index_terms(" ".join(candidate.passage.trail)))}
    score, why = 0.0, []
    for term, weight in weights.items():
        times = counts[term]
        places = [name for name in BOOSTS if term in here[name]]
        score += weight * (2.2 * times / (times + 1.2 * length) + 0.25 * sum(BOOSTS[name] for name in places))
        why += [f"{query.terms[term]} in {name}" for name in (["text"] if times else []) + places]
    return score, why
