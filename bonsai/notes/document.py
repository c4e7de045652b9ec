"""A note as the search index takes it in: its passages, what is said of it, no credential."""

import re
import string
from dataclasses import dataclass

from bonsai.notes import secrets
from bonsai.notes.candidate import About, Fields, Piece
from bonsai.notes.layout import MAX_PARSED, Kind, kind_of, name_of, tree_of
from bonsai.notes.note import Note, parse
from bonsai.notes.passage import Passage, in_note
from bonsai.notes.printed import clean, without_escapes
from bonsai.notes.provenance import source
from bonsai.notes.query import index_terms
from bonsai.notes.summary import field_text, note_type
from bonsai.notes.traits import label_of

_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a note must not drive the terminal it is printed on
MOST = 1000  # characters in which the title of a note without text is looked for
_MARKS = f"{string.whitespace}{string.punctuation}"
_TAGS = ("tags", "aliases", "alias", "key", "urls", "commands", "paths")


@dataclass(frozen=True, slots=True)
class Document:
    """One note. A note without text has one passage, its description or title."""

    about: About
    fields: Fields
    pieces: list[Piece]


def document(path: str, data: bytes) -> Document:
    """Take a note apart. Only the first MAX_PARSED bytes are looked at."""
    data = shown(data)
    note = parse(data)
    said = [passage for passage in in_note(path, note) if _says_something(path, passage.text)]
    heads: dict[tuple[str, ...], list[str]] = {(): []}
    found = [_piece(passage, heads) for passage in said or [_frontmatter(note)]]
    heading = found[0].trail[0] if found[0].trail else ""
    fields = note.fields
    about = About(
        path=path,
        title=clean(field_text(fields.get("title")) or heading),
        description=_plain(f"{field_text(fields.get('description'))} {field_text(fields.get('name'))}".strip()),
        tags=_plain(" ".join(filter(None, (field_text(fields.get(key)) for key in _TAGS)))),
        date=_date(path, note),
        type=_plain(note_type(fields)),
        source=_plain(source(fields)),
    )
    texts = (f"{about.title} {about.description}", about.tags, place(path))
    return Document(about, Fields(*map(index_terms, texts)), found)


def _says_something(path: str, text: str) -> bool:
    """Not a lone mark (`<!--`, `---`), nor a section of a boot file that holds nothing yet but its template."""
    if not text.strip(_MARKS):
        return False
    visible, _, rest = text.partition("<!--")
    if not rest or kind_of(path) is not Kind.BOOT:
        return True
    while rest:
        more, _, rest = rest.partition("-->")[2].partition("<!--")
        visible += more
    rows = [row for row in visible.split("\n") if row.strip()]
    return not rows or not all(row.lstrip().startswith("#") for row in rows)  # a comment alone is somebody's note


def place(path: str) -> str:
    """The part of a path that tells notes apart: its domain and its name."""
    tree = tree_of(path)
    return path.removeprefix(f"{tree.memory}/").removeprefix("domains/").removesuffix(".md")


def shown(data: bytes) -> bytes:
    """The bytes of a note that recall may look at and show."""
    return secrets.without(data[:MAX_PARSED])[0]


def readable(data: bytes) -> str:
    """The text of a note in the form that its passages have: what a hit shows is a part of it."""
    return _plain(shown(data).decode("utf-8", "surrogateescape"))


def _plain(text: str) -> str:
    """Text that can be shown and stored: no control characters, nothing that is no UTF-8."""
    text = without_escapes(text)
    return _CONTROL.sub("", text if text.isascii() else text.encode("utf-8", "replace").decode())


def _piece(passage: Passage, heads: dict[tuple[str, ...], list[str]]) -> Piece:
    """`heads`: the terms of the headings so far, as most passages share theirs with the one before."""
    text, trail = passage.text, passage.trail
    if trail not in heads:
        heads[trail] = index_terms(" ".join(trail))
    if not (text.isascii() and text.replace("\n", " ").isprintable()):  # nearly all are
        text = _plain(text)
    return Piece(passage.lines, trail, text, index_terms(text), heads[trail], label_of(text))


def _frontmatter(note: Note) -> Passage:
    """What stands for a note that has no text below its frontmatter."""
    first = note.data.count(b"\n", 0, note.body_start) or 1
    told = field_text(note.fields.get("description")) or field_text(note.fields.get("title"))
    heading = next((row for row in note.text[:MOST].split("\n") if row.startswith("#")), "")
    return Passage((1, first), (), told or heading)


def _date(path: str, note: Note) -> str:
    """The day that a note speaks for, see About."""
    days = [_day(field_text(note.fields.get(key))) for key in ("updated", "created")]
    return max(days) or _day(field_text(note.fields.get("date"))) or _day(name_of(path))


def _day(text: str) -> str:
    found = _DAY.match(text)
    return f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}" if found else ""
