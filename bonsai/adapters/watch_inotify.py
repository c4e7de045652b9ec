"""inotify on the folders of a workspace, on top of watchdog's reader of one inotify instance.

watchdog's observers are not used here: they say nothing when a folder could not be watched or when the kernel dropped
events, die of a folder that was moved out and back in, and hold every rename for half a second. What follows needs one
rule instead: a folder that appears is watched first and told of afterwards, so whoever then looks into it misses
nothing, whatever happened in it meanwhile.
"""

import errno
import logging
import os
import threading
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, Mask, WatchDescriptor
from watchdog.observers.inotify_c import InotifyConstants as Bits

from bonsai.adapters.vouch import FOLDER
from bonsai.notes.layout import DEEPEST, MEMORY

#: No opening, no reading: a daemon that reads notes must not wake itself.
MASK = Mask(
    Bits.IN_CREATE
    | Bits.IN_DELETE
    | Bits.IN_MOVED_FROM
    | Bits.IN_MOVED_TO
    | Bits.IN_MODIFY
    | Bits.IN_CLOSE_WRITE
    | Bits.IN_ATTRIB
    | Bits.IN_DELETE_SELF
    | Bits.IN_MOVE_SELF
    | Bits.IN_ONLYDIR
    | Bits.IN_DONT_FOLLOW
)
#: A folder that went away, became something else, or may not be looked into (then a look cannot read it either).
_CLOSED_TO_US = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES})
_MEMORY = MEMORY.encode()
_COOKIES = FOLDER.encode()


class _Watch(NamedTuple):
    folder: bytes  # workspace-relative, b"" for the workspace folder
    key: CallbackId


class Inotify:
    """Watches on the workspace folder (not recursive), on `memory/`, and on every visible folder below it.

    Args:
        root: the workspace folder, no symlink.
        saw: told of each path that something happened to, and whether it is a folder.
        fail: told why the watches are no longer complete; then they are to be set up anew.

    Both are called from the reader's thread. Raises OSError without an inotify instance.
    """

    def __init__(self, root: str, saw: Callable[[str, bool], None], fail: Callable[[str], None]) -> None:
        self._root, self._saw, self._fail = os.fsencode(root), saw, fail
        self._lock = threading.Lock()  # over the two tables, which the thread that starts and the reader share
        self._closed = False
        self._watches: dict[WatchDescriptor, _Watch] = {}
        self._folders: dict[bytes, WatchDescriptor] = {}
        self._keys = count()
        # Without a handler Python would print the library's warnings on stderr.
        logging.getLogger("watchdog").addHandler(logging.NullHandler())
        self._reader = InotifyFD()

    def start(self) -> None:
        """Set up every watch. Raises OSError (the watch limit is reached, no such workspace, …), RuntimeError."""
        try:
            self._reader.start()
            with self._lock:
                if not self._watch(b""):
                    raise FileNotFoundError(errno.ENOENT, "the workspace folder cannot be watched")
                self._follow(_MEMORY)
                self._watch(_COOKIES)
        except BaseException:
            self.stop()
            raise

    def alive(self) -> bool:
        """Whether the reader's thread runs."""
        return self._reader.is_alive()

    def stop(self) -> None:
        """Give back the thread and the file descriptors."""
        with self._lock:
            self._closed = True
        running = self._reader.is_alive()
        self._reader.stop()
        if running:
            self._reader.join()
        elif self._reader._is_reading:  # it never ran, or died reading: the library leaves closing to the thread
            self._reader._close_resources()

    # -- what the reader tells ---------------------------------------------------------------------------------

    def on_event(self, event: InotifyEvent) -> None:
        """Something happened in a watched folder."""
        with self._lock:
            watch = self._watches.get(event.wd)
            # None: a folder that was moved away, and is told of under its new name
            if watch is None or self._closed:
                return
            try:
                self._happened(watch.folder, event)
            except OSError as error:
                self._fail(_words(error))

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """A watched folder is gone, the kernel has dropped its watch."""
        with self._lock:
            watch = self._watches.pop(wd, None)
            if watch is None or self._closed:
                return
            del self._folders[watch.folder]
            if watch.folder in {b"", _MEMORY}:
                self._fail(f"{_text(watch.folder) or 'the workspace folder'} was replaced")

    def on_queue_overflow(self) -> None:
        """The kernel dropped events."""
        self._fail("overflow")

    # -- watches; the lock is held -----------------------------------------------------------------------------

    def _happened(self, folder: bytes, event: InotifyEvent) -> None:
        if not event.name:
            moved = event.is_move_self and folder in {b"", _MEMORY}
            if moved or event.mask & Bits.IN_UNMOUNT:
                self._fail(f"{_text(folder) or 'the workspace folder'} was moved")
            return
        path = b"%s/%s" % (folder, event.name) if folder else event.name
        if event.is_directory and folder and not event.name.startswith(b"."):
            self._forget(path)
            if not (event.is_delete or event.is_moved_from):
                self._follow(path)
        self._saw(_text(path), event.is_directory)

    def _follow(self, path: bytes) -> None:
        """Watch a folder and every visible one below it, each before it is listed. Raises OSError."""
        folders = [path]
        while folders:
            folder = folders.pop()
            if folder.count(b"/") <= DEEPEST and self._watch(folder):
                folders += self._below(folder)

    def _below(self, folder: bytes) -> list[bytes]:
        try:
            with os.scandir(self._at(folder)) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            if error.errno in _CLOSED_TO_US:
                return []
            raise
        return [b"%s/%s" % (folder, name) for name in names if not name.startswith(b".")]

    def _watch(self, folder: bytes) -> bool:
        """Watch one folder; False where there is none, which a later event will tell. Raises OSError."""
        key = CallbackId(next(self._keys))
        try:
            wd = self._reader.add_callback(self._at(folder), MASK, self, key)
        except OSError as error:
            if error.errno in _CLOSED_TO_US:
                return False
            raise
        if wd == -1:  # how the library says "permission denied"
            self._reader.remove_callbacks([(wd, key)])
            return False
        known = self._watches.get(wd)
        if known:  # moved here while we walk; the event that says so is still to come
            self._folders.pop(known.folder, None)
            self._reader.remove_callbacks([(wd, known.key)])
        stale = self._folders.get(folder)
        if stale is not None:
            self._drop(stale)
        self._watches[wd] = _Watch(folder, key)
        self._folders[folder] = wd
        return True

    def _at(self, folder: bytes) -> bytes:
        # No slash at the end of the root: it would follow a symlink.
        return b"%s/%s" % (self._root, folder) if folder else self._root

    def _forget(self, path: bytes) -> None:
        """Drop the watches on a folder and below it."""
        if path not in self._folders:
            return
        below = path + b"/"
        for wd in [wd for folder, wd in self._folders.items() if folder == path or folder.startswith(below)]:
            self._drop(wd)

    def _drop(self, wd: WatchDescriptor) -> None:
        watch = self._watches.pop(wd)
        del self._folders[watch.folder]
        self._reader.remove_callbacks([(wd, watch.key)])


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")  # as the listing does, whatever the locale says


def _words(error: OSError) -> str:
    return error.strerror or str(error)
