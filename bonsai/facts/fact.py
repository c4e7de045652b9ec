"""A fact as a note: made, read, and given a newer value without touching what a person wrote beside it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from math import isnan

from bonsai.errors import BadData, Usage
from bonsai.facts.extract import Metadata
from bonsai.facts.score import IMPORTANCE
from bonsai.notes import layout, lifecycle, moment
from bonsai.notes.fields import Value
from bonsai.notes.note import UTF16, Note, parse, set_fields
from bonsai.notes.printed import encoded
from bonsai.notes.summary import field_text, note_type
from bonsai.notes.taxonomy import MAX_NAME, slug

TYPE = "fact"
ID = re.compile(r"[0-9a-f]{12}")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_NAMED = 44  # characters of a file name that come from the text; the rest is the id


@dataclass(frozen=True, slots=True)
class Fact:
    """What the tiers know of one fact. `created_at` is in Unix seconds, `path` workspace-relative ("" for none)."""

    id: str
    text: str
    category: str
    importance: float = IMPORTANCE
    created_at: int = 0
    access_count: int = 0
    metadata: Metadata = field(default_factory=Metadata)
    path: str = ""
    key: str = ""
    pinned: bool = False
    type: str = TYPE

    @property
    def evictable(self) -> bool:
        """Whether it may leave the tree at all; whoever edited it last decides too."""
        return self.type == TYPE and not self.key and not self.pinned


def fact_id(agent: str, category: str, text: str, key: str = "") -> str:
    """12 hex digits, the same on every device: who stores a fact twice, or on two devices, stores one.

    A keyed fact is told by its key alone, since its text changes.
    """
    told = ["key", category, key] if key else ["fact", category, " ".join(text.split())]
    return sha256("\0".join([agent, *told]).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def file_name(text: str, number: str, key: str = "") -> str:
    """The name of a new fact's file, without `.md`: of its key, else of its first words and its id."""
    if key:
        return slug(key)
    words = slug(" ".join(text[:400].split()))
    if len(words) > _NAMED:
        cut = words[: _NAMED + 1].rpartition("-")[0]
        words = cut or words[:_NAMED]
    return slug(f"{words}-{number[:6]}")[:MAX_NAME]


def note_of(text: str, fields: Mapping[str, str | Sequence[str] | None]) -> bytes:
    """A new note: the keys that have a value, in the order given, then the text. Raises BadData."""
    body = _value(text)
    block = set_fields(b"", {key: value for key, value in fields.items() if value})
    return block + b"\n" + body + b"\n"


def with_value(data: bytes, text: str) -> bytes:
    """The note with another value: its first paragraph that is no heading. All other lines stay as they are."""
    if data.startswith(UTF16):
        raise BadData("is UTF-16, so nothing can be put into it", hint="Save it as UTF-8.")
    note = parse(data)
    head, body = data[: note.body_start], data[note.body_start :]
    eol = b"\r\n" if b"\r\n" in body else b"\n"
    rows = body.split(b"\n")
    first, last = _paragraph(rows)
    new = _value(text).replace(b"\n", eol)
    if first == last:  # no text yet, or only headings
        start = body if not body or body.endswith(b"\n") else body + eol
        return head + start + (b"" if start.endswith(eol * 2) or not start else eol) + new + eol
    ending = b"\r" if rows[last - 1].endswith(b"\r") else b""
    return head + b"\n".join([*rows[:first], new + ending, *rows[last:]])


def value_of(note: Note) -> str:
    """The value of a keyed fact: the first paragraph that is no heading."""
    rows = note.data[note.body_start :].split(b"\n")
    first, last = _paragraph(rows)
    return b"\n".join(row.removesuffix(b"\r") for row in rows[first:last]).decode("utf-8", "replace")


def _paragraph(rows: list[bytes]) -> tuple[int, int]:
    """Where the first run of lines stands that is not empty and not only headings; (n, n) where there is none."""
    at = 0
    while at < len(rows):
        end = at
        while end < len(rows) and rows[end].strip():
            end += 1
        said = [row for row in rows[at:end] if not _HEADING.match(row.decode("utf-8", "replace"))]
        if said:
            while _HEADING.match(rows[at].decode("utf-8", "replace")):
                at += 1
            return at, end
        at = end + 1
    return len(rows), len(rows)


def _value(text: str) -> bytes:
    """A text as one paragraph, so that the next value finds its end. Its lines stay. Raises Usage where it is empty.

    A line that begins like a heading would be taken for one: its mark is escaped, as markdown has it.
    """
    rows = [row.rstrip() for row in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    rows = [rf"\{row.lstrip()}" if _HEADING.match(row) else row for row in rows if row.strip()]
    if not rows:
        raise Usage("the text is empty", hint='Say what to remember: bonsai remember "We deploy on Fridays."')
    return encoded("\n".join(rows).replace("\0", ""))


def read(path: str, data: bytes, created_at: int = 0) -> Fact:
    """What a note says of itself. `created_at`: of one that says no date, in Unix seconds."""
    note = parse(data)
    fields = note.fields
    found = field_text(fields.get("id"))
    category = layout.domain_of(path) or ""
    text = note.text.strip()
    agent = layout.tree_of(path).agent
    dates = [field_text(fields.get(key)) for key in ("updated", "created")]
    moment = next((at for said in dates if (at := lifecycle.moment(said))), None)
    return Fact(
        id=found if ID.fullmatch(found) else fact_id(agent, path, ""),
        text=text,
        category=category,
        importance=number(fields.get("importance"), IMPORTANCE),
        created_at=int(moment.timestamp()) if moment else created_at,
        metadata=Metadata(*(texts(fields.get(key)) for key in ("urls", "commands", "paths"))),
        path=path,
        key=field_text(fields.get("key")),
        pinned=field_text(fields.get("pinned")).strip().casefold() in ("true", "yes", "on", "1"),
        type=note_type(fields),
    )


def number(value: Value, otherwise: float) -> float:
    """A field as a number from 0 to 1."""
    try:
        found = float(field_text(value))
    except ValueError:
        return otherwise
    return otherwise if isnan(found) else min(1.0, max(0.0, found))


def texts(value: Value) -> tuple[str, ...]:
    """A field as a list of texts."""
    items = value if isinstance(value, list) else [value]
    return tuple(text for item in items if (text := field_text(item).strip()))


def when(seconds: float) -> str:
    """Unix seconds as a note writes a time; "" for what is none."""
    try:
        return moment.stamp(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return ""
