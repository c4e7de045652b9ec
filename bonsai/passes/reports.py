"""What each verb answers: typed results whose attributes are the keys of its `--json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from bonsai.notes.problem import Problem
    from bonsai.notes.review import Candidate
    from bonsai.ports.history import Commit

Health = Literal["HEALTHY", "WARNING", "CRITICAL"]
ChangeKind = Literal["added", "deleted", "edited", "renamed"]


class Tokens(NamedTuple):
    """Boot tokens before and after a migrate."""

    before: int
    after: int


class Outlook(NamedTuple):
    """What a migrate would start from: boot tokens, the type sections that could stay, whether it is the first."""

    tokens: int
    types: list[str]
    first: bool


@dataclass(slots=True)
class InitReport:
    """`init`."""

    workspace: str
    created: list[str]


@dataclass(slots=True)
class Created:
    """One note that a migrate made or would make."""

    path: str
    heading: str
    tokens: int


@dataclass(slots=True)
class Skipped:
    """What a migrate left where it is, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class MigrateReport:
    """`migrate`; `moved` are the daily notes that changed their place, [from, to]."""

    created: list[Created]
    skipped: list[Skipped]
    moved: list[tuple[str, str]]
    backup: str | None
    boot_tokens: Tokens
    commit: str | None
    dry_run: bool = False
    problems: list[Problem] = field(default_factory=list)  # numbers of feedback that are there twice


@dataclass(slots=True)
class MoveReport:
    """`move`; `from_` is `from` in JSON."""

    from_: str
    to: str
    links: list[str]
    commit: str | None


@dataclass(slots=True)
class ReindexReport:
    """`reindex`; with `--check`, `changed` lists the indexes that are stale."""

    notes: int
    domains: int
    tokens: int
    changed: list[str]
    problems: list[Problem]
    stale: bool = False


@dataclass(slots=True)
class CommitReport:
    """`commit`; `held` are the notes that may not be committed."""

    commit: str | None
    paths: list[str]
    held: list[str]
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class Daemon:
    """Whether a daemon watches this workspace."""

    running: bool
    pid: int | None


@dataclass(slots=True)
class DaemonReport:
    """`daemon status`: `mode` is "events" or why it polls, `paused` why it cannot commit now ("" where it can).

    `died`: one was started and is gone without having been stopped.
    """

    running: bool
    pid: int | None
    state: str
    since: str
    mode: str
    paused: str
    last_commit: str | None
    last_commit_at: str | None
    died: bool = False
    lag_seconds: int = 0


@dataclass(slots=True)
class StatusReport:
    """`status`. `archived` counts every archive, `pending_purge` those whose grace is over."""

    status: Health
    problems: list[Problem]
    last_reindex: str | None
    notes: int
    domains: int
    total_tokens: int
    boot_tokens: int
    general_violations: int
    pending_purge: int
    archived: int
    uncommitted: int
    blocked: str | None
    daemon: Daemon


@dataclass(slots=True)
class ReflectReport:
    """`reflect` and `reflect show`."""

    triggered_at: str | None
    candidates: list[Candidate]


@dataclass(slots=True)
class Decided:
    """A decision that was applied, or (with a reason) refused."""

    file: str
    decision: str
    to: str = ""
    reason: str = ""


@dataclass(slots=True)
class ApplyReport:
    """`reflect apply`."""

    applied: list[Decided]
    refused: list[Decided]
    commit: str | None


@dataclass(slots=True)
class ArchiveReport:
    """`archive`: the new paths."""

    archived: list[str]
    commit: str | None


@dataclass(slots=True)
class RestoreReport:
    """`restore`: the paths that stand again."""

    restored: list[str]
    commit: str | None


@dataclass(slots=True)
class Purged:
    """An archive that was (or would be) deleted."""

    path: str
    age_days: int


@dataclass(slots=True)
class Waiting:
    """An archive in its grace period."""

    path: str
    days_left: int


@dataclass(slots=True)
class PurgeReport:
    """`purge`."""

    purged: list[Purged]
    waiting: list[Waiting]
    commit: str | None
    dry_run: bool = False


@dataclass(slots=True)
class LogReport:
    """`log`, newest first."""

    commits: list[Commit]


@dataclass(slots=True)
class Conflict:
    """A file that an undo could not take back by itself: both versions, nothing changed."""

    path: str
    now: str
    wanted: str
    reason: str


@dataclass(slots=True)
class UndoReport:
    """`undo`: the run taken back; `kept` stayed because of later edits; with `conflicts` nothing was changed.

    `message`: the subject of that run. `later_edit`: the run of the newest hand edit after it, which stays.
    """

    undone: str | None
    restored: list[str]
    kept: list[str]
    conflicts: list[Conflict]
    commit: str | None
    message: str = ""
    later_edit: str = ""


@dataclass(slots=True)
class DailyReport:
    """`daily add` and `daily show`; `text` is the whole daily note."""

    path: str
    text: str
    commit: str | None


@dataclass(slots=True)
class Check:
    """One thing that doctor looked at."""

    name: str
    ok: bool
    message: str


@dataclass(slots=True)
class DoctorReport:
    """`doctor`; `fixed` says in words what was repaired, `lost` names what git lacks and nothing could replace."""

    checks: list[Check]
    fixed: list[str]
    problems: list[Problem]
    lost: list[str] = field(default_factory=list)


@dataclass(slots=True)
class VerifyReport:
    """`verify`; `ok`: nothing weighs more than an info. `commits` and `notes` were looked at."""

    ok: bool
    fsck: list[str]
    commits: int
    notes: int
    problems: list[Problem]


@dataclass(slots=True)
class AllowReport:
    """`allow`: the fingerprints of everything that is allowed now."""

    allowed: list[str]


@dataclass(slots=True)
class Arrival:
    """The run that brought a line into the note where it stands, out of another one (migrate, merge, split)."""

    sha: str
    time: str
    actor: str
    op: str
    run: str
    message: str


@dataclass(slots=True)
class WhyLine:
    """One line and how it came to be; `sha` and `time` are None, `op` is "uncommitted" where no commit has it yet.

    `origin` is the `path:line` at which its commit wrote it, `replaced` what stood there until then. `cut`: it may be
    older, since the history of this copy begins with that commit.
    """

    path: str
    line: int
    text: str
    sha: str | None = None
    time: str | None = None
    actor: str = ""
    author: str = ""
    op: str = "uncommitted"
    run: str = ""
    session: str = ""
    title: str = ""
    message: str = ""
    replaced: list[str] = field(default_factory=list)
    origin: str = ""
    via: Arrival | None = None
    cut: bool = False


@dataclass(slots=True)
class WhyReport:
    """`why`; `more` lines were found beyond the limit."""

    lines: list[WhyLine]
    more: int = 0


@dataclass(slots=True)
class ShowReport:
    """`show`; `text` holds every byte (what is no UTF-8 as surrogate escapes), `commit` None is the file on disk."""

    path: str
    commit: str | None
    time: str | None
    text: str


@dataclass(slots=True)
class Changed:
    """One file that differs: `old` is the path that it had, "" where it is new. Lines `added` and `removed`.

    `generated`: an index, or only the block of a boot file; it follows from the notes.
    """

    path: str
    old: str
    kind: ChangeKind
    added: int
    removed: int
    diff: str
    generated: bool


@dataclass(slots=True)
class DiffReport:
    """`diff`: the notes as they stand against `commit` (None: before the first one)."""

    commit: str | None
    time: str | None
    changes: list[Changed]
