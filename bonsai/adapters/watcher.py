"""The port Watcher on a disk: what happened to the notes, and honest words about what cannot be known.

Everything that could leave the watches incomplete (events lost, a dead thread, `memory/` replaced, a limit reached)
ends in one way: they are set up anew, and the next `wait` says that only a look at everything can tell what changed.
"""

import os
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Protocol

from bonsai.adapters.vouch import Witness
from bonsai.notes.layout import CONFIG, MEMORY, Kind, is_boot_spelling, kind_of
from bonsai.ports.disk import Seen

EVENTS = "events"  # the mode in which nothing needs to be polled
MOST = 10_000  # paths that are kept; a look at everything is cheaper than so many single ones
CHECK = 5.0  # seconds between two checks that the watches still stand where they should
RETRY = 60.0  # seconds between two tries to get events where there were none


class Source(Protocol):
    """Where events come from."""

    def start(self) -> None:
        """Set up the watches. Raises OSError, RuntimeError."""

    def alive(self) -> bool:
        """Whether its threads run."""

    def stop(self) -> None:
        """Give back threads and file descriptors."""


class DiskWatcher:
    """Watches the workspace at `root`, which may be a symlink. One thread calls it; `wake` is for all."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.mode = "not started"
        self._witness = Witness(self.root)
        self._source: Source | None = None
        self._started = False
        self._places: object = None  # which folders are watched, see `_places_at`
        self._retry_at = 0.0
        # A queue, as it is the one thing that a signal handler may use while the thread it interrupts does too.
        self._bell: SimpleQueue[bool] = SimpleQueue()  # True: somebody wants `wait` to end
        self._lock = threading.Lock()  # over the three below, which the source's thread fills
        self._paths: set[str] = set()
        self._lost = ""
        self._broken = ""  # why the watches are incomplete

    def start(self) -> None:
        """Watch; when it returns, the watches stand. Where they cannot, `mode` says why."""
        self._started = True
        self._set_up()

    def wait(self, seconds: float) -> Seen:
        """Block until something happened, `wake` was called or the time is over; see the port."""
        end = monotonic() + seconds
        woken = self._rung(0)
        while True:
            if self._started:
                self._heal()
            seen, left = self._take(), end - monotonic()
            if woken or seen.paths or seen.lost or left <= 0:
                return seen
            woken = self._rung(min(left, CHECK))

    def wake(self) -> None:
        """End a `wait`, the next one where none is under way."""
        self._bell.put(True)

    def stop(self) -> None:
        """Give back threads and file descriptors."""
        self._started = False
        self._tear_down()
        self._take()
        self.mode = "stopped"

    # -- what was seen -----------------------------------------------------------------------------------------

    def _saw(self, path: str, folder: bool) -> None:
        """A source tells: something happened to a path."""
        if path == MEMORY:
            self._fail(f"{MEMORY}/ was replaced")
            return
        if not counts(path, folder):
            self._witness.answer(path)
            return
        self._witness.saw(path)
        with self._lock:
            if self._lost or self._broken:
                return
            if not self._paths:
                self._bell.put(False)
            self._paths.add(path)
            if len(self._paths) > MOST:
                self._paths.clear()
                self._lost = "too many changes"

    def _fail(self, why: str) -> None:
        """A source tells: its watches are incomplete."""
        self._witness.end()
        with self._lock:
            if not self._broken:
                self._broken = why
                self._bell.put(False)

    def _rung(self, seconds: float) -> bool:
        """Wait for the bell; whether somebody wants `wait` to end."""
        woken = False
        with suppress(Empty):
            if seconds > 0:
                woken = self._bell.get(timeout=seconds)
            while True:
                woken |= self._bell.get_nowait()
        return woken

    def _take(self) -> Seen:
        with self._lock:
            seen = Seen(frozenset(self._paths), self._lost)
            self._paths.clear()
            self._lost = ""
        return seen

    # -- setting up --------------------------------------------------------------------------------------------

    def _heal(self) -> None:
        """Set up the watches anew where they do not stand as they should."""
        why = self._fault()
        if not why and (self._source or monotonic() < self._retry_at):
            return
        self._set_up()
        if not why and self.mode == EVENTS:
            why = "events come again"
        with self._lock:
            self._lost = self._lost or why

    def _fault(self) -> str:
        """What is wrong with the watches, "" where they stand, or are known not to."""
        if self._broken:
            return self._broken
        if self._source and not self._source.alive():
            return "the thread that reads events died"
        return "" if _places_at(self.root) == self._places else f"{MEMORY}/ or the workspace folder was replaced"

    def _set_up(self) -> None:
        self._tear_down()
        self._places = places = _places_at(self.root)  # before the watches: what changes later is noticed
        try:
            self._witness.prepare()
            self._witness.begin()  # before the source, which may fail at once; it watches for cookies last of all
            source = _source(self.root, self._saw, self._fail)
            source.start()
        except (OSError, RuntimeError, ImportError) as error:
            self._witness.end()
            self.mode = (error.strerror if isinstance(error, OSError) else "") or str(error)
            self._retry_at = monotonic() + RETRY
        else:
            self._source = source
            self.mode = EVENTS if places[1] else f"there is no folder {MEMORY}/"
            if self.mode != EVENTS:
                self._witness.end()

    def _tear_down(self) -> None:
        self._witness.end()
        if self._source:
            self._source.stop()
        self._source = None
        self._broken = ""


def counts(path: str, folder: bool) -> bool:
    """Whether an event is about something that a look would look at."""
    if folder:
        return path.startswith(f"{MEMORY}/") and "/." not in path
    if "/" not in path:
        return path == CONFIG or is_boot_spelling(path)
    return kind_of(path) not in {Kind.HELPER, Kind.STATE, Kind.OUTSIDE}


def _source(root: str, saw: Callable[[str, bool], None], fail: Callable[[str], None]) -> Source:
    """The events of this system. Raises OSError, ImportError where there are none."""
    if sys.platform == "darwin":
        from bonsai.adapters.watch_observer import Observed

        return Observed(root, saw)
    from watchdog.utils import UnsupportedLibcError

    try:
        from bonsai.adapters.watch_inotify import Inotify
    except (UnsupportedLibcError, AttributeError) as error:  # the library looks for inotify while it is imported
        raise ImportError("this system has no inotify") from error
    return Inotify(root, saw, fail)


def _places_at(root: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Which folders stand at the workspace's path and at `memory/` in it, each None where there is no folder."""
    return _identity(root), _identity(os.path.join(root, MEMORY))


def _identity(path: str) -> tuple[int, int] | None:
    with suppress(OSError):
        info = os.lstat(path)
        if stat.S_ISDIR(info.st_mode):
            return info.st_dev, info.st_ino
    return None
