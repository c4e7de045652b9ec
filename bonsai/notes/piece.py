"""The boot file in pieces that can go into notes of their own: which, and in which order."""

from collections.abc import Iterator
from typing import NamedTuple

from bonsai.notes.note import headings
from bonsai.notes.split import Section, split

#: What is read at every start stays as long as it can: sections by how soon they go, the others come between.
_RANKS = {
    "feedback": 0,
    "reference": 1,
    "events": 3,
    "lessons": 3,
    "project": 4,
    "projects": 4,
    "tasks": 5,
}
_OTHERS = 2
_STAYS = frozenset({"user", "owner", "identity"})
SMALL = 300  # bytes: less is not worth a file and a pointer


class Piece(NamedTuple):
    """Some lines of a boot file. `start` and `end` are offsets of bytes, `line` its first line (0-based)."""

    section: str  # the heading of its section, casefolded
    heading: str
    start: int
    end: int
    line: int
    lines: int
    rank: int


def pieces(own: bytes) -> list[Piece]:
    """The pieces of a boot file without its generated block: its sub-sections, else the text of a section."""
    found = split(own)
    at = len(found.frontmatter)
    result = []
    for section in found.sections:
        name = section.heading.casefold()
        if section.kind == "section" and name not in _STAYS:
            result += list(_of_section(section, own, at))
        at += len(section.data)
    return [piece for piece in result if piece.end - piece.start >= SMALL]


def _of_section(section: Section, own: bytes, at: int) -> Iterator[Piece]:
    name = section.heading.casefold()
    rows = section.data.splitlines(keepends=True)
    inside = [item for item in headings(section.data.decode("utf-8", "replace")) if item.level > section.level]
    first = own.count(b"\n", 0, at)
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))

    def piece(heading: str, begin: int, stop: int) -> Piece:
        rank = _RANKS.get(name, _OTHERS)
        return Piece(name, heading, at + starts[begin], at + starts[stop], first + begin, stop - begin, rank)

    if not inside:
        top = headings(section.data.decode("utf-8", "replace"))
        below = top[0].end if top and name in _RANKS else 0  # the heading of a hot section stays, with the pointer
        yield piece(section.heading, below, len(rows))
        return
    level = min(item.level for item in inside)
    cuts = [item for item in inside if item.level == level]
    for item, after in zip(cuts, [*cuts[1:], None], strict=True):
        yield piece(item.text, item.line, after.line if after else len(rows))
