"""Two versions of a text, line by line: which lines stayed, and the unified diff."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_EXACT = 250_000  # pairs of lines: up to here difflib looks at all of them, which takes it a moment at worst
_CONTEXT = 3  # lines around a change

Line = bytes


class Change(NamedTuple):
    """Lines `old[first:last]` became `new[start:end]`; 0-based, one of the two may be empty."""

    first: int
    last: int
    start: int
    end: int


def split(data: bytes) -> list[Line]:
    r"""The lines with their ends, as git counts them: after `\n` alone."""
    rows = data.split(b"\n")
    return [row + b"\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])


def stayed(old: Sequence[Line], new: Sequence[Line]) -> dict[int, int]:
    """Which line of `new` is which line of `old`, in order.

    Patience: lines that stand once on both sides are anchors, what lies between is compared again. difflib alone takes
    minutes for 20,000 lines that differ in every second one.
    """
    found: dict[int, int] = {}
    todo = [(0, len(old), 0, len(new))]
    while todo:
        first, last, start, end = todo.pop()
        while first < last and start < end and old[first] == new[start]:
            found[start] = first
            first, start = first + 1, start + 1
        while first < last and start < end and old[last - 1] == new[end - 1]:
            last, end = last - 1, end - 1
            found[end] = last
        if first == last or start == end:
            continue
        if anchors := _anchors(old[first:last], new[start:end]):
            todo += _between(anchors, first, last, start, end)
            found.update((start + there, first + here) for here, there in anchors)
        elif (last - first) * (end - start) <= _EXACT:
            match = SequenceMatcher(None, old[first:last], new[start:end], autojunk=False)
            for block in match.get_matching_blocks():
                found.update((start + block.b + step, first + block.a + step) for step in range(block.size))
    return found


def changes(old: Sequence[Line], new: Sequence[Line]) -> list[Change]:
    """What differs, in order."""
    known = stayed(old, new)
    found, first, start = [], 0, 0
    for there, here in [*sorted(known.items()), (len(new), len(old))]:
        if here > first or there > start:
            found.append(Change(first, here, start, there))
        first, start = here + 1, there + 1
    return found


def unified(old: bytes, new: bytes, old_name: str, new_name: str) -> str:
    """The unified diff of two texts, "" where they are equal; bytes that are no UTF-8 are surrogate escapes.

    Names are shown as they are given; an empty one is /dev/null. Data with a NUL is only said to differ.
    """
    if old == new:
        return ""
    names = [f"{side}/{name}" if name else "/dev/null" for side, name in (("a", old_name), ("b", new_name))]
    if b"\0" in old or b"\0" in new:
        return f"Binary files {names[0]} and {names[1]} differ\n"
    before, after = split(old), split(new)
    rows = [b"".join(_hunk(group, before, after)) for group in _groups(changes(before, after))]
    return f"--- {names[0]}\n+++ {names[1]}\n" + b"".join(rows).decode("utf-8", "surrogateescape")


def _anchors(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[int, int]]:
    """The longest row of lines that stand once on each side and in the same order on both."""
    counts, others = Counter(old), Counter(new)
    where = {line: at for at, line in enumerate(old) if counts[line] == 1}
    pairs = [(where[line], at) for at, line in enumerate(new) if others[line] == 1 and line in where]
    tails: list[int] = []  # of the rows found so far by their length: the lowest last line in `old`
    ends: list[int] = []  # and the pair that it belongs to
    before: list[int] = []
    for number, (here, _) in enumerate(pairs):
        size = bisect_left(tails, here)
        before.append(ends[size - 1] if size else -1)
        tails[size : size + 1], ends[size : size + 1] = [here], [number]
    found, at = [], ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _between(
    anchors: list[tuple[int, int]], first: int, last: int, start: int, end: int
) -> Iterator[tuple[int, int, int, int]]:
    """The ranges before, between and after the anchors (which count from `first` and `start`)."""
    here, there = first, start
    for old, new in anchors:
        yield here, first + old, there, start + new
        here, there = first + old + 1, start + new + 1
    yield here, last, there, end


def _groups(found: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes whose context meets stand in one hunk."""
    group: list[Change] = []
    for item in found:
        if group and item.first - group[-1].last > 2 * _CONTEXT:
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _hunk(group: list[Change], old: Sequence[Line], new: Sequence[Line]) -> Iterator[bytes]:
    lead = min(_CONTEXT, group[0].first)
    tail = min(_CONTEXT, len(old) - group[-1].last)
    first, last = group[0].first - lead, group[-1].last + tail
    start, end = group[0].start - lead, group[-1].end + tail
    yield f"@@ -{_span(first, last)} +{_span(start, end)} @@\n".encode()
    position = first
    for item in group:
        yield from _rows(b" ", old[position : item.first])
        yield from _rows(b"-", old[item.first : item.last])
        yield from _rows(b"+", new[item.start : item.end])
        position = item.last
    yield from _rows(b" ", old[position:last])


def _span(first: int, last: int) -> str:
    """Lines as a hunk names them: 1-based, an empty range by the line before it."""
    return f"{first + 1 if last > first else first},{last - first}"


def _rows(mark: bytes, lines: Sequence[Line]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n\\ No newline at end of file\n"
