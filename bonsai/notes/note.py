"""One note, lossless: its bytes, its frontmatter, its headings. The door to frontmatter, PyYAML and markdown-it.

Nothing here ever writes YAML back: a key is set by cutting into the lines of that key alone, since a parse and dump
of a note reorders its keys, drops its comments and turns `007` into 7.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bonsai.errors import BadData
from bonsai.notes.fields import Builder, Entry, Fault, Unusable, Value

if TYPE_CHECKING:
    from frontmatter.default_handlers import YAMLHandler
    from markdown_it import MarkdownIt


BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")  # how such a file begins: no text of ours may be put into it
MAX_BLOCK = 64 * 1024  # bytes

Changes: TypeAlias = "Mapping[str, str | Sequence[str] | None]"

_OPEN = re.compile(rb"---[ \t]*(?:\r?\n|\Z)")
_CLOSE = re.compile(rb"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_MAY_BE_HEADING = re.compile(r"(?:^|[\n\r]) {0,3}(?:#|[=-]+[ \t]*(?:[\n\r]|$))")
_NOT_TEXT = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)?)?")
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Note:
    """The parts of a note. Offsets are bytes into `data`; `block` has both `---` lines, None where none is usable.

    `fields` keeps scalars as written (`2026`, `12:30` and `true` are text), an empty one is None. `prose_start` is
    where the text of the writer begins even when the frontmatter above it is broken and counts as body.
    """

    data: bytes
    block: tuple[int, int] | None
    body_start: int
    fields: dict[str, Value]
    fault: Fault | None
    prose_start: int

    @property
    def text(self) -> str:
        """The body; bytes that are not UTF-8 are shown as U+FFFD."""
        return self.data[self.body_start :].decode("utf-8", "replace")


class Heading(NamedTuple):
    """A heading: its level, its first line and the line after it (0-based), its text without the marks."""

    level: int
    line: int
    end: int
    text: str


class Block(NamedTuple):
    """A paragraph, a heading, a row of a table: its first row and the row after it (0-based)."""

    first: int
    end: int
    cells: bool


def parse(data: bytes) -> Note:
    """Take a note apart; never raises. Frontmatter that is no plain mapping is body, with the reason in `fault`."""
    start = len(BOM) if data.startswith(BOM) else 0
    span = _span(data, start)
    if span is None:
        return Note(data, None, start, {}, None, start)
    inner_start, inner_end, end = span
    try:
        fields = _load(data[inner_start:inner_end])
    except Unusable as error:
        fault = error.fault
        prose = start if fault.severity == "info" else end
        if fault.code == "duplicate-key":
            return Note(data, (start, end), end, {}, fault, end)
        return Note(data, None, start, {}, fault, prose)
    return Note(data, (start, end), end, fields, None, end)


def can_splice(note: Note) -> bool:
    """Whether `set_fields` can work on the note: no fault, no `---` on top that is not a whole block, no UTF-16."""
    if note.fault or note.data.startswith(UTF16):
        return False
    start = len(BOM) if note.data.startswith(BOM) else 0
    span = _span(note.data, start)
    if span is None:
        return not _OPEN.match(note.data, start)
    inner = note.data[span[0] : span[1]].decode("utf-8")
    entries, block_style = _scan(inner)[1:]
    return block_style and all(
        not inner[_line_start(inner, item.key_start) : item.key_start].strip(" ") for item in entries
    )


def set_fields(data: bytes, changes: Changes) -> bytes:
    """Set keys (None removes one), touching only their lines. A note without frontmatter gets a block on top.

    Raises BadData where the frontmatter cannot be edited without a risk to its other lines.
    """
    note = parse(data)
    if not can_splice(note):
        why = note.fault.message if note.fault else "there is no plain block of keys, and none can stand on top"
        raise BadData(f"the frontmatter cannot be edited: {why}", hint="Correct it by hand, then try again.")
    start = len(BOM) if data.startswith(BOM) else 0
    new = _spliced(data, start, changes)
    wanted = {key: value for key, value in note.fields.items() if key not in changes}
    wanted |= {
        key: value if isinstance(value, str) else [*value] for key, value in changes.items() if value is not None
    }
    after = parse(new)
    same_body = new[after.body_start :] == data[note.body_start :] and new[:start] == data[:start]
    if after.fault or after.fields != wanted or not same_body:
        raise BadData(
            f"{', '.join(changes)} cannot be set without changing more than that", hint="Edit the frontmatter by hand."
        )
    return new


def _spliced(data: bytes, start: int, changes: Changes) -> bytes:
    span = _span(data, start)
    if span is None:
        eol = _eol(data)
        added = "".join(f"{_scalar(key)}: {_yaml(value)}{eol}" for key, value in changes.items() if value is not None)
        block = f"---{eol}{added}---{eol}" if added else ""
        return data[:start] + block.encode() + data[start:]
    inner_start, inner_end, end = span
    old = data[inner_start:inner_end].decode("utf-8")
    new = _edited(old, changes, _eol(data[start:inner_start]))
    bare = data[:start] + data[end:]
    exposed = _OPEN.match(bare, start) or (not start and bare.startswith(BOM))  # the body must not become a block
    if old.strip() and not new.strip() and not exposed:
        return bare
    return data[:inner_start] + new.encode() + data[inner_end:]


def _edited(text: str, changes: Changes, eol: str) -> str:
    fields, found, _ = _scan(text)
    entries = {item.key: item for item in found}
    indent = " " * (found[0].key_start - _line_start(text, found[0].key_start)) if found else ""
    edits: list[tuple[int, int, str]] = []
    for key, value in changes.items():
        entry = entries.get(key)
        if entry is None:
            if value is not None:
                edits.append((len(text), len(text), f"{indent}{_scalar(key)}: {_yaml(value)}{eol}"))
        elif value is None:
            edits.append((_line_start(text, entry.key_start), _line_end(text, entry.end), ""))
        elif fields[key] != (value if isinstance(value, str) else [*value]):
            edits.append(_replacement(text, entry, _yaml(value)))
    for first, last, new in sorted(edits, key=lambda item: item[:2], reverse=True):
        text = text[:first] + new + text[last:]
    return text


def _replacement(text: str, entry: Entry, new: str) -> tuple[int, int, str]:
    """The cut that puts another value in place of an entry's, and leaves a comment at the end of the line."""
    colon = text.index(":", entry.key_end) + 1
    if "\n" not in text[colon : entry.start]:
        return (entry.start, entry.end, f" {new}" if entry.start == colon else new)
    rest = text[colon : _line_end(text, colon)]
    return (colon, _line_end(text, entry.end), f" {new}{rest}")


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)


def _eol(data: bytes) -> str:
    first = data.find(b"\n")
    return "\r\n" if first > 0 and data[first - 1] == 13 else "\n"


def _yaml(value: str | Sequence[str]) -> str:
    """A text or a list of texts as YAML on one line."""
    return _scalar(value) if isinstance(value, str) else f"[{', '.join(map(_quoted, value))}]"


def _scalar(value: str) -> str:
    """A text as YAML: plain where no reader can take it for anything else (dates stay plain), else double-quoted."""
    if _DATE.fullmatch(value):
        return value
    first = value[:1]
    plain = (first.isalpha() or first == "_") and value.isprintable() and not value.endswith(" ")
    if plain and ":" not in value and "#" not in value and value.lower() not in _NOT_TEXT:
        return value
    return _quoted(value)


def _quoted(value: str) -> str:
    quoted = json.dumps(value, ensure_ascii=False)
    try:
        quoted.encode()
    except UnicodeEncodeError as error:
        raise BadData("a value with bytes that are not UTF-8 cannot stand in frontmatter", hint="Rename it.") from error
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _span(data: bytes, start: int) -> tuple[int, int, int] | None:
    """Offsets of what stands between the two `---` lines and of the end of the second."""
    opening = _OPEN.match(data, start)
    closing = _CLOSE.search(data, opening.end()) if opening else None
    return (opening.end(), closing.start(), closing.end()) if opening and closing else None


def _load(block: bytes) -> dict[str, Value]:
    """The mapping of a block. Raises Unusable."""
    if len(block) > MAX_BLOCK:
        raise Unusable(f"the frontmatter is over {MAX_BLOCK // 1024} KiB: move text below the second `---`.")
    if not block.strip():
        return {}
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unusable("the frontmatter is not UTF-8: save the note as UTF-8.") from error
    fields: dict[str, Value] = _handler().load(text)
    return fields


@cache
def _handler() -> "YAMLHandler":
    """python-frontmatter's YAML handler, made strict. Its own `load` builds objects, resolves types and raises on
    one odd key; its `split` and `dumps` lose text, so this hook is all that is used of it.
    """
    from frontmatter.default_handlers import YAMLHandler

    class Strict(YAMLHandler):
        """Scalars stay text, a fault is an Unusable."""

        def load(self, fm: str, **kwargs: object) -> Any:
            return _scan(fm)[0]

    return Strict()


def _scan(text: str) -> tuple[dict[str, Value], list[Entry], bool]:
    """A mapping read from YAML events: its fields, where its keys stand, whether it is in block style.

    No object is ever built by YAML, no alias can multiply (anchors and tags are refused). Raises Unusable.
    """
    import yaml

    builder = Builder(text)
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(type(event).__name__, event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        where = f"line {mark.line + 2}: " if mark else ""
        raise Unusable(f"the frontmatter is no valid YAML ({where}{what}): correct it.") from error
    except ValueError as error:  # PyYAML without libyaml lets `"\UFFFFFFFF"` through to chr()
        raise Unusable("the frontmatter is no valid YAML: correct it.") from error
    return builder.root, builder.entries, builder.block_style


def headings(text: str) -> list[Heading]:
    """The CommonMark headings that stand in no list, quote, fence or HTML block, in order."""
    if not _MAY_BE_HEADING.search(text):  # the parser takes seconds for a megabyte of bullets
        return []
    tokens = _markdown().parse(text)
    found = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            found.append(Heading(int(token.tag[1:]), token.map[0], token.map[1], tokens[at + 1].content.strip()))
    return found


def own_blocks(text: str) -> tuple[list[Block], set[str]]:
    """Where the writer's own prose stands, in order, and the labels that the text defines links for (in capitals).

    That is: paragraphs, headings and rows of tables that stand in no block quote.
    """
    env: dict[str, Any] = {}
    found, depth = dict[int, Block](), 0
    tokens = _markdown(tables=True).parse(text, env)
    for at, token in enumerate(tokens):
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "inline" and token.map and not depth:
            first, end = token.map
            found[first] = Block(first, end, tokens[at - 1].type in ("th_open", "td_open"))  # each cell names its row
    return list(found.values()), set(env.get("references", ()))


@cache
def _markdown(tables: bool = False) -> "MarkdownIt":
    """A block parser: without the inline rule, which nobody here needs and which takes minutes on hostile text."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").disable("inline")
    return parser.enable("table") if tables else parser
