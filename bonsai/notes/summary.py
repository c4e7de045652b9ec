"""What the indexes, status and the passes need to know of a note, from one scan of its lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from bonsai.notes import lifecycle
from bonsai.notes import links as note_links
from bonsai.notes.fields import Value
from bonsai.notes.layout import MAX_PARSED
from bonsai.notes.note import Note, parse
from bonsai.notes.printed import clean, count_tokens
from bonsai.notes.problem import Problem, problem
from bonsai.notes.prose import conflicted, lines
from bonsai.notes.provenance import OUTSIDE, is_untrusted

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_RULER = re.compile(r"[-=*_|:+. \t]+$")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_MARKER = re.compile(r"(?:<<<<<<<|=======|>>>>>>>|\|{7})(?: |$)")
_MARKS = re.compile(r"(?:[-*+]|\d{1,9}[.)]|#{1,6}|\[[ xX]\]|>)(?:[ \t]+|$)|>")
_DATE = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt]|[ \t]{1,8})(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?[ \t]{0,8}(Z|z|[+-]\d{1,2}(?::?\d{2})?)?)?"
)


@dataclass(frozen=True, slots=True)
class Summary:
    """One note in short. Dates are ISO 8601 texts as parsed (`2026-03-04` or with a time), "" where there is none."""

    title: str  # frontmatter title, else first heading, else ""
    lead: str  # first meaningful line, at most 250 characters, safe to print in an index
    tokens: int
    blank: bool  # nothing but white space
    dated: str  # the later of `updated` and `created`
    archived: str
    type: str
    key: str
    names: tuple[str, ...]  # what a wiki link may call it besides its file name: title, `name:`, aliases
    links: tuple[str, ...]  # targets of relative links and `[[wiki]]` links, as written
    problems: tuple[Problem, ...]
    held: bool  # conflict markers: may not be committed
    importance: float | None = None  # 0 to 1, of a fact that its own people or agents said; None for any other note
    untrusted: bool = False  # from the web or a tool, and not promoted: no boot file may quote it


def summarise(path: str, data: bytes, size: int) -> Summary:
    """Sum up a note of `size` bytes; `data` is all of it, or the first part of one that is larger than MAX_PARSED."""
    note = parse(data)
    problems: list[Problem] = []
    whole = _decoded(path, data, len(data) < size, problems)
    held = "<<<<<<<" in whole and conflicted(whole)
    if held:
        what = "holds conflict markers: decide between the two sides, then delete the markers."
        problems.append(problem("conflict-markers", path, what))
    if note.fault:
        problems.append(Problem(note.fault.code, note.fault.severity, path, note.fault.message))
    if size > MAX_PARSED:
        what = f"has {size:,} bytes, more than {MAX_PARSED:,}; only the first part is read: split it."
        problems.append(problem("too-large", path, what))
    fields = note.fields
    dates = {key: _date(path, key, fields.get(key), problems) for key in ("created", "updated", "archived")}
    body = whole if not note.body_start else _text(data, note.body_start)
    heading, line = _first_lines(whole if note.prose_start == 0 else _text(data, note.prose_start))
    title = clean(field_text(fields.get("title"))) or heading
    tokens = count_tokens(whole)
    return Summary(
        title=title,
        lead=clean(field_text(fields.get("description"))) or line or title,
        tokens=tokens if size <= len(data) or not data else tokens * size // len(data),
        blank=note.block is None and not whole.strip(),
        dated=max(dates["created"], dates["updated"], key=_instant),
        archived=dates["archived"],
        type=note_type(fields),
        key=field_text(fields.get("key")),
        names=_names(fields, title),
        links=note_links.targets(body),
        problems=tuple(problems),
        held=held,
        importance=_importance(note),
        untrusted=is_untrusted(note),
    )


def _text(data: bytes, start: int) -> str:
    return data[start:].decode("utf-8", "replace").replace("\0", "")


def _decoded(path: str, data: bytes, cut: bool, problems: list[Problem]) -> str:
    """The whole text without NUL and BOM. Notes what is wrong with its bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            problems.append(problem("not-utf8", path, "is UTF-16: save it as UTF-8."))
            return data.decode("utf-16", "replace").replace("\0", "")
        if not cut or error.start < len(data) - 3:
            line = data.count(b"\n", 0, error.start) + 1
            problems.append(problem("not-utf8", path, f"is not UTF-8 (line {line}): save it as UTF-8."))
    if "\0" in text:
        problems.append(problem("binary", path, "holds NUL bytes, perhaps from a crash: take an older version back."))
        text = text.replace("\0", "")
    return text.removeprefix("\ufeff")


def field_text(value: Value) -> str:
    """A field as one text; the items of a list are joined, so that no list is ever shown as code."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(word for item in value if (word := field_text(item)))
    return ""


def note_type(fields: dict[str, Value]) -> str:
    """The `type:` of a note, or its `metadata.type` (how Claude Code writes it), "" where there is none."""
    nested = fields.get("metadata")
    found = fields.get("type") or (nested.get("type") if isinstance(nested, dict) else None)
    return found.strip() if isinstance(found, str) else ""


def _importance(note: Note) -> float | None:
    """That of a fact. One from outside (`source: web`, `source: import`) has none: it may not come into a boot file."""
    if note_type(note.fields) != "fact" or is_untrusted(note, OUTSIDE):
        return None
    try:
        return min(1.0, max(0.0, float(field_text(note.fields.get("importance")) or 0.5)))
    except ValueError:
        return 0.5


def _names(fields: dict[str, Value], title: str) -> tuple[str, ...]:
    found = [title, field_text(fields.get("name"))]
    for key in ("aliases", "alias"):
        value = fields.get(key)
        found += [field_text(item) for item in value] if isinstance(value, list) else [field_text(value)]
    return tuple(dict.fromkeys(name.strip() for name in found if name.strip()))


def _first_lines(text: str) -> tuple[str, str]:
    """The first heading and the first line that says something; a table or code only where there is nothing else."""
    heading = lead = table = code = ""
    rows = lines(text)
    for at, said, in_code in _said(rows):
        if in_code:
            code = code or clean(said)
        elif said[0] == "#" and (found := _HEADING.match(rows[at])):
            heading = heading or clean(_without_closing(rows[at][found.end() :].strip()))
        elif _RULER.match(said) or _MARKER.match(said):
            continue
        elif _is_underlined(rows, at):
            heading = heading or clean(said)
        elif said[0] == "|":
            table = table or clean(said)  # its header names columns, which says little of what is in them
        else:
            lead = lead or clean(_without_marks(said))
        if heading and lead:
            break
    return heading, lead or table or code or heading


def _without_closing(text: str) -> str:
    """The text of a heading without the `##` that may close it; `C#` keeps its sign."""
    bare = text.rstrip("#")
    return bare if not bare or bare[-1] in " \t" else text


def _said(rows: list[str]) -> Iterator[tuple[int, str, bool]]:
    """The lines that are not blank, no fence and no comment, stripped; whether each is code."""
    fence, comment = "", False
    for at, row in enumerate(rows):
        said = row.strip()
        if comment or said.startswith("<!--"):
            comment, said = _after_comment(said, comment)
        if not said:
            continue
        mark = _FENCE.match(said) if said[0] in "`~" else None
        if fence:
            if mark and said.startswith(fence) and not said.strip(fence[0]):
                fence = ""
            else:
                yield at, said, True
        elif mark:
            fence = mark[1]
        else:
            yield at, said, False


def _after_comment(said: str, inside: bool) -> tuple[bool, str]:
    """Whether the comment goes on after the line, and what stands behind its end."""
    end = said.find("-->", 0 if inside else 4)
    return (True, "") if end < 0 else (False, said[end + 3 :].strip())


def _is_underlined(rows: list[str], at: int) -> bool:
    """Whether the next line makes a setext heading of this one."""
    below = rows[at + 1].strip() if at + 1 < len(rows) else ""
    if below[:1] not in ("=", "-") or below.strip(below[0]):
        return False
    return not rows[at].startswith(("    ", "\t")) and not _MARKS.match(rows[at].strip())


def _without_marks(said: str) -> str:
    """The line without list, quote, heading and checkbox marks in front."""
    at = 0
    while found := _MARKS.match(said, at):
        at = found.end()
    return said[at:]


def _date(path: str, key: str, value: Value, problems: list[Problem]) -> str:
    """The date of a field as ISO 8601, "" where there is none or it is unusable."""
    if value is None or value == "":
        return ""
    found = _DATE.fullmatch(value.strip()) if isinstance(value, str) and len(value) < 64 else None
    try:
        if found:
            return _iso(found)
    except ValueError:  # the 30th of February
        pass
    what = f"has `{key}: {clean(field_text(value), 40)}`, which is no date: write it as 2026-03-04."
    problems.append(problem("bad-date", path, what))
    return ""


def _iso(found: re.Match[str]) -> str:
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    if found[4] is None:
        return datetime(year, month, day).strftime("%Y-%m-%d").rjust(10, "0")
    moment = datetime(year, month, day, int(found[4]), int(found[5]), int(found[6] or 0))
    if zone := found[7]:
        moment = moment.replace(tzinfo=_zone(zone))
    return moment.isoformat()


def _zone(text: str) -> timezone:
    if text in "Zz":
        return UTC
    digits = text[1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def _instant(iso: str) -> float:
    """Seconds for comparing two dates; a date without a zone is taken as UTC, none at all is the earliest."""
    found = lifecycle.moment(iso)
    return found.timestamp() if found else float("-inf")
