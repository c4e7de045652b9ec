"""What texts mean, as vectors: what of a passage an embedder is given, and what the ranking learns from it.

A vector is signed bytes, 127 times a unit vector: whole numbers, whose products are the same on every machine.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import sqrt
from operator import mul
from typing import NamedTuple, Protocol

from bonsai.notes.candidate import About, Candidate, Piece
from bonsai.notes.common_words import GLUE
from bonsai.notes.traits import MOST, without_label

UNIT = 127 * 127  # the product of a vector with itself
ALIKE = 0.3  # from here on a passage is found by what it means alone: 1 % of those that have nothing to do with a query
NEAREST = 50  # passages that are looked at for what they mean
FIRST = 0.6  # what likeness is worth at first sight, against words

_WORD = re.compile(r"[^\W\d_]{2,40}")

Place = tuple[str, int]  # the path of a note, and the number of a passage in it


class Embedder(Protocol):
    """A model that turns texts into vectors."""

    @property
    def name(self) -> str:
        """The model and its version: only vectors of one name can be compared."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text, all of one length; nothing but zeros for a text that says nothing."""


class Close(NamedTuple):
    """Products of the vector of a passage."""

    near: float  # with that of the query
    size: float  # with itself: 1, or 0 for a passage that says nothing
    next: float  # with that of the passage behind it in its note
    second: float  # with that of the one behind that


class Meanings(Protocol):
    """Passages whose meaning is known. Raises Busy where that is not possible now."""

    def learn(self, embedder: Embedder) -> None:
        """Embed what is not embedded yet, all of it where another model did."""

    def alike(self, vector: bytes, limit: int, keep: Callable[[About], bool] | None = None) -> list[Candidate]:
        """The passages that are nearest to a vector, of the notes for which `keep` is true."""

    def closeness(self, vector: bytes, places: Collection[Place]) -> dict[Place, Close]:
        """How near passages are to a vector; without those that are not embedded."""


def gist(piece: Piece) -> str:
    """The words that tell what a passage is about, under which headings; not who says it."""
    return _told(f"{' '.join(piece.trail[1:])} {without_label(piece.text[:MOST])}")


def gist_of_query(words: Iterable[str]) -> str:
    """The same of the words of a query."""
    return _told(" ".join(words))


def _told(text: str) -> str:
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(text))
    return " ".join(word for word in words if word not in GLUE)


def around(candidates: Iterable[Candidate]) -> set[Place]:
    """The places of passages, and those before and behind them."""
    return {
        (item.about.path, item.number + step) for item in candidates for step in (-1, 0, 1) if item.number + step >= 0
    }


def likeness(known: Mapping[Place, Close], place: Place) -> tuple[float, float, float]:
    """The cosine of a query with a passage; with it and the one before; with it and those on both sides at half.

    An answer is about what was asked before it, so the one before counts as much as the passage itself.
    """
    path, number = place
    here = known.get(place)
    if here is None:
        return 0.0, 0.0, 0.0
    nothing = Close(0.0, 0.0, 0.0, 0.0)
    back, on = known.get((path, number - 1), nothing), known.get((path, number + 1), nothing)
    both = here.size + back.size + 2 * back.next
    sides = here.size + (back.size + on.size) / 4 + back.next + here.next + back.second / 2
    return (
        _cosine(here.near, here.size),
        _cosine(here.near + back.near, both),
        _cosine(here.near + (back.near + on.near) / 2, sides),
    )


def _cosine(product: float, square: float) -> float:
    return product / sqrt(square) if square > 1e-6 else 0.0


def close(vectors: Sequence[bytes], number: int, vector: bytes) -> Close:
    """The closeness of a passage of a note that has these vectors."""
    here = vectors[number]
    later = [dot(here, other) / UNIT for other in vectors[number + 1 : number + 3]]
    return Close(dot(here, vector) / UNIT, dot(here, here) / UNIT, *later, *(0.0,) * (2 - len(later)))


def dot(one: bytes, other: bytes) -> int:
    """The product of two vectors."""
    return sum(map(mul, memoryview(one).cast("b"), memoryview(other).cast("b")))
