"""Undo: take exactly one run back, and keep every later edit."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bonsai.errors import NotFound, Refused, Usage
from bonsai.notes import boot, layout
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Kind
from bonsai.passes.reports import Conflict, UndoReport
from bonsai.ports.history import Commit, History, Rename

#: Regenerated, or append-only: never taken back.
KEPT = frozenset({Kind.INDEX, Kind.STATE, Kind.HELPER, Kind.OUTSIDE})
LOGS = frozenset({layout.PURGE_LOG, layout.ERASED})
#: Not taken back unless it is named: nothing that a command decided.
NO_PASS = ("edit", "erase", "init", "reindex", "undo")
SHORT_RUN = 4  # characters of a run id that may stand for the whole


@dataclass(slots=True)
class _Undoing:
    draft: Draft
    history: History
    before: str  # the commit before the run, "" where there is none
    restored: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)

    def mode(self, path: str) -> int:
        """The mode that a file had before the run."""
        return self.history.tree(self.before)[path].mode

    def conflict(self, path: str, now: bytes, wanted: bytes, reason: str) -> None:
        self.conflicts.append(Conflict(path, now.decode("utf-8", "replace"), wanted.decode("utf-8", "replace"), reason))


def choose(commits: Sequence[Commit], history: History, run: str | None, actor: str = "") -> Commit:
    """The run to take back: by its id (or the start of it) or revision, else the newest pass that is not undone yet.

    `actor`: only a pass of this one is taken without being named, so that no agent takes back what another did.

    Raises NotFound, Usage (a merge that git made cannot be taken back), Refused (what was before it is not here).
    """
    if run is None:
        undone = _undone(commits)
        for commit in commits:
            mine = commit.actor == actor or not actor
            known = commit.run and commit.run not in undone
            if known and mine and commit.op not in NO_PASS and not all(map(_stays, commit.paths)):
                return _need_parent(commit)
        raise NotFound("there is no run to undo", hint="`bonsai log` lists the runs; `bonsai undo RUN` takes one back.")
    starting = [commit for commit in commits if len(run) >= SHORT_RUN and commit.run.startswith(run)]
    found = starting[0] if len(starting) == 1 or any(commit.run == run for commit in starting) else None
    if found is None:
        sha = history.resolve(run)
        found = next((commit for commit in commits if commit.sha == sha), None)
    if found is None:
        raise NotFound("no such run touched the memory", path=run, hint="`bonsai log` lists the runs.")
    if found.op == "erase":
        raise Usage("is an erasure: what was erased is gone", path=run, hint="`bonsai log` lists the runs.")
    if len(found.parents) > 1 and found.op != "sync":
        raise Usage("is a merge, which cannot be taken back", path=run, hint="Undo the runs that it brought in.")
    return _need_parent(found)


def later_edit(commits: Sequence[Commit], chosen: Commit) -> str:
    """The run of the newest hand edit since, "" where there is none: who just committed an edit may have meant that."""
    undone = _undone(commits)
    since = commits[: next((at for at, commit in enumerate(commits) if commit.sha == chosen.sha), 0)]
    return next((commit.run for commit in since if commit.op == "edit" and commit.run and commit.run not in undone), "")


def _need_parent(commit: Commit) -> Commit:
    """Raises Refused where a shallow clone ends: the commit seems to have made every note that there is."""
    if commit.cut:
        hint = "`git fetch --unshallow` gets what is missing, where a remote has it."
        raise Refused("the history of this clone begins there", path=commit.run or commit.sha, hint=hint)
    return commit


def _undone(commits: Sequence[Commit]) -> set[str]:
    """The runs that are taken back as things stand: an undo that was itself undone does not count."""
    found: set[str] = set()
    for commit in commits:  # newest first, so what takes an undo back is known before it
        if commit.undoes and commit.run not in found:
            found.add(commit.undoes)
    return found


def undo(draft: Draft, history: History, commit: Commit) -> tuple[Plan, UndoReport]:
    """Plan the undo of one commit. With conflicts the plan is empty: nothing is half done."""
    parent = commit.parents[0] if commit.parents else ""
    work = _Undoing(draft, history, parent)
    for change in history.changes(parent, commit.sha):
        if not any(_stays(name) for name in (change.old, change.new) if name):
            _take_back(work, change)
    undone = (commit.run or commit.sha) if work.restored or work.kept or work.conflicts else None
    report = UndoReport(undone, sorted(work.restored), sorted(work.kept), work.conflicts, None, commit.subject)
    if work.conflicts:
        return Plan("undo", ""), report
    body = "\n".join(f"restore {path}" for path in report.restored)
    trailers = {"Bonsai-Undoes": commit.run or commit.sha}
    return draft.plan("undo", f"undo: {commit.subject}", body, trailers), report


def _stays(path: str) -> bool:
    return layout.kind_of(path) in KEPT or layout.name_of(path) in LOGS


def _take_back(work: _Undoing, change: Rename) -> None:
    if not change.old:
        _added(work, change)
    elif not change.new:
        _deleted(work, change)
    elif change.old == change.new:
        _edited(work, change)
    else:
        _renamed(work, change)


def _added(work: _Undoing, change: Rename) -> None:
    """The run made the file: it goes, unless somebody has edited it since."""
    now = work.draft.get(change.new)
    if now is None:
        return
    made, is_boot = work.history.blob(change.new_oid), layout.kind_of(change.new) is Kind.BOOT
    if now == made or (is_boot and boot.strip(now) == boot.strip(made)):
        work.draft.drop(change.new)
        work.restored.append(change.new)
    elif not is_boot:
        work.kept.append(change.new)


def _deleted(work: _Undoing, change: Rename) -> None:
    """The run deleted the file: it comes back, unless another stands there now."""
    was, now = work.history.blob(change.old_oid), work.draft.get(change.old)
    if now is None and work.draft.free(change.old):
        work.draft.create(change.old, was, work.mode(change.old))
        work.restored.append(change.old)
    elif now is None:
        work.conflict(change.old, b"", was, "the name is taken")
    elif now != was:
        work.conflict(change.old, now, was, "another file stands there now")


def _edited(work: _Undoing, change: Rename) -> None:
    path = change.old
    was, became = work.history.blob(change.old_oid), work.history.blob(change.new_oid)
    if layout.kind_of(path) is Kind.BOOT and boot.strip(was) == boot.strip(became):
        return  # nothing but the generated block
    now = work.draft.get(path)
    if now is None:
        work.kept.append(path)  # deleted since: the later decision stands
        return
    result = _merged(work, path, was, became, now)
    if result is not None and result != now:
        work.draft.put(path, result)
        work.restored.append(path)


def _renamed(work: _Undoing, change: Rename) -> None:
    was, became = work.history.blob(change.old_oid), work.history.blob(change.new_oid)
    now = work.draft.get(change.new)
    if now is None:
        work.kept.append(change.new)  # moved on or deleted since: the later decision stands
        return
    there = work.draft.get(change.old)
    if there is not None or not work.draft.free(change.old):
        if there != was:
            work.conflict(change.old, there or b"", was, "another file stands there now")
        return
    result = _merged(work, change.new, was, became, now)
    if result is not None:
        work.draft.rename(change.new, change.old, result)
        work.restored.append(change.old)


def _merged(work: _Undoing, path: str, was: bytes, became: bytes, now: bytes) -> bytes | None:
    """What the file should hold: the old bytes plus later edits; None after noting a conflict."""
    if layout.kind_of(path) is Kind.BOOT:
        if boot.strip(now) == boot.strip(became):
            return was
        was, became, now = boot.strip(was), boot.strip(became), boot.strip(now)
    if now == became:
        return was
    if now == was:
        return now
    if b"\0" in was + became + now:
        work.conflict(path, now, was, "is not text and was changed since")
        return None
    result, clean = work.history.merge(became, now, was)
    if not clean:
        work.conflict(path, now, was, "was changed since in the same lines")
        return None
    return result
