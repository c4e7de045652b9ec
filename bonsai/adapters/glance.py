"""Whether any note may have changed since the last look: one number over all of them, and nothing else is made.

A look has to say what differs, so it keeps a row for each file. Nearly always nothing does, and the stats alone are
most of the time then.
"""

import os
from contextlib import suppress

from bonsai.notes.layout import MEMORY


def glance(root: str) -> int | None:
    """A number that differs when a note came, went, or was saved; None where a folder cannot be looked into.

    The change time cannot be set from outside, and every write moves it: with inode and size it tells as much as all of
    a stat. Only comparable within one process.
    """
    found, folders = 0, [f"{root}/{MEMORY}"]
    try:
        for name in os.listdir(root):
            if name.endswith(".md"):
                with suppress(FileNotFoundError):
                    info = os.lstat(f"{root}/{name}")
                    found += hash((name, info.st_ctime_ns, info.st_ino, info.st_size, info.st_mode))
        while folders:
            folder = folders.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if name[0] != ".":
                            folders.append(entry.path)
                            found += hash(entry.path)
                    elif name[-3:] == ".md":
                        info = entry.stat(follow_symlinks=False)
                        found += hash((name, info.st_ctime_ns, info.st_ino, info.st_size, info.st_mode))
    except OSError:  # gone between the listing and the stat, or closed to us: a look tells
        return None
    return found
