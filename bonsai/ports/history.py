"""What is needed of git, and the types in which it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from bonsai.notes.change import PathTime


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
