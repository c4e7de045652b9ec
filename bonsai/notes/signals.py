"""What speaks for a passage, as numbers: the words it shares with a query, what stands around it, who says it, when.

They depend only on the query, the candidates and the counts of the memory, so that the same memory ranks alike on every
machine and at every time. A line of a dialogue often answers in other words than it was asked: what stands around it
tells more than the line itself, most of all the question before it.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log, log1p, sqrt

from bonsai.notes.candidate import Candidate, Piece, Statistics
from bonsai.notes.common_words import worth
from bonsai.notes.meaning import ALIKE, FIRST, Close, Place, likeness
from bonsai.notes.query import Query
from bonsai.notes.thesaurus import stand_ins
from bonsai.notes.traits import asks, dated, fitting, proper, times

CLOSER_LOOK = 100  # candidates of which all signals are computed: those that look best at first sight
CLOSER_BY_MEANING = 150  # where it is known what they mean: there more of them are worth it
REACH = 5  # passages to each side that count as near
FIELDS = {"title": 0.7, "tags": 0.7, "path": 0.6, "heading": 0.8}  # what a term there is worth against one in the text
USUAL = 10.0  # terms of a passage, where nothing is counted yet
STAND_IN = 0.4  # what a word that may stand for another one is worth against that
PREFIX = 5  # letters with which words of one family begin alike (`photograph`, `photos`)

Held = Mapping[str, float]  # term → how strongly a text holds it (0 to 2.2) times its share in the query (0 to 1)
NOTHING: Held = {}


class Line:
    """One candidate while it is looked at."""

    __slots__ = ("alike", "candidate", "fields", "held", "own", "sight", "signals")

    def __init__(self, candidate: Candidate, held: Held, fields: Held) -> None:
        self.candidate, self.held, self.fields = candidate, held, fields
        self.own = self.sight = 0.0
        self.alike: tuple[float, float, float] = (0.0, 0.0, 0.0)
        self.signals: dict[str, float] = {}


class Scene:
    """The candidates of one query, looked at together."""

    def __init__(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        statistics: Statistics,
        known: Mapping[Place, Close] | None = None,
    ) -> None:
        self.query = query
        self.known = known
        self._statistics = statistics
        self._usual = statistics.words / statistics.passages if statistics.passages else USUAL
        self.dialogues = _dialogues(candidates)
        self.cast = frozenset(term for names in self.dialogues.values() for term in names)
        self.names = [term for term in query.terms if term in self.cast]
        said = [term for term in query.terms if term not in self.cast] or list(query.terms)
        plain = {term: self._rarity(term) for term in said}
        weights = {term: sqrt(rarity * worth(term)) for term, rarity in plain.items()}
        total, total_plain = sum(weights.values()) or 1.0, sum(plain.values()) or 1.0
        self._share = {term: weight / total for term, weight in weights.items()}
        self._to_plain = {term: plain[term] / total_plain / (share or 1.0) for term, share in self._share.items()}
        self._most = max(self._share.values(), default=0.0) or 1.0
        self._wanted = frozenset(said)
        self._stand_ins = stand_ins(said)
        # Where it is known what the passages mean, that says more of their worth than a list of words can.
        self._weighed = self._stand_ins if known is None else {}
        self._looked_for = self._wanted.union(self._weighed)
        self._order = {term: at for at, term in enumerate(said)}
        self._beginnings = {term[:PREFIX]: term for term in said if len(term) >= PREFIX and term.isalpha()}
        self.notes: dict[str, dict[int, Line]] = defaultdict(dict)
        heads: dict[tuple[str, tuple[str, ...]], Held] = {}
        for item in candidates:
            key = (item.about.path, item.piece.trail)
            fields = heads[key] if key in heads else heads.setdefault(key, self._fields(item))
            self.notes[item.about.path][item.number] = Line(item, self._hold(item.piece), fields)

    def look(self) -> tuple[list[Line], list[Line]]:
        """The most promising lines, with their signals, and the others, best first at first sight."""
        heads = {path: self._head(lines) for path, lines in self.notes.items()}
        wholes = {path: self._whole(lines) for path, lines in self.notes.items()}
        lines = [line for of_note in self.notes.values() for line in of_note.values()]
        for line in lines:
            line.own = sum(line.held.values())
            if self.known is not None:
                line.alike = likeness(self.known, (line.candidate.about.path, line.candidate.number))
        for line in lines:
            path = line.candidate.about.path
            line.sight = self._first_sight(line) + 0.1 * heads[path] + 0.2 * wholes[path][0] + FIRST * line.alike[1]
        lines.sort(key=lambda line: (-line.sight, line.candidate.about.path, line.candidate.number))
        closer = CLOSER_LOOK if self.known is None else CLOSER_BY_MEANING
        chosen = lines[:closer]
        for line in chosen:
            path = line.candidate.about.path
            line.signals = self._words(line)
            line.signals |= self._speech(line) | self._kind(line)
            line.signals["about"] = min(6.0, heads[path])
            line.signals["note"], line.signals["note_shared"] = wholes[path]
        self._compare(chosen)
        if self.known is not None:
            _mean(chosen)
        return chosen, [line for line in lines[closer:] if line.held or line.fields or line.alike[0] >= ALIKE]

    # -- words -------------------------------------------------------------------------------------------------

    def _rarity(self, term: str) -> float:
        held = self._statistics.holding.get(term, 0) or self._statistics.about.get(term, 0)
        return log(1 + (max(self._statistics.passages, held) - held + 0.5) / (held + 0.5))

    def _hold(self, piece: Piece) -> Held:
        here = self._looked_for.intersection(piece.terms)
        if not here:
            return NOTHING
        norm = 0.6 + 0.6 * len(piece.terms) / self._usual
        held = {term: STAND_IN * 2.2 / (1 + norm) for other in here for term in self._weighed.get(other, ())}
        for term in self._wanted.intersection(here):
            count = piece.terms.count(term)
            held[term] = 2.2 * count / (count + norm)
        return {term: held[term] * self._share[term] for term in sorted(held, key=self._order.__getitem__)}

    def stood_for(self, piece: Piece) -> set[str]:
        """The terms of the query that another word stands for here."""
        if not self._stand_ins:
            return set()
        return {term for other in self._stand_ins.keys() & set(piece.terms) for term in self._stand_ins[other]}

    def _fields(self, item: Candidate) -> Held:
        found: dict[str, float] = {}
        for terms, value in zip((*item.fields, item.piece.heading), FIELDS.values(), strict=True):
            for term in self._wanted.intersection(terms):
                found[term] = max(found.get(term, 0.0), value)
        return {term: found[term] * self._share[term] for term in self._order if term in found}

    def _first_sight(self, line: Line) -> float:
        around, at = self.notes[line.candidate.about.path], line.candidate.number
        beside = sum(around[number].own for number in (at - 1, at + 1) if number in around)
        near = sum(around[number].own for number in (at - 2, at + 2) if number in around)
        speaks = bool(self.names) and self.names[0] in line.candidate.piece.label
        return line.own + 0.5 * beside + 0.25 * near + 0.3 * sum(line.fields.values()) + 0.15 * speaks

    def _head(self, lines: Mapping[int, Line]) -> float:
        """How much of the query stands above the text of a note, by how few notes have it there."""
        item = next(iter(lines.values())).candidate
        above = {term for terms in item.fields for term in self.query.terms.keys() & set(terms)}
        notes = self._statistics.notes
        counts = sorted(self._statistics.about.get(term, 0) for term in above)
        return sum(log(1 + (max(notes, count) - count + 0.5) / (count + 0.5)) for count in counts)

    def _whole(self, lines: Mapping[int, Line]) -> tuple[float, float]:
        """How strongly a note as a whole holds the query, and which part of it."""
        sums: dict[str, float] = defaultdict(float)
        for number in sorted(lines):
            for term, value in lines[number].held.items():
                sums[term] += value
        shares = [self._share[term] for term in sums]
        held = [
            2.2 * value * share / (value + 1.2 * share or 1.0)
            for value, share in zip(sums.values(), shares, strict=True)
        ]
        return sum(held), sum(shares)

    def _around(self, line: Line) -> dict[int, Held]:
        item, known = line.candidate, self.notes[line.candidate.about.path]
        steps = {-at: piece for at, piece in enumerate(reversed(item.before), 1)}
        steps |= dict(enumerate(item.after, 1))
        held: dict[int, Held] = {}
        for step in range(-REACH, REACH + 1):
            if (other := known.get(item.number + step)) is not None:
                held[step] = other.held
            elif step in steps:
                held[step] = self._hold(steps[step])
        return held

    def _words(self, line: Line) -> dict[str, float]:
        around = self._around(line)
        own = line.held
        back, back2, on, on2 = (around.get(step, NOTHING) for step in (-1, -2, 1, 2))
        near = _best((own, 1.0), (back, 0.6), (on, 0.6), (back2, 0.4), (on2, 0.4), (line.fields, 1.0))
        shares = [self._share[term] for term in own]
        return {
            "own": line.own,
            "shared": sum(shares),
            "count": float(len(own)),
            "rare": max(shares, default=0.0) / self._most,
            "near": sum(near.values()),
            "near_plain": sum(value * self._to_plain[term] for term, value in near.items()),
            "with_previous": sum(_best((own, 1.0), (back, 1.0)).values()),
            "with_next": sum(_best((own, 1.0), (on, 1.0)).values()),
            "after": sum(_best((own, 1.0), (back, 0.8), (back2, 0.5)).values()),
            "previous": sum(back.values()),
            "next": sum(on.values()),
            "wide": sum(_best((own, 1.0), *((held, 0.8) for held in around.values())).values()),
            "family": self._family(line),
        }

    def _family(self, line: Line) -> float:
        """The best term of which another word of its family stands here, and neither itself nor one that stands in.

        Both at once (`grandma` for `grandmother`) put it above the line that holds the word itself.
        """
        terms = line.candidate.piece.terms
        alike = {self._beginnings[term[:PREFIX]] for term in terms if term[:PREFIX] in self._beginnings}
        return max((self._share[term] for term in alike.difference(line.held)), default=0.0)

    # -- who, what, when ---------------------------------------------------------------------------------------

    def _speech(self, line: Line) -> dict[str, float]:
        item = line.candidate
        people = self.dialogues.get(item.about.path, frozenset())
        asked = bool(item.before) and asks(item.before[-1].text)
        known = bool(people and self.names)
        return {
            "asks": float(asks(item.piece.text)),
            "asked": float(asked),
            "answers": asked * line.signals["previous"],
            "speaker": float(self.names[0] in item.piece.label) if known else 0.5,
            "cast": sum(name in people for name in self.names) / len(self.names) if self.names else 0.0,
        }

    def _kind(self, line: Line) -> dict[str, float]:
        item, length = line.candidate, len(line.candidate.piece.terms)
        text, kinds = item.piece.text, self.query.kinds
        time, names = times(text), proper(text, self.cast)
        month, day = dated(self.query.dates, item.about.date)
        return {
            "length": log1p(length),
            "short": min(length, 60) / 60,
            "time": time,
            "proper": names,
            "when": time if "when" in kinds else 0.0,
            "name": names if "name" in kinds else 0.0,
            "amount": fitting("amount", text) if "amount" in kinds else 0.0,
            "why": fitting("why", text) if "why" in kinds else 0.0,
            "month": month,
            "day": day,
        }

    # -- against the others ------------------------------------------------------------------------------------

    def _compare(self, lines: Sequence[Line]) -> None:
        near = [line.signals["near"] for line in lines]
        best, whole = max(near, default=0.0) or 1.0, max((line.signals["note"] for line in lines), default=0.0) or 1.0
        peaks: dict[str, float] = defaultdict(float)
        sums: dict[str, float] = defaultdict(float)
        for line in lines:
            path = line.candidate.about.path
            peaks[path] = max(peaks[path], line.signals["near"])
            sums[path] += max(0.0, line.own - 0.15)
        places = {id(line): place for place, line in enumerate(sorted(lines, key=lambda line: -line.signals["near"]))}
        for line in lines:
            path, value = line.candidate.about.path, line.signals["near"]
            line.signals |= {
                "of_best": value / best,
                "place": -log1p(places[id(line)]),
                "note_of_best": line.signals["note"] / whole,
                "of_peak": value / (peaks[path] or 1.0),
                "note_sum": min(3.0, sums[path]),
            }


def _mean(lines: Sequence[Line]) -> None:
    """What the lines mean against what is asked, and against the one that comes nearest."""
    for at, name in enumerate(("like", "like_after", "like_around")):
        best = max(0.1, max((line.alike[at] for line in lines), default=0.0))
        for line in lines:
            line.signals |= {name: line.alike[at], f"{name}_of_best": line.alike[at] / best}


def _best(*parts: tuple[Held, float]) -> dict[str, float]:
    """For each term the most of what the parts hold, each part taken at its share."""
    best: dict[str, float] = {}
    for held, share in parts:
        for term, value in held.items():
            if value * share > best.get(term, 0.0):
                best[term] = value * share
    return best


def people(candidates: Sequence[Candidate]) -> frozenset[str]:
    """The terms of who speaks in the notes of the candidates."""
    return frozenset(term for names in _dialogues(candidates).values() for term in names)


def _dialogues(candidates: Sequence[Candidate]) -> dict[str, frozenset[str]]:
    """Path → the terms of who speaks, for notes where names, one of them more than once, stand before most lines."""
    notes: dict[str, list[frozenset[str]]] = defaultdict(list)
    for item in candidates:
        notes[item.about.path].append(item.piece.label)
    found = {}
    for path, here in notes.items():
        often = {label for label, count in Counter(here).items() if label and count > 1}
        if sum(label in often for label in here) * 2 > len(here):
            found[path] = frozenset(term for label in often for term in label)
    return found
