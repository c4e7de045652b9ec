"""How `files` writes: whole files, durable, and what a person saved in between is kept.

To replace a note its bytes are swapped with new ones in one step, then what was displaced is compared with what was
expected there: check-then-rename lost 14 of 300 saves of an adversarial editor, swapping lost none. The displaced file
waits in a folder `.bonsai-….old` beside the note, under the note's own name, so that after a kill at any point
`sweep` can tell which note it was and whether it is a person's.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from bonsai.errors import BonsaiError, CannotCreate, IoFailed, NotFound, Refused
from bonsai.notes.layout import TEMPORARY

EXCHANGE = 2  # the flag has this value in Linux (renameat2) and in macOS (renameatx_np)
_NO_SUCH_CALL = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK}

_TEMP = re.compile(rb"\.bonsai-[0-9a-f]{16}\.tmp")
_ASIDE = re.compile(rb"\.bonsai-[0-9a-f]{16}-([0-9a-f]{16})(?:-([0-9a-f]{16}))?\.old")

_SPACE = "Make room, then run the command again."
_RIGHTS = "Check the owner and the permissions."
_HINTS = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: "Mount the file system for writing, or use another folder.",
    errno.EIO: "Check the disk; the note was left as it was.",
    errno.EMFILE: "Close other programs, or raise the limit of open files (ulimit -n).",
    errno.ENAMETOOLONG: "Use a shorter name.",
    errno.EEXIST: "Use another name.",
}
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
_TAKEN = {errno.EEXIST, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR}


class NoHardLinks(Exception):
    """The file system has none."""


@contextmanager
def told(path: str, making: bool = False) -> Iterator[None]:
    """Word what the system says: every OSError becomes one of ours, with the path, the errno and what to do."""
    try:
        yield
    except OSError as error:
        raise _error(error, path, making) from error


def _error(error: OSError, path: str, making: bool) -> BonsaiError:
    number = error.errno or errno.EIO
    words, hint = f"{os.strerror(number)} ({errno.errorcode.get(number, number)})", _HINTS.get(number, "")
    kind: type[BonsaiError] = IoFailed
    if making and number in _TAKEN:
        kind = CannotCreate
    elif number in _ABSENT:
        kind, hint = NotFound, ""
    elif number in {errno.ELOOP, errno.ENXIO}:  # a symlink, a socket
        kind, words, hint = Refused, "not a regular file", "bonsai follows no symlink."
    return kind(words, path=path or None, hint=hint)


def temp_name() -> bytes:
    """A name for a file in the making: unique, hidden, and known to `sweep`."""
    return f"{TEMPORARY}{os.urandom(8).hex()}.tmp".encode()


def write_new(folder: int, name: bytes, data: bytes, mode: int, *, sync: bool = False) -> int:
    """Write a file that must not exist, whole or not at all; returns its open descriptor. Raises OSError."""
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if sync:
            os.fsync(fd)
    except BaseException:
        os.close(fd)
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    return fd


def sync_folder(folder: int) -> None:
    """Make the names in a folder durable; some file systems cannot say so (EINVAL)."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise


def link(source: int, name: bytes, target: int, new: bytes) -> None:
    """Give a file a second name that must be free. Raises FileExistsError, NoHardLinks, OSError."""
    try:
        os.link(name, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise NoHardLinks from error
        raise


def replace(folder: int, name: bytes, data: bytes, old: bytes, was: os.stat_result) -> bool:
    """Put `data` where `old` stood, with the mode and owner of `was`; False where a person saved meanwhile."""
    with _aside(folder, old, data) as aside:
        ours = True  # whether what is aside may be deleted
        try:
            _write_like(aside, name, data, was)
            ours = False
            if not exchange(aside, name, folder, name):
                ours = True
                return _rename_over(aside, folder, name, old)
            sync_folder(folder)  # first: it gives an editor that had the file open the time to show itself
            ours = _bytes(aside, name) == old
            return ours
        finally:
            if ours or _swap_back(aside, folder, name, data):
                _drop(aside, name)


def remove(folder: int, files: Mapping[bytes, bytes]) -> list[bytes]:
    """Delete files of a folder, name → the bytes that it has; those that a person saved meanwhile stay: returns them.

    The folder is settled twice for all of them: with two syncs for each, 10,000 notes that left the tree took fifteen
    seconds.
    """
    gone, aside_now = set[bytes](), list[bytes]()
    with _aside(folder, b"".join(files.values())) as aside:
        try:
            for name in files:
                os.rename(name, name, src_dir_fd=folder, dst_dir_fd=aside)
                aside_now.append(name)
            sync_folder(folder)
            for name, old in files.items():
                if _bytes(aside, name) == old:
                    os.unlink(name, dir_fd=aside)  # if this fails it is put back: the next sweep would do so, too late
                    gone.add(name)
        finally:
            for name in aside_now:
                if name not in gone and _put_back(aside, folder, name):
                    _drop(aside, name)
    if gone:
        with suppress(OSError):  # else a power loss could bring the files back
            sync_folder(folder)
    return [name for name in files if name not in gone]


def sweep(folder: int) -> list[bytes]:
    """Clear an open folder of what a killed run left; returns its visible sub-folders. What fails is left."""
    names, folders = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(TEMPORARY):
                names.append(os.fsencode(entry.name))
            elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                folders.append(os.fsencode(entry.name))
    for name in names:
        with suppress(OSError):
            if _TEMP.fullmatch(name) and stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)
            elif found := _ASIDE.fullmatch(name):
                _recover(folder, name, found[1], found[2])
    return folders


def _recover(folder: int, aside_name: bytes, old: bytes, new: bytes | None) -> None:
    """Decide what becomes of a file that a killed `replace` (with `new`) or `remove` had set aside."""
    aside = os.open(aside_name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        for text in os.listdir(aside):
            name = os.fsencode(text)
            ours = _digest(_bytes(aside, name)) in {old, new}
            stands = _stands(folder, name)
            if (new is None or not ours) and not stands:
                safe = _put_back(aside, folder, name)  # killed within remove, or a person's note
            elif ours or not stands or _digest(_bytes(folder, name)) != new:
                safe = True  # known bytes, or a save that its author has saved over since
            else:
                safe = exchange(aside, name, folder, name)  # a person's save, displaced by our bytes
            if safe:
                _drop(aside, name)
    finally:
        os.close(aside)
    os.rmdir(aside_name, dir_fd=folder)


@contextmanager
def _aside(folder: int, old: bytes, new: bytes | None = None) -> Iterator[int]:
    """A folder beside the note for what is displaced, named after what that may be; goes when it is empty."""
    marks = b"-".join(_digest(data) for data in (old, new) if data is not None)
    aside_name = f"{TEMPORARY}{os.urandom(8).hex()}-".encode() + marks + b".old"
    os.mkdir(aside_name, 0o700, dir_fd=folder)
    try:
        aside = os.open(aside_name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            yield aside
        finally:
            os.close(aside)
    finally:
        with suppress(OSError):  # what could not be deleted or put back is for the next sweep
            os.rmdir(aside_name, dir_fd=folder)


def _drop(aside: int, name: bytes) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=aside)


def _digest(data: bytes) -> bytes:
    from hashlib import sha256

    return sha256(data).hexdigest()[:16].encode()


def _bytes(folder: int, name: bytes) -> bytes:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        return file.read()


def _stands(folder: int, name: bytes) -> bool:
    """Whether something has the name; where that cannot be told, no."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _write_like(folder: int, name: bytes, data: bytes, was: os.stat_result) -> None:
    """Write a new file, durable, with the mode and (where we may) the owner of another."""
    fd = write_new(folder, name, data, 0o600)
    try:
        now = os.fstat(fd)
        if (now.st_uid, now.st_gid) != (was.st_uid, was.st_gid):
            with suppress(PermissionError):
                os.fchown(fd, was.st_uid, was.st_gid)
        os.fchmod(fd, stat.S_IMODE(was.st_mode))
        os.fsync(fd)
    finally:
        os.close(fd)


def _rename_over(aside: int, folder: int, name: bytes, old: bytes) -> bool:
    """The second best where nothing can be exchanged: look once more, then rename."""
    if _bytes(folder, name) != old:
        return False
    os.rename(name, name, src_dir_fd=aside, dst_dir_fd=folder)
    sync_folder(folder)
    return True


def _swap_back(aside: int, folder: int, name: bytes, placed: bytes) -> bool:
    """Give a displaced file its place back; whether what is aside now may go. Never raises.

    A person may save yet again while we swap: then what comes out is not what we had put in, and goes back in.
    """
    with suppress(OSError):
        for _ in range(1000):
            inside = _bytes(aside, name)
            if inside == placed:  # they were never swapped
                return True
            if not exchange(aside, name, folder, name):
                return False
            if _bytes(aside, name) == placed:
                return True
            placed = inside
    return False


def _put_back(aside: int, folder: int, name: bytes) -> bool:
    """Give a note that was set aside its name back, unless a newer one stands there. Whether that worked."""
    try:
        link(aside, name, folder, name)
    except FileExistsError:
        return True
    except (NoHardLinks, OSError):  # no room for a second name: the first one must do
        return _stands(folder, name) or _move_back(aside, folder, name)
    return True


def _move_back(aside: int, folder: int, name: bytes) -> bool:
    with suppress(OSError):
        os.rename(name, name, src_dir_fd=aside, dst_dir_fd=folder)
        return True
    return False


def exchange(source: int, name: bytes, target: int, new: bytes) -> bool:
    """Swap two files in one step; False where the system or the file system cannot. Raises OSError."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "renameat2", None) or getattr(libc, "renameatx_np", None)
    if call is None:
        return False
    if call(source, name, target, new, ctypes.c_uint(EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_SUCH_CALL:
        return False
    raise OSError(number, os.strerror(number))
