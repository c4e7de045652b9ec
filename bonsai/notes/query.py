"""The terms of a text and of a query, and what else a question asks for.

The words of a text are taken whole and in parts (`multi-agent`, `parse_date`, `getUserName`, `12:30`), CJK text as
single characters and pairs. Punctuation of a query is never syntax. Nothing here knows what day it is.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice

from bonsai.notes.common_words import GLUE
from bonsai.notes.printed import without_escapes
from bonsai.notes.stem import stem

VERSION = 3  # of `index_terms`: an index that was made with another one is made anew
MAX_TERMS = 32  # of a query
MAX_QUERY = 10_000  # characters of a query that are looked at

_WORD = re.compile(r"\w+(?:[-.'’:/@+&]\w+)*")
_PART = re.compile(r"[^\W\d_]+|\d+")
_JOINED = re.compile(r"[^\W\d_]{1,12}-[^\W\d_]{1,12}")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_WIDE = re.compile(
    "[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_ENDINGS = ("", "s", "t", "d", "m", "ll", "re", "ve")  # of `Anna's`, `don't`, `we'll`
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_SEASONS = {"spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11), "winter": (12, 1, 2)}
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_NAMED = "|".join(_MONTHS)
_DAY_MONTH = re.compile(rf"\b{_DAY} (?:of )?({_NAMED})\b")
_MONTH_DAY = re.compile(rf"\b({_NAMED}) {_DAY}\b")
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_KINDS = {
    "when": re.compile(r"\b(?:when|(?:what|which) (?:day|date|month|year|time))\b"),
    "amount": re.compile(r"\bhow (?:long|many|much|often|old|far)\b"),
    "why": re.compile(r"\b(?:why|reason|motivat\w{1,10}|inspir\w{1,10})\b"),
    "name": re.compile(r"\b(?:name[ds]?|called|title|which|what (?:\w{1,20} )?(?:kind|type|brand)s?)\b"),
}


@dataclass(frozen=True, slots=True)
class Dates:
    """The days that a query names: months (1-12), years, and (month, day) pairs."""

    months: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()
    days: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for. Without terms nothing is found."""

    text: str
    terms: Mapping[str, str]  # term → as the person spells it
    search: tuple[str, ...]  # the terms of which a passage must hold one to be looked at
    kinds: frozenset[str] = frozenset()  # what the answer is: when, amount, why, name
    dates: Dates = Dates()


def parse(text: str) -> Query:
    """A query in any language and of any length; the commonest words count only where there is nothing else."""
    text = text[:MAX_QUERY].replace("\0", " ")
    found: dict[str, str] = {}
    alone = {run for run in _WIDE.findall(unicodedata.normalize("NFKC", text)) if len(run) == 1}
    for word in (term for token in _tokens(text) for term in _terms(token)):
        if len(word) > 1 or not _WIDE.match(word) or word in alone:  # pairs say more than their characters
            found.setdefault(_stem(word), word)
    rare = {term: word for term, word in found.items() if term not in GLUE and term not in ("not", "nor")}
    terms = dict(islice((rare or found).items(), MAX_TERMS))
    lower = text.lower()
    kinds = frozenset(kind for kind, pattern in _KINDS.items() if pattern.search(lower))
    return Query(text, terms, tuple(terms), kinds, _dates(text))


def index_terms(text: str) -> list[str]:
    """The terms of a text, folded, without their endings; compounds whole and in parts, CJK as characters and pairs."""
    return list(chain.from_iterable(map(_stems, _tokens(text))))


def _dates(text: str) -> Dates:
    lower = text.lower()
    pairs = [(name, day) for day, name in _DAY_MONTH.findall(lower)] + _MONTH_DAY.findall(lower)
    days = {(_MONTHS.index(name) + 1, int(day)) for name, day in pairs}
    months = {month for month, _ in days}
    said = set(re.findall(r"[^\W\d_]+", lower))
    months |= {at for at, name in enumerate(_MONTHS, 1) if name in said and (name not in ("may", "march"))}
    months |= {at for at, name in ((3, "March"), (5, "May")) if re.search(rf"\b{name}\b", text)}
    for name, season in _SEASONS.items():
        months |= set(season) if name in said else set()
    for _year, month, day in _ISO.findall(text):
        months.add(int(month))
        days |= {(int(month), int(day))} if day else set()
    return Dates(frozenset(months), frozenset(int(year) for year in _YEAR.findall(text)), frozenset(days))


def _tokens(text: str) -> list[str]:
    text = without_escapes(text)
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))


@lru_cache(65536)  # a tree says the same few thousand words all the time
def _stems(token: str) -> tuple[str, ...]:
    return tuple(_stem(term) for term in _terms(token))


def _terms(token: str) -> list[str]:
    """A token whole and in parts; `don't` and `Anna's` only in parts, of which the second says nothing."""
    if not token.isascii() and _WIDE.search(token):
        return _wide_terms(token)
    whole = token.casefold().replace("’", "'")
    if "'" in whole:
        return [term for part in whole.split("'") if part not in _ENDINGS for term in _terms(part)]
    parts = [] if whole.isalpha() else _PART.findall(whole)
    if _JOINED.fullmatch(whole):  # somebody else writes wifi, email
        parts.append(whole.replace("-", ""))
    if token.isascii() and not (token.islower() or token.isupper() or token.istitle()):
        parts += [part.casefold() for part in _CAMEL.findall(token)]
    return [whole, *(part for part in parts if part != whole)]


def _wide_terms(token: str) -> list[str]:
    found: list[str] = []
    at = 0
    for run in _WIDE.finditer(token):
        found += [word.casefold() for word in _PART.findall(token[at : run.start()])]
        characters = run[0]
        found += [*characters, *(characters[i : i + 2] for i in range(len(characters) - 1))]
        at = run.end()
    return found + [word.casefold() for word in _PART.findall(token[at:])]


@lru_cache(65536)
def _stem(word: str) -> str:
    return word if word in GLUE else stem(word)
