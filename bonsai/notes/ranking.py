"""Which of the passages that the index found answer a query best, and why.

The score is a weighted sum of signals (`notes/signals`). docs/ranking.md says how the weights were fitted, on what, and
what each idea was worth on conversations that the fit had not seen; `scripts/fit-ranking` fits them anew.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp
from typing import NamedTuple

from bonsai.notes.candidate import Candidate, Statistics
from bonsai.notes.meaning import ALIKE, Close, Place
from bonsai.notes.query import Query
from bonsai.notes.signals import Line, Scene

WIDTH = 300  # passages that the index gives
BESIDE = 1  # passages before and after each of them that are candidates, too
MOST_REASONS = 12
SPREAD = 0.1  # what a line loses for each better one of its note
ZERO = 10.0  # the sum of signals that counts as even odds; a score is only for people to compare
WEIGHTS = {
    "own": -2.534,
    "shared": 1.544,
    "count": 0.324,
    "rare": 0.579,
    "near": -3.022,
    "near_plain": 2.193,
    "with_previous": -0.553,
    "with_next": -1.875,
    "after": 4.603,
    "wide": 2.302,
    "family": 3.617,
    "previous": -1.123,
    "next": 0.948,
    "asks": -0.685,
    "asked": 0.112,
    "answers": 2.405,
    "speaker": 1.117,
    "cast": 3.557,
    "length": 0.382,
    "short": 0.094,
    "time": 0.169,
    "proper": 0.318,
    "when": 0.811,
    "name": 0.403,
    "amount": 0.546,
    "place": 0.096,
    "why": 0.498,
    "month": 1.450,
    "day": 2.149,
    "about": 0.391,
    "note": -1.023,
    "note_shared": 1.708,
    "of_best": 4.121,
    "note_of_best": 0.472,
    "of_peak": -1.039,
    "note_sum": 0.134,
}

HYBRID = {  # where it is known what the passages mean
    "own": -6.213,
    "shared": 4.646,
    "count": 0.233,
    "rare": 0.211,
    "near": -1.043,
    "near_plain": 1.794,
    "with_previous": -1.094,
    "with_next": -1.908,
    "after": 4.505,
    "previous": -2.085,
    "next": 0.430,
    "wide": 1.954,
    "family": 4.589,
    "asks": -0.726,
    "asked": 0.279,
    "answers": 2.087,
    "speaker": 1.116,
    "cast": 3.550,
    "length": 0.513,
    "short": -0.193,
    "time": 0.174,
    "proper": 0.247,
    "when": 0.841,
    "name": 0.566,
    "amount": 0.317,
    "why": 0.664,
    "month": 1.493,
    "day": 2.375,
    "about": 0.425,
    "note": -0.646,
    "note_shared": 1.566,
    "of_best": 2.346,
    "place": 0.216,
    "of_peak": -1.150,
    "note_sum": 0.084,
    "like": -4.059,
    "like_of_best": 2.412,
    "like_after": 6.114,
    "like_after_of_best": -1.092,
    "like_around": 2.440,
    "like_around_of_best": -0.142,
}


class Ranked(NamedTuple):
    """A passage that answers, with the reasons (`deploy in text`)."""

    candidate: Candidate
    score: float
    why: list[str]


def rank(
    query: Query, candidates: Sequence[Candidate], statistics: Statistics, known: Mapping[Place, Close] | None = None
) -> list[Ranked]:
    """The candidates that answer, best first; equal ones in the order of path and line.

    `known`: how near in meaning they, and the passages beside them, are to the query; None where nobody asked.
    """
    if not candidates or not query.terms:
        return []
    scene = Scene(query, candidates, statistics, known)
    weights = WEIGHTS if known is None else HYBRID
    chosen, others = scene.look()
    scored = _spread(sorted(((_score(line, weights), line) for line in chosen), key=_order))
    scored += [(_below(scored, others[0], line), line) for line in others]
    return _answers(scene, scored)


def _score(line: Line, weights: Mapping[str, float]) -> float:
    return sum(weight * line.signals[name] for name, weight in weights.items())


def _spread(scored: Sequence[tuple[float, Line]]) -> list[tuple[float, Line]]:
    """The lines, best first, where each counts a little less for every better one of its note: an answer in parts
    stands in several notes more often than all of it in one."""
    before: Counter[str] = Counter()
    spread = []
    for score, line in scored:
        path = line.candidate.about.path
        spread.append((score - SPREAD * before[path], line))
        before[path] += 1
    return sorted(spread, key=_order)


def _order(scored: tuple[float, Line]) -> tuple[float, str, tuple[int, int]]:
    score, line = scored
    return -score, line.candidate.about.path, line.candidate.piece.lines


def _below(scored: list[tuple[float, Line]], first: Line, line: Line) -> float:
    """The score of a line that had no closer look: below all that had one, in the order of the first sight."""
    return scored[-1][0] - (first.sight - line.sight) if line is not first else scored[-1][0]


def _answers(scene: Scene, scored: Sequence[tuple[float, Line]]) -> list[Ranked]:
    """The lines that hold a term, or answer one in a dialogue; for a note or section found by its name, one line."""
    found: list[Ranked] = []
    terms = frozenset(scene.query.terms)
    own = [terms.intersection(line.candidate.piece.terms) for _, line in scored]
    meant = [scene.stood_for(line.candidate.piece) - here for here, (_, line) in zip(own, scored, strict=True)]
    told = {
        place
        for here, others, (_, line) in zip(own, meant, scored, strict=True)
        if here or others
        for place in _places(line.candidate)
    }
    above: dict[tuple[str, ...], list[str]] = {}
    for here, others, (score, line) in zip(own, meant, scored, strict=True):
        item = line.candidate
        note, section = _places(item)
        if section not in above:
            above[section] = _above(scene.query, item)
        if not here and not others and item.about.path not in scene.dialogues and line.alike[0] < ALIKE:
            place = section if any(reason.endswith(" in heading") for reason in above[section]) else note
            if not above[section] or place in told:
                continue
            told.add(place)
        words = scene.query.terms.items()
        why = [f"{word} in text" for term, word in words if term in here]
        why += [f"a word for {word} in text" for term, word in words if term in others]
        why += above[section] + _marks(scene, line)
        if why:
            found.append(Ranked(item, round(_share(score), 4), why[:MOST_REASONS]))
    return found


def _places(item: Candidate) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The note and the section that a line stands in."""
    return (item.about.path,), (item.about.path, *item.piece.trail, "")


def _share(score: float) -> float:
    """A score as a number between 0 and 1."""
    return 1 / (1 + exp(-max(-30.0, min(30.0, score - ZERO))))


def _above(query: Query, item: Candidate) -> list[str]:
    """What of a query stands above a line, and where."""
    heading, fields = item.piece.heading, item.fields
    where = {"title": fields.title, "heading": heading, "tags": fields.tags, "path": fields.path}
    return [f"{word} in {name}" for term, word in query.terms.items() for name, held in where.items() if term in held]


def _marks(scene: Scene, line: Line) -> list[str]:
    """What else speaks for a line, in words."""
    signals, found = line.signals, []
    if line.alike[0] >= ALIKE:
        found.append(f"alike in meaning ({line.alike[0]:.2f})")
    elif line.alike[1] >= ALIKE:
        found.append(f"alike in meaning with the line before ({line.alike[1]:.2f})")
    if not line.held and signals.get("near") and line.candidate.about.path in scene.dialogues:
        found.append("words of the query beside it")
    if signals.get("answers"):
        found.append("answers a question")
    if signals.get("speaker") == 1.0:
        found.append(f"said by {scene.query.terms[scene.names[0]]}")
    if signals.get("day") or signals.get("month") == 1.0:
        found.append("date")
    return found
