"""The files of other agents, in the home folder or in a project: read, and written whole or not at all."""

import os
from contextlib import suppress

from bonsai.adapters.displaced import told
from bonsai.errors import Refused


def real(path: str) -> str:
    """The file behind the links on the way to a path."""
    return os.path.realpath(path)


def read(path: str) -> bytes | None:
    """The bytes of a file, None where there is none. Raises IoFailed."""
    with told(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None


def write(path: str, data: bytes | None, top: str) -> None:
    """Write a file (None: take it away, with folders below `top` that are empty then). Of a symlink, the target.

    Raises IoFailed, Refused for one that is read-only: another program keeps it as it is, most often.
    """
    place = os.path.realpath(path)  # dotfiles often are links into a repository
    with told(path):
        if os.path.exists(place) and not os.stat(place).st_mode & 0o222:
            raise Refused("is read-only", path=path, hint="`chmod u+w` it, if bonsai may change it.")
        if data is None:
            with suppress(FileNotFoundError):
                os.unlink(place)
            folder = os.path.dirname(path)
            with suppress(OSError):  # not empty
                while folder.startswith(f"{top}/"):
                    os.rmdir(folder)
                    folder = os.path.dirname(folder)
            return
        os.makedirs(os.path.dirname(place), exist_ok=True)
        mode = os.stat(place).st_mode & 0o777 if os.path.exists(place) else 0o600
        made = f"{place}.bonsai-{os.urandom(4).hex()}"
        try:
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, place)
        except BaseException:
            with suppress(OSError):
                os.unlink(made)
            raise
