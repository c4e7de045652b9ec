"""The terms of a text and of a query.

The words of a text are taken whole and in parts (`multi-agent`, `parse_date`, `getUserName`, `12:30`), CJK text as
single characters and pairs. Punctuation of a query is never syntax.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from bonsai.notes.summary import without_escapes

VERSION = 1  # of `index_terms`: an index that was made with another one is made anew
MAX_TERMS = 32  # of a query
MAX_QUERY = 10_000  # characters of a query that are looked at

_WORD = re.compile(r"\w+(?:[-.'’:/@+&]\w+)*")
_PART = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_WIDE = re.compile(
    "[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can did do does for from had has have he her his how i in is it its me my of on "
        "or our she so that the their them they this to was we were what when where which who why will with you your",
    )
)


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for. Without terms nothing is found."""

    text: str
    terms: Mapping[str, str]  # term → as the person spells it
    search: tuple[str, ...]  # the terms of which a passage must hold one to be looked at


def parse(text: str) -> Query:
    """A query in any language and of any length; the commonest words count only where there is nothing else."""
    text = text[:MAX_QUERY].replace("\0", " ")
    found: dict[str, str] = {}
    alone = {run for run in _WIDE.findall(unicodedata.normalize("NFKC", text)) if len(run) == 1}
    for word in (term for token in _tokens(text) for term in _terms(token)):
        if len(word) > 1 or not _WIDE.match(word) or word in alone:  # pairs say more than their characters
            found.setdefault(_stem(word), word)
    rare = {term: word for term, word in found.items() if term not in _COMMON}
    terms = dict(islice((rare or found).items(), MAX_TERMS))
    return Query(text, terms, tuple(terms))


def index_terms(text: str) -> list[str]:
    """The terms of a text, folded, without their endings; compounds whole and in parts, CJK as characters and pairs."""
    return [term for token in _tokens(text) for term in _stems(token)]


def _tokens(text: str) -> list[str]:
    text = without_escapes(text)
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))


@lru_cache(65536)  # a tree says the same few thousand words all the time
def _stems(token: str) -> tuple[str, ...]:
    return tuple(_stem(term) for term in _terms(token))


def _terms(token: str) -> list[str]:
    """A token whole and in parts."""
    if not token.isascii() and _WIDE.search(token):
        return _wide_terms(token)
    whole = token.casefold()
    parts = [] if whole.isalpha() else _PART.findall(whole)
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


def _stem(word: str) -> str:
    """A word without its English ending."""
    if not word.isascii() or word in _COMMON:
        return word
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 5 and word.endswith(("ing", "ed")):
        word = word[:-3] if word.endswith("g") else word[:-2]
        word = word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
