"""File events where there is no inotify (macOS), through an observer of watchdog, which is recursive by nature."""

import logging
import os
from collections.abc import Callable
from contextlib import suppress

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers.api import BaseObserver

_READS = frozenset({"opened", "closed_no_write"})


class Observed(FileSystemEventHandler):
    """The whole workspace folder under one observer; the caller drops what it has no use for.

    Args:
        root: the workspace folder, no symlink.
        saw: told of each path that something happened to, and whether it is a folder.
        observer: what makes the observer, by default that of macOS. Raises ImportError on other systems.
    """

    def __init__(
        self, root: str, saw: Callable[[str, bool], None], observer: Callable[[], BaseObserver] | None = None
    ) -> None:
        if observer is None:
            from watchdog.observers.fsevents import FSEventsObserver

            observer = FSEventsObserver
        self._root, self._saw = root, saw
        logging.getLogger("watchdog").addHandler(logging.NullHandler())
        self._observer = observer()

    def start(self) -> None:
        """Set up the watch. Raises OSError, RuntimeError."""
        try:
            self._observer.schedule(self, self._root, recursive=True)
            self._observer.start()
        except BaseException:
            self.stop()
            raise

    def alive(self) -> bool:
        """Whether the threads run."""
        return self._observer.is_alive() and all(emitter.is_alive() for emitter in self._observer.emitters)

    def stop(self) -> None:
        """Give back the threads."""
        self._observer.stop()
        with suppress(RuntimeError):  # never started
            self._observer.join()

    def dispatch(self, event: FileSystemEvent) -> None:
        """An event from the observer. Both ends of a rename count: an editor saves by renaming to the note's name."""
        if event.event_type in _READS or (event.is_directory and event.event_type == "modified"):
            return
        for path in (event.src_path, event.dest_path):
            name = os.fsencode(path).removeprefix(os.fsencode(self._root)).strip(b"/")
            if name:
                self._saw(name.decode("utf-8", "surrogateescape"), event.is_directory)
