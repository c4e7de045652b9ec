"""The schedule: what is due when, and that a clock that jumps runs nothing twice and nothing too early."""

from datetime import UTC, datetime, timedelta

import pytest

from bonsai import config, schedule
from bonsai.schedule import Job

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAILY = Job("status", timedelta(days=1))


def test_the_jobs_of_a_workspace_without_settings() -> None:
    assert {job.name: job.every for job in schedule.jobs(config.defaults())} == {
        "reindex": timedelta(hours=6),
        "status": timedelta(hours=6),
        "verify": timedelta(days=1),
        "reflect": timedelta(days=7),
    }


def test_a_purge_runs_only_where_it_is_switched_on() -> None:
    settings = config.parse(b"[schedule]\npurge_days = 7\nreflect_days = 0\nverify_days = 0\n")
    assert [job.name for job in schedule.jobs(settings)] == ["reindex", "status", "purge"]


@pytest.mark.parametrize(
    ("ago", "expected"),
    [(timedelta(hours=23), False), (timedelta(days=1), True), (timedelta(days=400), True), (timedelta(days=-1), False)],
)
def test_a_job_is_due_after_its_time(ago: timedelta, expected: bool) -> None:
    assert schedule.due(DAILY, {"status": (NOW - ago).isoformat()}, NOW) is expected


@pytest.mark.parametrize("last", [{}, {"status": ""}, {"status": "yesterday"}, {"status": "2026-02-01T00:00:00"}])
def test_a_job_that_never_ran_waits_its_whole_time(last: dict[str, str]) -> None:
    assert not schedule.due(DAILY, last, NOW)
    counted = schedule.started([DAILY], last, NOW)
    assert counted == {"status": NOW.isoformat()}
    assert schedule.due(DAILY, counted, NOW + timedelta(days=1))


def test_a_run_in_the_future_does_not_silence_a_job() -> None:
    last = {"status": (NOW + timedelta(days=3650)).isoformat()}
    assert schedule.started([DAILY], last, NOW) == {"status": NOW.isoformat()}


def test_what_is_no_job_any_more_is_forgotten() -> None:
    assert schedule.started([DAILY], {"old": NOW.isoformat()}, NOW).keys() == {"status"}
