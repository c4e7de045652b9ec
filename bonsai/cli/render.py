"""The words of every answer: a report in, lines out. The only place where output is worded.

What the shell scripts of the original print stands in `render_original`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from bonsai.cli.screen import Line, Lines
from bonsai.errors import BonsaiError
from bonsai.notes.layout import Tree
from bonsai.notes.printed import counted
from bonsai.notes.problem import ORDER, Problem

if TYPE_CHECKING:
    from bonsai.passes.reports import (
        AllowReport,
        ApplyReport,
        ArchiveReport,
        CommitReport,
        DailyReport,
        DoctorReport,
        InitReport,
        MigrateReport,
        MoveReport,
        PurgeReport,
        ReflectReport,
        ReindexReport,
        RestoreReport,
        StatusReport,
        UndoReport,
        VerifyReport,
    )

RULE = "─" * 30
STYLE = {"HEALTHY": "bold green", "WARNING": "bold yellow", "CRITICAL": "bold red"}
COLOUR = {"info": "dim", "warning": "yellow", "critical": "bold red"}
MOST = 5  # lines of each kind of problem


def error(problem: BonsaiError) -> Lines:
    """What went wrong, with the path, and what to do next."""
    yield Line(f"bonsai: {flat(str(problem))}", "bold red")
    if problem.hint:
        yield f"  {problem.hint}"


def init(report: InitReport, tree: Tree, long: bool) -> Lines:
    """`init`. `long`: MEMORY.md is worth a split; one that init has just made, or a migrate has emptied, is not."""
    command = f"bonsai --agent {tree.agent}" if tree.agent else "bonsai"
    yield f"Workspace: {report.workspace}"
    yield from (f"  made {flat(path)}" for path in report.created)
    dry = f"`{command} migrate --dry-run` shows how {tree.boot} would be split"
    first = f"`{command} remember 'TEXT'` writes the first note, or any editor in {tree.memory}/"
    yield f"Next: {dry if long else first}; `{command} status` tells how it is."


def little(tokens: int, tree: Tree) -> Lines:
    """Before a migrate that is hardly worth it."""
    yield f"{tree.boot} has about {tokens} tokens: under about 1,000 a split gains little."


def keep_question(names: Sequence[str], tree: Tree) -> str:
    """Before a migrate of a MEMORY.md with the four type sections."""
    return f"Keep {_join(names)} in {tree.boot}, where every session reads them?"


def migrate(report: MigrateReport) -> Lines:
    """`migrate`: a table of section → note, then the boot tokens."""
    rows = [(flat(item.heading) or "(before the first heading)", item.path, item.tokens) for item in report.created]
    yield from _table(rows)
    yield from (f"moved {flat(old)} → {flat(new)}" for old, new in report.moved)
    yield from (f"left {flat(item.path)}: {item.reason}" for item in report.skipped)
    if not (report.created or report.moved):
        yield "Nothing to migrate."
        return
    before, after = report.boot_tokens
    if report.dry_run:
        yield f"Boot tokens: {before} → {after}. Nothing was written (--dry-run)."
        yield "--keep NAMES leaves sections in the boot file, where every session reads the whole of them."
        yield from problems(report.problems)
        return
    yield f"Boot tokens: {before} → {after}"
    if report.backup:
        yield f"The original is in {report.backup}, byte for byte."
    yield from problems(report.problems)
    yield from committed(report.commit)


def move(report: MoveReport) -> Lines:
    """`move`."""
    yield f"Moved {flat(report.from_)} → {flat(report.to)}"
    yield from (f"  links corrected in {flat(path)}" for path in report.links)
    yield from committed(report.commit)


def reindex(report: ReindexReport, check: bool) -> Lines:
    """`reindex`."""
    if check:
        yield from (f"stale: {flat(path)}" for path in report.changed)
        yield "The indexes are stale: run `bonsai reindex`." if report.stale else "The indexes are up to date."
    else:
        yield from (f"wrote {flat(path)}" for path in report.changed)
        yield f"Indexed {counted(report.notes, 'note')} in {counted(report.domains, 'domain')} ({report.tokens} tokens)"
    yield from problems(report.problems)


def commit(report: CommitReport) -> Lines:
    """`commit`."""
    if report.commit:
        yield from (f"  {flat(path)}" for path in report.paths)
        yield from committed(report.commit)
    elif not report.held:
        yield "Nothing to commit."
    yield from (Line(f"held back: {flat(path)}", "yellow") for path in report.held)
    if report.held:
        yield "`bonsai status` says why; the next `bonsai commit` takes what is corrected."
    yield from problems(report.problems)


def allow(report: AllowReport) -> Lines:
    """`allow`: what is allowed now."""
    yield from (f"allowed: {fingerprint}" for fingerprint in report.allowed)
    if not report.allowed:
        yield "Nothing is allowed that looks like a credential."


def status(report: StatusReport, now: datetime, max_age: int) -> Lines:
    """`status`: the figures, the health, then what is wrong."""
    yield Line("bonsai status", "bold")
    yield RULE
    yield f"Last reindex:  {last_reindex(report, now)}"
    yield f"Total memory:  {report.total_tokens} tokens across {counted(report.domains, 'domain')}"
    yield f"Notes:         {report.notes}, and {report.archived} archived"
    yield f"Uncommitted:   {counted(report.uncommitted, 'file') if report.uncommitted else 'none'}"
    yield f"Boot file:     {report.boot_tokens} tokens"
    yield f"general/ violations: {counted(report.general_violations, 'file')} older than {max_age}d"
    yield f"Pending purge: {report.pending_purge or 'none'}"
    if report.blocked:
        yield Line(f"Commits wait:  {report.blocked}", "yellow")
    if report.daemon.running:
        yield f"Daemon:        running (pid {report.daemon.pid})"
    yield RULE
    yield Line(f"Status: {report.status}", STYLE[report.status])
    yield from problems(report.problems)


def problems(found: Sequence[Problem]) -> Lines:
    """Problems, the worst first, those of one kind together, each kind cut after a few."""
    kinds: dict[str, list[Problem]] = {}
    for item in sorted(found, key=lambda item: (-ORDER[item.severity], item.code, item.path)):
        kinds.setdefault(item.code, []).append(item)
    for code, items in kinds.items():
        yield ""
        yield Line(f"{items[0].severity}: {code}", COLOUR[items[0].severity])
        yield from (f"  {flat(item.path) or '(workspace)'}: {flat(item.message)}" for item in items[:MOST])
        if len(items) > MOST:
            yield f"  … {len(items) - MOST} more (--json)"


def doctor(report: DoctorReport) -> Lines:
    """`doctor`."""
    for check in report.checks:
        yield Line(f"{'ok  ' if check.ok else 'BAD '} {check.name}: {flat(check.message)}", "" if check.ok else "red")
    yield from (f"fixed: {flat(words)}" for words in report.fixed)
    yield from (Line(f"lost: {flat(words)}", "red") for words in report.lost)
    yield from problems(report.problems)


def verify(report: VerifyReport) -> Lines:
    """`verify`."""
    what = f"{counted(report.notes, 'note')} and {counted(report.commits, 'commit')}"
    yield f"{what}: all fits together" if report.ok else Line(f"{what}: not all fits together", "red")
    yield from problems(report.problems)


def reflect(report: ReflectReport) -> Lines:
    """`reflect`."""
    if not report.candidates:
        yield "Nothing needs a decision."
        return
    yield f"{counted(len(report.candidates), 'candidate')} staged in memory/_reflect_staging.json"
    yield from _candidates(report)
    yield "Next: put a `decision` (keep, migrate, archive, merge, split) into each candidate of that file, then"
    yield "`bonsai reflect apply memory/_reflect_staging.json`."


def reflect_show(report: ReflectReport) -> Lines:
    """`reflect show`."""
    if report.triggered_at is None:
        yield "No reflection is waiting."
        return
    yield f"Staged at {report.triggered_at}"
    yield from _candidates(report)


def reflect_apply(report: ApplyReport) -> Lines:
    """`reflect apply`."""
    for item in report.applied:
        yield f"{item.decision} {flat(item.file)}" + (f" → {flat(item.to)}" if item.to else "")
    for item in report.refused:
        yield Line(f"refused: {item.decision} {flat(item.file)}: {flat(item.reason)}", "yellow")
    if not (report.applied or report.refused):
        yield "No decisions to apply."
    yield from committed(report.commit)


def archive(report: ArchiveReport) -> Lines:
    """`archive`."""
    yield from (f"Archived: {flat(path)}" for path in report.archived)
    yield from committed(report.commit)


def restore(report: RestoreReport) -> Lines:
    """`restore`."""
    yield from (f"Restored: {flat(path)}" for path in report.restored)
    yield from committed(report.commit)


def purge(report: PurgeReport) -> Lines:
    """`purge`."""
    gone = "Would purge" if report.dry_run else "Purged"
    yield from (f"{gone}: {flat(item.path)} ({item.age_days} days archived)" for item in report.purged)
    yield from (f"Waiting: {flat(item.path)} ({counted(item.days_left, 'day')} left)" for item in report.waiting)
    yield f"{gone} {counted(len(report.purged), 'file')}; {len(report.waiting)} in the grace period."
    yield from committed(report.commit)


def undo(report: UndoReport) -> Lines:
    """`undo`: what was taken back, or both versions of what could not be."""
    if report.conflicts:
        yield Line("Nothing was changed: later edits touch the same lines.", "yellow")
        for item in report.conflicts:
            yield f"{flat(item.path)}: {flat(item.reason)}"
            yield "--- as it is now"
            yield from item.now.splitlines()
            yield "--- as the undo would have it"
            yield from item.wanted.splitlines()
        return
    if report.kept and not report.restored:
        yield f"Nothing of {report.undone} could be taken back."
    else:
        yield f"Undone: {report.undone}  {flat(report.message)}".rstrip() if report.undone else "Nothing to undo."
    yield from (f"  {flat(path)}" for path in report.restored)
    yield from (f"  {flat(path)} stays as it is: it was edited, moved or deleted later" for path in report.kept)
    yield from committed(report.commit)
    if report.undone and report.later_edit:
        yield Line(
            f"Edits by hand since then stay: `bonsai undo {report.later_edit}` takes the last of them back.", "dim"
        )


def daily_added(report: DailyReport) -> Lines:
    """`daily add`."""
    yield f"Added to {flat(report.path)}"
    yield from committed(report.commit)


def daily_shown(report: DailyReport) -> Lines:
    """`daily show`: the note as it is."""
    return report.text.removesuffix("\n").split("\n") if report.text else [f"{report.path} is empty."]


def last_reindex(report: StatusReport, now: datetime) -> str:
    """`2h 15m ago (2026-03-15T06:00:00Z)`; never negative, also where the clock went back."""
    if not report.last_reindex:
        return "never"
    try:
        minutes = max(0, int((now - datetime.fromisoformat(report.last_reindex)).total_seconds() // 60))
    except (ValueError, TypeError):  # a state file that somebody edited
        return flat(report.last_reindex)
    hours, days = minutes // 60, minutes // 1440
    age = f"{days}d {hours % 24}h" if days else f"{hours}h {minutes % 60}m" if hours else f"{minutes}m"
    return f"{age} ago ({report.last_reindex})"


def flat(text: str) -> str:
    """A name or a message on one line, whatever it holds."""
    return " ".join(text.split("\n")).strip() if "\n" in text else text


def _candidates(report: ReflectReport) -> Iterator[str]:
    for item in report.candidates:
        yield f"  {flat(item.file)}  ({item.age_days}d, {item.tokens} tokens): {flat(item.reason)}"


def committed(sha: str | None) -> Iterator[Line]:
    """The commit of a run, where it made one."""
    if sha:
        yield Line(f"Commit {sha[:10]}", "dim")


def _join(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _table(rows: Sequence[tuple[str, str, int]]) -> Iterator[str]:
    if not rows:
        return
    from rich.cells import cell_len  # a CJK heading is two cells a character

    width = min(50, max(cell_len(heading) for heading, _, _ in rows))
    for heading, path, tokens in rows:
        yield f"{heading}{' ' * max(0, width - cell_len(heading))} → {flat(path)}  (~{tokens} tokens)"
