"""Ages, grace, fuses and the names that sync tools leave."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai.notes import layout
from bonsai.notes.lifecycle import (
    age_days,
    archived_at,
    conflict_copy,
    grace,
    mass_deletion,
    moment,
    needs_yes,
)

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)
LONG_AGO = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp())
TODAY_NS = int(NOW.timestamp()) * 1_000_000_000
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))


class TestAge:
    def test_the_date_in_the_note_comes_before_git_and_the_file(self) -> None:
        assert age_days("2026-03-14", LONG_AGO, 0, NOW) == 1

    def test_the_commit_comes_before_the_file_time(self) -> None:
        committed = int(datetime(2026, 2, 1, tzinfo=UTC).timestamp())
        assert age_days("", committed, TODAY_NS, NOW) == 42

    def test_a_file_that_git_never_saw_has_its_file_time(self) -> None:
        assert age_days("", None, TODAY_NS - 3 * 86_400 * 10**9, NOW) == 3

    @pytest.mark.parametrize("dated", ["2026-13-45", "next week", "", "0000-00-00"])
    def test_an_unusable_date_says_nothing(self, dated: str) -> None:
        committed = int((NOW - timedelta(days=9)).timestamp())
        assert age_days(dated, committed, 0, NOW) == 9

    @pytest.mark.parametrize("dated", ["2099-01-01", "9999-12-31T23:59:59-14:00", "2026-03-15T23:00:00+00:00"])
    def test_the_future_has_no_age(self, dated: str) -> None:
        assert age_days(dated, LONG_AGO, 0, NOW) == 0

    def test_a_date_is_utc_midnight_and_a_zone_counts(self) -> None:
        assert age_days("2026-03-15", None, 0, NOW) == 0
        assert age_days("2026-03-14T13:00:00", None, 0, NOW) == 0
        assert age_days("2026-03-14T13:00:00+02:00", None, 0, NOW) == 1
        assert age_days("0001-01-01T00:00:00+14:00", None, 0, NOW) > 700_000

    @pytest.mark.parametrize("seconds", [-(10**15), 0, 10**15])
    def test_damaged_times_are_no_crash(self, seconds: int) -> None:
        assert age_days("", seconds, 0, NOW) >= 0
        assert age_days("", None, seconds * 10**9, NOW) >= 0

    @given(st.text(max_size=40), st.none() | st.integers(), st.integers(), MOMENTS)
    def test_it_is_never_negative(self, dated: str, committed: int | None, mtime: int, now: datetime) -> None:
        assert age_days(dated, committed, mtime, now) >= 0


class TestGrace:
    def test_it_starts_with_the_later_of_date_and_commit(self) -> None:
        named = int(datetime(2026, 1, 10, tzinfo=UTC).timestamp())
        assert archived_at("2025-01-01", named, NOW) == datetime(2026, 1, 10, tzinfo=UTC)
        assert archived_at("2026-02-01", named, NOW) == datetime(2026, 2, 1, tzinfo=UTC)

    def test_it_starts_now_for_what_git_never_saw(self) -> None:
        assert archived_at("2020-01-01", None, NOW) == NOW
        assert archived_at("", None, NOW) == NOW

    def test_an_unusable_date_is_ignored(self) -> None:
        assert archived_at("soon", LONG_AGO, NOW) == datetime(2020, 1, 1, tzinfo=UTC)
        assert archived_at("", 10**15, NOW) == NOW

    def test_it_is_over_at_so_many_times_24_hours_exactly(self) -> None:
        start = NOW - timedelta(days=180)
        assert grace(start, NOW, 180) == (True, 180, 0)
        assert grace(start + timedelta(microseconds=1), NOW, 180) == (False, 179, 1)
        assert grace(NOW, NOW, 180) == (False, 0, 180)

    def test_summer_time_does_not_shorten_it(self) -> None:
        summer = timezone(timedelta(hours=2))
        start = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=1)))
        assert not grace(start, datetime(2026, 4, 10, 12, 30, tzinfo=summer), 40).over
        assert grace(start, datetime(2026, 4, 10, 13, tzinfo=summer), 40).over

    @given(MOMENTS, MOMENTS, st.integers(1, 100_000))
    def test_days_left_fits_with_over(self, start: datetime, now: datetime, days: int) -> None:
        found = grace(start, now, days)
        assert found.over == (found.days_left == 0) == (now - start >= timedelta(days=days))
        assert found.age_days >= 0
        assert found.over or now + timedelta(days=found.days_left) >= start + timedelta(days=days)


@pytest.mark.parametrize(
    ("count", "notes", "asks"),
    [(0, 0, False), (20, 1000, False), (21, 1000, True), (5, 5, False), (6, 60, False), (6, 59, True), (0, 10, False)],
)
def test_a_large_purge_asks(count: int, notes: int, asks: bool) -> None:
    reason = needs_yes(count, notes, 20)
    assert (reason is not None) is asks
    assert reason is None or str(count) in reason


HEAD = {f"memory/domains/a/n{number}.md": f"blob{number}" for number in range(20)}


def without(count: int) -> dict[str, str]:
    return dict(list(HEAD.items())[count:])


class TestMassDeletion:
    def test_everything_gone_is_an_accident(self) -> None:
        assert mass_deletion(HEAD, {}, 0.3) == sorted(HEAD)

    def test_it_takes_more_than_the_share(self) -> None:
        assert mass_deletion(HEAD, without(6), 0.3) == []
        assert len(mass_deletion(HEAD, without(7), 0.3)) == 7

    def test_it_takes_at_least_five(self) -> None:
        head = dict(list(HEAD.items())[:5])
        assert len(mass_deletion(head, {}, 0.3)) == 5
        assert mass_deletion(dict(list(head.items())[:4]), {}, 0.3) == []

    def test_what_moved_did_not_vanish(self) -> None:
        moved = {path.replace("/a/", "/b/"): blob for path, blob in HEAD.items()}
        assert mass_deletion(HEAD, moved, 0.3) == []

    def test_what_was_archived_by_hand_or_renamed_and_edited_did_not_vanish(self) -> None:
        archived = {layout.archived_path(path): "edited" for path in HEAD}
        assert mass_deletion(HEAD, archived, 0.3) == []
        assert mass_deletion(archived, HEAD, 0.3) == []
        assert mass_deletion(HEAD, {path.replace("/n", "/N"): "edited" for path in HEAD}, 0.3) == []

    def test_changed_text_did_not_vanish(self) -> None:
        assert mass_deletion(HEAD, dict.fromkeys(HEAD, "changed"), 0.3) == []

    def test_an_unread_file_vouches_for_its_own_path_alone(self) -> None:
        assert mass_deletion(dict.fromkeys(HEAD, ""), {"memory/other.md": ""}, 0.3) == sorted(HEAD)
        assert mass_deletion(HEAD, dict.fromkeys(HEAD, ""), 0.3) == []


class TestConflictCopies:
    @pytest.mark.parametrize(
        "name",
        [
            "inbox 2.md",
            "inbox (1).md",
            "inbox(1).md",
            "inbox (conflicted copy 2026-01-02 101112).md",
            "inbox (Kim's conflicted copy 2026-01-02).md",
            "inbox (Conflict 2026-01-02-10-11-12).md",
            "inbox.sync-conflict-20260102-101112-ABCDEFG.md",
            "inbox.conflict-abcdef.md",
            "inbox.Conflict.md",
            "inbox-conflict.md",
            "inbox-conflict-20260102.md",
            "inbox_conflict-20160102-101112.md",
            "inbox (SFConflict kim@example.com 2026-01-02-10-11-12).md",
        ],
    )
    def test_a_copy_names_its_original(self, name: str) -> None:
        assert conflict_copy(f"memory/x/{name}", {"memory/x/inbox.md"}) == "memory/x/inbox.md"
        assert conflict_copy(f"memory/x/{name}", {"memory/y/inbox.md"}) is None

    @pytest.mark.parametrize(
        "name",
        [
            "inbox.md",
            "inbox 2025.md",
            "inbox (old).md",
            "inbox-conflict-of-interest.md",
            "inbox-conflicts-2.md",
            "inboxconflict.md",
            "inbox two.md",
            "inbox 2.png",
            "conflict.md",
            " 2.md",
            "(1).md",
            ")).md",
        ],
    )
    def test_an_ordinary_name_is_none(self, name: str) -> None:
        assert conflict_copy(f"memory/x/{name}", {"memory/x/inbox.md", "memory/x/.md"}) is None

    def test_a_copy_of_a_name_with_a_number(self) -> None:
        assert conflict_copy("m/chapter 2 (1).md", {"m/chapter 2.md"}) == "m/chapter 2.md"
        assert conflict_copy("m/chapter 2.md", {"m/chapter 1.md"}) is None


@given(st.text(max_size=60))
def test_a_moment_is_always_aware(text: str) -> None:
    at = moment(text)
    assert at is None or at.tzinfo is not None
