"""What in a markdown text is not the writer's own words: code, quotations, links, comments, math.

The blocks are those of the markdown parser: a code span may go on over the rows of its paragraph, a fence may stand in
a list in a quote. What stands inside a paragraph is found here, since the parser does not say where it stood.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator

from bonsai.notes.note import own_blocks
from bonsai.notes.prose import lines

MOST = 100  # characters between two single quotation marks
FAR = 200  # rows of math or of a comment that holds empty lines

_CELL = re.compile(r"(?:[^|\\]|\\.|\\)+|\|", re.DOTALL)
_TICKS = re.compile("`+")
_SPECIAL = re.compile(r"`+|<|\\.?", re.DOTALL)
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s<>\"）)]{1,2000}", re.IGNORECASE)
_TARGET = re.compile(r"\]\([^()\s]{0,1000}\)|\[\[[^\[\]]{1,500}\]\]|\]\[[^\[\]]{0,500}\]|\[\^[^\[\]\s]{1,200}\]")
_ANGLES = re.compile(r"<[^\s<>][^<>]{0,500}>")  # a date in it might make a tag of what is none
_LABEL = re.compile(r"\[([^\[\]]{1,200})\]")
_ATTRIBUTE = (
    r"\s{1,99}[A-Za-z_:][\w.:-]{0,99}(?:\s{0,99}=\s{0,99}(?:[^\s\"'=<>`]{1,999}|'[^']{0,999}'|\"[^\"]{0,999}\"))?"
)
_TAG = re.compile(
    rf"<(?:[A-Za-z][A-Za-z0-9-]{{0,99}}(?:{_ATTRIBUTE}){{0,50}}\s{{0,99}}/?|/[A-Za-z][A-Za-z0-9-]{{0,99}}\s{{0,99}})>"
    r"|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\x00-\x20<>]{0,2000}>|<!-->|<!--->"
)
_OF_CODE = re.compile(r"<(code|kbd|samp|var|tt|q|cite|math)[\s>]", re.IGNORECASE)
_MATH = re.compile(r"\$(?![\s$])[^$]{0,500}(?<![\s\\$])\$(?!\d)")
_PAIRS = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "《": "》", "‘": "’", '"': '"'}
#: What ends the piece of HTML that begins so.
_HTML = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>", "<!": ">"}
#: Math, the comments of Obsidian, what a template fills in.
_FENCED = {"$$": "$$", "%%": "%%", "\\[": "\\]", "\\(": "\\)", "{{": "}}", "{%": "%}"}
_OPENS = re.compile("|".join(map(re.escape, _FENCED)))


def masked(text: str) -> str:
    """The text with a NUL for each character that is not the writer's own; offsets and line ends stay."""
    rows = lines(text)
    found, labels = own_blocks(text)
    far = set(_far(rows))
    parts, done = list[str](), 0
    for first, end, cells in found:
        parts += map(_blank, rows[done:first])
        block = "".join(rows[first:end])
        if far.intersection(range(first, end)):
            parts.append(_blank(block))
        else:
            parts += [_in_block(piece, labels) for piece in (_CELL.findall(block) if cells else [block])]
        done = end
    return "".join([*parts, *map(_blank, rows[done:])])


def _blank(text: str) -> str:
    return "".join(char if char in "\r\n" else "\0" for char in text)


def _far(rows: list[str]) -> Iterator[int]:
    """The rows of math and comments that begin with a row of their own and go on over empty lines."""
    at = 0
    while at < len(rows):
        mark = rows[at].strip()[:2]
        if mark in ("$$", "%%") and rows[at].count(mark) == 1:
            end = next((row for row in range(at + 1, min(at + FAR, len(rows))) if mark in rows[row]), None)
            if end is not None:
                yield from range(at, end + 1)
                at = end
        at += 1


def _in_block(block: str, labels: Collection[str]) -> str:
    """A paragraph, a heading or a row of a table without what is quoted in it."""
    hidden = bytearray(len(block))
    for start, end in _code(block):
        _mark(hidden, start, end)
    for pattern in (_URL, _TARGET, _ANGLES):
        for found in pattern.finditer(block):
            _mark(hidden, *found.span())
    for label in _LABEL.finditer(block) if labels else ():
        if " ".join(label[1].split()).upper() in labels:  # as its definition, which a new name would not fit
            _mark(hidden, *label.span())
    shown = "".join("\0" if mark else char for char, mark in zip(block, hidden, strict=True))
    for start, end in _fenced(shown):
        _mark(hidden, start, end)
    for found in _MATH.finditer(shown):
        _mark(hidden, *found.span())
    _quotes(block, hidden)
    return "".join("\0" if mark and char not in "\r\n" else char for char, mark in zip(block, hidden, strict=True))


def _code(block: str) -> Iterator[tuple[int, int]]:
    """Code spans and HTML, from left to right: what begins first wins. Backticks that nothing closes are text."""
    runs = defaultdict[int, list[int]](list)
    for run in _TICKS.finditer(block):
        runs[len(run[0])].append(run.start())
    html, at = _Html(block), 0
    while begin := _SPECIAL.search(block, at):
        start, at = begin.start(), begin.end()
        stop = 0
        if begin[0][0] == "`":
            same = runs[at - start]
            close = bisect_left(same, at)
            stop = same[close] + at - start if close < len(same) else 0
        elif begin[0] == "<":
            stop = html.end(start)
            yield start, html.closed(start, stop)
        if stop:
            yield start, stop
            at = stop


class _Html:
    """The HTML in a paragraph."""

    def __init__(self, block: str) -> None:
        self._block, self._lower = block, block.lower()
        self._missing: set[str] = set()  # what is not there any more: looked for once, not at each `<`

    def end(self, at: int) -> int:
        """Where the tag or the like that begins here ends, 0 where none does."""
        if tag := _TAG.match(self._block, at):
            return tag.end()
        begin = next((begin for begin in _HTML if self._block.startswith(begin, at)), "")
        if not begin or (begin == "<!" and not self._block[at + 2 : at + 3].isalpha()):
            return 0
        return self._find(_HTML[begin], at + len(begin))

    def closed(self, at: int, end: int) -> int:
        """Where the element ends that a tag opens, if it is one of code or quotation; else the end of the tag."""
        code = _OF_CODE.match(self._block, at, end)
        return (code and self._find(f"</{code[1].lower()}>", end)) or end or at

    def _find(self, end: str, at: int) -> int:
        found = self._lower.find(end, at) if end not in self._missing else -1
        if found < 0:
            self._missing.add(end)
            return 0
        return found + len(end)


def _fenced(block: str) -> Iterator[tuple[int, int]]:
    at, missing = 0, set[str]()
    while found := _OPENS.search(block, at):
        at, close = found.end(), _FENCED[found[0]]
        end = block.find(close, at) if close not in missing else -1
        if end < 0:
            missing.add(close)
        else:
            at = end + len(close)
            yield found.start(), at


def _quotes(block: str, hidden: bytearray) -> None:
    """Quotations; one that nothing closes goes on to the end of its paragraph."""
    start, closing = 0, ""
    for at, char in enumerate(block):
        if hidden[at]:
            continue
        if closing:
            if char in closing and not (char == "’" and block[at + 1 : at + 2].isalnum()):
                _mark(hidden, start, at + 1)
                closing = ""
        elif char in _PAIRS and not (char == '"' and block[at - 1 : at].isdigit() and at):  # 5" is a length
            closing, start = _PAIRS[char], at
        elif char == "'" and not block[at - 1 : at].isalnum():
            end = block.find("'", at + 1, at + MOST)
            while 0 < end < len(block) - 1 and block[end + 1].isalnum():
                end = block.find("'", end + 1, at + MOST)
            if end > at + 1:
                _mark(hidden, at, end + 1)
    if closing:
        _mark(hidden, start, len(block))


def _mark(hidden: bytearray, start: int, end: int) -> None:
    hidden[start:end] = b"\1" * (end - start)
