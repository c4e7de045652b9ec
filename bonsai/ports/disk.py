"""What is needed of the disk: the files, the intent log, the one lock, what happened since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from bonsai.notes.change import Entry, Row, Stat


class NoteStore(Protocol):
    """The workspace's files. Every path is workspace-relative; none leaves it, no symlink is followed.

    Raises NotFound (no such file), Refused (a symlink or `..` in the path), CannotCreate (exists already,
    name not possible), Busy (the bytes are not those expected), IoFailed (errno of the system, with the path).
    """

    root: str

    def scan(self, top: str = "") -> list[Entry]:
        """All entries but folders under `memory/` (or under `top`), and MEMORY*.md (any case) and bonsai.toml."""

    def differing(self, rows: Mapping[str, Row], folders: dict[str, Any]) -> tuple[list[Entry], set[str]]:
        """`scan()` without the regular files whose stat is that of their row; and the paths of those.

        `folders`: what the store noted about folders in which nothing differed, by their path with its slash. Give it
        again without those where a row has changed since.
        """

    def stat(self, path: str) -> Entry | None:
        """One entry, None where there is nothing (a folder is nothing)."""

    def exists(self, path: str) -> bool:
        """Whether anything, a folder too, stands at the path."""

    def read(self, path: str, limit: int = -1) -> bytes:
        """The bytes of a regular file, at most `limit`."""

    def read_stat(self, path: str, limit: int = -1) -> tuple[bytes, Stat]:
        """The bytes together with the stat of exactly those bytes (taken from the open file, before and after)."""

    def create(self, path: str, data: bytes, mode: int = 0o100644, settle: bool = True) -> None:
        """Write a new file, never over another one, and the folders on the way; its name is durable once settled."""

    def settle(self, folder: str) -> None:
        """Make the names in a folder durable: once for many files that were made in it."""

    def replace(self, path: str, data: bytes, old: bytes) -> None:
        """Swap the bytes of a file, durable, keeping its mode; a save that a person made meanwhile wins (Busy)."""

    def remove(self, path: str, old: bytes) -> None:
        """Delete a file whose bytes are `old`; a save that a person made meanwhile wins (Busy)."""

    def remove_all(self, files: Mapping[str, bytes]) -> None:
        """The same for many, path → bytes: each folder is settled once. After an error some may be gone."""

    def generate(self, path: str, data: bytes) -> Stat:
        """Write a generated file whole, whatever stood there; returns its stat."""

    def discard(self, path: str) -> None:
        """Delete a generated file, if it is there, and nothing else."""

    def prune(self, folder: str, whole: bool = False) -> None:
        """Remove a folder that is empty, and its empty parents; `memory`, a tree's folder and its domains stay.

        `whole`: those of an agent do not, since it has no tree any more.
        """

    def sweep(self) -> None:
        """Remove the temporary files that a killed run of ours left."""


class Journal(Protocol):
    """The intent log of the runs: what a killed run was about, so that the next one can finish or undo it."""

    def begin(self, intent: Mapping[str, Any], durable: bool = False) -> None:
        """Note what is about to happen (JSON values only)."""

    def done(self, note: Mapping[str, Any] | None = None) -> None:
        """Note that it happened, or was taken back."""

    def pending(self) -> dict[str, Any] | None:
        """The last intent without a `done`, None where there is none (or the log is unreadable)."""


class Seen(NamedTuple):
    """What a watcher saw since it was last asked."""

    paths: frozenset[str]  # workspace-relative; may name files that are gone again, and folders that were moved in
    lost: str  # why only a look at everything can tell what changed (overflow, a dead thread, …), "" where nothing was


class Watcher(Protocol):
    """Tells what happens under `memory/` and to the boot files and bonsai.toml. Only speed: a look finds the rest."""

    mode: str  # "events", or why there are none ("inotify watch limit reached", …): then the caller has to poll

    def start(self) -> None:
        """Watch; when it returns, the watches stand. Never raises for want of watches: see `mode`."""

    def wait(self, seconds: float) -> Seen:
        """Block until something happened or the time is over; returns what was seen, at once where there was some."""

    def wake(self) -> None:
        """End a `wait` from another thread or a signal handler."""

    def stop(self) -> None:
        """Give back threads and file descriptors."""


class Vouching(Protocol):
    """Asks a live daemon what has changed. Only speed: where it does not answer, a look at everything tells."""

    def ask(self, since: str) -> tuple[str, list[str] | None]:
        """(a mark for next time, "" where nobody answers; the paths touched after `since`, None: nobody can tell)."""


class Lock(Protocol):
    """The one writer lock of a workspace."""

    def __call__(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Hold the lock; re-entrant in one process. Raises Busy after `timeout` seconds (default: settings)."""
