"""MEMORY.md → sections: every byte in exactly one of them, or in the frontmatter on top."""

import re
from itertools import accumulate
from typing import Literal, NamedTuple

from bonsai.notes.note import BOM, Heading, headings, parse

Kind = Literal["preamble", "section", "chapter"]

# The first line of a block says whether broken YAML was meant as frontmatter, or is prose between two rules.
_KEY = re.compile(rb"[\w.-]{1,100}[ \t]{0,100}:(?:[ \t]|\Z)")


class Section(NamedTuple):
    """One piece of a boot file.

    A preamble stands before the first section; a chapter is a level-1 heading with its text in a file that splits at
    level 2. `heading` is the text of the heading as it shows, that of a preamble the text of the title it begins with.
    """

    kind: Kind
    heading: str
    level: int  # 0: no heading
    data: bytes
    bare: bool  # nothing but level-1 headings, HTML comments and white space


class Sections(NamedTuple):
    """A boot file in pieces: `frontmatter` and the `data` of the sections, joined, are the file."""

    frontmatter: bytes
    sections: tuple[Section, ...]


def split(data: bytes) -> Sections:
    """Split a boot file (without its generated block) at its level-2 headings, or at the highest level it has."""
    start = _frontmatter(data)
    body = data[start:]
    skip = len(BOM) if body.startswith(BOM) else 0
    rows = body[skip:].splitlines(keepends=True)  # of bytes, it splits where markdown-it does
    found = headings(_text(body[skip:]))
    level = _split_level(found)
    cuts = _cuts(found, level)
    if not cuts or _text(b"".join(rows[: found[cuts[0]].line])).strip():
        cuts = [-1, *cuts]  # a preamble has no heading to be cut at
    ends = [*cuts[1:], len(found)]
    at = [skip, *(skip + length for length in accumulate(map(len, rows)))]
    pieces: list[Section] = []
    for cut, stop in zip(cuts, ends, strict=True):
        first = found[cut].line if cut >= 0 else 0
        last = found[stop].line if stop < len(found) else len(rows)
        begin = at[first] if pieces else 0  # white space and a BOM on top belong to the first piece
        inside = found[max(cut, 0) : stop]
        titles = [item for item in inside if item.level == 1]
        own = found[cut] if cut >= 0 else None
        title = own or _title(rows, titles)
        pieces.append(
            Section(
                kind=_kind(own, level),
                heading=_shown(title.text) if title else "",
                level=own.level if own else 0,
                data=body[begin : at[last]],
                bare=not _without(rows, first, last, titles),
            )
        )
    return Sections(data[:start], tuple(pieces) if body else ())


def _kind(own: Heading | None, level: int) -> Kind:
    if own is None:
        return "preamble"
    return "chapter" if own.level < level else "section"


def _title(rows: list[bytes], titles: list[Heading]) -> Heading | None:
    """The title that a preamble begins with. One further down names only the end of the preamble."""
    if not titles or _without(rows, 0, titles[0].line, []):
        return None
    return titles[0]


def _without(rows: list[bytes], first: int, last: int, titles: list[Heading]) -> str:
    """What these lines say besides the titles and the HTML comments."""
    hidden = {line for item in titles for line in range(item.line, item.end)}
    return _uncommented(_text(b"".join(rows[line] for line in range(first, last) if line not in hidden))).strip()


def _frontmatter(data: bytes) -> int:
    """Where the body begins. A broken block stays on top too, unless its first line shows that it is prose."""
    note = parse(data)
    if note.block or note.fault is None:
        return note.block[1] if note.block else 0
    top = data[: note.prose_start].removeprefix(BOM).splitlines()[1:]
    first = next((row for row in top if row.strip() and not row.startswith(b"#")), b"")
    return note.prose_start if _KEY.match(first) else 0


def _split_level(found: list[Heading]) -> int:
    levels = {item.level for item in found}
    return 2 if 2 in levels else min(levels, default=0)


def _cuts(found: list[Heading], level: int) -> list[int]:
    """Which headings begin a piece: those of the split level, and level-1 headings after the file's first title.

    Two titles before the first section are two pieces as well: else a chapter that stays in MEMORY.md would melt into
    the preamble once the section before it has gone, and the next migrate would see another file.
    """
    cuts: list[int] = []
    titled = False
    for number, item in enumerate(found):
        if item.level == level or (item.level == 1 and (cuts or titled)):
            cuts.append(number)
        titled = titled or item.level == 1
    return cuts


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _shown(heading: str) -> str:
    """A heading on one line, without HTML comments."""
    return " ".join(_uncommented(heading).split())


def _uncommented(text: str) -> str:
    kept, position = [], 0
    while (opened := text.find("<!--", position)) >= 0:
        closed = text.find("-->", opened)
        if closed < 0:
            break
        kept.append(text[position:opened])
        position = closed + 3
    return "".join(kept) + text[position:]
