"""Two versions of a file that were one once, merged: nothing is lost, and both devices come to the same bytes.

`merge(path, base, a, b)` and `merge(path, base, b, a)` give the same. No conflict markers: where both sides changed
one thing, both versions stand, with words between them that markdown, YAML and TOML take for a comment.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from bonsai import config
from bonsai.errors import Misconfigured
from bonsai.notes import boot, layout, merge_keys, merge_passages
from bonsai.notes.compare import split
from bonsai.notes.index import is_generated
from bonsai.notes.layout import Kind
from bonsai.notes.merge_passages import MARK
from bonsai.notes.note import BOM, UTF16, parse
from bonsai.notes.prose import conflicted

_CANON = "the index"  # in place of the generated block, so that it is the same on all sides
_TIMES = (b"_Last indexed: ", b"# Last regenerated: ")
_OPENED, _MIDDLE, _CLOSED, _WAS = b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||"


class Side(NamedTuple):
    """One version: its bytes, when the commit that changed it last was made (Unix seconds), its object id."""

    data: bytes
    time: int
    oid: str


class Merged(NamedTuple):
    """The bytes; whether two versions of one thing stand in them; what could only be kept in a file beside."""

    data: bytes
    both: bool = False
    beside: Side | None = None


def merge(path: str, base: bytes | None, one: Side, other: Side) -> Merged:
    """Merge two versions of the file at `path`; `base` None: both sides made it."""
    newer, older = in_order(one, other)
    if older.data in (newer.data, base):
        return Merged(newer.data)
    if newer.data == base:
        return Merged(older.data)
    return _way(path, (base or b"", newer.data, older.data))(base, newer, older)


def in_order(one: Side, other: Side) -> tuple[Side, Side]:
    """The side with the later commit first; of two of one second that with the smaller object id."""
    return (one, other) if (-one.time, one.oid) <= (-other.time, other.oid) else (other, one)


def conflict_name(path: str, oid: str) -> str:
    """The name under which a version is kept beside the file: `plan.conflict-1a2b3c4.png`."""
    name = layout.name_of(path)
    stem, dot, suffix = name.rpartition(".")
    if name == layout.BACKUP:  # a name that ends in .bak would never be committed
        stem, dot, suffix = name, ".", "txt"
    elif not stem:
        stem, dot, suffix = name, "", ""
    return f"{path[: len(path) - len(name)]}{stem}.conflict-{oid[:7]}{dot}{suffix}"


def healed(data: bytes) -> bytes:
    """A text that somebody committed with git's conflict markers, with both versions instead of them."""
    if not conflicted(data.decode("utf-8", "replace")):
        return data
    found: list[bytes] = []
    place = ""  # in which part of a conflict
    for row in split(data):
        if row.startswith(_OPENED) and not place:
            place = "ours"
        elif row.startswith(_WAS) and place == "ours":
            place = "base"
        elif row.rstrip() == _MIDDLE and place in ("ours", "base"):
            place = "theirs"
            found.append(MARK)
        elif row.startswith(_CLOSED) and place == "theirs":
            place = ""
        elif place != "base":
            found.append(row)
    return b"".join(found)


def generated(base: bytes | None, one: Side, other: Side) -> bytes:
    """An index: never merged, since it is written anew. What counts is that both devices start from the same one."""
    if base in (one.data, other.data):
        return other.data if one.data == base else one.data
    newer, older = in_order(one, other)
    return max((newer.data, older.data), key=_stamp)


_Way = Callable[[bytes | None, Side, Side], Merged]


def _way(path: str, versions: tuple[bytes, bytes, bytes]) -> _Way:
    """How files of this kind are merged."""
    kind, name = layout.kind_of(path), layout.name_of(path)
    if kind is Kind.INDEX and all(map(is_generated, versions[1:])):
        return lambda base, newer, older: Merged(generated(base, newer, older))
    if any(b"\0" in data or data.startswith(UTF16) for data in versions):
        return _whole
    if kind is Kind.BOOT:
        return _boot
    if kind is Kind.CONFIG:
        return _settings
    if name in (layout.PURGE_LOG, layout.ERASED):
        return _log
    if name == layout.BACKUP:  # the original: the first one is the original
        return lambda base, newer, older: Merged(older.data, True, newer)
    if name in (".gitignore", ".gitattributes"):
        return lambda base, newer, older: Merged(merge_passages.lines(base or b"", newer.data, older.data)[0])
    return _whole if kind is Kind.ASSET else _note


def _whole(_: bytes | None, newer: Side, older: Side) -> Merged:
    return Merged(newer.data, True, older)


def _note(base: bytes | None, newer: Side, older: Side) -> Merged:
    return Merged(*_text(base, newer.data, older.data))


def _boot(base: bytes | None, newer: Side, older: Side) -> Merged:
    """MEMORY.md: what a person wrote is merged around the block, which is taken whole."""
    versions = [None if data is None else _canonical(data) for data in (base, newer.data, older.data)]
    sides = newer._replace(data=versions[1] or b""), older._replace(data=versions[2] or b"")
    data, both = _text(versions[0], sides[0].data, sides[1].data)
    blocks = [boot.current(side) if side is not None else None for side in (base, newer.data, older.data)]
    texts = [None if block is None else block.encode() for block in blocks]
    if texts[1] is None and texts[2] is None:
        return Merged(data, both)
    one, other = (Side(text or b"", side.time, side.oid) for text, side in zip(texts[1:], sides, strict=True))
    return Merged(boot.splice(data, generated(texts[0], one, other).decode("utf-8", "replace")), both)


def _canonical(data: bytes) -> bytes:
    return data if boot.current(data) is None else boot.splice(data, _CANON)


def _settings(base: bytes | None, newer: Side, older: Side) -> Merged:
    """bonsai.toml: by lines where the result is sound, else the newer one with the other as comments behind it."""
    data, both = merge_passages.lines(base or b"", _ended(newer.data), _ended(older.data))
    if not both and _is_sound(data):
        return Merged(data)
    start = b"# bonsai: both kept, the other device has:\n"
    rows = [b"# " + row for row in split(_ended(older.data)) if row not in split(_ended(newer.data))]
    return Merged(b"".join([_ended(newer.data), start, *rows]), True)


def _is_sound(data: bytes) -> bool:
    try:
        config.parse(data)
    except Misconfigured:
        return False
    return True


def _log(base: bytes | None, newer: Side, older: Side) -> Merged:
    """A log, which only grows: the entries of both, by their time."""
    logs = [_entries(side.data) for side in (older, newer)]
    if any(log is None for log in logs):
        return _whole(base, newer, older)
    found = {json.dumps(entry, sort_keys=True): entry for log in logs for entry in log or []}
    order = sorted(found, key=lambda key: (str(_time(found[key])), key))
    text = json.dumps([found[key] for key in order], indent=2, ensure_ascii=False)
    return Merged(f"{text}\n".encode("utf-8", "replace"))


def _entries(data: bytes) -> list[Any] | None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _time(entry: Any) -> Any:
    return entry.get("purged_at") or entry.get("erased_at") or "" if isinstance(entry, dict) else ""


def _stamp(data: bytes) -> bytes:
    """The time that a generated text says it was written at; ISO 8601 in UTC, so it sorts as text."""
    for row in data.split(b"\n", 8)[:8]:
        for mark in _TIMES:
            if row.startswith(mark):
                return row[len(mark) :].strip(b"_\r ")
    return b""


# --- texts ------------------------------------------------------------------------------------------------------------


class _Form(NamedTuple):
    """How a text is written down, apart from what it says."""

    bom: bool
    crlf: bool
    ended: bool  # the last line has its end


def _text(base: bytes | None, newer: bytes, older: bytes) -> tuple[bytes, bool]:
    """A note: frontmatter by its keys, the rest by its passages. The form follows the side that changed it."""
    plain = all(b"\r\n" not in data or _is_crlf(data) for data in (base or b"", newer, older))
    given = [_form(data, plain) for data in (newer if base is None else base, newer, older)]
    form = _Form(*(new if old == was else old if new == was else new for was, new, old in zip(*given, strict=True)))
    was, new, old = (_plain(data, _form(data, plain)) for data in (base or b"", newer, older))
    (was_keys, was), (new_keys, new), (old_keys, old) = map(_halves, (was, new, old))
    keys, twice = _keys(was_keys, new_keys, old_keys)
    body, both = merge_passages.merge(was, new, old)
    return _written(keys + body, form), twice or both


def _keys(base: bytes, newer: bytes, older: bytes) -> tuple[bytes, bool]:
    """The frontmatter. One that cannot be merged by its keys stands as the newer has it, the other as text below."""
    if older in (newer, base):
        return newer, False
    if newer == base:
        return older, False
    if not newer or not older:  # taken away here and edited there
        return newer or older, False
    found = merge_keys.merge(base, newer, older)
    return found or (b"".join([newer, MARK, b"````yaml\n", older, b"````\n"]), True)


def _halves(data: bytes) -> tuple[bytes, bytes]:
    """Frontmatter with its `---` lines, be it sound or not, and the rest."""
    start = parse(data).prose_start
    return data[:start], data[start:]


def _form(data: bytes, plain: bool) -> _Form:
    return _Form(data.startswith(BOM), plain and b"\r\n" in data, data.endswith(b"\n"))


def _is_crlf(data: bytes) -> bool:
    return data.count(b"\r\n") == data.count(b"\n")


def _plain(data: bytes, form: _Form) -> bytes:
    data = data.removeprefix(BOM)
    return _ended(data.replace(b"\r\n", b"\n") if form.crlf else data)


def _ended(data: bytes) -> bytes:
    return data if data.endswith(b"\n") or not data else data + b"\n"


def _written(data: bytes, form: _Form) -> bytes:
    if not form.ended:
        data = data.removesuffix(b"\n")
    if form.crlf:
        data = data.replace(b"\n", b"\r\n")
    return (BOM if form.bom else b"") + data
