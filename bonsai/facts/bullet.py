"""One entry of the hot tier as a bullet: what it shows can be edited by hand, the rest stands in a comment as JSON."""

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

Entry: TypeAlias = dict[str, Any]

DONE = frozenset({"done", "completed", "complete", "closed", "cancelled", "canceled", "archived", "finished"})
OBJECTS = ("identity", "owner_profile")  # kinds whose entries are {key, value}
_OPEN, _CLOSE = "<!--", "-->"
_AS = "as"  # in the comment of {key, value}: how the value is to be read, `list` or `json`


@dataclass(frozen=True, slots=True)
class Bullet:
    """One entry and the lines it stands on, 0-based in its section, `end` exclusive."""

    kind: str
    entry: Entry
    start: int
    end: int


def name_of(kind: str, entry: Entry) -> str:
    """What tells an entry from the others of its kind."""
    value = entry.get({"identity": "key", "owner_profile": "key", "project": "name"}.get(kind, "text"), "")
    return " ".join(str(value).split()).casefold()


def is_done(entry: Entry) -> bool:
    """Whether a task or a project is over."""
    return str(entry.get("status", "")).strip().casefold() in DONE


def flat(value: Any) -> str:
    """A value as one line of text, "" for none."""
    return " ".join(str("" if value is None else value).split())


def shown(kind: str, entry: Entry) -> str:
    """What a bullet shows of an entry."""
    if kind in OBJECTS:
        return f"{entry['key']}: {_value(entry['value'])[0]}"
    if kind == "project":
        status, about = flat(entry.get("status")), flat(entry.get("description"))
        return f"{entry['name']}{f' [{status}]' if status else ''}{f': {about}' if about else ''}"
    if kind == "task":
        return f"[{'x' if is_done(entry) else ' '}] {flat(entry.get('text'))}"
    return flat(entry.get("text"))


def text_of(kind: str, entry: Entry) -> str:
    """An entry as a fact in words."""
    return shown(kind, entry).removeprefix("[ ] ").removeprefix("[x] ")


def line_of(kind: str, entry: Entry) -> str:
    """An entry as a bullet."""
    said = _safe(kind, entry)
    how = {_AS: _value(entry["value"])[1]} if kind in OBJECTS and _value(entry["value"])[1] else {}
    plain = _read(kind, said, how)
    hidden = how | {name: value for name, value in entry.items() if name not in plain or not _same(plain[name], value)}
    if not hidden:
        return f"- {said}"
    told = json.dumps(hidden, ensure_ascii=False).replace("--", "-\\u002d")
    return f"- {said} {_OPEN} {told} {_CLOSE}"


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is not true."""
    return bool(one == other) and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _safe(kind: str, entry: Entry) -> str:
    """What is shown, without marks that would begin or end a comment."""
    return shown(kind, entry).replace(_OPEN, "‹!--").replace(_CLOSE, "--›").strip()


def _value(value: Any) -> tuple[str, str]:
    """A value as it is shown, and how that is to be read: "" as a text, `list`, `json`."""
    if isinstance(value, str):
        return flat(value), ""
    if isinstance(value, list) and value and all(isinstance(item, str) and item for item in value):
        text = "; ".join(value)
        if flat(text) == text and text.split("; ") == value:
            return text, "list"
    return json.dumps(value, ensure_ascii=False), "json"


def _read(kind: str, said: str, how: Entry) -> Entry:
    """What a person says with a bullet."""
    if kind in OBJECTS:
        key, colon, value = said.partition(":")
        if not colon:
            return {"key": said, "value": ""}
        return {"key": flat(key.replace("**", "")), "value": _as(value.strip(), how.get(_AS))}
    if kind == "project":
        left, _, about = said.partition(": ")
        name, status = left, ""
        if left.endswith("]") and " [" in left:
            name, _, status = left[:-1].rpartition(" [")
        entry = {"name": name.replace("**", "").strip()}
        return {**entry, **({"description": about} if about else {}), **({"status": status} if status else {})}
    if kind == "task":
        mark = said[:4].casefold()
        done, bare = mark == "[x] ", said[4:] if mark in ("[x] ", "[ ] ") else said
        return {"text": bare, "status": "done" if done else "pending"}
    return {"text": said}


def _as(text: str, how: Any) -> Any:
    if how == "list":
        return [item for item in text.split("; ") if item]
    if how == "json":
        try:
            return _loaded(text)
        except (ValueError, RecursionError):
            return text
    return text


def is_json(value: Any) -> bool:
    """Whether every reader of JSON can read it: Python alone writes NaN and infinity."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _loaded(text: str) -> Any:
    """A JSON value as a person may have written it. Raises ValueError, RecursionError."""
    found = json.loads(text)
    if not is_json(found):
        raise ValueError("NaN or infinity")
    return found


def _parsed(kind: str, text: str) -> Entry:
    """The entry of a bullet's text. A comment that no longer fits what is shown gives only what is not shown."""
    said, opened, rest = text.rpartition(_OPEN)
    hidden: Any = None
    if opened and rest.rstrip().endswith(_CLOSE):
        try:
            hidden = _loaded(rest.rstrip().removesuffix(_CLOSE))
        except (ValueError, RecursionError):
            hidden = None
    if not isinstance(hidden, dict):
        return _read(kind, text.strip(), {})
    said = said.strip()
    how = {_AS: hidden.pop(_AS)} if kind in OBJECTS and _AS in hidden else {}
    plain = _read(kind, said, how)
    whole = {**plain, **hidden}
    try:
        if _safe(kind, whole) == said:
            return whole
    except (KeyError, TypeError):
        pass
    return {**{name: value for name, value in hidden.items() if name not in plain}, **plain}


def bullets(kind: str, section: bytes) -> list[Bullet]:
    """The entries of a section: its bullets at the left edge, with the lines that belong to them."""
    rows = section.decode("utf-8", "surrogateescape").split("\n")
    found: list[Bullet] = []
    at = 0
    while at < len(rows):
        row = rows[at].rstrip("\r")
        end = at + 1
        if row[:2] in ("- ", "* ", "+ "):
            words = [row[2:].strip()]
            while end < len(rows) and rows[end][:1] in (" ", "\t") and rows[end].strip():
                words.append(rows[end].strip())
                end += 1
            entry = _parsed(kind, " ".join(words))
            if name_of(kind, entry):
                found.append(Bullet(kind, entry, at, end))
        at = end
    return found
