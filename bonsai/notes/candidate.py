"""What the index hands to the ranking: passages that may answer a query, with what stands around them.

These are tuples, as a query makes some thousand of them; their terms are those that the index holds.
"""

from collections.abc import Mapping
from typing import NamedTuple


class About(NamedTuple):
    """What is said of a note besides its text."""

    path: str
    title: str = ""
    description: str = ""  # `description` and `name`
    tags: str = ""  # tags, aliases, key, urls, commands and paths, with spaces between them
    date: str = ""  # `YYYY-MM-DD`: updated or created, else the day in its file name, "" where there is none
    type: str = ""
    source: str = ""  # who says it: an actor, `web:…`; "" where the note does not tell


class Fields(NamedTuple):
    """The terms of what is said of a note."""

    title: list[str]  # of title and description
    tags: list[str]
    path: list[str]  # of its domain and file name


class Piece(NamedTuple):
    """A passage with its terms."""

    lines: tuple[int, int]  # 1-based, inclusive, in the file
    trail: tuple[str, ...]  # the visible texts of the headings above it, outermost first
    text: str  # as written
    terms: list[str]  # of the text, in their order
    heading: list[str]  # the terms of the headings
    label: frozenset[str] = frozenset()  # the terms of the name that the text begins with, as a line of a dialogue does


class Candidate(NamedTuple):
    """A passage that may answer."""

    about: About
    fields: Fields
    number: int  # its place among the passages of its note, from 0
    piece: Piece
    before: tuple[Piece, ...] = ()  # up to two passages before it, the nearest last
    after: tuple[Piece, ...] = ()  # up to two passages after it, the nearest first


class Statistics(NamedTuple):
    """How often terms occur in the memory. The same whether it was indexed at once or note by note."""

    passages: int = 0
    words: int = 0  # terms in the texts of all passages
    notes: int = 0
    holding: Mapping[str, int] = {}  # term → passages with it in their text or headings
    about: Mapping[str, int] = {}  # term → notes with it in title, description, tags or path
