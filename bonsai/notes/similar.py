"""Near-duplicates among many notes, in about linear time."""

import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from math import ceil
from zlib import crc32

from bonsai.notes.prose import lines

MANY = 20  # notes: a line that more of them have is boilerplate
CROWD = 50  # notes: a run of words that more of them share tells nothing
PARTNERS = 10  # notes that one note is compared with, the likeliest first

#: Words; a sign of a script that sets no spaces is one by itself.
_WORD = re.compile(r"[\u0e00-\u0eff\u3041-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]|[^\W_]+")

Pair = tuple[str, str, float]
Line = tuple[str, ...]


def near_duplicates(texts: Iterable[tuple[str, str]], similarity: float) -> list[Pair]:
    """Pairs of notes that share at least `similarity` (0 to 1) of their runs of three words, sorted.

    Args:
        texts: path and text, frontmatter left out.

    Returns:
        The two paths in order and what they share of the longer one. Case and punctuation do not count, nor do lines
        that many notes have (a template). Equal texts are always found, each paired with the first of them.
    """
    same: dict[tuple[Line, ...], list[str]] = defaultdict(list)
    for path, text in texts:
        said = tuple(_lines(text))
        if said:
            same[said].append(path)
    groups = sorted((sorted(paths), said) for said, paths in same.items())
    equal = [(paths[0], path, 1.0) for paths, _ in groups for path in paths[1:]]
    runs = _runs([said for _, said in groups])
    firsts = [paths[0] for paths, _ in groups]
    close = [
        (firsts[one], firsts[two], round(score, 3))
        for one, two in _likely(runs, similarity)
        if (score := _shared(runs[one], runs[two])) >= similarity
    ]
    return sorted(equal + close)


def _lines(text: str) -> Iterable[Line]:
    for row in lines(unicodedata.normalize("NFC", text).casefold()):
        words = tuple(_WORD.findall(row))
        if words:
            yield words


def _runs(texts: Sequence[tuple[Line, ...]]) -> list["array[int]"]:
    """Of each text the hashes of its runs of words, ascending; a short line is one run.

    Hashes that are the same in every process, so that two looks at the same notes find the same pairs.
    """
    spread = Counter(chain.from_iterable(map(set, texts)))
    limit = min(MANY, max(5, len(texts) // 5))  # a handful of notes has no boilerplate
    return [
        array("I", sorted({run for line in said if spread[line] <= limit for run in _of_line(line)})) for said in texts
    ]


def _of_line(line: Line) -> Iterable[int]:
    if len(line) < 3:
        return (crc32(" ".join(line).encode("utf-8", "replace")),)
    return (crc32(" ".join(run).encode("utf-8", "replace")) for run in zip(line, line[1:], line[2:], strict=False))


def _likely(runs: Sequence["array[int]"], similarity: float) -> list[tuple[int, int]]:
    """Pairs worth a look: they have some of their smallest hashes in common.

    Of the smallest k hashes of two texts, the part that both have is about what both have of all. k is such that a pair
    as similar as asked for is missed less than once in ten thousand times.
    """
    overlap = similarity / (2 - similarity)
    size = min(64, ceil(10 / overlap))
    holders: dict[int, list[int]] = defaultdict(list)
    for at, found in enumerate(runs):
        for run in found[:size]:
            holders[run].append(at)
    pairs = set()
    for at, found in enumerate(runs):
        crowds = (holders[run] for run in found[:size])
        common = Counter(other for crowd in crowds if len(crowd) <= CROWD for other in crowd if other != at)
        likeliest = sorted(common.items(), key=lambda item: (-item[1], item[0]))[:PARTNERS]
        pairs |= {(min(at, other), max(at, other)) for other, _ in likeliest}
    return sorted(pairs)


def _shared(one: "array[int]", two: "array[int]") -> float:
    """The part of the longer one's runs that the other has too."""
    have = set(one)
    return sum(run in have for run in two) / max(len(one), len(two), 1)
