"""What an agent decided on the candidates of a reflection, and how one note becomes several."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bonsai.errors import BadData
from bonsai.notes import layout
from bonsai.notes.note import Heading, can_splice, headings, parse, set_fields
from bonsai.notes.prose import lines

ACTIONS = ("keep", "migrate", "archive", "merge", "split")
#: Keys of a note that its parts may not share: they name this one note.
OWN_KEYS = ("id", "title", "name", "description", "key", "alias", "aliases")

Span = tuple[int, int]


class Part(NamedTuple):
    """One part of a split. Without `lines` and `text` it is the section under the heading `name`."""

    name: str
    lines: Span | None = None  # 1-based, inclusive, in the file
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to happen to one candidate; `action` is "" while it is pending."""

    file: str
    action: str
    hash: str = ""  # of the bytes that the decision is for
    to: str = ""  # the domain of a migrate, the path of the note that a merge goes into
    reason: str = ""  # of an archive
    text: str | None = None  # a merge may give the whole new text
    parts: tuple[Part, ...] = ()


def parse_decisions(data: Any) -> list[Decision]:
    """Read the staging object (or just its list) with a `decision` in each candidate; unknown keys are left alone.

    Raises BadData that names the candidate and what is wrong with it.
    """
    items = data.get("candidates") if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise BadData("the decisions hold no list `candidates`", hint="Start from `bonsai reflect show --json`.")
    found: dict[str, Decision] = {}
    for number, item in enumerate(items, 1):
        decision = _decision(item, f"candidate {number}")
        if decision.file in found:
            raise _wrong(f"candidate {number}", "there are two decisions for this file", decision.file)
        found[decision.file] = decision
    return list(found.values())


def split_note(data: bytes, parts: Sequence[Part]) -> list[tuple[str, bytes]]:
    """Name and bytes of each part. Every part gets the frontmatter of the note but for what names the whole.

    Lines before the first section go with it when all parts are sections. Raises BadData where a line of the body that
    is not blank would be in no part, or in more than one.
    """
    note = parse(data)
    rows = _rows(data[note.body_start :])
    spans = _spans(data, rows, parts)
    bodies = [
        _written(part.text, rows) if part.text is not None else rows[slice(*span)]
        for part, span in zip(parts, spans, strict=True)
    ]
    if len(parts) < 2:
        raise BadData("a split needs two parts at least")
    for part, body in zip(parts, bodies, strict=True):
        if not any(row.strip() for row in body):
            raise BadData(f"the part {part.name!r} is empty")
    _require_all_once(rows, bodies, _first_line(data))
    head = _shared_head(data)
    return [(part.name, head + _bytes(body)) for part, body in zip(parts, bodies, strict=True)]


def suggest_parts(data: bytes) -> list[dict[str, Any]]:
    """Parts by the headings of the note, as a decision takes them; none where there are no two sections."""
    rows = _rows(data[parse(data).body_start :])
    found = _headings(data)
    levels = Counter(heading.level for heading in found)
    level = min((level for level, count in levels.items() if count > 1), default=0)
    first = next((heading.line for heading in found if heading.level == level), None)
    if first is None:
        return []
    cuts = [heading for heading in found if heading.level <= level and heading.line >= first]
    starts = [0] + [heading.line for heading in cuts[1:]]
    ends = [*starts[1:], len(rows)]
    offset = _first_line(data)
    return [
        {"name": heading.text or f"part {number}", "lines": [start + offset, end + offset - 1]}
        for number, (heading, start, end) in enumerate(zip(cuts, starts, ends, strict=True), 1)
    ]


def _decision(item: Any, where: str) -> Decision:
    if not isinstance(item, dict):
        raise _wrong(where, "is no object")
    file = _string(item, "file", where)
    if not _inside(file):
        raise _wrong(where, "`file` must be a path below memory/", file or None)
    given = item.get("decision")
    action = given.strip().casefold() if isinstance(given, str) else ""
    if given not in (None, "") and action not in ACTIONS:
        raise _wrong(where, f"`decision` must be one of {', '.join(ACTIONS)}", file)
    reason = _string(item, "archive_reason", where) or (_string(item, "reason", where) if action == "archive" else "")
    return Decision(
        file,
        action,
        _string(item, "hash", where),
        _target(item, file, action, where),
        reason,
        _string(item, "text", where) if action == "merge" and item.get("text") is not None else None,
        _parts(item.get("parts"), file, where) if action == "split" else (),
    )


def _target(item: dict[str, Any], file: str, action: str, where: str) -> str:
    if action == "merge":
        into = _string(item, "into", where)
        if not _inside(into) or into == file:
            raise _wrong(where, "`into` must be the path of another note", file)
        return into
    if action != "migrate":
        return ""
    # `domain` is there already, as the domain that the note is in: it is a target only where it was changed.
    here, domain = layout.domain_of(file) or "", _string(item, "domain", where)
    named = [_string(item, key, where) for key in ("to", "target")] + [domain if domain != here else ""]
    targets = {target for target in named if target}
    if len(targets) != 1:
        fault = "`domain` and `to` differ" if targets else "a migrate needs another `domain` than the one it is in"
        raise _wrong(where, fault, file)
    return targets.pop()


def _parts(value: Any, file: str, where: str) -> tuple[Part, ...]:
    if not isinstance(value, list) or not value:
        raise _wrong(where, "a split needs a list `parts`", file)
    return tuple(_part(item, file, f"{where}, part {number}") for number, item in enumerate(value, 1))


def _part(item: Any, file: str, where: str) -> Part:
    part = {"name": item} if isinstance(item, str) else item
    if not isinstance(part, dict) or not _string(part, "name", where).strip():
        raise _wrong(where, "must be a heading, or an object with a `name`", file)
    span = part.get("lines")
    if span is None:
        return Part(part["name"], None, _string(part, "text", where) if part.get("text") is not None else None)
    if part.get("text") is not None:
        raise _wrong(where, "has both `lines` and `text`", file)
    whole = isinstance(span, list) and len(span) == 2 and all(type(number) is int for number in span)
    if not whole or not 1 <= span[0] <= span[1]:
        raise _wrong(where, "`lines` must be [first, last], counted from 1", file)
    return Part(part["name"], (span[0], span[1]))


def _string(item: dict[str, Any], key: str, where: str) -> str:
    """A text of the object, "" where it is missing; one that no file can hold (a lone surrogate) is refused."""
    value = item.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(where, f"`{key}` must be text")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise _wrong(where, f"`{key}` is no valid text") from error
    return value


def _inside(path: str) -> bool:
    return path.startswith(f"{layout.MEMORY}/") and not layout.path_fault(path)


def _wrong(where: str, fault: str, file: str | None = None) -> BadData:
    return BadData(f"{where}: {fault}", path=file, hint="Correct the decisions; nothing was changed.")


def _rows(body: bytes) -> list[str]:
    return lines(body.decode("utf-8", "surrogateescape"))


def _bytes(rows: Iterable[str]) -> bytes:
    return "".join(rows).encode("utf-8", "surrogateescape")


def _first_line(data: bytes) -> int:
    """The number of the body's first line in the file, from 1."""
    note = parse(data)
    return 1 + (len(_rows(data[: note.body_start])) if note.block else 0)


def _spans(data: bytes, rows: list[str], parts: Sequence[Part]) -> list[Span]:
    """The rows of each part, 0-based and end-exclusive; (0, 0) for one that brings its text along."""
    offset, sections = _first_line(data), _sections(_headings(data), len(rows), parts)
    spans = []
    for part in parts:
        if part.lines is not None:
            if part.lines[1] >= offset + len(rows):
                raise BadData(f"the part {part.name!r} ends after the last line, {offset + len(rows) - 1}")
            spans.append((max(0, part.lines[0] - offset), max(0, part.lines[1] - offset + 1)))
        else:
            spans.append(next(sections) if part.text is None else (0, 0))
    return spans


def _sections(found: list[Heading], rows: int, parts: Sequence[Part]) -> Iterator[Span]:
    """The sections of the parts that name one, in order; two of one name are the first and the second such heading."""
    left, taken = list(found), []
    for part in parts:
        if part.lines is None and part.text is None:
            heading = next((heading for heading in left if _same(heading.text, part.name)), None)
            if heading is None:
                raise BadData(f"there is no heading {part.name!r}")
            left.remove(heading)
            taken.append(heading)
    spans = [(heading.line, _end(heading, found, rows)) for heading in taken]
    if len(taken) == len(parts) and taken:
        first = min(range(len(taken)), key=lambda at: taken[at].line)
        above = [heading for heading in found if heading.line < taken[first].line]
        if not above or (len(above) == 1 and above[0].level < taken[first].level):  # the title of the note
            spans[first] = (0, spans[first][1])
    return iter(spans)


def _headings(data: bytes) -> list[Heading]:
    """The headings of the body. A broken frontmatter is body, but its last line is no underlined heading."""
    note = parse(data)
    skipped = len(_rows(data[note.body_start : note.prose_start]))
    found = headings(data[note.prose_start :].decode("utf-8", "surrogateescape"))
    return [heading._replace(line=heading.line + skipped, end=heading.end + skipped) for heading in found]


def _end(heading: Heading, found: list[Heading], last: int) -> int:
    return next((other.line for other in found if other.line > heading.line and other.level <= heading.level), last)


def _same(heading: str, name: str) -> bool:
    return heading.casefold().split() == name.lstrip("#").casefold().split()


def _written(text: str, rows: list[str]) -> list[str]:
    """The lines of a text that the decision brought along, ended as the note ends its lines."""
    eol = "\r\n" if rows and rows[0].endswith("\r\n") else "\n"
    return [row.rstrip("\r\n") + eol for row in lines(text)]


def _require_all_once(rows: list[str], bodies: list[list[str]], offset: int) -> None:
    want = Counter(row.strip() for row in rows)
    have = Counter(row.strip() for body in bodies for row in body)
    for number, row in enumerate(rows, offset):
        said = row.strip()
        if said and have[said] != want[said]:
            fault = "is in no part" if have[said] < want[said] else "is in more than one part"
            raise BadData(f"line {number} {fault}", hint="Every line that is not blank belongs in exactly one part.")


def _shared_head(data: bytes) -> bytes:
    """The frontmatter for every part: age, type and tags stay with the text, its names do not."""
    note = parse(data)
    if not note.block or not can_splice(note):
        return b""
    try:
        return set_fields(data[: note.body_start], {key: None for key in OWN_KEYS if key in note.fields})
    except BadData:
        return b""  # nothing is lost: the whole note becomes an archive
