"""What bonsai keeps in `.bonsai`: read file by file, and taken away."""

import os
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import suppress

from bonsai.adapters.displaced import told

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
