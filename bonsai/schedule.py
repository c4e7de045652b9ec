"""What the daemon does by the clock: which jobs there are and when each is due. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from bonsai.config import Settings

MONTH = 30  # days


class Job(NamedTuple):
    """One thing that is done again and again. `every` 0 means never."""

    name: str
    every: timedelta


def jobs(settings: Settings) -> list[Job]:
    """The jobs that are switched on, in the order in which they run when several are due."""
    found = [
        Job("reindex", timedelta(hours=settings["schedule", "reindex_hours"])),
        Job("status", timedelta(hours=settings["schedule", "status_hours"])),
        Job("verify", timedelta(days=settings["schedule", "verify_days"])),
        Job("reflect", timedelta(days=settings["schedule", "reflect_days"])),
        Job("purge", timedelta(days=settings["schedule", "purge_days"])),
        Job("consolidate", timedelta(hours=settings["schedule", "consolidate_hours"])),
        Job("consolidate-daily", timedelta(days=settings["schedule", "consolidate_days"])),
        Job("consolidate-monthly", timedelta(days=MONTH * settings["schedule", "consolidate_months"])),
    ]
    return [job for job in found if job.every]


def due(job: Job, last: Mapping[str, str], now: datetime) -> bool:
    """Whether a job is to run. One that never ran waits its whole time; a run that was missed is made up for once."""
    then = _moment(last.get(job.name, ""))
    return then is not None and now - then >= job.every


def started(found: list[Job], last: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The times to count from: what is known, and now for jobs that are new or that ran in the future (a clock that
    went back).
    """
    times = {job.name: _moment(last.get(job.name, "")) for job in found}
    return {name: (now if then is None or then > now else then).isoformat() for name, then in times.items()}


def _moment(text: str) -> datetime | None:
    try:
        then = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return then if then.tzinfo else None
