"""NoteStore on a POSIX file system.

A path is walked folder by folder from the workspace's root, each opened relative to the one before and never through a
symlink. So `..`, an absolute path, or a folder that somebody swaps for a symlink between check and use cannot lead
outside. Names go to the system as bytes (UTF-8, with surrogates for what is none), so an ASCII locale, as cron has it,
makes no difference.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from bonsai.adapters import displaced
from bonsai.adapters.displaced import sync_folder, temp_name, told, write_new
from bonsai.adapters.listing import FOLDER, Folders, Listing, kind_of_mode, stat_of
from bonsai.adapters.opening import changed, enter, expect, make_folder, open_file, pour, raw
from bonsai.errors import NotFound, Refused
from bonsai.notes.change import Entry, Row, Stat
from bonsai.notes.layout import DEEPEST, MEMORY, Tree, folder_of, name_of, path_fault, tree_of


class Files:
    """The files of the workspace at `root` (its real path: the workspace folder itself may be a symlink)."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    @staticmethod
    def find_workspace(start: str) -> str | None:
        """The nearest folder, from `start` upwards, that holds `memory/` or MEMORY.md."""
        folder = os.path.realpath(start)
        while True:
            if _is_workspace(folder):
                return folder
            above = os.path.dirname(folder)
            if above == folder:
                return None
            folder = above

    # -- looking ---------------------------------------------------------------------------------------------

    def scan(self, top: str = "") -> list[Entry]:
        """All entries but folders, see the port; also what a killed run of ours left, folders too.

        One stat a file; nothing is followed and nothing blocks. What cannot be looked into is `unreadable`.
        """
        return self._list(top, {}, {}).entries

    def differing(self, rows: Mapping[str, Row], folders: Folders) -> tuple[list[Entry], set[str]]:
        """`scan()`, without the regular files that are as `rows` has them; and the paths of those. See the port."""
        found = self._list("", rows, folders)
        return found.entries, found.same

    def _list(self, top: str, rows: Mapping[str, Row], folders: Folders) -> Listing:
        found = Listing(rows, folders)
        if not top:
            with told(self.root), self._folder("") as root:
                found.root(root)
        with suppress(NotFound), told(top or MEMORY), self._folder(top or MEMORY) as folder:
            found.tree(folder, f"{top or MEMORY}/")
            return found
        entry = self.stat(top or MEMORY)
        found.entries += [entry] if entry else []
        return found

    def stat(self, path: str) -> Entry | None:
        """One entry, None where there is nothing or a folder."""
        info = self._look(path)
        if info is None or stat.S_ISDIR(info.st_mode):
            return None
        return Entry(path, kind_of_mode(info.st_mode), stat_of(info))

    def exists(self, path: str) -> bool:
        """Whether anything, a folder too, stands at the path."""
        return self._look(path) is not None

    def read(self, path: str, limit: int = -1) -> bytes:
        """The bytes of a regular file, at most `limit`."""
        return self.read_stat(path, limit)[0]

    def read_stat(self, path: str, limit: int = -1) -> tuple[bytes, Stat]:
        """The bytes with the stat of exactly those bytes.

        A file that changes all the while comes with the stat from before its last read, which a later look finds
        outdated.
        """
        with told(path):
            fd, info = self._open(path)
            try:
                before = stat_of(info)
                data = pour(fd, before.size, limit)
                for _ in range(3):
                    after = stat_of(os.fstat(fd))
                    if after == before:
                        break
                    os.lseek(fd, 0, os.SEEK_SET)
                    before, data = after, pour(fd, after.size, limit)
                return data, before
            finally:
                os.close(fd)

    # -- notes: durable, and never over what a person saved ----------------------------------------------------

    def create(self, path: str, data: bytes, mode: int = 0o100644, settle: bool = True) -> None:
        """Write a new file, never over another one, and the folders on the way; its name is durable once settled."""
        with told(path, making=True), self._parent(path, make=True) as (folder, name):
            temp, bits = temp_name(), 0o777 if mode & 0o100 else 0o666
            os.close(write_new(folder, temp, data, bits, sync=True))
            try:
                displaced.link(folder, temp, folder, name)
            except displaced.NoHardLinks:
                os.close(write_new(folder, name, data, bits, sync=True))
            finally:
                with suppress(OSError):
                    os.unlink(temp, dir_fd=folder)
            try:
                if settle:
                    sync_folder(folder)
            except OSError:
                with suppress(OSError):  # reported as failed, so it must not be there
                    os.unlink(name, dir_fd=folder)
                raise

    def settle(self, folder: str) -> None:
        """Make the names in a folder durable: once for many files that were made in it."""
        with told(folder), self._folder(folder) as fd:
            sync_folder(fd)

    def replace(self, path: str, data: bytes, old: bytes) -> None:
        """Swap the bytes of a file, durable, keeping its mode; a save that a person made meanwhile wins (Busy)."""
        with told(path), self._parent(path) as (folder, name):
            was = expect(folder, name, path, old)
            if not displaced.replace(folder, name, data, old, was):
                raise changed(path)

    def remove(self, path: str, old: bytes) -> None:
        """Delete a file whose bytes are `old`; a save that a person made meanwhile wins (Busy)."""
        self.remove_all({path: old})

    def remove_all(self, files: Mapping[str, bytes]) -> None:
        """The same for many, path → bytes: each folder is settled once. After an error some may be gone."""
        folders: dict[str, list[str]] = {}
        for path in files:
            folders.setdefault(folder_of(path), []).append(path)
        for paths in folders.values():
            with told(paths[0]), self._parent(paths[0]) as (folder, _):
                for path in paths:
                    if fault := path_fault(path):
                        raise Refused(fault, path=path)
                    with told(path):
                        expect(folder, raw(name_of(path)), path, files[path])
                kept = displaced.remove(folder, {raw(name_of(path)): files[path] for path in paths})
                if kept:
                    raise changed(next(path for path in paths if raw(name_of(path)) == kept[0]))

    # -- generated files: whole, not durable (they can be made again) ---------------------------------------------

    def generate(self, path: str, data: bytes) -> Stat:
        """Write a generated file whole, whatever stood there; returns its stat. A symlink or a folder is refused."""
        with told(path, making=True), self._parent(path, make=True, sync=False) as (folder, name):
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    raise Refused("not a regular file, but bonsai generates one here", path=path, hint="Move it away.")
            try:
                return _place(folder, name, data)
            except FileNotFoundError:  # swept by a bonsai that clears up after a kill, if this one holds no lock
                return _place(folder, name, data)

    def discard(self, path: str) -> None:
        """Delete a generated file, if it is there, and nothing else."""
        with suppress(NotFound), told(path), self._parent(path) as (folder, name):
            if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)

    # -- tidying: what cannot be tidied is left --------------------------------------------------------------------

    def prune(self, folder: str, whole: bool = False) -> None:
        """Remove a folder that is empty, and its empty parents; `memory`, a tree's folder and its domains stay.

        `whole`: those of an agent do not, since it has no tree any more.
        """
        tree = Tree() if whole else tree_of(f"{folder}/x")
        while folder not in {"", MEMORY, tree.memory, tree.domains}:
            try:
                with self._parent(folder) as (above, name):
                    os.rmdir(name, dir_fd=above)
            except OSError:
                return
            folder = folder_of(folder)

    def sweep(self) -> None:
        """Remove what a killed run of ours left beside the notes; a note that it had set aside is put back.

        The caller holds the writer lock: nobody else's temporary files are about.
        """
        with suppress(NotFound), told(self.root), self._folder("") as root:
            displaced.sweep(root)
        with suppress(NotFound, OSError), self._folder(MEMORY) as folder:
            _sweep(folder, DEEPEST)
        with suppress(Refused, OSError), self._folder(".bonsai") as folder:
            displaced.sweep(folder)

    # -- walking ---------------------------------------------------------------------------------------------

    def _walk(self, folder: str, path: str, make: bool = False, sync: bool = True) -> int:
        """Open a folder, reached without a symlink. Raises OSError, and Refused with `path`.

        The root is opened anew each time (a microsecond): a workspace that was replaced is noticed at once.
        """
        fd = enter(None, os.fsencode(self.root), self.root)
        try:
            for part in raw(folder).split(b"/") if folder else ():
                try:
                    below = enter(fd, part, path)
                except FileNotFoundError:
                    if not make:
                        raise
                    below = make_folder(fd, part, path, sync)
                os.close(fd)
                fd = below
        except BaseException:
            os.close(fd)
            raise
        return fd

    @contextmanager
    def _folder(self, folder: str) -> Iterator[int]:
        """An open folder."""
        if folder and (fault := path_fault(folder)):
            raise Refused(fault, path=folder)
        fd = self._walk(folder, folder)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _parent(self, path: str, make: bool = False, sync: bool = True) -> Iterator[tuple[int, bytes]]:
        """The open folder that holds a path, and the name in it."""
        if fault := path_fault(path):
            raise Refused(fault, path=path)
        fd = self._walk(folder_of(path), path, make, sync)
        try:
            yield fd, raw(name_of(path))
        finally:
            os.close(fd)

    def _open(self, path: str) -> tuple[int, os.stat_result]:
        """A regular file, open for reading, and its stat. No context managers here: it is the inner loop."""
        if fault := path_fault(path):
            raise Refused(fault, path=path)
        folder = self._walk(folder_of(path), path)
        try:
            return open_file(folder, raw(name_of(path)), path)
        finally:
            os.close(folder)

    def _look(self, path: str) -> os.stat_result | None:
        with suppress(NotFound), told(path), self._parent(path) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        return None


def ensure_private(root: str) -> str:
    """Make `.bonsai/`, which only its owner can look into and git never sees; returns its path.

    Raises Refused where somebody else could write in it (a symlink, another owner, world-writable), IoFailed.
    """
    path = os.path.join(root, ".bonsai")
    with told(".bonsai"):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(path).st_mode) and not os.path.islink(path):
                hint = "Move it away: bonsai keeps its own state there."
                raise Refused("is no folder", path=".bonsai", hint=hint) from None
        fd = enter(None, os.fsencode(path), ".bonsai")
        try:
            info = os.fstat(fd)
            if os.geteuid() not in {0, info.st_uid}:
                raise Refused("belongs to another user", path=".bonsai", hint="Move it away, or give it to this user.")
            if info.st_mode & stat.S_IWOTH:
                raise Refused("anybody can write in it", path=".bonsai", hint="Run: chmod 700 .bonsai")
            _ignore_all(fd)
        finally:
            os.close(fd)
    return path


def _ignore_all(folder: int) -> None:
    """A .gitignore that keeps the folder out of everybody's `git add`; an empty one (power loss) counts as none."""
    with suppress(FileNotFoundError):
        if os.stat(b".gitignore", dir_fd=folder, follow_symlinks=False).st_size:
            return
    displaced.sweep(folder)  # a kill in the lines below left something
    temp = temp_name()
    os.close(write_new(folder, temp, b"*\n", 0o600))
    with suppress(FileNotFoundError):  # swept by another bonsai that starts right now, which writes the same
        os.rename(temp, b".gitignore", src_dir_fd=folder, dst_dir_fd=folder)


def _is_workspace(folder: str) -> bool:
    memory = os.path.join(folder, MEMORY)
    if not (os.path.isdir(memory) or os.path.islink(memory) or os.path.lexists(os.path.join(folder, "MEMORY.md"))):
        return False
    # A domain that is called `memory` makes no workspace of the folder around it.
    inside = f"/{MEMORY}/domains/" in f"{folder}/"
    return not inside or os.path.isdir(os.path.join(folder, ".bonsai"))


def _place(folder: int, name: bytes, data: bytes) -> Stat:
    """Write a file whole under a name, whatever stood there; returns its stat. Raises OSError."""
    temp = temp_name()
    fd = write_new(folder, temp, data, 0o644)
    try:
        os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
        return stat_of(os.fstat(fd))  # after the rename, which sets ctime on many file systems
    except OSError:
        with suppress(OSError):
            os.unlink(temp, dir_fd=folder)
        raise
    finally:
        os.close(fd)


def _sweep(folder: int, depth: int) -> None:
    for name in displaced.sweep(folder) if depth else ():
        with suppress(OSError):
            below = os.open(name, FOLDER, dir_fd=folder)
            try:
                _sweep(below, depth - 1)
            finally:
                os.close(below)
