"""Passages, the units of recall: how a note falls into them."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bonsai.notes.layout import MAX_PARSED, Kind, kind_of, name_of
from bonsai.notes.note import Note, parse
from bonsai.notes.printed import clean, count_tokens
from bonsai.notes.prose import lines

MAX_LINES = 12  # a passage is no longer: whoever reads a hit reads all of it
SHORT = 60  # tokens: a section up to here is one passage with its heading

_BLOCK = ("<!-- bonsai:begin -->", "<!-- bonsai:end -->")  # in a boot file: what was generated
_GUIDE = ("<!-- bonsai:guide -->", "<!-- bonsai:guide:end -->")  # in feedback.md: how to write an entry
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_BULLET = re.compile(r"[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]) +)?(`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_WIKI = re.compile(r"\[\[(?:[^\[\]|]{1,300}\|)?([^\[\]|]{1,300})\]\]")
_EMPHASIS = re.compile(r"\*{1,3}|`+|~~|(?<!\w)_{1,3}|_{1,3}(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_COMMENT = re.compile(r"<!--[^<>]{0,500}-->")


class Passage(NamedTuple):
    """Some lines of a note that belong together. `lines` are 1-based, inclusive, in the file."""

    lines: tuple[int, int]
    trail: tuple[str, ...]  # the visible texts of the headings above it, outermost first
    text: str

    @property
    def heading(self) -> str:
        """The visible text of the heading it stands under, "" where there is none."""
        return self.trail[-1] if self.trail else ""


def passages(path: str, data: bytes) -> list[Passage]:
    """The passages of a note: a bullet with what hangs on it, a paragraph, a short section as a whole.

    Only the first MAX_PARSED bytes are looked at. What bonsai wrote into the file is left out: the generated block of a
    boot file, the guide in feedback.md.
    """
    return in_note(path, parse(data[:MAX_PARSED]))


def in_note(path: str, note: Note) -> list[Passage]:
    """The same, for a note that is parsed already."""
    first = note.data.count(b"\n", 0, note.body_start) + 1
    text = note.text
    rows = lines(text.replace("\0", "") if "\0" in text else text)
    if kind_of(path) is Kind.BOOT:
        _blank(rows, *_BLOCK)
    elif _GUIDE[0] in text and name_of(path) == "feedback.md":
        _blank(rows, *_GUIDE)
    fenced = "```" in text or "~~~" in text  # hot loops below: most notes hold no code at all
    hidden = _commented(rows, fenced) if "<!--" in text else frozenset()
    found = []
    for trail, start, below, end in _sections(rows, fenced, hidden):
        spans: Iterable[tuple[int, int]]
        if trail and end - start <= MAX_LINES and _is_short(rows, start, end):
            spans = [_trimmed(rows, start, end)]
        else:
            spans = _pieces(rows, below, end, fenced)
        found += [Passage((first + a, first + b - 1), trail, "".join(rows[a:b]).strip("\r\n")) for a, b in spans]
    return found


def visible(text: str) -> str:
    """A line of markdown as a reader sees it: without emphasis, code and link marks."""
    for pattern in (_COMMENT, _EMPHASIS):
        text = pattern.sub("", text)
    return _ESCAPE.sub(r"\1", _WIKI.sub(r"\1", _LINK.sub(r"\1", text))).strip()


def _is_short(rows: list[str], start: int, end: int) -> bool:
    whole = "".join(rows[start:end]).strip()
    return bool(whole) and len(whole) <= 8 * SHORT and count_tokens(whole) <= SHORT


def _commented(rows: list[str], fenced: bool) -> frozenset[int]:
    """The rows that go on with an HTML comment of several lines. A section that is commented out is no section: without
    this it became the heading of all that stands below it, and half a comment a passage. One without an end hides
    nothing."""
    last = max((at for at, row in enumerate(rows) if "-->" in row), default=-1)
    found, inside, fence = [], False, ""
    for at in range(last + 1):
        row = rows[at]
        if inside:
            found.append(at)
            inside = "-->" not in row
            continue
        if fenced:
            fence = _fence_after(row, fence)
        inside = not fence and row.lstrip(" ").startswith("<!--") and "-->" not in row and at < last
    return frozenset(found)


def _sections(rows: list[str], fenced: bool, hidden: frozenset[int]) -> Iterator[tuple[tuple[str, ...], int, int, int]]:
    """(headings above, row of the heading, row below it, row after) for each stretch of text between two headings."""
    trail: list[tuple[int, str]] = []
    start, below, fence = 0, 0, ""
    for at, row in enumerate(rows):
        if hidden and at in hidden:
            continue
        if fenced:
            was_fenced, fence = bool(fence), _fence_after(row, fence)
            if fence or was_fenced:
                continue
        mark = row.lstrip(" ")[:1]
        if mark not in {"#", "=", "-"}:
            continue
        level, text, begin = _heading(rows, at)
        if level:
            yield tuple(text for _, text in trail), start, below, begin
            trail = [*[item for item in trail if item[0] < level], (level, text)]
            start, below = begin, at + 1
    yield tuple(text for _, text in trail), start, below, len(rows)


def _heading(rows: list[str], at: int) -> tuple[int, str, int]:
    """(level, visible text, first row) of the heading that ends at a row; level 0 where none does."""
    row = rows[at]
    found = _HEADING.match(row)
    if found:
        text = row[found.end() :].strip()
        bare = text.rstrip("#")
        return len(found[1]), _shown(bare if not bare or bare[-1] in " \t" else text), at
    mark = row.strip()
    above = rows[at - 1].strip() if at else ""
    if mark[:1] in ("=", "-") and not mark.strip(mark[0]) and above and not row.startswith(("    ", "\t")):
        alone = not (at > 1 and rows[at - 2].strip())
        if alone and not _BULLET.match(rows[at - 1]) and above[0] not in "#>|-=":
            return (1 if mark[0] == "=" else 2), _shown(above), at - 1
    return 0, "", at


def _shown(heading: str) -> str:
    """A heading as it stands in a trail: one line that is safe to print."""
    return clean(visible(heading))


def _fence_after(row: str, fence: str) -> str:
    """The fence that is open behind a row."""
    found = _FENCE.match(row) if "```" in row or "~~~" in row else None
    if not found:
        return fence
    if fence:
        return "" if found[1].startswith(fence) and not row.strip().strip(fence[0]) else fence
    return found[1]


def _pieces(rows: list[str], start: int, end: int, fenced: bool) -> Iterator[tuple[int, int]]:
    """The row spans of the bullets and paragraphs of a section; deeper bullets go with the one they hang on."""
    begin, indent, fence, was_fenced = -1, -1, "", False
    for at in range(start, end):
        row = rows[at]
        if fenced:
            was_fenced, fence = bool(fence), _fence_after(row, fence)
        blank = not was_fenced and row.isspace()
        bullet = not was_fenced and bool(_BULLET.match(row))
        depth = len(row) - len(row.lstrip(" \t"))
        if begin >= 0 and (blank or at - begin >= MAX_LINES or (bullet and (indent < 0 or depth <= indent))):
            yield begin, at
            begin = -1
        if begin < 0 and not blank:
            begin, indent = at, depth if bullet else -1
    if begin >= 0:
        yield begin, end


def _trimmed(rows: list[str], start: int, end: int) -> tuple[int, int]:
    while end > start and not rows[end - 1].strip():
        end -= 1
    return start, end


def _blank(rows: list[str], begin: str, end: str) -> None:
    inside = False
    for at, row in enumerate(rows):
        mark = row.strip()
        inside = inside or mark == begin
        if inside:
            rows[at] = "\n"
        inside = inside and mark != end
