"""What in a row of markdown is not the writer's own words: code, quotations, links, comments."""

import re

MOST = 100  # characters between two single quotation marks

_TICKS = re.compile("`{1,40}")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s<>\"）)]{1,2000}", re.IGNORECASE)
_TARGET = re.compile(r"\]\([^()\s]{0,1000}\)|\[\[[^\[\]]{1,500}\]\]")
_BULLET = re.compile(r"[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]")
_PAIRS = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "《": "》", "‘": "’", '"': '"'}


class Cover:
    """Hides, row after row of one text; a quotation may go on over the rows of a paragraph, a comment over any."""

    def __init__(self) -> None:
        self._closing = ""  # what ends the quotation that is open
        self._comment = False

    def hide(self, row: str) -> str:
        """The row with a NUL for each character that is quoted, so that offsets stay."""
        if not row.strip() or _BULLET.match(row):
            self._closing = ""
        if row.lstrip().startswith(">"):
            return "\0" * len(row)
        hidden = bytearray(len(row))
        self._comments(row, hidden)
        _code(row, hidden)
        for pattern in (_URL, _TARGET):
            for found in pattern.finditer(row):
                _mark(hidden, *found.span())
        self._quotes(row, hidden)
        return "".join("\0" if mark else char for char, mark in zip(row, hidden, strict=True))

    def _comments(self, row: str, hidden: bytearray) -> None:
        at = 0
        while at < len(row):
            if not self._comment:
                at = row.find("<!--", at)
                if at < 0:
                    return
                self._comment = True
            end = row.find("-->", at)
            if end < 0:
                _mark(hidden, at, len(row))
                return
            _mark(hidden, at, end + 3)
            self._comment, at = False, end + 3

    def _quotes(self, row: str, hidden: bytearray) -> None:
        start = 0
        for at, char in enumerate(row):
            if hidden[at]:
                continue
            if self._closing:
                if char in self._closing and not (char == "’" and row[at + 1 : at + 2].isalnum()):
                    _mark(hidden, start, at + 1)
                    self._closing = ""
            elif char in _PAIRS and not (char == '"' and row[at - 1 : at].isdigit() and at):  # 5" is a length
                self._closing, start = _PAIRS[char], at
            elif char == "'" and not row[at - 1 : at].isalnum():
                end = row.find("'", at + 1, at + MOST)
                while 0 < end < len(row) - 1 and row[end + 1].isalnum():
                    end = row.find("'", end + 1, at + MOST)
                if end > at + 1:
                    _mark(hidden, at, end + 1)
        if self._closing:
            _mark(hidden, start, len(row))


def _code(row: str, hidden: bytearray) -> None:
    """Code spans; backticks that nothing closes are text."""
    runs = [found.span() for found in _TICKS.finditer(row)]
    at, last = 0, {end - start: start for start, end in runs}
    while at < len(runs):
        start, end = runs[at]
        if last[end - start] > start:
            close = next(index for index in range(at + 1, len(runs)) if runs[index][1] - runs[index][0] == end - start)
            _mark(hidden, start, runs[close][1])
            at = close
        at += 1


def _mark(hidden: bytearray, start: int, end: int) -> None:
    hidden[start:end] = b"\1" * (end - start)
