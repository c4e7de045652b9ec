"""Points in time: as a person types them, and as bonsai writes them."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from bonsai.errors import BadData

_SHAPE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}[0-9:.,]{0,16}(?:Z|[+-]\d{2}:?\d{2})?))?", re.ASCII)


def is_date(text: str) -> bool:
    """Whether a text is written like a date or a time, so that it names no revision and no file."""
    return bool(_SHAPE.fullmatch(text))


def stamp(when: datetime) -> str:
    """A time in UTC as notes, indexes and logs bear it: `2026-03-15T08:15:00Z`."""
    return f"{when.replace(tzinfo=None).isoformat(timespec='seconds')}Z"  # strftime writes the year 1 as `1`


def at(seconds: float) -> datetime:
    """Unix seconds as a time; what no calendar holds (a clock of a commit can say anything) as the end of it."""
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    first, last = (end.replace(tzinfo=UTC) for end in (datetime.min, datetime.max))
    try:
        return epoch + timedelta(seconds=seconds)
    except OverflowError:
        return last if seconds > 0 else first


def before(day: date, days: int) -> date:
    """So many days before a day; the first day of the calendar where there is none."""
    return date.fromordinal(max(1, day.toordinal() - days))


def parse(text: str, local: Callable[[datetime], datetime], *, end: bool) -> datetime:
    """A point in time: `YYYY-MM-DD` (its first or, with `end`, its last moment) or ISO 8601. Raises BadData.

    Args:
        text: what was typed.
        local: gives a time without a zone the local one.
        end: whether a day stands for its end.
    """
    found = _SHAPE.fullmatch(text.strip())
    try:
        if found is None:
            raise ValueError("another shape")
        if found[2] is None:
            day = date.fromisoformat(found[1])
            return local(datetime.combine(day, time.max if end else time.min))
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}")
        return moment if moment.tzinfo else local(moment)
    except (ValueError, OverflowError) as error:
        hint = "Write it like 2026-03-15 or 2026-03-15T12:00:00+01:00."
        raise BadData("is no date", path=text, hint=hint) from error
