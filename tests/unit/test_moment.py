"""Dates as a person types them."""

from datetime import datetime, timedelta, timezone

import pytest

from bonsai.errors import BadData
from bonsai.notes import moment

ZONE = timezone(timedelta(hours=2))


def local(at: datetime) -> datetime:
    return at.replace(tzinfo=ZONE)


@pytest.mark.parametrize(
    ("text", "end", "iso"),
    [
        ("2026-03-15", False, "2026-03-15T00:00:00+02:00"),
        ("2026-03-15", True, "2026-03-15T23:59:59.999999+02:00"),
        ("2026-03-15T12:30", True, "2026-03-15T12:30:00+02:00"),
        ("2026-03-15 12:30:01", False, "2026-03-15T12:30:01+02:00"),
        ("2026-03-15T12:30:00Z", False, "2026-03-15T12:30:00+00:00"),
        ("2026-03-15T12:30:00.5-05:00", False, "2026-03-15T12:30:00.500000-05:00"),
    ],
)
def test_days_and_times(text: str, end: bool, iso: str) -> None:
    assert moment.is_date(text)
    assert moment.parse(text, local, end=end).isoformat() == iso


@pytest.mark.parametrize("text", ["2026-02-30", "2026-13-01", "2026-03-15T25:00", "2026-03-15T12:00:"])
def test_a_day_that_does_not_exist(text: str) -> None:
    assert moment.is_date(text), "it is meant as a date, so no revision is looked for"
    with pytest.raises(BadData):
        moment.parse(text, local, end=False)


@pytest.mark.parametrize("text", ["", "HEAD", "20260315", "2026-3-1", "--all", "2026-03-15x", "now", "٢٠٢٦-٠٣-١٥"])
def test_what_is_no_date(text: str) -> None:
    assert not moment.is_date(text)
    with pytest.raises(BadData):
        moment.parse(text, local, end=False)
