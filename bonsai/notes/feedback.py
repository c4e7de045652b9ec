"""Feedback: numbered entries, corrections and confirmations, in `feedback.md` and wherever else a tree holds some."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from bonsai.notes.layout import Tree
from bonsai.notes.problem import Problem, problem
from bonsai.notes.prose import lines, prose_lines
from bonsai.notes.view import View

NAME = "feedback.md"
CONFIRMED = "确认"

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]{1,8}F(\d{1,6})[ \t]{0,8}[:：.][ \t]{0,8}")
_TITLE = re.compile(r"F\d{3,6}[ \t]{0,8}[:：.]")
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
    path: str = ""


class Renumbered(NamedTuple):
    """An entry that got another number because an earlier one has it."""

    line: int
    old: str
    new: str
    rule: str
    path: str


def places(view: View, tree: Tree) -> list[str]:
    """Where entries may stand: feedback.md, the boot file, then notes that a migrate or a person made of feedback.

    Not what comes from outside: nobody here said that.
    """
    own = tree.at(NAME)
    more = sorted(
        row.path
        for row in view.notes(tree)
        if row.path != own
        and row.summary
        and not row.summary.untrusted
        and is_feedback(row.summary.type, row.summary.title)
    )
    return [own, tree.boot, *more]


def is_feedback(kind: str, title: str) -> bool:
    """Whether a note of this type and title may hold entries: one that is an entry by itself is named like one."""
    return kind == "feedback" or bool(_TITLE.match(title))


def gathered(files: Mapping[str, str]) -> list[Entry]:
    """The entries of files, path → text, in their order; each with its path."""
    return [entry._replace(path=path) for path, text in files.items() for entry in find(text)]


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


def numbered_twice(found: Sequence[Entry]) -> list[Problem]:
    """A problem for each entry whose number an earlier one has."""
    return [
        problem("feedback-number", item.path, f"line {item.line}: {item.id} is there twice: run `bonsai feedback fix`")
        for item in duplicates(found)
    ]


def renumber(files: Mapping[str, str]) -> tuple[dict[str, str], list[Renumbered]]:
    """The files with a new number for each duplicate, the next free ones; the first entry of a number keeps it."""
    entries = gathered(files)
    free = _free(max((entry.number for entry in entries), default=0))
    done = [
        Renumbered(entry.line, entry.id, f"F{next(free):03}", entry.rule, entry.path) for entry in duplicates(entries)
    ]
    rows = {path: lines(files[path]) for path in dict.fromkeys(item.path for item in done)}
    for item in done:
        row = rows[item.path]
        row[item.line - 1] = row[item.line - 1].replace(item.old, item.new, 1)
    return {path: "".join(row) for path, row in rows.items()}, done


def _free(highest: int) -> Iterator[int]:
    while True:
        highest += 1
        yield highest
