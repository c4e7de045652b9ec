"""The person's index: whether it is unmerged, and bringing it in line for just the paths that we committed."""

import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from bonsai.adapters.git_run import GitRun, Running
from bonsai.adapters.git_tree import raw_changes
from bonsai.errors import BonsaiError
from bonsai.ports.history import Blob

_Key = tuple[int, int, int, int]
PRIVATE = "bonsai-index-"  # in the git folder: an index that is being made


class _Prepared(NamedTuple):
    """An index that git writes beside the real one, with `blobs` set in what that one was."""

    name: str
    before: _Key
    blobs: dict[str, Blob | None]
    running: Running | None  # None: it is written


class Index:
    """The index file of one worktree; remembers how it looked, so that git reads it only when it changed."""

    def __init__(self, run: GitRun) -> None:
        self._run = run
        self._merged: _Key | None = None  # the index as it was when nothing in it was unmerged
        self._present: _Key | None = None  # the index as it was when nothing of it was left out of the work tree
        self._known: _Key | None = None  # the index as it was when `_staged` was true of it
        self._staged: dict[str, str] = {}  # full path → what is staged there and is not in HEAD
        self._prepared: _Prepared | None = None

    def unmerged(self, git_dir: str) -> str:
        """The first path with an unresolved conflict, "" where there is none. Raises IoFailed for a damaged index."""
        key = _key(git_dir)
        if key is None or key == self._merged:
            return ""
        out = self._run.ok("ls-files", "--unmerged", "-z", "--full-name", ":/", literal=False)
        if not out:
            self._merged = key
        return out.split(b"\0")[0].partition(b"\t")[2].decode("utf-8", "replace")

    def left_out(self, git_dir: str, top: str, pathspecs: Sequence[str]) -> str:
        """The first path that a sparse checkout leaves out of the work tree, "" without one. Raises IoFailed."""
        key = _key(git_dir)
        if key in (None, self._present) or not os.path.lexists(os.path.join(git_dir, "info", "sparse-checkout")):
            return ""
        out = self._run.ok("ls-files", "-t", "-z", "--full-name", "--", *pathspecs, literal=False)
        for entry in out.split(b"\0"):
            if entry.startswith(b"S ") and not os.path.lexists(os.path.join(os.fsencode(top), entry[2:])):
                return entry[2:].decode("utf-8", "replace")
        self._present = key
        return ""

    def prepare(self, git_dir: str, blobs: Mapping[str, Blob | None], digits: int) -> None:
        """Begin what `refresh` of these entries will need, beside a commit that is being made.

        To write an index of 10,000 entries takes git as long as the commit itself. It goes to a file of ours, so that
        the index and its lock stay as they are in case the commit is refused.
        """
        self.forget()
        before = _key(git_dir)
        if before is None:
            return
        name = os.path.join(git_dir, f"{PRIVATE}{secrets.token_hex(6)}")
        try:
            shutil.copyfile(os.path.join(git_dir, "index"), name)
            os.utime(name, ns=(before[0], before[0]))  # git tells by this time which entries it may trust
            update = ("update-index", "-z", "--index-info")
            running = self._run.start(*update, data=_lines(blobs, digits), whole=True, env={"GIT_INDEX_FILE": name})
            self._prepared = _Prepared(name, before, dict(blobs), running)
        except (OSError, BonsaiError):  # no room: `refresh` will say so
            _unlink(name)

    def settle(self) -> None:
        """Wait until what was prepared is written, so that no process of ours outlives the commit."""
        if self._prepared is not None and (running := self._prepared.running) is not None:
            done = False
            with suppress(BonsaiError):
                done = running.result().code == 0
            self._prepared = self._prepared._replace(running=None)
            if not done:
                self.forget()

    def forget(self) -> None:
        """Clear away what was prepared and is not needed."""
        if self._prepared is not None:
            prepared, self._prepared = self._prepared, None
            with suppress(BonsaiError):
                if prepared.running is not None:
                    prepared.running.result()
            _unlink(prepared.name)

    def _swap(self, git_dir: str, blobs: Mapping[str, Blob | None]) -> bool:
        """Put the prepared index in place, under git's own lock; whether there was one that still fits."""
        self.settle()
        prepared, lock = self._prepared, os.path.join(git_dir, "index.lock")
        if prepared is None or prepared.blobs != blobs:
            self.forget()
            return False
        self._prepared = None
        try:
            os.link(prepared.name, lock)  # as git takes it: fails where somebody has it
            if _key(git_dir) != prepared.before:  # the person staged something meanwhile
                os.unlink(lock)
                return False
            os.replace(lock, os.path.join(git_dir, "index"))
            return True
        except OSError:
            return False
        finally:
            _unlink(prepared.name)

    def refresh(
        self, git_dir: str, blobs: Mapping[str, Blob | None], old: Callable[[], str], digits: int
    ) -> dict[str, str] | None:
        """Set the entries of `blobs` (full path → what HEAD has now) and no others; None when the index is locked.

        Args:
            git_dir: of the worktree.
            blobs: None removes the entry.
            old: gives the tree that HEAD had before; asked only when somebody else changed the index.
            digits: of an object id.

        Returns what was staged at those paths and is in neither HEAD, {full path: object id}.
        """
        if os.path.lexists(os.path.join(git_dir, "index.lock")):
            return None
        before = _key(git_dir)
        if before is None:
            self._staged = {}
        elif before != self._known:
            self._staged = self._differing(old())
        if not self._swap(git_dir, blobs):
            result = self._run("update-index", "-z", "--index-info", data=_lines(blobs, digits), whole=True)
            if result.code and "index.lock': File exists" in result.err:
                return None
            if result.code:
                raise self._run.failure(result)
        self._known = _key(git_dir)
        if before is None or before == self._merged:
            self._merged = self._known
        staged = {path: self._staged.pop(path, "") for path in blobs}
        return {path: oid for path, oid in staged.items() if oid and oid != getattr(blobs[path], "oid", "")}

    def _differing(self, tree: str) -> dict[str, str]:
        out = self._run.ok("diff-index", "--cached", "--no-renames", "-z", "--end-of-options", tree)
        return {item.new: item.new_oid for item in raw_changes(out) if item.new_mode and item.status != "U"}


def _lines(blobs: Mapping[str, Blob | None], digits: int) -> bytes:
    """Removals first: Note.md has to go before note.md comes, and a file before the folder of its name."""
    gone = [b"0 %s\t%s\0" % (b"0" * digits, _bytes(path)) for path, blob in blobs.items() if blob is None]
    kept = [b"%o %s\t%s\0" % (blob.mode, blob.oid.encode(), _bytes(path)) for path, blob in blobs.items() if blob]
    return b"".join(gone + kept)


def _unlink(name: str) -> None:
    for leftover in (name, f"{name}.lock"):
        with suppress(OSError):
            os.unlink(leftover)


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _key(git_dir: str) -> _Key | None:
    try:
        found = os.stat(os.path.join(git_dir, "index"))
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size
