"""The writer lock: one flock on `.bonsai/lock`, which the kernel releases when its holder dies."""

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bonsai.errors import Busy, IoFailed, Refused

if TYPE_CHECKING:
    from filelock import BaseFileLock

_GUARD = threading.Lock()
_SHARED: "dict[tuple[int, str], tuple[threading.RLock, BaseFileLock]]" = {}


class WriterLock:
    """The lock at `path` (absolute), waited for at most `timeout` seconds unless the call says otherwise."""

    def __init__(self, path: str, timeout: float = 30.0) -> None:
        folder, name = os.path.split(path)
        self._path, self._timeout = os.path.join(os.path.realpath(folder), name), timeout

    @contextmanager
    def __call__(self, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock; the thread that holds it may take it again. Raises Busy, Refused (a symlink), IoFailed."""
        from filelock import Timeout

        wait = self._timeout if timeout is None else timeout
        end = time.monotonic() + wait
        threads, file = _shared(self._path)
        if not threads.acquire(timeout=max(wait, 0)):
            raise _busy(wait)
        try:
            if os.path.islink(self._path):
                raise Refused("a symlink, which bonsai does not follow", path=".bonsai/lock", hint="Delete it.")
            try:
                file.acquire(timeout=max(end - time.monotonic(), 0), poll_interval=0.02)
            except Timeout as error:
                raise _busy(wait) from error
            except (OSError, NotImplementedError) as error:
                raise IoFailed(f"cannot lock: {error}", path=".bonsai/lock", hint="Check its permissions.") from error
            try:
                yield
            finally:
                file.release()
        finally:
            threads.release()


def is_held(path: str) -> bool:
    """Whether somebody holds the lock at `path`, this process included; asks the kernel, so a dead holder does not."""
    import fcntl

    try:
        fd = _open_to_ask(path)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _open_to_ask(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)  # NFS locks only what is open for writing
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES):
            raise
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)


def _shared(path: str) -> "tuple[threading.RLock, BaseFileLock]":
    """One pair a process and file: two workspaces opened on the same folder must not wait for each other for ever.

    flock excludes other processes, the thread lock other threads of this one; both count how often they are held.
    """
    from filelock import FileLock

    key = (os.getpid(), path)  # a forked child has nothing of its parent's locks
    with _GUARD:
        if key not in _SHARED:
            _SHARED[key] = (threading.RLock(), FileLock(path, mode=0o600, thread_local=False))
        return _SHARED[key]


def _busy(wait: float) -> Busy:
    return Busy(
        f"another bonsai has been at work in this workspace for {wait:g} s", path=".bonsai/lock", hint="Try again."
    )
