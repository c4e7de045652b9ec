"""What the five shell scripts of the original print, for cron jobs and agents that read it."""

from datetime import datetime

from bonsai.cli.render import RULE, last_reindex
from bonsai.cli.screen import Lines
from bonsai.notes.layout import PURGE_LOG, name_of
from bonsai.passes.reports import Health, PurgeReport, ReflectReport, ReindexReport, StatusReport


def reindex(report: ReindexReport) -> Lines:
    """The one line of bonsai-reindex.sh."""
    yield f"Reindexed {report.notes} files across {report.domains} domains ({report.tokens} tokens)"


def health(report: StatusReport) -> Health:
    """Our health, but any waiting archive makes a WARNING."""
    return "WARNING" if report.status == "HEALTHY" and report.archived else report.status


def status(report: StatusReport, now: datetime, max_age: int) -> Lines:
    """The report of bonsai-status.sh."""
    yield "🌿 Bonsai Status"
    yield RULE
    yield f"Last reindex:  {last_reindex(report, now)}"
    yield f"Total memory:  {report.total_tokens} tokens across {report.domains} domains"
    yield f"general/ violations: {report.general_violations} files older than {max_age}d"
    yield f"Pending purge: {f'{report.archived} files' if report.archived else 'none'}"
    yield RULE
    yield f"Status: {health(report)}"


def reflect(report: ReflectReport) -> Lines:
    """The words of bonsai-reflect.sh for the agent."""
    if not report.candidates:
        yield "No reflection candidates found."
        return
    yield f"Reflection staged: {len(report.candidates)} candidates written to _reflect_staging.json"
    yield "Run your agent now to process the reflection staging file."
    yield ""
    yield "Agent instructions:"
    yield "  1. Read memory/_reflect_staging.json"
    yield "  2. For each candidate: decide keep / migrate / archive (prefix with __DELETE)"
    yield "  3. Run bonsai-reindex.sh after all decisions"
    yield "  4. Delete _reflect_staging.json when done"


def purge(report: PurgeReport) -> Lines:
    """The lines of bonsai-purge.sh."""
    yield from (f"Skipping {name_of(item.path)} — {item.days_left} days remaining" for item in report.waiting)
    yield from (f"Purged: {name_of(item.path)} ({item.age_days}d old)" for item in report.purged)
    if report.purged:
        yield from ("", f"Purge log updated: memory/{PURGE_LOG}")
    if report.purged or report.waiting:
        yield ""
    yield f"Purged {len(report.purged)} files. {len(report.waiting)} files still in grace period."
