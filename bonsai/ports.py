"""What the passes need from outside. The adapters fulfil these; the tests hold every adapter to the same suite."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from bonsai.notes.candidate import About, Candidate, Statistics
    from bonsai.notes.change import Entry, PathTime, Row, Stat
    from bonsai.notes.document import Document
from bonsai.notes.meaning import Meanings


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

    def generate(self, path: str, data: bytes) -> Stat:
        """Write a generated file whole, whatever stood there; returns its stat."""

    def discard(self, path: str) -> None:
        """Delete a generated file, if it is there, and nothing else."""

    def prune(self, folder: str) -> None:
        """Remove a folder that is empty, and its empty parents, up to (not including) `memory/domains`."""

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


class Lock(Protocol):
    """The one writer lock of a workspace."""

    def __call__(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Hold the lock; re-entrant in one process. Raises Busy after `timeout` seconds (default: settings)."""


@dataclass(slots=True)
class Snapshot:
    """What the cache holds."""

    rows: dict[str, Row] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict)  # what passes derived; lives as long as this object


class Cache(Protocol):
    """Derived state of the tree: deletable at any time; damage is set aside and said once."""

    @property
    def rebuilt(self) -> str:
        """Why the cache was thrown away on opening, "" where it was not."""

    def load(self) -> Snapshot:
        """Everything; the same object again as long as nobody else wrote. Do not change it: use `save`."""

    def save(self, rows: Iterable[Row], gone: Iterable[str] = (), meta: Mapping[str, str] | None = None) -> None:
        """Put rows, delete paths, put meta values; the loaded snapshot follows."""

    def clear(self) -> None:
        """Forget everything."""

    def close(self) -> None:
        """Release the file."""


class Passages(Meanings, Protocol):
    """The passages of a memory, to be searched. Raises Busy where that is not possible now: begin again."""

    def reading(self) -> AbstractContextManager[None]:
        """Everything that is asked inside belongs to one state."""

    def search(
        self, terms: Sequence[str], limit: int, beside: int = 0, keep: Callable[[About], bool] | None = None
    ) -> list[Candidate]:
        """Passages that hold a term in their text or headings: the best `limit` by BM25, and so many beside each.

        Also some of the notes whose title, description, tags or path match best; all of notes for which `keep` is true.
        """

    def statistics(self, terms: Collection[str]) -> Statistics:
        """How often terms occur."""


class SearchIndex(Passages, Protocol):
    """The index of one memory tree. Derived: deletable at any time; damage is set aside and said once."""

    @property
    def rebuilt(self) -> str:
        """Why the index was thrown away on opening, "" where it was not."""

    def known(self) -> Mapping[str, Row]:
        """The notes that it holds, each as a row with the stat of the bytes that were read. Do not change it."""

    def abouts(self) -> list[About]:
        """What is said of each note."""

    def mark(self) -> str | None:
        """What the last `finish` said; None as long as the index was never complete."""

    def writing(self) -> AbstractContextManager[None]:
        """Others see all that is changed inside, or nothing. Never waits long."""

    def put(self, document: Document, stat: Stat) -> None:
        """Take in a note, inside `writing`."""

    def drop(self, path: str) -> None:
        """Forget a note that is gone, inside `writing`."""

    def finish(self, mark: str) -> None:
        """Say, inside `writing`, that the index holds all there is."""

    def close(self) -> None:
        """Release the file."""


class Llm(Protocol):
    """A language model."""

    def complete(self, prompt: str) -> str:
        """The answer to a prompt. Raises Unavailable, Refused."""


class Vouching(Protocol):
    """Asks a live daemon what has changed. Only speed: where it does not answer, a look at everything tells."""

    def ask(self, since: str) -> tuple[str, list[str] | None]:
        """(a mark for next time, "" where nobody answers; the paths touched after `since`, None: nobody can tell)."""


class RepoState(NamedTuple):
    """The repository as it is now."""

    exists: bool  # there is a repository at all
    blocked: str | None  # merge, rebase, cherry-pick, revert, bisect, detached, unmerged, bare, locked, unusable
    detail: str  # words for the reason
    index_lock: bool  # somebody's .git/index.lock stands there


class Blob(NamedTuple):
    """A file in a commit."""

    mode: int
    oid: str


class FileChange(NamedTuple):
    """One path of a commit: `data` None deletes it."""

    path: str
    data: bytes | None
    mode: int = 0o100644


@dataclass(frozen=True, slots=True)
class Author:
    """Who a commit is by; empty fields mean the person's git identity."""

    name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the log that touches the memory. `time` is ISO 8601 with a zone."""

    sha: str
    time: str
    author: str
    subject: str
    body: str
    op: str
    actor: str
    run: str
    session: str
    undoes: str
    paths: tuple[str, ...]
    parents: tuple[str, ...]
    cut: bool = False  # what came before it is not in this repository (a shallow clone), so it seems to have no parents

    @property
    def message(self) -> str:
        """The subject."""
        return self.subject


class Rename(NamedTuple):
    """A change of one path between two commits; `old` "" for an addition, `new` "" for a deletion."""

    old: str
    new: str
    old_oid: str
    new_oid: str


class Origin(NamedTuple):
    """Where one line of a file comes from. Paths are "" for a file that is not managed."""

    sha: str  # the commit that wrote the line
    path: str  # the file that it stood in there
    line: int  # 1-based, in that file
    before: str  # the commit that had the file before, "" where that commit made it
    before_path: str  # and its name there


class History(Protocol):
    """git, as the memory of the memory. Paths are workspace-relative also inside a larger repository.

    Raises Misconfigured (no repository), Busy (lock, lost race), IoFailed, NotFound (revision), Unavailable (no git).
    """

    @property
    def unsigned(self) -> str:
        """Why commits are made without the signature that the person asks for, "" where they are not."""

    def state(self) -> RepoState:
        """Probe the repository now; never raises."""

    def create(self) -> None:
        """Make a repository at the workspace root."""

    def head(self) -> str:
        """The commit of HEAD, "" before the first one."""

    def tree(self, commit: str) -> dict[str, Blob]:
        """All managed files (memory/**, MEMORY*.md, bonsai.toml) of a commit."""

    def tree_changes(self, old: str, new: str) -> dict[str, Blob | None] | None:
        """Managed paths that differ, with what `new` has (None: nothing). None when `old` is unknown."""

    def blob_id(self, data: bytes) -> str:
        """git's object id of the bytes, as this repository would name them. Works without a repository (SHA-1)."""

    def read(self, commit: str, path: str) -> bytes:
        """A file of a commit. Raises NotFound."""

    def blob(self, oid: str) -> bytes:
        """The bytes of an object. Raises NotFound."""

    def commit(self, changes: Sequence[FileChange], message: str, parent: str, author: Author, now: datetime) -> str:
        """Make one durable commit on the current branch on top of `parent` (compare-and-swap: Busy when HEAD moved).

        Never touches the person's index. No hook, filter or program of the repository runs.
        """

    def refresh_index(self, blobs: Mapping[str, Blob | None]) -> dict[str, str] | None:
        """Bring the person's index in line for just these paths; None when it is locked (try again later).

        Returns the staged blobs that were displaced, {path: object id}.
        """

    def locks(self) -> list[str]:
        """Absolute paths of lock files that a killed run of ours could have left."""

    def remove_stale_locks(self, since: float, *, foreign_older_than: float | None = None) -> list[str]:
        """Remove what our killed gits left: crash reports, and locks younger than `since` (Unix seconds).

        `foreign_older_than` (seconds): also older locks of others. Nothing while a live git works. Returns what went.
        """

    def resolve(self, rev: str) -> str:
        """The commit that a revision names. Raises NotFound."""

    def contains_run(self, run: str, since: str) -> str:
        """The commit in `since..HEAD` whose Bonsai-Run trailer is `run`, "" where there is none."""

    def log(
        self,
        paths: Sequence[str] = (),
        limit: int = 0,
        rev: str = "HEAD",
        follow: bool = False,
        saying: Sequence[str] = (),
    ) -> list[Commit]:
        """Commits newest first in topological order; `paths` empty means all managed paths. `follow`: one path.

        `saying`: those without all of these texts in their message may be left out.
        """

    def strays(self) -> list[tuple[str, str]]:
        """(commit, path in the repository) where a commit with a Bonsai-Run touches what is not managed."""

    def commits(self, shas: Sequence[str]) -> dict[str, Commit]:
        """These commits, by their names, whatever they touch. Raises NotFound."""

    def blame(self, path: str, rev: str = "HEAD", copies: bool = True, lines: Sequence[range] = ()) -> list[Origin]:
        r"""Where each line (ended by `\n`) of a committed file comes from, through renames. Raises NotFound.

        `copies`: also out of the other files that a commit changed, as migrate and merge make them. `lines`: only these
        (1-based, in ascending order), as the file has them; without any, all.
        """

    def at(self, moment: datetime) -> str:
        """The commit that was HEAD at a time, "" before the first.

        The last one in the order of the first-parent line that is not dated later: one wrong clock hides no other.
        """

    def read_many(self, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
        """Files as (commit, path), None for each that there is not."""

    def changes(self, old: str, new: str, renames: bool = True) -> list[Rename]:
        """What differs between two commits in the managed paths; `old` "" is the empty tree."""

    def path_times(self, cached: Mapping[str, PathTime], base: str) -> dict[str, PathTime]:
        """Times of every managed path at HEAD, starting from what was known at commit `base` ("" for nothing)."""

    def ignored(self, paths: Sequence[str]) -> set[str]:
        """Those that the ignore rules exclude (whether tracked or not)."""

    def filtered(self, paths: Sequence[str], attributes: Sequence[str] | None = None) -> set[str]:
        """Those with a `filter` (git-crypt, LFS); `attributes`: all `.gitattributes` inside, None: look for them."""

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
        """Three-way merge of one text; (result with markers where needed, whether it is clean)."""

    def check(self) -> list[str]:
        """What fsck finds wrong, a line each; empty when the repository is sound."""
