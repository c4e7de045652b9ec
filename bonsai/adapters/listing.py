"""Listing a folder tree by open descriptors: one stat an entry, no symlink followed, nothing blocks."""

import os
import stat
from contextlib import suppress

from bonsai.notes.change import Entry, EntryKind, Stat
from bonsai.notes.layout import CONFIG, TEMPORARY, is_boot_spelling

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
DEEPEST = 64  # folders below memory/; deeper ones are reported, not entered: each level holds a file descriptor

_NOTHING = Stat(0, 0, 0, 0, 0o100644)


def stat_of(info: os.stat_result) -> Stat:
    """The part of a stat that tells whether a file is still the same."""
    mode = 0o100755 if info.st_mode & 0o100 else 0o100644
    return Stat(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, mode)


def kind_of_mode(mode: int) -> EntryKind:
    """What a directory entry is, by `st_mode`."""
    if stat.S_ISREG(mode):
        return "file"
    return "symlink" if stat.S_ISLNK(mode) else "special"


def scan_root(root: int, found: list[Entry]) -> None:
    """Add what bonsai looks at in the workspace folder itself: boot files in any spelling, settings, leftovers."""
    with os.scandir(root) as entries:
        for entry in entries:
            name = entry.name
            if name == CONFIG or is_boot_spelling(name) or name.startswith(TEMPORARY):
                with suppress(FileNotFoundError):
                    info = entry.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(info.st_mode) or name.startswith(TEMPORARY):
                        found.append(Entry(_name(name), kind_of_mode(info.st_mode), stat_of(info)))


def scan_tree(folder: int, prefix: str, found: list[Entry], depth: int = DEEPEST) -> None:
    """Add what stands in an open folder and below; `prefix` is its path with a slash. Raises OSError for itself."""
    for name in _scan_folder(folder, prefix, found):
        path = f"{prefix}{_name(name)}"
        try:
            below = os.open(os.fsencode(name), FOLDER, dir_fd=folder)
            try:
                if depth == 0:
                    raise RecursionError
                scan_tree(below, f"{path}/", found, depth - 1)
            finally:
                os.close(below)
        except FileNotFoundError:
            continue
        except (OSError, RecursionError):
            found.append(Entry(path, "unreadable", _NOTHING))


def _scan_folder(folder: int, prefix: str, found: list[Entry]) -> list[str]:
    """Add the files of one folder; returns the names of its visible sub-folders."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not name.startswith("."):
                        folders.append(name)
                    elif name.startswith(TEMPORARY):  # our own, left by a killed run: the caller will sweep
                        found.append(Entry(f"{prefix}{name}", "special", _NOTHING))
                    continue
                info = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError:
                found.append(Entry(f"{prefix}{_name(name)}", "unreadable", _NOTHING))
                continue
            found.append(Entry(f"{prefix}{_name(name)}", kind_of_mode(info.st_mode), stat_of(info)))
    return folders


def _name(name: str) -> str:
    """A name that the system decoded with its locale, in our way: UTF-8 whatever the locale says."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "surrogateescape")
