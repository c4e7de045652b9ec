"""What kind of line a passage is: who says it, whether it asks, what it tells of times, amounts and names."""

import re
from collections.abc import Collection
from datetime import date
from functools import lru_cache

from bonsai.notes.query import Dates, index_terms

MOST = 2000  # characters of a passage that are looked at
NAMED = 80  # characters in which a name ends, with what stands before it

_LABEL = re.compile(
    r"\s{0,8}(?:(?:[-*+]|\d{1,9}[.)])\s{1,4})?(?:\*\*|__)?([^\W\d_][^:*_\n]{0,40})(?:\*\*|__)?:(?=[\s*_])"
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|week|weeks|weekend|month|months|year|years|days|since|"
    r"recently|morning|spring|summer|autumn|fall|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|\d{4}-\d\d-\d\d)\b"
)
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,30}")
_FITTING = {
    "amount": re.compile(
        r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|few|couple|several|once|twice|dozen|many|\d{1,12})\b"
    ),
    "why": re.compile(r"\b(?:because|cause|since|so that|in order|reason|motivat|inspir|want)"),
}


def label_of(text: str) -> frozenset[str]:
    """The terms of the name that a line begins with (`- **Anna**: …`), none where it begins otherwise."""
    found = _LABEL.match(text) if ":" in text[:NAMED] else None
    return _label(found[1]) if found else frozenset()


def without_label(text: str) -> str:
    """A text without the name that it begins with."""
    found = _LABEL.match(text)
    return text[found.end() :] if found else text


@lru_cache(16384)
def _label(name: str) -> frozenset[str]:
    return frozenset(index_terms(name))


def asks(text: str) -> bool:
    """Whether a text is a question, told by its end; a remark in brackets behind it does not count."""
    end = text[-MOST:].rstrip()
    if end.endswith("]") and "[" in end:
        end = end[: end.rfind("[")].rstrip()
    return end.endswith(("?", "\uff1f"))


def times(text: str) -> float:
    """How many words for days and times a text has, at most 3."""
    return float(min(3, len(_TIME.findall(text[:MOST].lower()))))


def proper(text: str, besides: Collection[str]) -> float:
    """How many names a text has inside its sentences besides some terms, at most 3."""
    found = _PROPER.findall(text[:MOST])
    return float(min(3, sum(not besides or index_terms(name)[0] not in besides for name in found)))


def fitting(kind: str, text: str) -> float:
    """How many words a text has that answer for an amount or a reason, at most 2."""
    return float(min(2, len(_FITTING[kind].findall(text[:MOST].lower()))))


def dated(asked: Dates, day: str) -> tuple[float, float]:
    """Whether a note is of a month, and whether of about a day, that a query names. `day` is `YYYY-MM-DD` or ""."""
    try:
        here = date.fromisoformat(day)
    except ValueError:
        return 0.0, 0.0
    if not (asked.months or asked.years) or (asked.years and here.year not in asked.years):
        return 0.0, 0.0
    if not asked.months:
        return 0.5, 0.0
    return float(here.month in asked.months), max((_close(here, *pair) for pair in asked.days), default=0.0)


def _close(here: date, month: int, day: int) -> float:
    """A day is told of on the day or soon after."""
    try:
        late = (here - date(here.year, month, day)).days
    except ValueError:  # 31 June
        return 0.0
    return 1.0 if -1 <= late <= 1 else 0.5 if 0 <= late < 14 else 0.0
