"""Frontmatter as a mapping, built from YAML events: text values only, no aliases, tags or repeated keys."""

from typing import Any, NamedTuple, TypeAlias

from bonsai.notes.problem import Severity

Value: TypeAlias = "str | list[Value] | dict[str, Value] | None"

MAX_DEPTH = 16
MAX_NODES = 4000
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class Fault(NamedTuple):
    """Why the frontmatter cannot be used: a code of `problem.CODES` and words that end with what to do."""

    code: str
    message: str
    severity: Severity


class Entry(NamedTuple):
    """Where a key of the top mapping stands: character offsets of the key and of its value."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


class Unusable(Exception):
    """The YAML is refused."""

    def __init__(self, why: str, code: str = "bad-frontmatter", severity: Severity = "warning") -> None:
        super().__init__(why)
        self.fault = Fault(code, why, severity)


class Builder:
    """Takes YAML events and makes one mapping of them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: dict[str, Value] = {}
        self.entries: list[Entry] = []
        self.block_style = True
        self.stack: list[tuple[dict[str, Value] | list[Value], bool]] = []  # open containers, whether in flow style
        self.keys: list[str | None] = []  # for each of them the key that waits for its value
        self.nodes = 0
        self.documents = 0
        self.prose = False  # a plain text instead of a mapping, if nothing behind it is wrong

    def take(self, kind: str, event: Any) -> None:
        """One event. Raises Unusable for what a note may not hold."""
        if kind == "ScalarEvent":
            self._scalar(event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._open(event, {} if kind == "MappingStartEvent" else [])
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            _, flow = self.stack.pop()
            self.keys.pop()
            if flow:
                self._reach(event.start_mark.index, event.end_mark.index)
        elif kind == "AliasEvent":
            raise Unusable("the frontmatter uses a YAML alias: write the value out.")
        elif kind == "DocumentStartEvent":
            self.documents += 1
            if event.explicit or self.documents > 1:
                raise Unusable("the frontmatter holds YAML document marks: take them out.")
        elif kind == "StreamEndEvent" and self.prose:
            raise _not_a_mapping("info")
        elif kind == "DocumentEndEvent" and event.explicit:
            raise Unusable("the frontmatter holds YAML document marks: take them out.")

    def _scalar(self, event: Any) -> None:
        plain = event.implicit[0]
        if not self.stack:
            self.prose = plain
            if not plain:
                raise _not_a_mapping("warning")
            return
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):  # libyaml's mark is behind the blank lines that follow
            end = start + len(self.text[start:end].rstrip())
        self._node(event)
        holder = self.stack[-1][0]
        if isinstance(holder, dict) and self.keys[-1] is None:
            self._key(holder, event.value, start, end)
            return
        self._put(None if plain and event.value in _NULLS else event.value)
        self._reach(start, end)

    def _key(self, holder: dict[str, Value], key: str, start: int, end: int) -> None:
        if key in holder:
            raise Unusable(f"the frontmatter has the key {key[:40]!r} twice: keep one.", "duplicate-key")
        self.keys[-1] = key
        if len(self.stack) == 1:
            self.entries.append(Entry(key, start, end, -1, -1))

    def _open(self, event: Any, value: dict[str, Value] | list[Value]) -> None:
        self._node(event)
        if not self.stack:
            if not isinstance(value, dict):
                raise _not_a_mapping("warning")
            self.root, self.block_style = value, not event.flow_style
        else:
            self._put(value)
            self._reach(event.start_mark.index, event.start_mark.index)
        self.stack.append((value, bool(event.flow_style)))
        self.keys.append(None)
        if len(self.stack) > MAX_DEPTH:
            raise Unusable("the frontmatter is nested too deeply: make it flatter.")

    def _put(self, value: Value) -> None:
        holder = self.stack[-1][0]
        if isinstance(holder, list):
            holder.append(value)
            return
        key = self.keys[-1]
        if key is None:
            raise Unusable("the frontmatter has a key that is no text: correct it.")
        holder[key] = value
        self.keys[-1] = None

    def _node(self, event: Any) -> None:
        self.nodes += 1
        if event.anchor is not None or event.tag is not None:
            raise Unusable("the frontmatter uses a YAML anchor or tag: write the value out, or put it in quotes.")
        if self.nodes > MAX_NODES:
            raise Unusable("the frontmatter holds too many values: move them below the second `---`.")

    def _reach(self, start: int, end: int) -> None:
        """The value of the last top-level key reaches at least to `end`."""
        if self.entries:
            last = self.entries[-1]
            self.entries[-1] = last._replace(start=start if last.start < 0 else last.start, end=max(last.end, end))


def _not_a_mapping(severity: Severity) -> Unusable:
    return Unusable(
        "what stands between the two `---` lines is no list of `key: value` lines and counts as text: "
        "put a blank line before the first `---` if it is text, else correct it.",
        severity=severity,
    )
