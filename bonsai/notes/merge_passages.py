"""Three versions of a text, merged passage by passage: both sides' additions stay, of one passage both versions.

A passage is a bullet, a paragraph, a heading line, a table or a fenced block. Texts here end each line with `\\n`.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bonsai.notes.compare import Change, changes, split, stayed

#: Stands between two versions of a passage. One line, so that what follows is markdown again.
MARK = b"<!-- bonsai: both kept. What follows is the other version of what stands above. -->\n"

_ITEM = re.compile(rb"[ \t>]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]")
_FENCES = (b"```", b"~~~")

Unit = bytes
Pair = Callable[[Unit, Unit, Unit], list[Unit] | None]


class Merged(NamedTuple):
    """The units of a merge, and whether two versions of one of them stand in it."""

    units: list[Unit]
    both: bool


def merge(base: bytes, newer: bytes, older: bytes) -> tuple[bytes, bool]:
    """The merged text, and whether two versions of a passage stand in it.

    `newer` is the side with the later commit: of one passage its version comes first, of two additions at one place
    the older comes first, as it was written first.
    """
    found = _merge(passages(base), passages(newer), passages(older), _rows)
    return b"".join(_apart(found.units)), found.both


def lines(base: bytes, newer: bytes, older: bytes) -> tuple[bytes, bool]:
    """Like `merge`, line by line and without marks: of a line that both changed, both versions stand."""
    found = _merge(split(base), split(newer), split(older), None)
    return b"".join(unit for unit in found.units if unit is not MARK), found.both


def passages(text: bytes) -> list[Unit]:
    """The text in units that belong together; joined they are the text."""
    rows, found, at = split(text), [], 0
    while at < len(rows):
        end = _end(rows, at)
        found.append(b"".join(rows[at:end]))
        at = end
    return found


def _end(rows: Sequence[bytes], at: int) -> int:
    """The line after the unit that begins at a line."""
    row = rows[at].lstrip()
    if not row or _is_heading(rows[at]):
        return at + 1
    if row.startswith(_FENCES):
        mark = row[: len(row) - len(row.lstrip(row[:1]))]
        return next((end + 1 for end in range(at + 1, len(rows)) if _closes(rows[end], mark)), len(rows))
    if row.startswith(b"<!--"):
        return next((end + 1 for end in range(at, len(rows)) if b"-->" in rows[end]), len(rows))
    end = at + 1
    while end < len(rows) and not _begins(rows[end]):
        end += 1
    return end


def _begins(row: bytes) -> bool:
    bare = row.lstrip()
    return not bare or _is_heading(row) or bare.startswith((*_FENCES, b"<!--")) or bool(_ITEM.match(row))


def _is_heading(row: bytes) -> bool:
    level = len(row) - len(row.lstrip(b"#"))
    return 0 < level <= 6 and row[level : level + 1] in (b" ", b"\t", b"\n", b"\r")


def _closes(row: bytes, mark: bytes) -> bool:
    bare = row.strip()
    return len(bare) >= len(mark) and not bare.strip(mark[:1])


# --- three ways -------------------------------------------------------------------------------------------------------


class _Region(NamedTuple):
    """A stretch of the base that at least one side changed, and what stands there on each side."""

    base: slice
    newer: slice
    older: slice


def _merge(base: list[Unit], newer: list[Unit], older: list[Unit], pair: Pair | None) -> Merged:
    found: list[Unit] = []
    both, at = False, 0
    for region in _regions(changes(base, newer), changes(base, older)):
        found += base[at : region.base.start]
        part = _resolve(base[region.base], newer[region.newer], older[region.older], pair)
        found += part.units
        both |= part.both
        at = region.base.stop
    return Merged(found + base[at:], both)


def _regions(newer: list[Change], older: list[Change]) -> list[_Region]:
    """Changes that overlap, and additions at the edge of a change, belong together."""
    tagged = sorted([(item, 0) for item in newer] + [(item, 1) for item in older], key=lambda found: found[0][:2])
    groups: list[tuple[int, int, list[tuple[Change, int]]]] = []
    for item, side in tagged:
        if groups:
            first, last, members = groups[-1]
            touches = item.first == last and (item.first == item.last or first == last or _adds_at(members, last))
            if item.first < last or touches:
                groups[-1] = (first, max(last, item.last), [*members, (item, side)])
                continue
        groups.append((item.first, item.last, [(item, side)]))
    found, shift = [], [0, 0]
    for first, last, members in groups:
        spans = []
        for side in (0, 1):
            start = first + shift[side]
            for item in (item for item, owner in members if owner == side):
                shift[side] = item.end - item.last
            spans.append(slice(start, last + shift[side]))
        found.append(_Region(slice(first, last), spans[0], spans[1]))
    return found


def _adds_at(members: list[tuple[Change, int]], place: int) -> bool:
    return any(item.first == item.last == place for item, _ in members)


def _resolve(base: list[Unit], newer: list[Unit], older: list[Unit], pair: Pair | None) -> Merged:
    """One region. What both sides have alike at its edges stands once."""
    if older in (newer, base):
        return Merged(newer, False)
    if newer == base:
        return Merged(older, False)
    head = _alike(newer, older)
    tail = _alike(newer[head:][::-1], older[head:][::-1])
    if head or tail:
        old_head = _alike(base, newer[:head])
        rest = base[old_head:]
        old_tail = _alike(rest[::-1], newer[len(newer) - tail :][::-1])
        inner = _resolve(rest[: len(rest) - old_tail], _cut(newer, head, tail), _cut(older, head, tail), pair)
        return Merged(newer[:head] + inner.units + newer[len(newer) - tail :], inner.both)
    if not newer or not older:  # deleted here and edited there: the edit stays
        return Merged(newer or older, False)
    size = len(base)
    if not base:
        return Merged(_united(older, newer), False)
    if newer[:size] == base and older[:size] == base:
        return Merged(base + _united(older[size:], newer[size:]), False)
    for one, other in ((newer, older), (older, newer)):  # one side only added at an edge of what the other changed
        if one[:size] == base:
            return Merged(other + one[size:], False)
        if one[-size:] == base:
            return Merged(one[:-size] + other, False)
    if size == len(newer) == len(older) > 1:
        parts = [_resolve([was], [new], [old], pair) for was, new, old in zip(base, newer, older, strict=True)]
        return Merged([unit for part in parts for unit in part.units], any(part.both for part in parts))
    if pair and size == len(newer) == len(older) == 1 and (merged := pair(base[0], newer[0], older[0])) is not None:
        return Merged(merged, False)
    return Merged([*newer, _mark(older[0]) if pair else MARK, *older], True)


def _cut(units: list[Unit], head: int, tail: int) -> list[Unit]:
    return units[head : len(units) - tail]


def _alike(one: Sequence[Unit], other: Sequence[Unit]) -> int:
    """How many units at the start are the same."""
    size = 0
    while size < min(len(one), len(other)) and one[size] == other[size]:
        size += 1
    return size


def _united(first: list[Unit], then: list[Unit]) -> list[Unit]:
    """Both additions, what they share once. Empty lines alone hold nothing together: they stand everywhere."""
    shared = {there: here for there, here in stayed(first, then).items() if first[here].strip()}
    found: list[Unit] = []
    here = there = 0
    for new, old in [*sorted(shared.items()), (len(then), len(first))]:
        found += first[here:old] + then[there : new + 1]
        here, there = old + 1, new + 1
    return found


def _rows(base: Unit, newer: Unit, older: Unit) -> list[Unit] | None:
    """A table or a fenced block merged by its lines, None where both sides changed the same ones."""
    if not all(_has_rows(unit) for unit in (base, newer, older)):
        return None
    found = _merge(split(base), split(newer), split(older), None)
    return None if found.both else [b"".join(found.units)]


def _has_rows(unit: Unit) -> bool:
    return unit.lstrip().startswith(_FENCES) or all(row.lstrip().startswith(b"|") for row in split(unit))


def _mark(unit: Unit) -> bytes:
    """The mark, as far in as the version that follows: at the left edge it would end a nested list."""
    return unit[: len(unit) - len(unit.lstrip(b" \t"))].replace(b"\n", b"") + MARK


def _apart(units: list[Unit]) -> list[Unit]:
    """A paragraph that came to stand right behind another, or behind a bullet, would be the same paragraph."""
    found: list[Unit] = []
    for unit in units:
        if found and _is_text(unit) and (_is_text(found[-1]) or _ITEM.match(found[-1])):
            found.append(b"\n")
        found.append(unit)
    return found


def _is_text(unit: Unit) -> bool:
    return not _begins(unit)
