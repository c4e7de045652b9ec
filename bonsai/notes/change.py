"""What stands on disk, what stands in git, and what a pass wants changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from bonsai.notes.secrets import Secret
    from bonsai.notes.summary import Summary

EntryKind = Literal["file", "symlink", "special", "unreadable"]


class Stat(NamedTuple):
    """What tells without reading that a file is still the same."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int  # 0o100644, or 0o100755 where the owner may execute it


NOWHERE = Stat(0, 0, 0, 0, 0)  # of what is no file on disk: a note out of the past, or of the cold tier


class PathTime(NamedTuple):
    """Commit times (Unix seconds) of a path in HEAD's history."""

    changed: int  # the last commit that changed it
    named: int  # the last commit that gave it this name (added or renamed to it)


class Entry(NamedTuple):
    """One directory entry that a scan found."""

    path: str
    kind: EntryKind
    stat: Stat


@dataclass(slots=True)
class Row:
    """One path as the cache knows it: on disk, in HEAD, or both."""

    path: str
    stat: Stat | None = None  # None: not on disk (or not a regular file)
    blob: str = ""  # git's object id of the bytes on disk; "" where they were not read
    head: str = ""  # the object id in HEAD; "" where HEAD has no such path
    head_mode: int = 0
    summary: Summary | None = None  # of notes and boot files on disk; it quotes no credential
    secrets: tuple[Secret, ...] = ()  # what looks like a credential in the file on disk


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole file. `old` are the bytes that must stand there now, None where nothing may stand."""

    path: str
    data: bytes
    old: bytes | None = None
    mode: int = 0o100644


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete a file whose bytes are `old`."""

    path: str
    old: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a pass wants changed in one run, made in pure code before anything is touched.

    A rename is a Put at the new path and a Drop of the old one. Puts are carried out first, then drops.
    """

    op: str  # Bonsai-Op: archive, migrate, move, purge, …
    subject: str  # first line of the commit message, e.g. `archive: business/old-pricing`
    body: str = ""
    puts: tuple[Put, ...] = ()
    drops: tuple[Drop, ...] = ()
    trailers: dict[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """Every path that the plan touches, sorted."""
        return sorted({put.path for put in self.puts} | {drop.path for drop in self.drops})
