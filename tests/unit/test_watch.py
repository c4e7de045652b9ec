"""The loop of the daemon, with stand-ins for workspace and watcher: what it commits, when, and what it says."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from bonsai import config, watch
from bonsai.errors import Busy, Misconfigured
from bonsai.passes.reports import CommitReport
from bonsai.ports.disk import Seen
from bonsai.watch import Debounce, Watch

NOTE = "memory/domains/general/a.md"


class FakeWatcher:
    """Gives what the test has laid out, then ends the loop."""

    def __init__(self, stop: threading.Event, mode: str = "events") -> None:
        self.mode, self._stop, self.batches = mode, stop, list[Seen]()
        self.waits = 0

    def start(self) -> None:
        pass

    def wait(self, seconds: float) -> Seen:
        self.waits += 1
        if self.batches:
            return self.batches.pop(0)
        if self.waits > 60:
            self._stop.set()
        threading.Event().wait(min(seconds, 0.02))
        return Seen(frozenset(), "")

    def wake(self) -> None:
        pass

    def stop(self) -> None:
        pass


class FakeSpace:
    """Notes what it is asked to commit."""

    root = "/nowhere"

    def __init__(self, stop: threading.Event, settings: bytes = b"", mode: str = "events") -> None:
        self.settings = config.parse(settings)
        self.fake = FakeWatcher(stop, mode)
        self.asked: list[list[str]] = []
        self.answers: list[Any] = []
        self.said: list[dict[str, Any] | None] = []
        self.jobs: dict[str, str] = {}
        self.settings_seen: list[Any] = []
        self.is_lost, self.is_unsettled, self.trimmed = False, False, 0
        self.empty: list[bool] = []  # what is_any_empty says, time after time
        self.clock = datetime(2026, 3, 1, tzinfo=UTC)

    def watcher(self) -> FakeWatcher:
        return self.fake

    @contextmanager
    def watching(self) -> Iterator[None]:
        yield

    def now(self) -> datetime:
        return self.clock

    @property
    def now_iso(self) -> str:
        return self.clock.isoformat()

    def say(self, state: dict[str, Any] | None) -> None:
        self.said.append(state)

    def reread(self) -> bool:
        answer = self.settings_seen.pop(0) if self.settings_seen else False
        if isinstance(answer, BaseException):
            raise answer
        if answer:
            self.settings = config.parse(answer)
        return bool(answer)

    def lost(self) -> bool:
        return self.is_lost

    def unsettled(self) -> bool:
        return self.is_unsettled

    def is_any_empty(self, paths: set[str]) -> bool:
        return bool(self.empty) and self.empty.pop(0)

    def trim(self) -> None:
        self.trimmed += 1

    def absorb(self, paths: list[str]) -> CommitReport:
        self.asked.append(list(paths))
        answer = self.answers.pop(0) if self.answers else CommitReport(None, [], [])
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def last_jobs(self) -> dict[str, str]:
        return self.jobs

    def keep_jobs(self, times: dict[str, str]) -> None:
        self.jobs = times


def run(space: FakeSpace, stop: threading.Event, debounce: float = 0.05) -> list[str]:
    lines: list[str] = []
    Watch(space, stop, lines.append, debounce).run()  # type: ignore[arg-type]
    return lines


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


def test_it_looks_at_everything_when_it_starts(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    run(space, stop)
    assert space.asked == [[]]


def test_a_batch_is_committed_alone(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    space.fake.batches = [Seen(frozenset({NOTE}), ""), Seen(frozenset({"MEMORY.md"}), "")]
    run(space, stop)
    assert space.asked == [[], ["MEMORY.md", NOTE]]


def test_a_file_that_is_still_empty_is_waited_for(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    space.fake.batches = [Seen(frozenset({NOTE}), "")]
    space.empty = [True, True, False]
    run(space, stop)
    assert space.asked == [[], [NOTE]]
    assert space.empty == []


def test_a_file_that_stays_empty_is_committed_in_the_end(stop: threading.Event) -> None:
    space = FakeSpace(stop, settings=b"[watch]\nmost_seconds = 0.3\n")
    space.fake.batches = [Seen(frozenset({NOTE}), "")]
    space.empty = [True] * 1000
    run(space, stop)
    assert space.asked == [[], [NOTE]]


@pytest.mark.parametrize("seen", [Seen(frozenset(), "overflow"), Seen(frozenset(map(str, range(300))), "")])
def test_what_cannot_be_told_apart_is_looked_at_whole(stop: threading.Event, seen: Seen) -> None:
    space = FakeSpace(stop)
    space.fake.batches = [seen]
    run(space, stop)
    assert space.asked == [[], []]


def test_without_events_it_polls(stop: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "POLL", 0.05)
    space = FakeSpace(stop, mode="inotify watch limit reached")
    lines = run(space, stop)
    assert len(space.asked) > 2
    assert "polling" in lines[0]


def test_a_pause_is_said_once_and_made_up_for(stop: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PATIENCE", (0.02,))
    space = FakeSpace(stop)
    space.fake.batches = [Seen(frozenset({NOTE}), "")]
    space.answers = [CommitReport(None, [], []), Busy("merge"), Busy("merge"), CommitReport("c0ffee" * 7, [NOTE], [])]
    lines = run(space, stop)
    assert space.asked == [[], [NOTE], [], []]
    assert [line for line in lines if "paused" in line] == ["paused: merge"]
    assert any(line.startswith("commit c0ffeec0ff ") and NOTE in line for line in lines)
    states = [state for state in space.said if state]
    assert [state["paused"] for state in states if state["paused"]] == ["merge"]
    assert states[-1]["paused"] == ""


def test_a_start_that_is_blocked_still_watches(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    space.answers = [Busy("rebase")]
    run(space, stop)
    assert any(state and state["state"] == "watching" for state in space.said)


def test_what_fails_once_is_not_worth_a_word(stop: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PATIENCE", (0.02,))
    space = FakeSpace(stop)
    space.fake.batches = [Seen(frozenset({NOTE}), "")]
    space.answers = [CommitReport(None, [], []), Busy("a moment")]
    assert len(run(space, stop)) == 1
    assert space.asked == [[], [NOTE], []]


def test_new_settings_are_followed(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    space.fake.batches = [Seen(frozenset({"bonsai.toml"}), "")]
    space.settings_seen = [False, b"[watch]\ndebounce_seconds = 0.7\n"]
    lines: list[str] = []
    tended = Watch(space, stop, lines.append)  # type: ignore[arg-type]
    tended.run()
    assert tended.debounce == 0.7
    assert any("bonsai.toml" in line for line in lines)
    assert [state["debounce"] for state in space.said if state][-1] == 0.7


def test_broken_settings_are_said_once_and_change_nothing(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    space.fake.batches = [Seen(frozenset({f"memory/{number}.md"}), "") for number in range(3)]
    space.settings_seen = [False, Misconfigured("broken"), Misconfigured("broken"), Misconfigured("broken")]
    lines: list[str] = []
    tended = Watch(space, stop, lines.append)  # type: ignore[arg-type]
    tended.run()
    assert tended.debounce == 0.5
    assert sum("broken" in line for line in lines) == 1


def test_an_index_that_was_locked_is_looked_after(stop: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "POLL", 0.05)
    space = FakeSpace(stop)
    space.is_unsettled = True
    run(space, stop)
    assert len(space.asked) > 2


def test_a_lost_lock_ends_the_run(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    space.is_lost = True
    run(space, stop)
    assert not stop.is_set()


def test_it_takes_its_state_away_at_the_end(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    run(space, stop)
    assert space.said[-1] is None


def test_idle_says_and_writes_nothing(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    lines = run(space, stop)
    assert len(lines) == 1
    assert len([state for state in space.said if state]) == 2  # starting, watching


def test_what_is_held_back_is_said_once(stop: threading.Event) -> None:
    space = FakeSpace(stop)
    space.fake.batches = [Seen(frozenset({NOTE}), "")]
    space.answers = [CommitReport(None, [], [NOTE]), CommitReport(None, [], [NOTE])]
    lines = run(space, stop)
    assert sum("held back" in line for line in lines) == 1


class TestDebounce:
    """When a batch is due."""

    def test_nothing_is_never_due(self) -> None:
        assert Debounce(0.5, 3).left(1000) == float("inf")

    def test_it_is_due_after_a_quiet_moment(self) -> None:
        batch = Debounce(0.5, 3)
        batch.touch(10)
        assert batch.left(10.2) == pytest.approx(0.3)
        assert batch.left(10.5) == 0

    def test_constant_saving_cannot_put_it_off_for_ever(self) -> None:
        batch = Debounce(0.5, 3)
        for tenth in range(40):
            batch.touch(10 + tenth / 10)
        assert batch.left(13) == 0

    def test_a_batch_under_way_is_not_due_again(self) -> None:
        batch = Debounce(0.5, 3)
        batch.touch(10)
        batch.clear()
        assert batch.left(20) == float("inf")
