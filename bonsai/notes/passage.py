"""Passages, the units of recall: how a note falls into them, and which of them answer a query.

The words of a text are taken whole and in parts (`multi-agent`, `parse_date`, `getUserName`, `12:30`), CJK text as
single characters and pairs. Punctuation of a query is never syntax.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import log
from typing import NamedTuple

from bonsai.notes.layout import MAX_PARSED, Kind, kind_of, tree_of
from bonsai.notes.note import Note, lines, parse
from bonsai.notes.summary import count_tokens, field_text, without_escapes

MAX_LINES = 12  # a passage is no longer: whoever reads a hit reads all of it
SHORT = 60  # tokens: a section up to here is one passage with its heading
MAX_TERMS = 64  # of a query
USUAL_LENGTH = 30  # words of a passage
BOOSTS = {"title": 2.0, "heading": 1.0, "tags": 1.5, "path": 1.0}  # against 1.0 for the text

_BLOCK_BEGIN, _BLOCK_END = "<!-- bonsai:begin -->", "<!-- bonsai:end -->"
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_BULLET = re.compile(r"[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]) +)?(`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_WIKI = re.compile(r"\[\[(?:[^\[\]|]{1,300}\|)?([^\[\]|]{1,300})\]\]")
_EMPHASIS = re.compile(r"\*{1,3}|`+|~~|(?<!\w)_{1,3}|_{1,3}(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_COMMENT = re.compile(r"<!--[^<>]{0,500}-->")
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
class Passage:
    """Some lines of a note that belong together. `lines` are 1-based, inclusive, in the file."""

    lines: tuple[int, int]
    trail: tuple[str, ...]  # the visible texts of the headings above it, outermost first
    text: str

    @property
    def heading(self) -> str:
        """The visible text of the heading it stands under, "" where there is none."""
        return self.trail[-1] if self.trail else ""


class Found(NamedTuple):
    """A passage that answers a query, with the reasons (`deploy in text`)."""

    path: str
    title: str
    passage: Passage
    score: float
    why: list[str]


def passages(path: str, data: bytes) -> list[Passage]:
    """The passages of a note: a bullet with what hangs on it, a paragraph, a short section as a whole.

    Only the first MAX_PARSED bytes are looked at. In a boot file the generated block is left out.
    """
    note = parse(data[:MAX_PARSED])
    first = data.count(b"\n", 0, note.body_start) + 1
    rows = [row.replace("\0", "") for row in lines(note.text)]
    if kind_of(path) is Kind.BOOT:
        _blank_generated(rows)
    found = []
    for trail, start, below, end in _sections(rows):
        whole = "".join(rows[start:end]).strip()
        if trail and whole and end - start <= MAX_LINES and count_tokens(whole) <= SHORT:
            spans: Iterable[tuple[int, int]] = [_trimmed(rows, start, end)]
        else:
            spans = _pieces(rows, below, end)
        found += [Passage((first + a, first + b - 1), trail, "".join(rows[a:b]).strip("\r\n")) for a, b in spans]
    return found


def visible(text: str) -> str:
    """A line of markdown as a reader sees it: without emphasis, code and link marks."""
    for pattern in (_COMMENT, _EMPHASIS):
        text = pattern.sub("", text)
    return _ESCAPE.sub(r"\1", _WIKI.sub(r"\1", _LINK.sub(r"\1", text))).strip()


def words(text: str) -> list[str]:
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


def query_terms(query: str) -> dict[str, str]:
    """What to look for, each with how the query spells it; the commonest words only where there is nothing else."""
    found: dict[str, str] = {}
    alone = {run for run in _WIDE.findall(unicodedata.normalize("NFKC", query)) if len(run) == 1}
    for word in (term for token in _tokens(query) for term in _terms(token)):
        if len(word) > 1 or not _WIDE.match(word) or word in alone:  # pairs say more than their characters
            found.setdefault(_stem(word), word)
    rare = {term: word for term, word in found.items() if term not in _COMMON}
    return dict(islice((rare or found).items(), MAX_TERMS))


def rank(query: str, notes: Iterable[tuple[str, bytes]], limit: int) -> list[Found]:
    """The passages that answer a query best, best first; equal ones in the order of path and line."""
    terms = query_terms(query)
    if not terms:
        return []
    holding: Counter[str] = Counter()
    candidates: list[tuple[str, bytes]] = []
    total = 0
    for path, data in notes:
        total += 1
        text = data[:MAX_PARSED].decode("utf-8", "replace").replace("\0", "")
        folded = _folded(f"{_place(path)}\n{text}")
        present = [term for term in terms if term in folded]  # a cheap test first: most notes hold no term at all
        if present:
            holding.update(present)
            candidates.append((path, data))
    weights = {term: log(1 + (total - holding[term] + 0.5) / (holding[term] + 0.5)) + 0.1 for term in terms}
    found = [item for path, data in candidates for item in _scored(path, data, weights, terms)]
    found.sort(key=lambda item: (-item.score, item.path, item.passage.lines))
    return found[:limit]


def _folded(text: str) -> str:
    """The text in the form that terms have, uncut: a term that is not part of it is no word of it either."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _scored(path: str, data: bytes, weights: dict[str, float], terms: dict[str, str]) -> list[Found]:
    """The passages of one note that hold a term, or stand first under a heading that does.

    Where only title, tags or path hold one, the best passage stands for the note.
    """
    note = parse(data[:MAX_PARSED])
    pieces = passages(path, data) or [_frontmatter(note)]
    title = field_text(note.fields.get("title")) or (pieces[0].trail[0] if pieces[0].trail else "")
    about = {"title": _about(note, title), "tags": _tags(note), "path": _place(path)}
    fields = {name: set(words(text)) for name, text in about.items()}
    own: list[Found] = []
    others: list[Found] = []
    trail: tuple[str, ...] | None = None
    for piece in pieces:
        score, why = _score(piece, fields, weights, terms)
        leads = piece.trail != trail and any(reason.endswith(" in heading") for reason in why)
        trail = piece.trail
        chosen = own if leads or any(reason.endswith(" in text") for reason in why) else others
        if why:
            chosen.append(Found(path, title, piece, round(score, 4), why))
    return own or sorted(others, key=lambda item: -item.score)[:1]


def _score(
    piece: Passage, fields: dict[str, set[str]], weights: dict[str, float], terms: dict[str, str]
) -> tuple[float, list[str]]:
    """How well a passage answers (BM25 for its text, a boost for each field), and why."""
    folded = _folded(piece.text)
    counts = Counter(words(piece.text) if any(term in folded for term in terms) else ())
    length = 0.5 + 0.5 * counts.total() / USUAL_LENGTH
    here = {**fields, "heading": set(words(" ".join(piece.trail)))}
    score, why = 0.0, []
    for term, weight in weights.items():
        times = counts[term]
        places = [name for name in BOOSTS if term in here[name]]
        score += weight * (2.2 * times / (times + 1.2 * length) + 0.25 * sum(BOOSTS[name] for name in places))
        why += [f"{terms[term]} in {name}" for name in (["text"] if times else []) + places]
    return score, why


def _about(note: Note, title: str) -> str:
    return " ".join([title, field_text(note.fields.get("name")), field_text(note.fields.get("description"))])


def _place(path: str) -> str:
    """The part of a path that tells notes apart."""
    tree = tree_of(path)
    return path.removeprefix(f"{tree.memory}/").removeprefix("domains/").removesuffix(".md")


def _tags(note: Note) -> str:
    keys = ("tags", "aliases", "alias", "key", "urls", "commands", "paths")
    return " ".join(field_text(note.fields.get(key)) for key in keys)


def _frontmatter(note: Note) -> Passage:
    """What stands for a note that has no text below its frontmatter."""
    first = note.data.count(b"\n", 0, note.body_start) or 1
    told = field_text(note.fields.get("description")) or field_text(note.fields.get("title"))
    return Passage((1, first), (), told)


def _sections(rows: list[str]) -> Iterator[tuple[tuple[str, ...], int, int, int]]:
    """(headings above, row of the heading, row below it, row after) for each stretch of text between two headings."""
    trail: list[tuple[int, str]] = []
    start, below, fence = 0, 0, ""
    for at, row in enumerate(rows):
        fence, was_fenced = _fence_after(row, fence), bool(fence)
        level, text, begin = (0, "", at) if fence or was_fenced else _heading(rows, at)
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
        return len(found[1]), visible(bare if not bare or bare[-1] in " \t" else text), at
    mark = row.strip()
    above = rows[at - 1].strip() if at else ""
    if mark[:1] in ("=", "-") and not mark.strip(mark[0]) and above and not row.startswith(("    ", "\t")):
        alone = not (at > 1 and rows[at - 2].strip())
        if alone and not _BULLET.match(rows[at - 1]) and above[0] not in "#>|-=":
            return (1 if mark[0] == "=" else 2), visible(above), at - 1
    return 0, "", at


def _fence_after(row: str, fence: str) -> str:
    """The fence that is open behind a row."""
    found = _FENCE.match(row) if "```" in row or "~~~" in row else None
    if not found:
        return fence
    if fence:
        return "" if found[1].startswith(fence) and not row.strip().strip(fence[0]) else fence
    return found[1]


def _pieces(rows: list[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """The row spans of the bullets and paragraphs of a section; deeper bullets go with the one they hang on."""
    begin, indent, fence = -1, -1, ""
    for at in range(start, end):
        row, was_fenced = rows[at], bool(fence)
        fence = _fence_after(row, fence)
        blank = not row.strip() and not was_fenced
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


def _blank_generated(rows: list[str]) -> None:
    inside = False
    for at, row in enumerate(rows):
        mark = row.strip()
        inside = inside or mark == _BLOCK_BEGIN
        if inside:
            rows[at] = "\n"
        inside = inside and mark != _BLOCK_END


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
    """A word without its English ending: always a beginning of the word, which the first test in `rank` builds on."""
    if not word.isascii() or word in _COMMON:
        return word
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 5 and word.endswith(("ing", "ed")):
        word = word[:-3] if word.endswith("g") else word[:-2]
        word = word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
