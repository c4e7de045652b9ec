"""What the verbs of the care answer: typed results whose attributes are the keys of their `--json`."""

from dataclasses import dataclass, field

from bonsai.notes.feedback import Entry, Renumbered
from bonsai.notes.problem import Problem


@dataclass(slots=True)
class Absolute:
    """A relative date in a note, or in what was about to be written: its 1-based line, and what it says."""

    path: str
    line: int
    text: str
    absolute: str


@dataclass(slots=True)
class FeedbackAdded:
    """`feedback add`: the entry as it was written, and which relative dates in it were made absolute."""

    id: str
    path: str
    text: str
    dates: list[Absolute]
    commit: str | None


@dataclass(slots=True)
class FeedbackList:
    """`feedback list`: the entries in order, each with its path; numbers that are there twice are problems.

    `elsewhere`: notes of type feedback that say it in their own words, without entries.
    """

    path: str
    entries: list[Entry]
    problems: list[Problem]
    elsewhere: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FeedbackFixed:
    """`feedback fix`."""

    path: str
    renumbered: list[Renumbered]
    commit: str | None


@dataclass(slots=True)
class DatesReport:
    """`dates check`: what would be written instead; `dates fix`: what was."""

    dates: list[Absolute]
    commit: str | None = None


@dataclass(slots=True)
class Checked:
    """One thing that a note names: file, function, url or version.

    `found`: exists, missing, differs (another version), or unknown where nothing here can tell. `detail` says more.
    """

    path: str
    line: int
    kind: str
    name: str
    found: str
    detail: str = ""


@dataclass(slots=True)
class FactsReport:
    """`check-facts`: what technical notes name, and what in notes is not worth remembering."""

    claims: list[Checked]
    flags: list[Problem]


@dataclass(slots=True)
class Due:
    """One candidate of a phase of the heartbeat: which file, and what to do about it."""

    path: str
    what: str
    line: int = 0  # 0: the whole file


@dataclass(slots=True)
class Phase:
    """One of the four phases: the question to ask, and what was found for it."""

    name: str
    ask: str
    candidates: list[Due] = field(default_factory=list)


@dataclass(slots=True)
class HeartbeatReport:
    """`heartbeat`; `answer` is HEARTBEAT_OK when nothing is due, else "". `done`: it was all marked as done."""

    phases: list[Phase]
    answer: str
    done: bool = False


@dataclass(slots=True)
class Relocated:
    """One piece of the boot file that went into a note of its own."""

    heading: str
    to: str
    bytes: int


@dataclass(slots=True)
class RelocateReport:
    """`relocate`: sizes of the boot file in bytes; `left` says in words why it is still over its budget, if it is."""

    relocated: list[Relocated]
    before: int
    after: int
    limit: int
    left: str
    commit: str | None
    dry_run: bool = False
