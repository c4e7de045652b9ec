"""The search index in one process: for tests, and for notes that the index on disk cannot take in now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log
from typing import TYPE_CHECKING

from bonsai.adapters.vector_search import nearest
from bonsai.errors import Busy
from bonsai.notes.candidate import About, Candidate, Piece, Statistics
from bonsai.notes.change import Row, Stat
from bonsai.notes.meaning import Close, Embedder, Place, close, gist

if TYPE_CHECKING:
    from bonsai.notes.document import Document

NEAR = 2  # passages before and after a candidate that come with it
NOTES, OF_NOTE = 10, 8  # notes that are looked into for their title, tags or path, and passages of each


class MemorySearch:
    """Documents in a dictionary; every search looks through all of them."""

    rebuilt = ""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._known: dict[str, Row] = {}
        self._mark: str | None = None
        self._vectors: dict[str, list[bytes]] = {}
        self._model = ""

    def close(self) -> None:
        """Nothing is open."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raises Busy as long as it was never complete."""
        if self._mark is None:
            raise Busy("the search index is not complete", hint="Try again.")
        yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing."""
        before = dict(self._documents), dict(self._known), self._mark
        try:
            yield
        except BaseException:
            self._documents, self._known, self._mark = before
            raise

    def known(self) -> Mapping[str, Row]:
        """The notes in the index as rows with the stat of what was read."""
        return self._known

    def abouts(self) -> list[About]:
        """What is said of each note."""
        return [note.about for note in self._documents.values()]

    def mark(self) -> str | None:
        """What the last `finish` said."""
        return self._mark

    def put(self, document: Document, stat: Stat) -> None:
        """Take in a note."""
        path = document.about.path
        self._documents[path], self._known[path] = document, Row(path, stat)
        self._vectors.pop(path, None)

    def drop(self, path: str) -> None:
        """Forget a note."""
        self._documents.pop(path, None)
        self._known.pop(path, None)
        self._vectors.pop(path, None)

    def finish(self, mark: str) -> None:
        """Say that the index holds all there is."""
        self._mark = mark

    def statistics(self, terms: Collection[str]) -> Statistics:
        """See the port."""
        notes = self._documents.values()
        pieces = [piece for note in notes for piece in note.pieces]
        sets = [{*piece.terms, *piece.heading} for piece in pieces]
        said = [{term for field in note.fields for term in field} for note in notes]
        return Statistics(
            passages=len(pieces),
            words=sum(len(piece.terms) for piece in pieces),
            notes=len(notes),
            holding={term: sum(term in held for held in sets) for term in terms},
            about={term: sum(term in held for held in said) for term in terms},
        )

    def search(
        self, terms: Sequence[str], limit: int, beside: int = 0, keep: Callable[[About], bool] | None = None
    ) -> list[Candidate]:
        """See the port."""
        notes = [note for note in self._documents.values() if keep is None or keep(note.about)]
        scored = [
            (_bm25(piece, weights), note, at)
            for weights in [self._weights(terms)]
            for note in notes
            for at, piece in enumerate(note.pieces)
            if not weights.keys().isdisjoint([*piece.terms, *piece.heading])
        ]
        scored.sort(key=lambda item: -item[0])
        wanted = [(note, at + step) for _, note, at in scored[:limit] for step in range(-beside, beside + 1)]
        wanted += [(note, at) for note in _named(notes, set(terms)) for at in _of_note(note, set(terms))]
        unique = {(note.about.path, at): (note, at) for note, at in wanted if 0 <= at < len(note.pieces)}
        return [_candidate(note, at) for note, at in unique.values()]

    def learn(self, embedder: Embedder) -> None:
        """See the port."""
        if self._model != embedder.name:
            self._model, self._vectors = embedder.name, {}
        for path, note in self._documents.items():
            if path not in self._vectors:
                self._vectors[path] = embedder.embed([gist(piece) for piece in note.pieces])

    def alike(self, vector: bytes, limit: int, keep: Callable[[About], bool] | None = None) -> list[Candidate]:
        """See the port."""
        kept = [note for note in self._documents.values() if keep is None or keep(note.about)]
        rows = [
            (note, at, row)
            for note in kept
            for at, row in enumerate(self._vectors.get(note.about.path, ()))
            if any(row)
        ]
        near = nearest(vector, b"".join(row for *_, row in rows), limit)
        return [_candidate(note, at) for note, at, _ in (rows[number] for number in near)]

    def closeness(self, vector: bytes, places: Collection[Place]) -> dict[Place, Close]:
        """See the port."""
        known = {path: self._vectors.get(path, []) for path, _ in places}
        return {(path, at): close(known[path], at, vector) for path, at in places if at < len(known[path])}

    def _weights(self, terms: Sequence[str]) -> dict[str, float]:
        found = self.statistics(terms)
        return {term: log(1 + (found.passages + 0.5) / (count + 0.5)) for term, count in found.holding.items()}


def _bm25(piece: Piece, weights: Mapping[str, float]) -> float:
    counts = Counter(piece.terms)
    for term in piece.heading:
        counts[term] += 1
    return sum(weight * 2.2 * counts[term] / (counts[term] + 1.2) for term, weight in weights.items())


def _named(notes: Sequence[Document], terms: set[str]) -> list[Document]:
    """The notes that say something of the query above their text, the best first."""
    counts = [(sum(not terms.isdisjoint(field) for field in note.fields), note) for note in notes]
    counts.sort(key=lambda item: -item[0])
    return [note for count, note in counts[:NOTES] if count]


def _of_note(note: Document, terms: set[str]) -> list[int]:
    found = [at for at, piece in enumerate(note.pieces) if not terms.isdisjoint([*piece.terms, *piece.heading])]
    return list(dict.fromkeys([0, *found[:OF_NOTE]]))


def _candidate(note: Document, at: int) -> Candidate:
    before, after = note.pieces[max(0, at - NEAR) : at], note.pieces[at + 1 : at + 1 + NEAR]
    return Candidate(note.about, note.fields, at, note.pieces[at], tuple(before), tuple(after))
