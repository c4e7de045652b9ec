"""The daemon loop: what was saved is indexed and committed within seconds; whatever it missed, a look finds."""

import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from bonsai import schedule
from bonsai.errors import BonsaiError
from bonsai.workspace import Workspace

MANY = 200  # paths in one batch; for more, a look at everything costs less
POLL = 5.0  # seconds between two looks at everything, where there are no events
PATIENCE = (0.5, 1.0, 2.0, 5.0)  # seconds to the next try after a commit that could not be made; the last one stays
TICK = 60.0  # seconds between two looks at the schedule
JUMP = 30.0  # seconds that the two clocks may drift apart before it counts as a suspend
Log = Callable[[str], None]


class Debounce:
    """When a batch is due: after `quiet` seconds without a save, or `most` seconds after the first one."""

    def __init__(self, quiet: float, most: float) -> None:
        self._quiet, self._most = quiet, most
        self._first: float | None = None
        self._last = 0.0

    def touch(self, now: float) -> None:
        """Something was saved."""
        self._first = now if self._first is None else self._first
        self._last = now

    def left(self, now: float) -> float:
        """Seconds until the batch is due, infinity without one."""
        if self._first is None:
            return float("inf")
        return max(0.0, min(self._last + self._quiet, self._first + self._most) - now)

    def clear(self) -> None:
        """The batch is under way."""
        self._first = None


class Watch:
    """The daemon of one workspace. `run` returns when `stop` is set and `wake` was called."""

    def __init__(self, space: Workspace, stop: threading.Event, log: Log, debounce: float | None = None) -> None:
        self._space, self._stop, self._log = space, stop, log
        settings = space.settings
        self.debounce = float(settings["watch", "debounce_seconds"]) if debounce is None else debounce
        self._batch = Debounce(self.debounce, max(self.debounce, float(settings["watch", "most_seconds"])))
        self._between = float(settings["watch", "reconcile_minutes"]) * 60
        self._jobs = schedule.jobs(settings)
        self._watcher = space.watcher()
        self._paths: set[str] = set()
        self._everything = True
        self._retry = 0  # how often in a row it could not be committed
        self._next_try = self._next_look = self._next_tick = 0.0
        self._drift = time.time() - time.monotonic()
        self._held: set[str] = set()
        self._state: dict[str, Any] = {}

    def wake(self) -> None:
        """Let the loop look at `stop`."""
        self._watcher.wake()

    def run(self) -> None:
        """Watch until told to stop. Raises Busy when another daemon watches this workspace."""
        with self._space.watching():
            self._say(state="starting", since=_iso(self._space.now()), debounce=self.debounce)
            try:
                self._watcher.start()
                self._commit()
                self._say(state="watching", mode=self._watcher.mode)
                self._log(f"watching {self._space.root}" + (f" ({self._mode})" if self._mode else ""))
                while not self._stop.is_set():
                    self._turn()
            finally:
                self._watcher.stop()
                self._space.say(None)

    @property
    def _mode(self) -> str:
        """Why it polls, "" where events come."""
        return "" if self._watcher.mode == "events" else f"polling: {self._watcher.mode}"

    # -- one turn --------------------------------------------------------------------------------------

    def _turn(self) -> None:
        seen = self._watcher.wait(self._sleep(time.monotonic()))
        now = time.monotonic()
        if seen.paths:
            self._paths |= seen.paths
            self._batch.touch(now)
        if seen.lost:
            self._everything = True
            self._batch.touch(now)
        if self._resumed() or now >= self._next_look:
            self._everything = True
            self._batch.touch(now - self.debounce)
        if self._batch.left(now) == 0 and now >= self._next_try and not self._stop.is_set():
            self._commit()
        if now >= self._next_tick:
            self._next_tick = now + TICK
            self._by_the_clock()
        if self._watcher.mode != self._state.get("mode"):
            self._say(mode=self._watcher.mode)

    def _sleep(self, now: float) -> float:
        batch = max(self._batch.left(now), self._next_try - now)
        return max(0.0, min(batch, self._next_look - now, self._next_tick - now))

    def _resumed(self) -> bool:
        """Whether the machine slept (or its clock was set): events of that time may be lost."""
        drift = time.time() - time.monotonic()
        jumped = abs(drift - self._drift) > JUMP
        self._drift = drift
        return jumped

    # -- committing ------------------------------------------------------------------------------------

    def _commit(self) -> None:
        """Index and commit the batch; what cannot be committed now is tried again, as a look at everything."""
        everything = self._everything or len(self._paths) > MANY
        paths, self._paths, self._everything = sorted(self._paths), set(), False
        self._batch.clear()
        try:
            report = self._space.absorb([] if everything else paths)
        except (BonsaiError, OSError) as error:
            self._pause(error)
        else:
            self._resume()
            if report.commit:
                self._committed(report.commit, report.paths)
            held = set(report.held)
            for path in sorted(held - self._held):
                self._log(f"held back {path}: `bonsai status` says why")
            self._held = held if everything else self._held | held
        if everything:
            between = POLL if self._mode else self._between
            self._next_look = time.monotonic() + between

    def _pause(self, error: BaseException) -> None:
        self._everything = True
        wait = PATIENCE[min(self._retry, len(PATIENCE) - 1)]
        self._retry += 1
        self._next_try = time.monotonic() + wait
        self._batch.touch(time.monotonic())
        words = str(error)
        if words != self._state.get("paused"):
            self._log(f"paused: {words}")
            self._say(paused=words)

    def _resume(self) -> None:
        self._retry, self._next_try = 0, 0.0
        if self._state.get("paused"):
            self._log("going on")
            self._say(paused="")

    def _committed(self, sha: str, paths: Sequence[str]) -> None:
        names = [path for path in paths if not path.endswith("_index.md")] or list(paths)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        self._log(f"commit {sha[:10]} {', '.join(names[:3])}{more}")
        self._say(last_commit=sha, last_commit_at=_iso(self._space.now()))

    # -- the schedule ----------------------------------------------------------------------------------

    def _by_the_clock(self) -> None:
        now = self._space.now()
        last = self._space.last_jobs()
        times = schedule.started(self._jobs, last, now)
        for job in self._jobs:
            if schedule.due(job, last, now) and not self._stop.is_set():
                times[job.name] = now.isoformat()
                try:
                    words = JOBS[job.name](self._space)
                except BonsaiError as error:
                    words = str(error)
                if words:
                    self._log(f"{job.name}: {words}")
        if times != last:
            self._space.keep_jobs(times)

    def _say(self, **state: Any) -> None:
        """Tell daemon.json; only when something changed, since idle means no write."""
        new = {"mode": "", "paused": "", "last_commit": "", "last_commit_at": "", **self._state, **state}
        if new != self._state:
            self._state = new
            with suppress(BonsaiError):
                self._space.say(new)


def _reindex(space: Workspace) -> str:
    report = space.commit()
    return f"commit {report.commit[:10]}" if report.commit else ""


def _status(space: Workspace) -> str:
    report = space.status()
    count = sum(1 for item in report.problems if item.severity != "info")
    return "" if report.status == "HEALTHY" else f"{report.status}, {count} problems: see `bonsai status`"


def _reflect(space: Workspace) -> str:
    report = space.reflect()
    return f"{len(report.candidates)} candidates wait: see `bonsai reflect show`" if report.candidates else ""


def _purge(space: Workspace) -> str:
    report = space.purge()
    return f"{len(report.purged)} archives purged, commit {report.commit[:10]}" if report.commit else ""


JOBS: dict[str, Callable[[Workspace], str]] = {
    "reindex": _reindex,
    "status": _status,
    "reflect": _reflect,
    "purge": _purge,
}


def watch(roots: Sequence[str], *, log: Log, agent: str = "", debounce: float | None = None) -> int:
    """Watch some workspaces until SIGTERM or SIGINT; returns the exit code.

    Args:
        log: takes one line for each commit and each change of state; called from several threads.
        debounce: seconds without a save after which a batch is committed, at least 0.3; default from bonsai.toml.

    Raises:
        Busy: another daemon watches one of them. Misconfigured, NotFound.
    """
    stop, ended = threading.Event(), threading.Event()
    spaces = [Workspace.open(root, agent=agent) for root in roots]
    watches: list[Watch] = []
    failed: list[BaseException] = []

    def tend(root: str, ready: threading.Event) -> None:
        # A workspace of its own thread: its cache is a connection that belongs to the thread which opened it.
        try:
            with Workspace.open(root, agent=agent) as space:
                tended = Watch(space, stop, log, debounce)
                watches.append(tended)
                ready.set()
                tended.run()
        except BaseException as error:
            failed.append(error)
            stop.set()
        finally:
            ready.set()
            ended.set()

    def end(*_: object) -> None:
        stop.set()
        ended.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    threads = []
    try:
        for space in spaces:
            space.close()
            ready = threading.Event()
            threads.append(threading.Thread(target=tend, args=(space.root, ready), name=f"bonsai {space.root}"))
            threads[-1].start()
            ready.wait()
        ended.wait()
        stop.set()
    finally:
        stop.set()
        for tended in watches:
            tended.wake()
        for thread in threads:
            thread.join()
        for number, handler in before.items():
            signal.signal(number, handler)
    if failed:
        raise failed[0]
    return 0


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
