"""Feedback: the numbered entries of `feedback.md`, corrections and confirmations."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from bonsai.notes.prose import lines, prose_lines

NAME = "feedback.md"
CONFIRMED = "确认"

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]{1,8}F(\d{1,6})[ \t]{0,8}[:：.][ \t]{0,8}")
_ANY_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_DATED = re.compile(r"[(（][ \t]{0,8}(确认|confirmed)?[ \t]{0,8}(\d{4}-\d{2}-\d{2})[ \t]{0,8}[)）]", re.IGNORECASE)
_FIELD = re.compile(r"[ \t]{0,8}[-*+][ \t]{1,8}\*\*([A-Za-z ]{1,40})[:：]?\*\*[ \t]{0,8}[:：]?[ \t]{0,8}")


class Entry(NamedTuple):
    """One entry. `line` is that of its heading, 1-based in the text; `date` is "" where it names none."""

    id: str  # as written, `F007`
    number: int
    line: int
    rule: str
    date: str
    confirmed: bool
    why: str = ""
    how: str = ""
    context: str = ""


class Renumbered(NamedTuple):
    """An entry that got another number because an earlier one has it."""

    line: int
    old: str
    new: str
    rule: str


def find(text: str) -> list[Entry]:
    """The entries of a text, in order; what stands in code is an example and none."""
    found: list[Entry] = []
    level = 0  # of the heading of the entry that is open
    for number, row in prose_lines(text):
        head = _HEADING.match(row)
        if head:
            found.append(_entry(head[2], number + 1, row[head.end() :]))
            level = len(head[1])
        elif (other := _ANY_HEADING.match(row)) and len(other[1]) <= level:
            level = 0
        elif level and (field := _FIELD.match(row)):
            found[-1] = _with(found[-1], field[1].strip().lower(), row[field.end() :].strip())
    return found


def _with(entry: Entry, name: str, value: str) -> Entry:
    if name == "why":
        return entry._replace(why=value)
    if name == "how to apply":
        return entry._replace(how=value)
    return entry._replace(context=value) if name == "context" else entry


def _entry(digits: str, line: int, rest: str) -> Entry:
    rule, day, confirmed = rest.strip().rstrip("#").strip(), "", False
    for dated in _DATED.finditer(rule):
        if not rule[dated.end() :].strip():
            day, confirmed, rule = dated[2], bool(dated[1]), rule[: dated.start()].strip()
            break
    return Entry(f"F{digits}", int(digits), line, rule, day, confirmed)


def next_number(*texts: str) -> int:
    """The number after the highest in use: one that was deleted may be quoted elsewhere, so gaps stay."""
    return max((entry.number for text in texts for entry in find(text)), default=0) + 1


def correction(number: int, rule: str, day: date, why: str, how: str) -> str:
    """A correction as markdown; each part is put on one line."""
    return _text(f"### F{number:03}: {_flat(rule)} ({day.isoformat()})", {"Why": why, "How to apply": how})


def confirmation(number: int, rule: str, day: date, context: str, why: str) -> str:
    """A confirmation as markdown."""
    return _text(f"### F{number:03}: {_flat(rule)} ({CONFIRMED} {day.isoformat()})", {"Context": context, "Why": why})


def _text(heading: str, fields: dict[str, str]) -> str:
    return "".join([f"{heading}\n", *(f"- **{name}**: {_flat(value)}\n" for name, value in fields.items() if value)])


def _flat(text: str) -> str:
    """One line, so that no fence, heading or comment in it can swallow the entries that follow."""
    return " ".join(text.split())


def append(text: str, entry: str) -> str:
    """The text with an entry at its end, behind one empty line, with the line ends of the text."""
    eol = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip() else eol if text.endswith(("\n", "\r")) else eol * 2
    if text.endswith((eol * 2, "\n\n")):
        gap = ""
    return text + gap + entry.replace("\n", eol)


def duplicates(entries: Sequence[Entry]) -> list[Entry]:
    """The entries whose number an earlier one has."""
    seen: Counter[int] = Counter()
    found = []
    for entry in entries:
        if seen[entry.number]:
            found.append(entry)
        seen[entry.number] += 1
    return found


def renumber(text: str, taken: Collection[int] = ()) -> tuple[str, list[Renumbered]]:
    """The text with a new number for each duplicate, the next free ones; the first entry of a number keeps it.

    Args:
        text: of feedback.md.
        taken: numbers that entries elsewhere have.
    """
    entries = find(text)
    again = duplicates(entries)
    free = _free(max([*(entry.number for entry in entries), *taken], default=0))
    done = [Renumbered(entry.line, entry.id, f"F{next(free):03}", entry.rule) for entry in again]
    rows = lines(text)
    for item in done:
        rows[item.line - 1] = rows[item.line - 1].replace(item.old, item.new, 1)
    return "".join(rows), done


def _free(highest: int) -> Iterator[int]:
    while True:
        highest += 1
        yield highest
