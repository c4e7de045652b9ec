"""What bonsai keeps in `.bonsai`: read file by file, and taken away; a secret of its owner."""

import os
import shutil
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import suppress

from bonsai.adapters.displaced import told
from bonsai.errors import Refused

FOLDER = ".bonsai"
_PATIENCE = 5.0  # seconds


def contents(root: str, besides: Collection[str] = ()) -> Iterator[tuple[str, bytes]]:
    """Every file in it as (workspace path, bytes), but for those in the folders `besides`."""
    top = os.path.join(root, FOLDER)
    for folder, folders, names in os.walk(top):
        if folder == top:
            folders[:] = [name for name in folders if name not in besides]
        for name in names:
            path = os.path.join(folder, name)
            with suppress(OSError):  # a socket, a file that is gone again
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        yield os.path.relpath(path, root), file.read()


def is_there(root: str, path: str) -> bool:
    """Whether anything stands at a workspace path."""
    return os.path.lexists(os.path.join(root, path))


def remove(root: str, path: str) -> None:
    """Take away a file, or a folder with all that is in it; nothing where there is none. Raises IoFailed."""
    place = os.path.join(root, path)
    with told(path), suppress(FileNotFoundError):
        if os.path.islink(place) or not os.path.isdir(place):
            os.unlink(place)
            return
        until = time.monotonic() + _PATIENCE
        while os.path.isdir(place):
            try:
                shutil.rmtree(place)
            except OSError:  # a git that outlived a killed bonsai still writes there, for milliseconds as a rule
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)


def token(root: str, path: str) -> str:
    """The secret in a file of `.bonsai` (256 bit), made where there is none; only its owner may read it.

    Raises Refused where others can read or change the file, or it is no file of ours, IoFailed.
    """
    place = os.path.join(root, path)
    with told(path):
        with suppress(FileExistsError):
            # Under another name first: who starts at the same moment must not read half a secret.
            made = f"{place}.{os.urandom(4).hex()}"
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(f"{os.urandom(32).hex()}\n")
            try:
                os.link(made, place)
            finally:
                os.unlink(made)
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii", errors="replace") as file:
            info = os.fstat(file.fileno())
            text = file.read(200).strip()
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077 or len(text) < 40:
        raise Refused("is not a secret of yours alone", path=path, hint="Delete it, and start again: it is made anew.")
    return text
