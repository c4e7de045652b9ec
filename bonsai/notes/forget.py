"""What is to be forgotten, and how it is taken out of other bytes: names, texts, and the lines of a note."""

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bonsai.errors import Usage
from bonsai.notes import boot, layout
from bonsai.notes.layout import Kind
from bonsai.notes.printed import clean
from bonsai.notes.seek import Seeker
from bonsai.notes.summary import summarise

LEAST = 12  # characters: a shorter line tells nothing by itself, and stands in many notes
SHORTEST = 4  # characters of a text that is looked for everywhere
MARKS = ("[erased]", "***", "~~~")
_CUT = "…"
#: Fields that bonsai writes by itself: they tell nothing of a note, and every other note has lines like them.
_FIELDS = ("archived", "confidence", "created", "domain", "id", "importance", "pinned", "source", "type", "updated")
_MARKUP = " \t-*+>#"


@dataclass(frozen=True)
class Forget:
    """What goes, and how it is known again in other files.

    Args:
        names: the notes that go whole, by each name that they had (workspace paths).
        versions: (path, object id) of versions to be dropped under a name that another note has now.
        needles: bytes that go wherever they stand, with what is put in their place.
        lines: lines of the notes (stripped) that no other note has; they go where several stand together.
        leads: what the indexes said of the notes.
        text: the text that was asked for, "" where a note was.
    """

    names: frozenset[str] = frozenset()
    versions: frozenset[tuple[str, str]] = frozenset()
    needles: tuple[tuple[bytes, bytes], ...] = ()
    lines: frozenset[bytes] = frozenset()
    leads: frozenset[str] = frozenset()
    text: str = ""

    def drops(self, path: str, oid: str) -> bool:
        """Whether a version of a file goes whole."""
        return path in self.names or (path, oid) in self.versions

    def scrub(self, path: str, data: bytes) -> bytes:
        """The bytes of a managed file without what is forgotten; the very bytes where there is nothing of it."""
        kind = layout.kind_of(path)
        if kind is Kind.INDEX:
            data = self._index(path, data)
        elif kind is Kind.BOOT and (self.leads or self.text) and (block := boot.current(data)) is not None:
            text = block.encode("utf-8", "replace")
            clear = self._index(path, text)
            data = data if clear == text else boot.splice(data, clear.decode("utf-8", "replace"))
        return self.text_of(self._runs(data) if self.lines else data)

    def text_of(self, data: bytes) -> bytes:
        """Any bytes (a message, a log) without the needles."""
        there = self.needles_in(data)
        for needle, mark in self.needles if there else ():
            if needle in there:
                data = data.replace(needle, mark)
        return data

    def found(self, data: bytes) -> bool:
        """Whether some of it stands in the bytes."""
        return bool(self.needles_in(data))

    def needles_in(self, data: bytes) -> set[bytes]:
        """The needles that stand in the bytes."""
        return self._seeker.found(data)

    @cached_property
    def _seeker(self) -> Seeker:
        return Seeker(needle for needle, _ in self.needles)

    def name(self, path: str) -> str:
        """A path without the text; it may clash with others then."""
        raw = path.encode("utf-8", "surrogateescape")
        for needle, _ in self.needles:
            raw = raw.replace(needle, b"erased")
        return raw.decode("utf-8", "surrogateescape")

    def without(self, shared: Iterable[bytes]) -> "Forget":
        """The same but for needles that may stay, since they stand where nothing is erased."""
        spared = set(shared)
        return replace(
            self,
            needles=tuple(item for item in self.needles if item[0] not in spared),
            lines=frozenset(line for line in self.lines if line not in spared and _bare(line) not in spared),
        )

    def _runs(self, data: bytes) -> bytes:
        """Without runs of lines that all come from the note: a section of MEMORY.md before it was migrated."""
        rows = data.splitlines(keepends=True)
        if b"\0" in data or self.lines.isdisjoint(map(bytes.strip, rows)):
            return data
        out: list[bytes] = []
        start = 0
        while start < len(rows):
            end = self._run_end(rows, start)
            run = rows[start:end]
            if end > start and len(b"".join(row.strip() for row in run).decode("utf-8", "replace")) >= LEAST:
                out += [MARKS[0].encode(), _ending(run[-1])]
            else:
                end = max(end, start + 1)
                out += rows[start:end]
            start = end
        return b"".join(out)

    def _run_end(self, rows: Sequence[bytes], start: int) -> int:
        """Where the lines of the note that begin here end, without empty lines after them."""
        end = start
        for number in range(start, len(rows)):
            row = rows[number].strip()
            if row in self.lines:
                end = number + 1
            elif row or number == start:
                break
        return end

    def _index(self, path: str, data: bytes) -> bytes:
        """A generated index without what it said of the notes, however short, and without halves of the text."""
        names = {layout.name_of(name) for name in self.names if layout.folder_of(name) == layout.folder_of(path)}
        out, entry = [], False
        for row in data.decode("utf-8", "surrogateescape").splitlines(keepends=True):
            said = row.rstrip("\r\n")
            if said.startswith("#"):
                entry = said.startswith("### ") and said[4:].rpartition(" (~")[0] in names
            if entry or self._tells(said):
                continue
            out.append(self._tail(said) + row[len(said) :] if self.text else row)
        return "".join(out).encode("utf-8", "surrogateescape")

    def _tells(self, said: str) -> bool:
        """Whether a line of an index is the lead of a note that goes, maybe behind its name, maybe cut."""
        for start in (said, said.partition(": ")[2]):
            plain = start.removeprefix("\\")
            if plain and (
                plain in self.leads
                or (plain.endswith(_CUT) and any(lead.startswith(plain[:-1].rstrip()) for lead in self.leads))
            ):
                return True
        return False

    def _tail(self, said: str) -> str:
        """A line that an index cut, without the beginning of the text at its end."""
        if said.endswith(_CUT):
            kept = said[:-1].rstrip()
            plain = " ".join(self.text.split())
            for size in range(len(plain), SHORTEST - 1, -1):
                if kept.endswith(plain[:size].rstrip()):
                    return f"{kept.removesuffix(plain[:size].rstrip())}{MARKS[0]}{_CUT}"
        return said

    def to_json(self) -> dict[str, Any]:
        """As JSON values: a killed erasure is finished from them."""
        return {
            "names": sorted(self.names),
            "versions": sorted(self.versions),
            "needles": [[needle.hex(), mark.hex()] for needle, mark in self.needles],
            "lines": sorted(line.hex() for line in self.lines),
            "leads": sorted(self.leads),
            "text": self.text,
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Forget":
        """What `to_json` made. Raises KeyError, TypeError, ValueError."""
        return cls(
            frozenset(found["names"]),
            frozenset((path, oid) for path, oid in found["versions"]),
            tuple((bytes.fromhex(needle), bytes.fromhex(mark)) for needle, mark in found["needles"]),
            frozenset(map(bytes.fromhex, found["lines"])),
            frozenset(found["leads"]),
            found["text"],
        )


#: What bonsai writes anew at once: no proof could end well, and the log of what was done would be lost for good.
_OWN = """
memory/domains/general/_index.md memory/daily/ memory/topics/ memory/agents/ memory/feedback.md memory/dates.md
MEMORY.md memory/_meta.json memory/_stats.json memory/_reflect_staging.json memory/_purge_log.json __DELETE.md
memory/MEMORY.md.bak memory/.gitignore memory/.gitattributes bonsai.toml <!-- bonsai:begin --> <!-- bonsai:end -->
# Auto-generated # Original preserved at # Read first: # Last regenerated: # Memory Index _Last indexed:
_Estimated tokens: ~ Bonsai-Op: Bonsai-Actor: human Bonsai-Actor: agent: Bonsai-Actor: import Bonsai-Actor: daemon
Bonsai-Run: Bonsai-Session: Bonsai-Undoes: Bonsai-Reason: erase: a text
"""


def of_text(text: str) -> Forget:
    """Forget a text in each form in which files may hold it. Raises Usage: too short, or what bonsai itself writes."""
    if len("".join(text.split())) < SHORTEST:
        raise Usage(f"is too short: fewer than {SHORTEST} characters", hint="Name more of the text.")
    if " ".join(text.split()).casefold() in " ".join(_OWN.split()).casefold():
        raise Usage("is what bonsai itself writes", hint="Name more of the text, or the note.")
    forms: dict[str, None] = {}
    for shape in (text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)):
        for lines in (shape, shape.replace("\r\n", "\n"), shape.replace("\r\n", "\n").replace("\n", "\r\n")):
            forms[lines] = None
        forms[" ".join(shape.split())] = forms[clean(shape, len(shape))] = None  # as an index has it
    for form in list(forms):
        forms[json.dumps(form, ensure_ascii=False)[1:-1]] = forms[json.dumps(form)[1:-1]] = None
    texts = [form for form in forms if len("".join(form.split())) >= SHORTEST]
    needles = dict(item for form in texts for item in _encoded(form, _mark(form)))
    return Forget(needles=tuple(sorted(needles.items(), key=lambda item: -len(item[0]))), text=text)


def of_note(
    names: Iterable[str], versions: Iterable[tuple[str, str]], texts: Iterable[tuple[str, bytes]], rest: bytes
) -> tuple[Forget, int]:
    """Forget a note, and the number of its lines that stay since others hold them too.

    Args:
        names: of the note, as in Forget, like `versions`.
        texts: each version of it as (path, bytes).
        rest: what stays: all other notes as they stand now.
    """
    lines: set[bytes] = set()
    leads: set[str] = set()
    for path, data in texts:
        if b"\0" in data:
            continue
        lines |= {row for line in data.splitlines() if (row := line.strip()) and not _is_field(row)}
        summary = summarise(path, data, len(data))
        leads |= {summary.lead, summary.title} - {""}
    kept = {line.strip() for line in rest.splitlines()}
    own = {line for line in lines if line not in kept}
    bare = {part for line in lines for part in (line, _bare(line)) if _weighs(part)}
    leads = {lead for lead in leads if lead.removesuffix(_CUT).encode("utf-8", "replace") not in rest}
    bare |= {lead.removesuffix(_CUT).encode("utf-8", "replace") for lead in leads if len(lead) >= LEAST}
    shared = Seeker(bare | lines).found(rest)
    needles = bare - shared
    escaped = {form for part in needles for form in _escaped(part)}
    order = sorted(needles | escaped, key=lambda part: (-len(part), part))
    mark = MARKS[0].encode()
    forget = Forget(
        frozenset(names), frozenset(versions), tuple((part, mark) for part in order), frozenset(own), frozenset(leads)
    )
    return forget, sum(1 for line in lines & shared if _weighs(line))


def free_name(path: str, taken: Callable[[str], bool]) -> str:
    """A path, or the first of `…-2`, `…-3` that is free."""
    number, free = 1, path
    while taken(free):
        number += 1
        free = f"{path.removesuffix('.md')}-{number}{'.md' if path.endswith('.md') else ''}"
    return free


def _mark(text: str) -> str:
    """What stands in the place of a text; it must not make the text anew together with what stands beside it."""
    for mark in MARKS:
        if text not in mark and not any(
            mark.endswith(text[:size]) or mark.startswith(text[-size:]) for size in range(1, min(len(mark), len(text)))
        ):
            return mark
    return ""


def _encoded(text: str, mark: str) -> Iterator[tuple[bytes, bytes]]:
    yield text.encode("utf-8", "surrogateescape"), mark.encode()
    for encoding in ("utf-16-le", "utf-16-be", "latin-1"):
        try:
            yield text.encode(encoding), mark.encode(encoding)
        except UnicodeEncodeError:
            continue


def _escaped(part: bytes) -> Iterator[bytes]:
    text = part.decode("utf-8", "surrogateescape")
    for ascii in (False, True):
        yield json.dumps(text, ensure_ascii=ascii)[1:-1].encode("utf-8", "surrogateescape")


def _weighs(line: bytes) -> bool:
    return len(line.decode("utf-8", "replace")) >= LEAST and any(byte > 47 for byte in line)


def _is_field(line: bytes) -> bool:
    key, colon, _ = line.partition(b":")
    return bool(colon) and key.decode("utf-8", "replace") in _FIELDS


def _bare(line: bytes) -> bytes:
    """A line without the marks of a list item, a quote or a heading, as an index or a daily note may hold it."""
    return line.strip(_MARKUP.encode())


def _ending(row: bytes) -> bytes:
    return row[len(row.rstrip(b"\r\n")) :]
