"""Listing a folder tree by open descriptors: one stat an entry, no symlink followed, nothing blocks."""

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress

from bonsai.notes.change import Entry, EntryKind, Row, Stat
from bonsai.notes.layout import CONFIG, DEEPEST, TEMPORARY, is_boot_spelling

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW

#: Folder with its slash → a number made of the names and stats of its files, and their paths.
Folders = dict[str, tuple[int | None, Sequence[str]]]
_NOTHING = Stat(0, 0, 0, 0, 0o100644)
_KIND = 0o170100  # of a mode: what it is, and whether its owner may execute it


def stat_of(info: os.stat_result) -> Stat:
    """The part of a stat that tells whether a file is still the same."""
    mode = 0o100755 if info.st_mode & 0o100 else 0o100644
    return Stat(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, mode)


def kind_of_mode(mode: int) -> EntryKind:
    """What a directory entry is, by `st_mode`."""
    if stat.S_ISREG(mode):
        return "file"
    return "symlink" if stat.S_ISLNK(mode) else "special"


class Listing:
    """What a walk finds: `entries`, but for the regular files that are as their row says, which are only `same`.

    `folders` remembers what a folder looked like when all its files were `same`, so that the next walk, as long as
    nobody takes it out, compares one number instead of a thousand stats: the stats alone are most of the time then.
    """

    def __init__(self, rows: Mapping[str, Row], folders: Folders) -> None:
        self._rows, self._folders = rows, folders
        self.entries: list[Entry] = []
        self.same: set[str] = set()

    def root(self, root: int) -> None:
        """Add what bonsai looks at in the workspace folder itself: boot files in any spelling, settings, leftovers."""
        with os.scandir(root) as entries:
            for entry in entries:
                name = entry.name
                if name == CONFIG or is_boot_spelling(name) or name.startswith(TEMPORARY):
                    with suppress(FileNotFoundError):
                        info = entry.stat(follow_symlinks=False)
                        if not stat.S_ISDIR(info.st_mode) or name.startswith(TEMPORARY):
                            self._add(_name(name), info)

    def tree(self, folder: int, prefix: str, depth: int = DEEPEST) -> None:
        """Add what stands in an open folder and below; `prefix` is its path with a slash. Raises OSError for itself."""
        for name in self._folder(folder, prefix):
            path = f"{prefix}{_name(name)}"
            try:
                below = os.open(os.fsencode(name), FOLDER, dir_fd=folder)
                try:
                    if depth == 0:
                        raise RecursionError
                    self.tree(below, f"{path}/", depth - 1)
                finally:
                    os.close(below)
            except FileNotFoundError:
                continue
            except (OSError, RecursionError):
                self.entries.append(Entry(path, "unreadable", _NOTHING))

    def _folder(self, folder: int, prefix: str) -> list[str]:
        """Add the files of one folder; returns the names of its visible sub-folders."""
        folders, files, looks = [], [], 0
        before = len(self.entries)
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not name.startswith("."):
                            folders.append(name)
                        elif name.startswith(TEMPORARY):  # our own, left by a killed run: the caller will sweep
                            self.entries.append(Entry(f"{prefix}{name}", "special", _NOTHING))
                        continue
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                except OSError:
                    self.entries.append(Entry(f"{prefix}{_name(name)}", "unreadable", _NOTHING))
                    continue
                files.append((name, info))
                looks += hash((name, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_size, info.st_mode))
        known, paths = self._folders.pop(prefix, (None, ()))
        if known != looks:
            paths = [path for name, info in files if (path := self._file(f"{prefix}{_name(name)}", info))]
        self.same.update(paths)
        if len(self.entries) == before:
            self._folders[prefix] = (looks, paths)
        return folders

    def _file(self, path: str, info: os.stat_result) -> str:
        """The path of a file that is as its row says; "" for one that is not, which is added."""
        row = self._rows.get(path)
        if row is not None and row.stat is not None and _is_same(row.stat, info):
            return row.path
        self._add(path, info)
        return ""

    def _add(self, path: str, info: os.stat_result) -> None:
        self.entries.append(Entry(path, kind_of_mode(info.st_mode), stat_of(info)))


def _is_same(was: Stat, info: os.stat_result) -> bool:
    """`was == stat_of(info)` for a regular file, without making anything."""
    return (
        was.mtime_ns == info.st_mtime_ns
        and was.ctime_ns == info.st_ctime_ns
        and was.inode == info.st_ino
        and was.size == info.st_size
        and was.mode & _KIND == info.st_mode & _KIND
    )


def _name(name: str) -> str:
    """A name that the system decoded with its locale, in our way: UTF-8 whatever the locale says."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "surrogateescape")
