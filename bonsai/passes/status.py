"""Status: the health of the memory, computed live; it can never claim clean when something is not."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bonsai.config import Settings
from bonsai.notes import ages, boot, layout, lifecycle
from bonsai.notes.change import PathTime, Row
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.printed import count_tokens, counted
from bonsai.notes.problem import ORDER, Problem, Severity, problem, worst
from bonsai.notes.shape import Count
from bonsai.notes.view import View
from bonsai.passes.reports import Daemon, DaemonReport, Health, StatusReport
from bonsai.ports.history import RepoState

AHEAD = timedelta(days=1)  # zones and small corrections are no wrong clock
LAGGING = 60.0  # seconds that an edit may wait for a running daemon before it is a problem
STUCK = 15 * 60.0  # … before it is a critical one
HEALTH: dict[Severity, Health] = {"info": "HEALTHY", "warning": "WARNING", "critical": "CRITICAL"}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the workspace found out for a status."""

    view: View
    tree: Tree
    state: RepoState
    times: Mapping[str, PathTime]
    problems: Sequence[Problem]  # of names, links, notes, and of what may not be committed
    stale: Sequence[str]  # indexes that differ from what they should be
    vanished: Sequence[str]  # notes gone all at once
    pending: Sequence[Row]
    emptied: Sequence[str]  # had text in HEAD and are blank on disk
    staging: bool
    boot: bytes
    last_reindex: str
    head_time: str  # ISO 8601, "" for none
    numbers: Count
    daemon: Daemon


def status(facts: Facts, settings: Settings, now: datetime) -> StatusReport:
    """Put the report together, the worst problems first."""
    tree, days = facts.tree, int(settings["general", "max_age_days"])
    old = ages.old_general(facts.view, tree, facts.times, now, days)
    archives = ages.archives(facts.view, tree, facts.times, now, int(settings["purge", "grace_days"]))
    found = [
        *facts.problems,
        *_git(facts),
        *_index(facts, settings, now),
        *_clock(facts, now),
        *_general(old, days, int(settings["general", "critical"])),
        *_archives(archives),
        *_emptied(facts.emptied),
        *_boot(facts, settings),
        *_reflection(facts),
        *_vanished(facts.vanished),
    ]
    found.sort(key=lambda item: (-ORDER[item.severity], item.path, item.code))
    return StatusReport(
        status=HEALTH[worst(found)],
        problems=found,
        last_reindex=facts.last_reindex or None,
        notes=facts.numbers.notes,
        domains=facts.numbers.domains,
        total_tokens=facts.numbers.tokens,
        boot_tokens=boot_tokens(facts.boot),
        general_violations=len(old),
        pending_purge=sum(1 for item in archives if not item.days_left),
        archived=len(archives),
        uncommitted=len(facts.pending),
        blocked=facts.state.blocked,
        daemon=facts.daemon,
    )


def _git(facts: Facts) -> list[Problem]:
    found, state = [], facts.state
    if not state.exists:
        found.append(
            problem("git-blocked", "", "there is no git repository, so nothing has a history: run `bonsai init`")
        )
    elif state.blocked:
        words = f"nothing is committed ({state.blocked}): {state.detail}"
        found.append(problem("git-blocked", "", words, "critical" if state.blocked == "unusable" else None))
    if state.index_lock:
        words = "somebody's git holds index.lock: when no git runs, `bonsai doctor --unlock` removes it"
        found.append(problem("git-lock", ".git/index.lock", words))
    if facts.pending:
        others = len(facts.pending) - 1
        more = "one other file" if others == 1 else f"{others} other files"
        who = f"this and {more} are " if others else ""
        found.append(problem("uncommitted", facts.pending[0].path, f"{who}not committed yet: run `bonsai commit`"))
    return found


def _index(facts: Facts, settings: Settings, now: datetime) -> list[Problem]:
    if not facts.stale:
        return []
    hours = float(settings["index", "overdue_hours"])
    last = lifecycle.moment(facts.last_reindex)
    if last is not None and (now - last).total_seconds() > hours * 3600:
        words = f"the last reindex is more than {hours:g} h ago and notes have changed: run `bonsai reindex`"
        return [problem("reindex-overdue", facts.stale[0], words)]
    words = f"{counted(len(facts.stale), 'generated file')} behind the notes: run `bonsai reindex`"
    return [problem("stale-index", facts.stale[0], words)]


def _clock(facts: Facts, now: datetime) -> list[Problem]:
    """Ages and grace periods count from these moments; one that is still to come means that a clock is or was wrong."""
    moments = (
        (facts.head_time, "the last commit", "bonsai commit"),
        (facts.last_reindex, "the last reindex", "bonsai reindex"),
    )
    found = []
    for text, what, cure in moments:
        when = lifecycle.moment(text)
        if when is not None and when - now > AHEAD:
            words = f"{what} is dated {text}, which is still to come: correct the clock, then run `{cure}`"
            found.append(problem("clock", "", words))
    return found


def _general(old: Sequence[tuple[Row, int]], days: int, critical: int) -> list[Problem]:
    severity: Severity = "critical" if len(old) >= critical else "warning"
    return [
        problem(
            "general-age",
            row.path,
            f"is in general/ for {age} days (limit {days}): `bonsai move` it to a domain",
            severity,
        )
        for row, age in old
    ]


def _archives(archives: Sequence[ages.Archive]) -> list[Problem]:
    found = []
    for item in archives:
        if item.days_left:
            words = f"archived, purged in {item.days_left} days at the earliest: `bonsai restore` brings it back"
            found.append(problem("pending-purge", item.path, words, "info"))
        else:
            words = f"its grace period is over ({item.age_days} days): run `bonsai purge`"
            found.append(problem("pending-purge", item.path, words))
    return found


def _emptied(paths: Sequence[str]) -> list[Problem]:
    words = "had text and is empty now: bring it back with `bonsai restore {}`"
    return [problem("emptied", path, words.format(shlex.quote(f"{path}@HEAD"))) for path in paths]


def _boot(facts: Facts, settings: Settings) -> list[Problem]:
    advice = "move what is not needed at every start into notes (`bonsai migrate`), or shorten it"
    over = boot.over_budget(facts.boot, settings)
    return [problem("boot-over-budget", facts.tree.boot, f"has {words}: {advice}") for words in over]


def _reflection(facts: Facts) -> list[Problem]:
    words = "a reflection waits: see `bonsai reflect show`, then apply it"
    return [problem("reflection-waiting", facts.tree.at(layout.STAGING), words)] if facts.staging else []


def _vanished(paths: Sequence[str]) -> list[Problem]:
    if not paths:
        return []
    ways = "`bonsai restore memory`, or accept it with `bonsai commit --all-deletions`"
    return [problem("mass-deletion", layout.MEMORY, f"{len(paths)} notes are gone at once: {ways}")]


def boot_tokens(data: bytes) -> int:
    """Tokens of a boot file."""
    return count_tokens(data.decode("utf-8", "replace"))


def waiting(pending: Sequence[Row], instant: float) -> float:
    """Seconds that the oldest edit which may be committed has waited; `instant` in Unix seconds."""
    changed = [max(row.stat.ctime_ns, row.stat.mtime_ns) / 1e9 for row in pending if row.stat is not None]
    return max((instant - when for when in changed), default=0.0)


def of_stores(rebuilt: str, unsigned: str) -> list[Problem]:
    """What the cache (why it was rebuilt) and the history (why it signs nothing) say of themselves, "" for nothing."""
    found = []
    if rebuilt:
        found.append(problem("cache-rebuilt", ".bonsai/cache", f"was rebuilt ({rebuilt}): nothing to do"))
    if unsigned:
        found.append(problem("unsigned", "", f"commits are not signed ({unsigned}): unlock your key"))
    return found


def of_daemon(daemon: DaemonReport, wait: float) -> list[Problem]:
    """What is wrong with the daemon, where one was started."""
    if daemon.died:
        return [problem("daemon-dead", ".bonsai/daemon.json", "the daemon is gone: run `bonsai daemon start`")]
    if not daemon.running:
        return []
    found = []
    if wait > LAGGING:
        why = f" ({daemon.paused})" if daemon.paused else ""
        words = f"an edit waits for the daemon for {wait:.0f} s{why}: see `bonsai daemon logs`"
        found.append(problem("daemon-lagging", ".bonsai/daemon.json", words, "critical" if wait > STUCK else None))
    if daemon.mode not in ("", "events"):
        words = f"the daemon polls ({daemon.mode}): raise fs.inotify.max_user_watches and restart it"
        found.append(problem("watch-limit", layout.MEMORY, words))
    return found


def blank_candidates(view: View) -> list[Row]:
    """Notes that are blank on disk and were something else in HEAD."""
    return [
        row
        for row in view.rows.values()
        if row.summary is not None
        and row.summary.blank
        and row.stat is not None
        and row.head
        and row.head != row.blob
        and layout.kind_of(row.path) is Kind.NOTE
    ]
