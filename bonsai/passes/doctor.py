"""Doctor: look whether the workspace can work at all, and repair what can be repaired without losing a note."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from bonsai.errors import BonsaiError
from bonsai.notes import layout
from bonsai.notes.printed import counted
from bonsai.notes.problem import Problem, problem
from bonsai.notes.secrets import Secret
from bonsai.notes.view import COMMITTED
from bonsai.passes.recover import recover, remember_late
from bonsai.passes.reports import Check, DoctorReport
from bonsai.ports.derived import Cache
from bonsai.ports.disk import Journal, NoteStore
from bonsai.ports.history import History

Audit = Callable[[Iterable[tuple[str, bytes]]], list[tuple[str, Secret]]]
Mend = Callable[[], tuple[list[str], list[str]]]
#: What waits for a decision, and is nothing broken: status warns of it, doctor only repeats it.
CARE = frozenset(
    {"boot-over-budget", "feedback-number", "general-age", "pending-purge", "reflection-waiting", "reindex-overdue"}
)
FOREIGN_LOCK = 15 * 60  # seconds after which somebody else's lock may be removed on request


@dataclass(slots=True)
class _Doctor:
    store: NoteStore
    cache: Cache
    history: History
    journal: Journal
    checks: list[Check] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)

    def check(self, name: str, look: Callable[[], str], fine: str) -> bool:
        """Note the outcome of one look: `look` gives what is wrong, "" for nothing."""
        try:
            wrong = look()
        except BonsaiError as error:
            wrong = f"{error} {error.hint}".strip()
        self.checks.append(Check(name, not wrong, wrong or fine))
        return not wrong


def doctor(
    store: NoteStore,
    cache: Cache,
    history: History,
    journal: Journal,
    problems: Callable[[], list[Problem]],
    *,
    fix: bool,
    unlock: bool,
    mend: Mend | None = None,
    cold: Callable[[], str] | None = None,
    audit: Audit | None = None,
    allowed: frozenset[str] = frozenset(),
) -> DoctorReport:
    """Run every check; with `fix` (under the writer lock) repair before looking.

    Args:
        problems: what status finds, asked for last.
        mend: repairs the repository; gives what it did and what is lost, in words.
        cold: what is wrong with the file of the cold tier, "" for nothing.
        unlock: also remove locks of others that are older than 15 minutes while no git runs here.
        audit: a deeper search for credentials in files (path, bytes); what it finds and `allowed` lacks is told.
    """
    work = _Doctor(store, cache, history, journal)
    lost: list[str] = []
    if fix:
        if mend:
            done, lost = mend()  # first: a run that was cut short can be cleared up only where git can be asked
            work.fixed += done
        _tidy(work)
    if unlock:
        removed = history.remove_stale_locks(float("inf"), foreign_older_than=FOREIGN_LOCK)
        work.fixed += [f"removed {path}" for path in removed]
    sound = work.check("repository", lambda: _repository(work), "git answers and a commit could be made")
    if sound or history.state().blocked not in (None, "unusable"):  # a merge in progress hides no damage
        work.check("objects", lambda: "; ".join(history.check()[:5]), "git fsck finds nothing wrong")
    work.check("locks", lambda: _locks(work), "no lock is left behind")
    work.check("last run", lambda: _last_run(work), "no run was cut short")
    work.check("cache", lambda: cache.rebuilt, "sound")
    if cold:
        work.check("cold tier", cold, "its file is sound")
    found: list[Problem] = []

    def notes() -> str:
        found.extend(problems())
        bad = [item for item in found if item.severity != "info" and item.code not in CARE]
        return f"{counted(len(bad), 'problem')}: see `bonsai status`" if bad else ""

    work.check("notes", notes, "every note can be read")
    if audit:
        guesses = audit
        work.check("secrets", lambda: _secrets(work, guesses, allowed, found), "detect-secrets finds nothing more")
    return DoctorReport(work.checks, work.fixed, found, lost)


def _secrets(work: _Doctor, audit: Audit, allowed: frozenset[str], found: list[Problem]) -> str:
    guesses = [(path, item) for path, item in audit(_texts(work.store)) if item.fingerprint not in allowed]
    for path, item in guesses:
        what = f"may be a credential (line {item.line}: {item.kind} {item.masked})"
        found.append(problem("secret", path, f"{what}: take it out, or `bonsai allow {item.fingerprint}`", "info"))
    return f"{counted(len(guesses), 'place')} that may hold a credential" if guesses else ""


def _texts(store: NoteStore) -> Iterator[tuple[str, bytes]]:
    for entry in store.scan():
        if entry.kind == "file" and layout.kind_of(entry.path) in COMMITTED:
            with suppress(BonsaiError):  # a file that cannot be read is a problem of status
                yield entry.path, store.read(entry.path, layout.MAX_PARSED)


def _tidy(work: _Doctor) -> None:
    """Clear up after killed runs, and let everything that is derived be made anew."""
    if work.journal.pending() is not None:
        remember_late(work.store, recover(work.store, work.history, work.journal))
        work.journal.done({"by": "doctor"})
        work.fixed.append("cleared up after a run that was cut short")
    work.store.sweep()
    work.cache.clear()
    work.fixed.append("emptied the cache; it is built again from the notes")


def _repository(work: _Doctor) -> str:
    state = work.history.state()
    if not state.exists:
        return "there is no git repository: run `bonsai init`"
    return f"nothing can be committed ({state.blocked}): {state.detail}" if state.blocked else ""


def _locks(work: _Doctor) -> str:
    locks = work.history.locks()
    return f"{', '.join(locks)}: when no git runs, `bonsai doctor --unlock` removes old ones" if locks else ""


def _last_run(work: _Doctor) -> str:
    cut = work.journal.pending() is not None
    return "a run was cut short: the next command, or `bonsai doctor --fix`, clears up" if cut else ""
