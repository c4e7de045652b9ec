"""Whether any note may have changed since the last look: one number over all of them, and nothing else is made.

A look has to say what differs, so it keeps a row for each file. Nearly always nothing does, and the stats alone are
most of the time then.
"""

import os
from contextlib import suppress
from stat import S_ISDIR
from zlib import crc32

from bonsai.notes.layout import MEMORY


def glance(root: str) -> str:
    """A number that differs when a note came, went, or was saved; "" where a folder cannot be looked into.

    The change time cannot be set from outside, and every write moves it: with inode and size it tells as much as all of
    a stat. The number means the same in every process, as only numbers are hashed.
    """
    found, folders = 0, [os.fsencode(f"{root}/{MEMORY}")]
    try:
        for name in os.listdir(os.fsencode(root)):
            if name.endswith(b".md"):
                with suppress(FileNotFoundError):
                    info = os.lstat(b"%s/%s" % (os.fsencode(root), name))
                    found += hash((crc32(name), info.st_ctime_ns, info.st_ino, info.st_size, info.st_mode))
        while folders:
            folder = folders.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name[-3:] == b".md":
                        info = entry.stat(follow_symlinks=False)
                        if not S_ISDIR(info.st_mode):
                            found += hash((crc32(name), info.st_ctime_ns, info.st_ino, info.st_size, info.st_mode))
                            continue
                    if entry.is_dir(follow_symlinks=False) and name[:1] != b".":
                        folders.append(entry.path)
                        found += crc32(entry.path)
    except OSError:  # gone between the listing and the stat, or closed to us: a look tells
        return ""
    return str(found)
