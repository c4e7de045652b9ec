"""The daemon loop: what was saved is indexed and committed within seconds; whatever it missed, a look finds."""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self

from bonsai import schedule
from bonsai.errors import BonsaiError
from bonsai.workspace import Workspace

MANY = 200  # paths in one batch; for more, a look at everything costs less
POLL = 5.0  # seconds between two looks at everything, where no event will tell
PATIENCE = (0.5, 1.0, 2.0, 5.0)  # seconds to the next try after a commit that could not be made; the last one stays
TICK = 60.0  # seconds between two looks at the schedule
AGAIN = 10.0  # seconds to the next try with a workspace that cannot be watched, while others can
JUMP = 30.0  # seconds that the two clocks may drift apart before it counts as a suspend
Log = Callable[[str], None]


class Debounce:
    """When a batch is due: after `quiet` seconds without a save, or `most` seconds after the first one."""

    def __init__(self, quiet: float, most: float) -> None:
        self._quiet, self._most = quiet, most
        self._first: float | None = None
        self._last = 0.0

    def touch(self, now: float, since: float | None = None) -> None:
        """Something was saved: now, or at the earliest at `since`."""
        if self._first is None:
            self._first = now if since is None else since
        self._last = now

    def left(self, now: float) -> float:
        """Seconds until the batch is due, infinity without one."""
        if self._first is None:
            return float("inf")
        return max(0.0, min(self._last + self._quiet, self._first + self._most) - now)

    def waits(self, now: float) -> bool:
        """Whether the batch may wait for another quiet moment; if so, it does."""
        waits = self._first is not None and self._first + self._most > now
        if waits:
            self.touch(now)
        return waits

    def clear(self) -> None:
        """The batch is under way."""
        self._first = None


class Watch:
    """The daemon of one workspace. `run` returns when `stop` is set and `wake` was called."""

    def __init__(self, space: Workspace, stop: threading.Event, log: Log, debounce: float | None = None) -> None:
        self._space, self._stop, self._log, self._given = space, stop, log, debounce
        self._obey()
        self._misread = ""  # why bonsai.toml cannot be followed
        self._last_jobs = space.last_jobs()
        self._watcher = space.watcher()
        self._paths: set[str] = set()
        self._everything = True
        self._busy_since: float | None = None  # when the last commit began, until the next events are seen
        self._retry = 0  # how often in a row it could not be committed
        self._next_try = self._next_look = self._next_tick = 0.0
        self._drift = time.time() - time.monotonic()
        self._held: set[str] = set()
        self._lost = False  # another folder, without our lock, stands in the place of the one that was watched
        self._state: dict[str, Any] = {}
        self._told = True  # whether daemon.json says as much

    def _obey(self) -> None:
        """Take over the settings of the workspace."""
        settings = self._space.settings
        self.debounce = float(settings["watch", "debounce_seconds"]) if self._given is None else self._given
        self._batch = Debounce(self.debounce, max(self.debounce, float(settings["watch", "most_seconds"])))
        self._between = float(settings["watch", "reconcile_minutes"]) * 60
        self._jobs = schedule.jobs(settings)

    def wake(self) -> None:
        """Let the loop look at `stop`."""
        self._watcher.wake()

    def run(self) -> None:
        """Watch until told to stop, or until the lock is lost (the folder was replaced, `git clean -x`).

        Raises Busy when another daemon watches this workspace.
        """
        with self._space.watching():
            self._say(state="starting", since=self._space.now_iso, debounce=self.debounce)
            try:
                self._watcher.start()
                self._commit()
                self._say(state="watching", mode=self._watcher.mode)
                self._log(f"watching {self._space.root}" + (f" ({self._mode})" if self._mode else ""))
                while not self._stop.is_set() and not self._lost:
                    self._turn()
                with suppress(BonsaiError):  # a disk that went away, or that is read-only now
                    self._space.say(None)  # not after an error, so that status tells of a dead daemon
            finally:
                self._watcher.stop()

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
            self._batch.touch(now, self._busy_since)  # perhaps saved while the last batch was being committed
        self._busy_since = None
        if seen.lost:
            self._everything = True
            self._batch.touch(now)
        if self._resumed() or now >= self._next_look:
            self._everything = True
            self._batch.touch(now - self.debounce)
        due = self._batch.left(now) == 0 and now >= self._next_try
        if due and not self._stop.is_set() and not self._unwritten(now):
            self._commit()
        if now >= self._next_tick:
            self._next_tick = now + TICK
            self._by_the_clock()
        if self._watcher.mode != self._state.get("mode"):
            self._say(mode=self._watcher.mode)

    def _unwritten(self, now: float) -> bool:
        """Whether the batch waits for a file that is still empty, so that somebody is about to write it.

        BUG-110: on a starved disk more than half a second passed between the two; the note was committed twice.
        """
        return not self._everything and self._space.is_any_empty(self._paths) and self._batch.waits(now)

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
        self._busy_since = time.monotonic()
        self._read_settings()
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
                self._space.trim()
        if everything:
            self._next_look = time.monotonic() + self._between
            self._lost = self._space.lost()
        if self._mode or self._space.unsettled():
            self._next_look = min(self._next_look, time.monotonic() + POLL)

    def _read_settings(self) -> None:
        """Follow bonsai.toml as it is now; one that cannot be followed changes nothing."""
        try:
            changed = self._space.reread()
        except BonsaiError as error:
            if str(error) != self._misread:
                self._misread = str(error)
                self._log(f"{error}; going on with the settings from before")
            return
        if changed or self._misread:
            self._misread = ""
            self._obey()
            self._say(debounce=self.debounce)
            self._log("bonsai.toml has changed and is followed")

    def _pause(self, error: BaseException) -> None:
        self._everything = True
        wait = PATIENCE[min(self._retry, len(PATIENCE) - 1)]
        self._retry += 1
        self._next_try = time.monotonic() + wait
        self._batch.touch(time.monotonic())
        words = str(error)
        # The first time is not worth a word: a person's `git commit` holds a lock for a moment, and so do we.
        if self._retry > 1 and words != self._state.get("paused"):
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
        self._say(last_commit=sha, last_commit_at=self._space.now_iso)

    # -- the schedule ----------------------------------------------------------------------------------

    def _by_the_clock(self) -> None:
        now, last = self._space.now(), self._last_jobs
        times = schedule.started(self._jobs, last, now)
        for job in self._jobs:
            if schedule.due(job, last, now) and not self._stop.is_set():
                times[job.name] = now.isoformat()
                if job.name in SLOW:  # beside the loop: an edit must not wait for it
                    work = (job.name, SLOW[job.name], self._space.root)
                    threading.Thread(target=self._do, args=work, name=f"bonsai {job.name}", daemon=True).start()
                else:
                    self._do(job.name, JOBS[job.name], self._space)
        if times != last:
            self._last_jobs = times
            with suppress(BonsaiError):  # it is kept here as long as the daemon lives
                self._space.keep_jobs(times)
        self._say()
        self._lost = self._space.lost()

    def _do(self, name: str, job: Callable[[Any], str], what: Any) -> None:
        try:
            words = job(what)
        except (BonsaiError, OSError) as error:
            words = str(error)
        if words:
            self._log(f"{name}: {words}")

    def _say(self, **state: Any) -> None:
        """Tell daemon.json; only when something changed (or could not be told), since idle means no write."""
        new = {"mode": "", "paused": "", "last_commit": "", "last_commit_at": "", **self._state, **state}
        if new != self._state or not self._told:
            self._state, self._told = new, False
            with suppress(BonsaiError):
                self._space.say(new)
                self._told = True


def _reindex(space: Workspace) -> str:
    report = space.absorb([])
    return f"commit {report.commit[:10]}" if report.commit else ""


def _status(space: Workspace) -> str:
    report = space.status()
    count = sum(1 for item in report.problems if item.severity != "info")
    return "" if report.status == "HEALTHY" else f"{report.status}, {count} problems: see `bonsai status`"


def _reflect(space: Workspace) -> str:
    report = space.reflect()
    return f"{len(report.candidates)} candidates wait: see `bonsai reflect show`" if report.candidates else ""


def _purge(space: Workspace) -> str:
    with space.acting("daemon"):
        report = space.purge()
    return f"{len(report.purged)} archives purged, commit {report.commit[:10]}" if report.commit else ""


def _consolidate(mode: Any) -> Callable[[Workspace], str]:
    def job(space: Workspace) -> str:
        with space.acting("daemon"):
            report = space.consolidate(mode)
        return f"{report.evicted_warm} facts left the tree, commit {report.commit[:10]}" if report.commit else ""

    return job


JOBS: dict[str, Callable[[Workspace], str]] = {
    "reindex": _reindex,
    "status": _status,
    "reflect": _reflect,
    "purge": _purge,
    "consolidate": _consolidate("quick"),
    "consolidate-daily": _consolidate("daily"),
    "consolidate-monthly": _consolidate("monthly"),
}


def _verify(root: str) -> str:
    found = Workspace.tend(root)
    return f"git finds damage, {len(found)} lines: see `bonsai verify`" if found else ""


#: What takes seconds, and asks only git: it gets the folder, and runs in a thread of its own.
SLOW: dict[str, Callable[[str], str]] = {"verify": _verify}


class Bell:
    """What the main thread waits for: SIGTERM, SIGINT, or a thread that rings.

    A pipe, as the kernel may give a signal to any thread; one that waits for a lock, an event or a queue sleeps on.
    """

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        numbers = (signal.SIGTERM, signal.SIGINT)
        self._handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
        return self

    def wait(self) -> None:
        """Block until it is rung."""
        os.read(self._read, 1)

    def ring(self) -> None:
        """From any thread."""
        os.write(self._write, b"\0")

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._read)
        os.close(self._write)


def watch(roots: Sequence[str], *, log: Log, agent: str = "", debounce: float | None = None) -> int:
    """Watch some workspaces until SIGTERM or SIGINT; returns the exit code.

    A workspace that cannot be watched (its disk is not mounted, another daemon is there) is reported and tried again;
    the others go on. When none can, the daemon ends.

    Args:
        log: takes one line for each commit and each change of state; called from several threads.
        debounce: seconds without a save after which a batch is committed, at least 0.3; default from bonsai.toml.

    Raises:
        Busy: another daemon watches the workspace. Misconfigured, NotFound. Of several workspaces: that of the first.
    """
    places = list(dict.fromkeys(map(os.path.realpath, roots)))
    stop = threading.Event()
    watches: dict[str, Watch] = {}
    failed: dict[str, Exception] = {}

    def tend(root: str) -> None:
        said = ""
        while not stop.is_set():
            failed.pop(root, None)
            try:
                # Opened here, as its cache is a connection that belongs to the thread which opened it.
                with Workspace.open(root, agent=agent) as space:
                    watches[root] = Watch(space, stop, log, debounce)
                    watches[root].run()
            except Exception as error:  # whatever it is, it must not end the others
                failed[root] = error
                if len(failed) == len(threads):
                    bell.ring()
                elif str(error) != said:
                    said = str(error)
                    log(f"{root} is not watched: {said}")
                stop.wait(AGAIN)

    threads = [threading.Thread(target=tend, args=(root,), name=f"bonsai {root}") for root in places]
    with Bell() as bell:
        try:
            for thread in threads:
                thread.start()
            bell.wait()
        finally:
            stop.set()
            for tended in list(watches.values()):
                tended.wake()
            for thread in threads:
                thread.join()
    if len(failed) == len(threads):
        raise failed[places[0]]
    return 0
