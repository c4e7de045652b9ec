"""The time: the only place that reads the clock. `BONSAI_NOW` (ISO 8601) sets it from outside."""

import os
import time
from datetime import UTC, datetime

from bonsai.errors import Misconfigured


def now() -> datetime:
    """The time, aware, in UTC; a BONSAI_NOW without a zone is UTC. Raises Misconfigured for one that is no time."""
    given = os.environ.get("BONSAI_NOW", "").strip()
    if not given:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(given)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Misconfigured(
            f"BONSAI_NOW is {given!r}, which is no ISO 8601 time",
            hint="Write it like 2026-03-15T12:00:00Z, or unset it.",
        ) from error


def local(moment: datetime) -> datetime:
    """The same moment in the zone of `TZ` (or of the machine): the day that a daily note belongs to."""
    time.tzset()  # TZ may have been set after the start
    try:
        return moment.astimezone()
    except (ValueError, OverflowError, OSError):  # the first and the last day that there is
        return moment


def aware(moment: datetime) -> datetime:
    """A time without a zone as one of the local zone (`TZ`). Raises OverflowError, ValueError at the ends of time."""
    time.tzset()
    return moment.astimezone()
