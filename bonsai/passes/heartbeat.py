"""Heartbeat: what is due in the care of a memory, in four phases. It only looks; nothing is ever deleted."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from bonsai.config import Settings
from bonsai.notes import boot, claims, dates, feedback, layout, lifecycle, moment
from bonsai.notes.change import Row
from bonsai.notes.claims import Claim
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.note import parse
from bonsai.notes.printed import clean
from bonsai.notes.prose import prose_lines
from bonsai.notes.split import split
from bonsai.notes.view import View
from bonsai.passes.cared import Checked, Due, HeartbeatReport, Phase

OK = "HEARTBEAT_OK"
RECENT = 3  # days whose daily notes are gone through
SPOTS = 2  # entries to check at a time
AGAIN = 7  # days until an entry is checked again
SHOWN = 80  # characters of a line

_FEEDBACK = re.compile(
    r"\b(?:no, (?:not|never|do not|don['’]t)|stop (?:doing|using)|don['’]t (?:do|use|send|ask)|that['’]s wrong"
    r"|wrong again|you should have|instead of|next time|correct(?:ed|ion)|yes,? exactly|keep (?:doing|it like)"
    r"|perfect(?=,)|well done|good (?:call|idea)|approved)\b"
    r"|不要|别再|不对|应该是|下次|纠正|没错|就这样|很好|继续保持|确认",
    re.IGNORECASE,
)
_TECHNICAL = frozenset({"project", "projects", "reference"})
_BULLET = re.compile(r" {0,3}[-*+] ")


@dataclass(slots=True)
class Done:
    """What was gone through before: daily notes by their bytes, entries by the day of their last check."""

    reviewed: dict[str, str] = field(default_factory=dict)  # path → object id
    checked: dict[str, str] = field(default_factory=dict)  # path: line as it stands → day
    caught_up: str = ""  # day


@dataclass(frozen=True, slots=True)
class Tended:
    """What a heartbeat looks at."""

    view: View
    tree: Tree
    read: Callable[[str], bytes]
    settings: Settings
    today: date
    changed_today: bool  # whether a note has changed today
    look: Callable[[Sequence[tuple[str, Claim]]], Iterable[Checked]]


def heartbeat(it: Tended, done: Done) -> HeartbeatReport:
    """The four phases with what is due in each; `answer` is HEARTBEAT_OK where nothing is."""
    recent = list(_recent(it))
    phases = [
        Phase(
            "catch-up",
            "Is there a correction, a confirmation or an event of this session that is not written down yet?",
            _catch_up(it, done, recent),
        ),
        Phase(
            "consolidate",
            "What of these days will matter later? Put it into MEMORY.md or the topic that is there. Delete nothing.",
            [
                Due(row.path, "read it for what is worth keeping")
                for row, day in recent
                if day < it.today and done.reviewed.get(row.path) != row.blob
            ],
        ),
        Phase("verify", "Do these still hold? Correct what does not; do not delete it.", _verify(it, done)),
        Phase("tidy", "Put these in order.", list(_tidy(it))),
    ]
    return HeartbeatReport(phases, "" if any(phase.candidates for phase in phases) else OK)


def mark(it: Tended, done: Done, report: HeartbeatReport) -> Done:
    """What was gone through once all that a report names has been. Tidying is done when it is done."""
    reviewed = {row.path: row.blob for row, _ in _recent(it)}
    checked = dict(done.checked)
    for due in report.phases[2].candidates:
        checked[_key(due.path, _line(it, due))] = it.today.isoformat()
    return Done({**done.reviewed, **reviewed}, checked, it.today.isoformat())


def _recent(it: Tended) -> Iterator[tuple[Row, date]]:
    """The daily notes of today and of the days before."""
    for row in sorted(it.view.notes(it.tree), key=lambda row: row.path):
        named = lifecycle.moment(layout.name_of(row.path)[:10]) if layout.is_daily(row.path) else None
        if named and moment.before(it.today, RECENT) <= named.date() <= it.today:
            yield row, named.date()


def _catch_up(it: Tended, done: Done, recent: Sequence[tuple[Row, date]]) -> list[Due]:
    found = []
    if it.changed_today and done.caught_up != it.today.isoformat() and all(day != it.today for _, day in recent):
        path = f"{it.tree.daily}/{it.today.isoformat()}.md"
        found.append(Due(path, "notes changed today, and there is no daily note of today"))
    for row, _ in recent:
        if done.reviewed.get(row.path) == row.blob:
            continue
        for number, line in prose_lines(_text(it.read(row.path))):
            if _FEEDBACK.search(line):
                what = f"may be a correction or a confirmation: {clean(line, SHOWN)}"
                found.append(Due(row.path, what, number + 1))
    return found


def _verify(it: Tended, done: Done) -> list[Due]:
    """Technical entries that nobody has looked at for a while, those never checked first, then the oldest."""
    limit = moment.before(it.today, AGAIN).isoformat()
    entries = []
    for path, line, text, claim in _entries(it):
        last = done.checked.get(_key(path, text), "")
        if last <= limit:
            entries.append((last, path != it.tree.boot, path, line, text, claim))
    entries.sort(key=lambda entry: entry[:4])
    chosen = entries[:SPOTS]
    looked = it.look([(path, claim) for _, _, path, _, _, claim in chosen if claim])
    states = {(item.path, item.line): item for item in looked}
    found = []
    for _, _, path, line, text, _ in chosen:
        state = states.get((path, line))
        known = f" ({state.name}: {state.found})" if state and state.found != "unknown" else ""
        found.append(Due(path, f"{clean(text, SHOWN)}{known}", line))
    return found


def _entries(it: Tended) -> Iterator[tuple[str, int, str, Claim | None]]:
    """(path, line, text, what it names): bullets of MEMORY.md, lines of technical notes that name a thing."""
    own = it.view.rows.get(it.tree.boot)
    if own and own.stat:
        data = it.read(it.tree.boot)
        named = {claim.line: claim for claim in claims.find(boot.strip(data))}
        for line, text in _bullets(boot.strip(data)):
            yield it.tree.boot, line, text, named.get(line)
    for row in it.view.notes(it.tree):
        if layout.kind_of(row.path) is not Kind.NOTE or it.view.is_held(row):
            continue
        data = it.read(row.path)
        if claims.is_technical(row.path, data):
            rows = data.decode("utf-8", "replace").split("\n")
            seen = set()
            for claim in claims.find(data):
                if claim.line not in seen and claim.line <= len(rows):
                    seen.add(claim.line)
                    yield row.path, claim.line, rows[claim.line - 1].strip(), claim


def _bullets(own: bytes) -> Iterator[tuple[int, str]]:
    """The bullets of the technical sections of a boot file, with their lines."""
    found = split(own)
    line = found.frontmatter.count(b"\n")
    for section in found.sections:
        if section.heading.casefold() in _TECHNICAL:
            for number, text in enumerate(section.data.decode("utf-8", "replace").split("\n")):
                if _BULLET.match(text):
                    yield line + number + 1, text.strip()
        line += section.data.count(b"\n")


def _tidy(it: Tended) -> Iterator[Due]:
    own = it.view.rows.get(it.tree.boot)
    data = it.read(it.tree.boot) if own and own.stat else b""
    for words in boot.over_budget(data, it.settings):
        yield Due(it.tree.boot, f"has {words}: `bonsai relocate`")
    topics = it.tree.at("topics/")
    for row in sorted(it.view.notes(it.tree), key=lambda row: row.path):
        if not row.path.startswith(topics):
            continue
        if not dates.stamped(parse(it.read(row.path)).text):
            yield Due(row.path, "has no line `> Created: YYYY-MM-DD | Updated: YYYY-MM-DD`")
        name = row.path.removeprefix(f"{it.tree.memory}/").removesuffix(".md")
        if name.encode("utf-8", "surrogateescape") not in data:
            yield Due(row.path, f"{it.tree.boot} does not point to it")
    files = {path: _text(it.read(path)) for path in feedback.places(it.view, it.tree) if it.view.on_disk(path)}
    for entry in feedback.duplicates(feedback.gathered(files)):
        yield Due(entry.path, f"{entry.id} is there twice: `bonsai feedback fix`", entry.line)


def _line(it: Tended, due: Due) -> str:
    data = it.read(due.path)
    rows = (boot.strip(data) if due.path == it.tree.boot else data).decode("utf-8", "replace").split("\n")
    return rows[due.line - 1].strip() if due.line <= len(rows) else ""


def _key(path: str, text: str) -> str:
    return f"{path}: {text[:200]}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def done_of(state: Mapping[str, object]) -> Done:
    """What a state file holds; what is damaged in it counts as not done."""

    def texts(key: str) -> dict[str, str]:
        found = state.get(key)
        return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}

    return Done(texts("reviewed"), texts("checked"), str(state.get("caught_up") or ""))
