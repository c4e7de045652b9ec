"""Verify: does what git, the disk, the cache and the logs say fit together. It reads everything and changes nothing."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from bonsai.errors import BonsaiError
from bonsai.notes import layout, lifecycle
from bonsai.notes.change import PathTime, Row
from bonsai.notes.problem import Problem, Severity
from bonsai.notes.view import View
from bonsai.passes.reports import VerifyReport
from bonsai.ports.history import Blob, Commit

#: What verify finds, and how much it weighs. Only what outweighs `info` makes a memory unsound.
CODES: dict[str, Severity] = {
    "damaged": "critical",  # git fsck
    "unlike-head": "critical",  # the cache took something else for HEAD than git has
    "unseen-edit": "warning",  # a file whose bytes changed without a trace in its times
    "pending": "info",
    "held": "info",
    "stale-index": "warning",
    "trailers": "warning",  # a commit of a run that does not say whose it is, or what it did
    "same-run": "warning",  # two commits with the id of one run
    "stray-path": "critical",  # a commit of ours that touches what is none of ours
    "purge-log": "warning",  # a purge that the log does not tell of
    "purge-unknown": "info",  # a log that tells of a purge which is not in this history
    "archive-date": "info",  # an archive that says another day than git
}
_OP = re.compile(r"[a-z][a-z-]{0,30}")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the workspace found out."""

    fsck: Sequence[str]
    view: View  # everything read anew
    remembered: Mapping[str, Row]  # the rows of the cache before that
    head: Mapping[str, Blob]  # what git has of the commit that the cache took for HEAD
    pending: Sequence[str]
    held: Sequence[str]
    stale: Sequence[str]
    commits: Sequence[Commit]
    strays: Sequence[tuple[str, str]]  # (commit, path) of runs that touch what is not managed
    times: Mapping[str, PathTime]
    read: Callable[[str], bytes]


def verify(found: Evidence, now: datetime) -> VerifyReport:
    """Compare all of it."""
    kinds = (
        damages(found.fsck),
        _memory(found),
        _edits(found),
        [_say("stale-index", path, "is not what its notes make it: run `bonsai reindex`") for path in found.stale],
        _trailers(found.commits),
        [
            _say("stray-path", path, f"commit {sha[:10]} of a run touches it: see `git show {sha[:10]}`")
            for sha, path in found.strays
        ],
        _purges(found),
        _archives(found, now),
    )
    problems = [item for kind in kinds for item in kind]
    notes = sum(1 for tree in found.view.trees() for _ in found.view.notes(tree))
    sound = all(item.severity == "info" for item in problems)
    return VerifyReport(sound, list(found.fsck), len(found.commits), notes, problems)


def damages(fsck: Sequence[str]) -> list[Problem]:
    """What git fsck found, as problems."""
    return [_say("damaged", "", f"git fsck: {line}: run `bonsai doctor --fix`") for line in fsck]


def _say(code: str, path: str, message: str) -> Problem:
    return Problem(code, CODES[code], path, message)


def _memory(found: Evidence) -> Iterator[Problem]:
    """Whether the cache is right about HEAD and about the disk."""
    thought = {path: row.head for path, row in found.remembered.items() if row.head}
    there = {path: blob.oid for path, blob in found.head.items()}
    for path in sorted(path for path in {*thought, *there} if thought.get(path) != there.get(path)):
        yield _say("unlike-head", path, "the cache takes something else for what git has: run `bonsai doctor --fix`")
    for path, row in sorted(found.view.rows.items()):
        old = found.remembered.get(path)
        if old and old.stat is not None and old.stat == row.stat and old.blob and row.blob and old.blob != row.blob:
            yield _say("unseen-edit", path, "was changed without a trace in its times: run `bonsai reindex --full`")


def _edits(found: Evidence) -> Iterator[Problem]:
    for path in found.pending:
        yield _say("pending", path, "differs from HEAD: run `bonsai commit`")
    for path in found.held:
        yield _say("held", path, "may not be committed: `bonsai status` says why")


def _trailers(commits: Sequence[Commit]) -> Iterator[Problem]:
    for commit in commits:
        if not (commit.run or commit.op):  # of a person, with git itself
            continue
        wanted = ((commit.run, "run"), (commit.actor, "actor"), (_OP.fullmatch(commit.op), "known op"))
        for there, what in wanted:
            if not there:
                yield _say(
                    "trailers", "", f"commit {commit.sha[:10]} names no {what}: see `git show {commit.sha[:10]}`"
                )
    for run, count in Counter(commit.run for commit in commits if commit.run).items():
        if count > 1:
            yield _say("same-run", "", f"{count} commits bear the run {run}: see `bonsai log --run {run}`")


def _purges(found: Evidence) -> Iterator[Problem]:
    """Each purge is logged, and each entry of the log was a purge."""
    purged: dict[str, str] = {}
    for commit in found.commits:
        if commit.op == "purge":
            purged |= {path: commit.sha for path in commit.paths if layout.is_archived(path)}
    logged: set[str] = set()
    for tree in found.view.trees():
        logged |= set(_log(found, tree.at(layout.PURGE_LOG)))
    for path in sorted(purged.keys() - logged):
        yield _say("purge-log", path, f"was purged by {purged[path][:10]}, which no log tells: see `bonsai log {path}`")
    for path in sorted(logged - purged.keys()):
        yield _say("purge-unknown", path, "is logged as purged, in no commit of this history: perhaps it was cut short")


def _log(found: Evidence, path: str) -> Iterable[str]:
    if not found.view.on_disk(path):
        return []
    with suppress(BonsaiError, ValueError, RecursionError):
        log = json.loads(found.read(path))
        return [str(item.get("file")) for item in log if isinstance(item, dict)] if isinstance(log, list) else []
    return []


def _archives(found: Evidence, now: datetime) -> Iterator[Problem]:
    """An archive says the day on which git saw it become one; what is later counts, so a wrong one does no harm."""
    for tree in found.view.trees():
        for row in found.view.notes(tree, archived=True):
            said = lifecycle.moment(row.summary.archived) if row.summary and row.summary.archived else None
            known = found.times.get(row.path)
            if said is None or known is None or not row.head:
                continue
            seen = lifecycle.archived_at("", known.named, now)
            if abs(seen - said) > _DAY:
                words = f"says archived {said:%Y-%m-%d}, git {seen:%Y-%m-%d}: the later one counts"
                yield _say("archive-date", row.path, words)
