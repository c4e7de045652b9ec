"""Lock files and other leftovers of git processes that were killed: which there are, and which may go."""

import glob
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from bonsai.adapters import git_index
from bonsai.adapters.git_commit import PRIVATE
from bonsai.adapters.git_repo import Layout
from bonsai.adapters.git_run import GitRun
from bonsai.errors import BonsaiError, Busy

_SLACK = 2.0  # seconds: file systems round times
_PATIENCE = 10.0  # seconds: how long a git that outlived a killed run of ours may still take
_WRITERS = {b"fast-import", b"update-index", b"update-ref", b"commit-tree", b"config"}
_UNSEEN = 15 * 60.0  # seconds: where processes cannot be listed, a younger lock may be in use


class Locks:
    """The locks of one worktree on one branch."""

    def __init__(self, layout: Layout, ref: str) -> None:
        self._layout, self._ref = layout, ref

    def held(self) -> list[str]:
        """Absolute paths of the lock files that stand there."""
        layout = self._layout
        names = [os.path.join(layout.git_dir, name) for name in ("index.lock", "HEAD.lock")]
        shared = (f"{self._ref}.lock", "packed-refs.lock", "config.lock")
        names += [os.path.join(layout.common_dir, name) for name in shared]
        names += _glob(layout.common_dir, f"{PRIVATE}*.lock")
        return [name for name in names if os.path.lexists(name)]

    def remove(self, since: float, foreign_older_than: float | None) -> list[str]:
        """Remove leftovers younger than `since`, and locks older than `foreign_older_than` seconds.

        Raises Busy while a git that a killed run of ours started goes on: it may yet move the branch.
        """
        self._wait_for_orphans()
        oldest = time.time() - foreign_older_than if foreign_older_than is not None else float("-inf")
        locks = [name for name in self.held() if _is_between(since, name) or _age(name) <= oldest]
        return self._unlink(locks + self._debris(since))

    def clear(self, since: float) -> None:
        """Remove what a git of ours that failed by itself (no room) left among the objects: it took its locks along."""
        self._unlink(self._debris(since))

    def _unlink(self, found: list[str]) -> list[str]:
        if not found or self._at_work():
            return []
        removed = []
        for name in found:
            with suppress(OSError):
                os.unlink(name)
                removed.append(name)
        return removed

    def _debris(self, since: float) -> list[str]:
        objects = os.path.join(self._layout.common_dir, "objects")
        found = _glob(self._layout.git_dir, "fast_import_crash_*") + _glob(self._layout.common_dir, f"{PRIVATE}*")
        found += _glob(self._layout.git_dir, f"{git_index.PRIVATE}*")
        for pattern in ("tmp_obj_*", "??/tmp_obj_*", "pack/tmp_*"):
            found += _glob(objects, pattern)
        found += [name for name in _glob(objects, "pack/*.keep") if _is_ours(name)]
        return [name for name in found if _is_between(since, name)]

    def _wait_for_orphans(self) -> None:
        """A kill of bonsai leaves its git alive, for milliseconds as a rule."""
        until = time.monotonic() + _PATIENCE
        while self._at_work(ours=True):
            if time.monotonic() > until:
                raise Busy(
                    "a git that a killed bonsai started is still at work", path=self._layout.top, hint="Try again."
                )
            time.sleep(0.01)

    def _at_work(self, ours: bool = False) -> bool:
        """Whether a git that lives (`ours`: one that writes for bonsai) has its current folder in the work tree or in
        the git folders.
        """
        owners = {os.lstat(name).st_uid for name in self.held() if os.path.lexists(name)}
        places = [
            os.path.realpath(place) for place in (self._layout.top, self._layout.git_dir, self._layout.common_dir)
        ]
        for folder in glob.glob("/proc/[0-9]*"):
            with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                with open(f"{folder}/comm", "rb") as file:
                    name = file.read().strip()
                if name != b"git" and not name.startswith(b"git-"):
                    continue
                if ours and not _is_our_writer(folder):
                    continue
                try:
                    here = os.readlink(f"{folder}/cwd")
                except PermissionError:  # somebody else's: where it works cannot be told, but its locks would be theirs
                    if not ours and os.stat(folder).st_uid in owners:
                        return True
                    continue
                if any(here == place or here.startswith(f"{place}/") for place in places):
                    return True
        return False


@contextmanager
def tidied(run: GitRun, locks: Callable[[], Locks]) -> Iterator[None]:
    """Clear up after a git that failed: on a full disk what it had written, after a kill (by the kernel, for want
    of memory) its locks too, which would stop everybody.
    """
    start = time.time()
    try:
        yield
    except BonsaiError:
        with suppress(BonsaiError):
            if run.died:
                locks().remove(run.died, None)
            else:
                locks().clear(start)
        raise
    finally:
        run.died = 0.0


def _is_our_writer(folder: str) -> bool:
    """Whether a process of /proc is a git that changes something and has the options that bonsai gives."""
    with open(f"{folder}/cmdline", "rb") as file:
        words = file.read().split(b"\0")
    return b"core.hooksPath=/dev/null" in words and not _WRITERS.isdisjoint(words)


def _glob(folder: str, pattern: str) -> list[str]:
    return [os.path.join(folder, name) for name in glob.glob(pattern, root_dir=folder)]


def _is_between(since: float, name: str) -> bool:
    newest = time.time() if os.path.isdir("/proc/self") else time.time() - _UNSEEN
    return since - _SLACK <= _age(name) <= newest


def _age(name: str) -> float:
    try:
        return os.lstat(name).st_mtime
    except OSError:
        return float("inf")


def _is_ours(name: str) -> bool:
    """Whether a pack is kept by a fast-import that was killed."""
    with suppress(OSError), open(name, "rb") as file:
        return file.read(64).startswith(b"fast-import")
    return False
