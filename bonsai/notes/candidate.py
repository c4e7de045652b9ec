"""What the index hands to the ranking: passages that may answer a query, with what stands around them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bonsai.notes.passage import Passage


@dataclass(frozen=True, slots=True)
class About:
    """What is said of a note besides its text."""

    path: str
    title: str = ""
    description: str = ""  # `description` and `name`
    tags: str = ""  # tags, aliases, key, urls, commands and paths, with spaces between them
    date: str = ""  # `YYYY-MM-DD`: updated or created, else the day in its file name, "" where there is none
    type: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that may answer."""

    about: About
    number: int  # its place among the passages of its note, from 0
    passage: Passage
    before: tuple[Passage, ...] = ()  # up to two passages before it, the nearest last
    after: tuple[Passage, ...] = ()  # up to two passages after it, the nearest first


@dataclass(frozen=True, slots=True)
class Statistics:
    """How often terms occur in the memory. The same whether it was indexed at once or note by note."""

    passages: int = 0
    words: int = 0  # terms in the texts of all passages
    notes: int = 0
    holding: Mapping[str, int] = field(default_factory=dict)  # term → passages with it in their text or headings
    about: Mapping[str, int] = field(default_factory=dict)  # term → notes with it in title, description, tags or path
