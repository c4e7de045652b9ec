"""The search indexes of past states: one file for each, only the ones that were asked for last are kept."""

import os
from contextlib import suppress

KEPT = 8


def place(folder: str, name: str) -> str:
    """The path of the index of a state; of the others the oldest go."""
    with suppress(OSError):
        os.makedirs(folder, 0o700, exist_ok=True)
        path = f"{folder}/{name}.db"
        with suppress(FileNotFoundError):
            os.utime(path)
        files = [entry for entry in os.scandir(folder) if entry.name.endswith(".db") and entry.path != path]
        files.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime, reverse=True)
        for entry in files[KEPT - 1 :]:
            for suffix in ("-wal", "-shm", ""):
                with suppress(OSError):
                    os.unlink(f"{entry.path}{suffix}")
    return f"{folder}/{name}.db"
