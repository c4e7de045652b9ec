"""The object store of a repository: which files of it are damaged; those are set aside, and what they hold is saved."""

import glob
import hashlib
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import suppress

from bonsai.adapters import git_graph, git_reflog
from bonsai.adapters.git_run import GitRun
from bonsai.notes.printed import counted

_LARGE = 512 * 1024 * 1024  # bytes of one loose object: a larger one is left to git's own checks
PLAIN = ("core.commitGraph=false", "core.multiPackIndex=false")  # what is derived may be damaged as well
_HOUR = 3600.0  # seconds


class Aside:
    """A folder that takes damaged files, each under the place that it had in the repository."""

    def __init__(self, folder: str, top: str) -> None:
        self.folder, self._top = folder, top
        self.taken: list[str] = []  # where the files stood, as the person knows them

    def keep(self, path: str) -> None:
        """Copy a file that is about to be replaced: a kill in between leaves what can still be read where it is."""
        if os.path.lexists(path):
            shutil.copy2(path, self._place(path), follow_symlinks=False)

    def take(self, path: str) -> str:
        """Move a file here; returns where it is now. Raises OSError."""
        place = self._place(path)
        shutil.move(path, place)
        return place

    def _place(self, path: str) -> str:
        name = os.path.relpath(path, self._top)
        place = os.path.join(self.folder, name if not name.startswith("..") else os.path.basename(path))
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        while os.path.lexists(place):
            place += "~"
        self.taken.append(name)
        return place


def mend(run: GitRun, common_dir: str, algorithm: str, aside: Aside) -> list[str]:
    """Set aside what is damaged, with what can be saved of it in its place again. Returns words for what was done."""
    objects = os.path.join(common_dir, "objects")
    loose = []
    for path, kept in _damaged_loose(objects, algorithm):
        loose.append(aside.take(path))
        if kept:
            git_reflog.write(path, kept)
    done = [f"set aside {counted(len(loose), 'damaged object')}"] if loose else []
    for pack in _packs(objects):
        done += _mend_pack(run, pack, aside)
    return done + _mend_derived(run, common_dir, aside)


def is_whole_index(run: GitRun, path: str, algorithm: str) -> bool:
    """Whether an index can be read and has the checksum that it ends with, at which reading git does not look.

    True without a file.
    """
    if run("ls-files", "--stage", config=PLAIN).code:
        return False
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    digest = hashlib.new(algorithm, usedforsecurity=False)
    rest, end = data[: -digest.digest_size], data[-digest.digest_size :]
    digest.update(rest)
    if end == bytes(digest.digest_size):  # git writes zeros when it is told to, but so end many that are cut off
        asked = [
            run("config", "--type=bool", "--get", key).out.strip() for key in ("index.skipHash", "feature.manyFiles")
        ]
        return b"true" in asked
    return end == digest.digest()


def _damaged_loose(objects: str, algorithm: str) -> Iterator[tuple[str, bytes]]:
    """The files of damaged objects, each with the bytes of it that are whole all the same, if any."""
    for name in sorted(glob.glob("[0-9a-f][0-9a-f]/*", root_dir=objects)):
        path, oid = os.path.join(objects, name), name.replace(os.sep, "")
        if len(oid) == hashlib.new(algorithm, usedforsecurity=False).digest_size * 2:
            whole, kept = _read_object(path, oid, algorithm)
            if not whole:
                yield path, kept


def _read_object(path: str, oid: str, algorithm: str) -> tuple[bool, bytes]:
    """Whether the file of a loose object is as git wrote it; if it only goes on after its end, what is before that."""
    try:
        with open(path, "rb") as file:
            packed = file.read()
        unpack = zlib.decompressobj()
        data = unpack.decompress(packed, _LARGE)
    except (OSError, zlib.error):
        return False, b""
    if unpack.unconsumed_tail:
        return True, b""
    named = unpack.eof and hashlib.new(algorithm, data, usedforsecurity=False).hexdigest() == oid
    return named and not unpack.unused_data, packed[: -len(unpack.unused_data)] if named and unpack.unused_data else b""


def _packs(objects: str) -> list[str]:
    """The packs, and those of which only the index is left; absolute and without an extension."""
    found = {
        os.path.splitext(name)[0]
        for end in ("pack", "idx")
        for name in glob.glob(f"pack/pack-*.{end}", root_dir=objects)
    }
    return [os.path.join(objects, name) for name in sorted(found)]


def _mend_pack(run: GitRun, pack: str, aside: Aside) -> list[str]:
    name = os.path.basename(pack)
    if not os.path.exists(f"{pack}.pack"):
        aside.take(f"{pack}.idx")
        return [f"set aside the index of {name}, which is gone"]
    if run("verify-pack", f"{pack}.idx", seconds=_HOUR, config=PLAIN).code == 0:
        return []
    for end in ("idx", "rev", "bitmap", "mtimes"):
        if os.path.lexists(f"{pack}.{end}"):
            aside.take(f"{pack}.{end}")
    if run("index-pack", f"{pack}.pack", seconds=_HOUR, config=PLAIN).code == 0:
        return [f"made the index of {name} again"]
    whole = aside.take(f"{pack}.pack")
    with suppress(OSError), open(whole, "rb") as file:
        run("unpack-objects", "-r", "-q", data=file.read(), seconds=_HOUR, config=PLAIN)
    return [f"set aside the damaged {name}, and took out of it what is whole"]


def _mend_derived(run: GitRun, common_dir: str, aside: Aside) -> list[str]:
    """What follows from the packs: gone when it is damaged. The commit-graph is written again at the end."""
    objects, done = os.path.join(common_dir, "objects"), []
    if git_graph.is_there(common_dir) and run("commit-graph", "verify", "--no-progress", seconds=_HOUR).code:
        set_graph_aside(common_dir, aside)
        done.append("set aside the damaged commit-graph")
    midx = os.path.join(objects, "pack", "multi-pack-index")
    if os.path.lexists(midx) and run("multi-pack-index", "verify", "--no-progress", seconds=_HOUR).code:
        for path in [midx, *glob.glob(f"{glob.escape(midx)}-*")]:
            aside.take(path)
        done.append("set aside the damaged multi-pack-index")
    return done


def set_graph_aside(common_dir: str, aside: Aside) -> None:
    """Do without the commit-graph."""
    for name in git_graph.PLACES:
        path = os.path.join(common_dir, "objects", "info", name)
        if os.path.lexists(path):
            aside.take(path)
