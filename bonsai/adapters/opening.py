"""Opening by descriptors: a folder from the one above it, never through a symlink; the bytes of a regular file."""

import os
import stat
from contextlib import suppress

from bonsai.adapters.displaced import sync_folder
from bonsai.adapters.listing import FOLDER
from bonsai.errors import Busy, NotFound, Refused


def raw(path: str) -> bytes:
    """A path as the system has it."""
    return path.encode("utf-8", "surrogateescape")


def enter(above: int | None, name: bytes, path: str) -> int:
    """Open a folder. Raises Refused for a symlink, which the system reports as ENOTDIR or ELOOP, and OSError."""
    try:
        return os.open(name, FOLDER, dir_fd=above)
    except OSError:
        with suppress(OSError):
            if stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
                link = name.decode("utf-8", "surrogateescape")
                raise Refused(f"{link} is a symlink, which bonsai does not follow", path=path) from None
        raise


def make_folder(above: int, name: bytes, path: str, sync: bool) -> int:
    """Make a folder where none stands, with `sync` durable, and open it. Raises OSError, Refused for a symlink."""
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=above)
    if sync:
        sync_folder(above)
    return enter(above, name, path)


def open_file(folder: int, name: bytes, path: str) -> tuple[int, os.stat_result]:
    """Open a regular file for reading; its descriptor and stat. Raises NotFound for a folder, Refused, OSError."""
    # Without O_NONBLOCK a named pipe in the tree would make us wait for a writer for ever.
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        info = os.fstat(fd)
        if stat.S_ISREG(info.st_mode):
            return fd, info
        if stat.S_ISDIR(info.st_mode):
            raise NotFound("a folder, not a file", path=path)
        raise Refused("not a regular file", path=path, hint="Put a file in its place, or move it away.")
    except BaseException:
        os.close(fd)
        raise


def expect(folder: int, name: bytes, path: str, old: bytes) -> os.stat_result:
    """The stat of a file whose bytes must be `old`. Raises Busy where they are not."""
    fd, info = open_file(folder, name, path)
    try:
        if pour(fd, info.st_size, -1) != old:
            raise changed(path)
        return info
    finally:
        os.close(fd)


def pour(fd: int, size: int, limit: int) -> bytes:
    """Read an open file to its end, at most `limit` bytes where that is not negative; `size` is what to expect."""
    parts, left = [], limit if limit >= 0 else -1
    while left:
        want = size + 1 if left < 0 else left
        part = os.read(fd, want)
        parts.append(part)
        if len(part) < want:  # of a regular file a short read is the end
            break
        left = left - len(part) if left > 0 else left
    return parts[0] if len(parts) == 1 else b"".join(parts)


def changed(path: str) -> Busy:
    """The error that says so where a person saved in between."""
    return Busy("was saved by somebody else meanwhile", path=path, hint="That save was kept. Run the command again.")
