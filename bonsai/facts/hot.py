"""The hot tier: sections of the boot file, a bullet an entry, that are JSON to those who know them so.

What a bullet shows can be edited by hand; the rest of an entry (importance, timestamp, …) stands as JSON in a comment
at its end.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from bonsai.errors import BadData, Usage
from bonsai.facts.bullet import OBJECTS, Entry, bullets, flat, is_done, is_json, line_of, name_of
from bonsai.facts.score import finite
from bonsai.notes import boot
from bonsai.notes.printed import encoded
from bonsai.notes.split import Section, split

State: TypeAlias = dict[str, Any]

#: Section of the boot file → what its bullets are.
SECTIONS = {
    "Identity": "identity",
    "Owner": "owner_profile",
    "Projects": "project",
    "Lessons": "lesson",
    "Events": "event",
    "Tasks": "task",
}
KEYS = tuple(SECTIONS.values())
IMPORTANCE = 0.7  # of a lesson that says none
DOMAINS = {"lesson": "lessons", "event": "events", "task": "tasks", "project": "projects"}


class Limits(NamedTuple):
    """How much the hot tier holds; bytes are those of its sections."""

    size: int = 5000
    lessons: int = 20
    events: int = 10
    tasks: int = 10


@dataclass(slots=True)
class Pruned:
    """What left the hot tier: kind and entry."""

    kind: str
    entry: Entry
    why: str = field(default="")


def state(data: bytes) -> State:
    """The hot state of a boot file in the shape that other tools know."""
    found: State = {
        "identity": {},
        "owner_profile": {},
        "active_context": {"projects": [], "events": [], "tasks": []},
        "critical_lessons": [],
    }
    for kind, section in _sections(data).items():
        for bullet in bullets(kind, section.data):
            if kind in OBJECTS:
                found[kind][bullet.entry["key"]] = bullet.entry["value"]
            else:
                _place(found, kind).append(bullet.entry)
    return found


def size(data: bytes) -> int:
    """Bytes of the hot sections."""
    return boot.hot_state_bytes(data)


def updated(data: bytes, key: str, value: Any, now: int) -> bytes:
    """The boot file with one more fact in it, or a changed one. Raises Usage (no such key), BadData (no such shape).

    Args:
        key: identity, owner_profile (an object whose keys are set, null removes one), project (set by its name),
            lesson, event, task (one with the same text is changed).
        now: Unix seconds, the timestamp of an entry that has none.
    """
    if key not in KEYS:
        raise Usage(f"there is no key {key!r}", hint=f"Keys are {', '.join(KEYS)}.")
    if not is_json(value):
        raise BadData("holds a number that JSON has not", hint="NaN and infinity are none: write it as a text.")
    for entry, gone in _entries(key, value, now):
        data = _set(data, key, entry, gone)
    return data


def merged(data: bytes, other: Mapping[str, Any], now: int) -> bytes:
    """The boot file with every entry of a hot state that it lacks. Raises BadData for what is no such state."""
    try:
        for key in OBJECTS:
            mine = state(data)[key]
            theirs = other.get(key) or {}
            data = updated(data, key, {name: item for name, item in theirs.items() if name not in mine}, now)
        context = other.get("active_context") or {}
        for kind, items in (
            ("project", context.get("projects")),
            ("event", context.get("events")),
            ("task", context.get("tasks")),
            ("lesson", other.get("critical_lessons")),
        ):
            mine = {name_of(kind, entry) for entry in _place(state(data), kind)}
            for item in items or []:
                entry = item if isinstance(item, dict) else {"text": str(item)}
                if name_of(kind, entry) not in mine:
                    data = updated(data, kind, entry, now)
    except (AttributeError, TypeError) as error:
        raise BadData(
            "is no hot state", hint="It is an object with identity, owner_profile, active_context, …"
        ) from error
    return data


def pruned(data: bytes, limits: Limits, closed: bool) -> tuple[bytes, list[Pruned]]:
    """The boot file within its limits, and what left it. Lines that are no entries stay.

    `closed`: projects and tasks that are done leave too.
    """
    out: list[Pruned] = []

    def leave(kind: str, entries: Sequence[Entry], why: str) -> None:
        nonlocal data
        for entry in entries:
            data = _set(data, kind, entry, True)
            out.append(Pruned(kind, entry, why))

    now = state(data)
    if closed:
        for kind in ("project", "task"):
            leave(kind, [entry for entry in _place(now, kind) if is_done(entry)], "done")
    lessons = sorted(_place(state(data), "lesson"), key=_lesson_rank)
    leave("lesson", lessons[: max(0, len(lessons) - limits.lessons)], "full")
    for kind, most in (("event", limits.events), ("task", limits.tasks)):
        entries = [entry for entry in _place(state(data), kind) if kind == "event" or not is_done(entry)]
        entries.sort(key=_time)
        leave(kind, entries[: max(0, len(entries) - most)], "full")
    for kind, order in _LEAVING:
        entries = sorted(_place(state(data), kind), key=order)
        while entries and size(data) > limits.size:
            leave(kind, [entries.pop(0)], "too large")
    return data, out


def _time(entry: Entry) -> float:
    return finite(entry.get("timestamp"), 0.0)


def _lesson_rank(entry: Entry) -> tuple[float, float]:
    return finite(entry.get("importance"), IMPORTANCE), _time(entry)


#: What leaves first when the sections are too large: the cheapest to look up again.
_LEAVING: tuple[tuple[str, Callable[[Entry], Any]], ...] = (
    ("event", _time),
    ("lesson", _lesson_rank),
    ("task", lambda entry: (not is_done(entry), _time(entry))),
    ("project", lambda entry: (not is_done(entry), _time(entry))),
)


def _place(found: State, kind: str) -> list[Entry]:
    if kind == "lesson":
        return found["critical_lessons"]  # type: ignore[no-any-return]
    return found["active_context"][f"{kind}s"]  # type: ignore[no-any-return]


def _entries(key: str, value: Any, now: int) -> list[tuple[Entry, bool]]:
    """What an update says, entry by entry, and whether it takes that one away. Raises BadData."""
    if key in OBJECTS:
        if not isinstance(value, dict):
            raise BadData(f"{key} is an object", hint=f'e.g. hot --update {key} \'{{"timezone": "Europe/Oslo"}}\'')
        return [({"key": flat(name), "value": item}, item is None) for name, item in value.items()]
    entry = deepcopy(value) if isinstance(value, dict) else {"text" if key != "project" else "name": value}
    needed = "name" if key == "project" else "text"
    entry[needed] = flat(entry.get(needed))
    if not entry[needed]:
        raise BadData(f"a {key} needs a {needed}", hint=f'e.g. hot --update {key} \'{{"{needed}": "…"}}\'')
    if key != "project":
        entry.setdefault("timestamp", now)
    if key == "lesson":
        entry.setdefault("importance", IMPORTANCE)
    if key == "task":
        entry.setdefault("status", "pending")
    return [(entry, False)]


# -- the file ------------------------------------------------------------------------------------------


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _sections(data: bytes) -> dict[str, Section]:
    """The first section of each kind."""
    names = {name.casefold(): kind for name, kind in SECTIONS.items()}
    found: dict[str, Section] = {}
    for section in split(boot.strip(data)).sections:
        kind = names.get(section.heading.strip().casefold(), "")
        if kind and section.level:
            found.setdefault(kind, section)
    return found


def _set(data: bytes, kind: str, entry: Entry, gone: bool) -> bytes:
    """The file with an entry changed, added at the end of its section, or taken away."""
    section = _sections(data).get(kind)
    if section is None:
        return data if gone else _with_section(data, kind, entry)
    rows = _text(section.data).split("\n")
    there = bullets(kind, section.data)
    eol = "\r" if any(row.endswith("\r") for row in rows) else ""
    old = next((item for item in there if name_of(kind, item.entry) == name_of(kind, entry)), None)
    if gone:
        if old is None:
            return data
        rows[old.start : old.end] = []
    elif old is not None:
        whole = {**old.entry, **entry} if kind in ("project", "task", "lesson", "event") else entry
        if whole == old.entry:
            return data
        rows[old.start : old.end] = [line_of(kind, whole) + eol]
    else:
        at = there[-1].end if there else _after_heading(rows)
        new = [line_of(kind, entry) + eol]
        if at == len(rows):  # the last line has no end
            rows[-1] += eol
            new = [line_of(kind, entry)]
        rows[at:at] = new
    return _with(data, section.data, encoded("\n".join(rows)))


def _after_heading(rows: list[str]) -> int:
    """Where the first bullet of a section goes: behind its heading and the empty line below it."""
    at = 2 if len(rows) > 1 and rows[1].strip() and not rows[1].strip("-= \r") else 1
    return at + 1 if at < len(rows) - 1 and not rows[at].strip() else at


def _with(data: bytes, old: bytes, new: bytes) -> bytes:
    """The file with other bytes for a section; where our block stands inside of that, it goes to the end."""
    if data.count(old) == 1:
        return data.replace(old, new)
    block = boot.current(data)
    bare = boot.strip(data).replace(old, new, 1)
    return bare if block is None else boot.splice(bare, block)


def _with_section(data: bytes, kind: str, entry: Entry) -> bytes:
    """The file with one more section at the end of what the person wrote."""
    name = next(name for name, item in SECTIONS.items() if item == kind)
    bare, block = boot.strip(data), boot.current(data)
    at_end = block is None or boot.splice(bare, block) == data
    start = bare if at_end else data
    eol = b"\r\n" if b"\r\n" in start else b"\n"
    gap = b"" if not start or start.endswith(eol * 2) else eol if start.endswith(b"\n") else eol * 2
    section = encoded(f"## {name}\n\n{line_of(kind, entry)}\n").replace(b"\n", eol)
    new = start + gap + section
    return boot.splice(new, block) if at_end and block is not None else new
