"""Erasing from git: history written anew in a mirror, every ref moved at once, and nothing left that leads back."""

import glob
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from bonsai.adapters.displaced import sync_folder, told
from bonsai.adapters.git_objects import ask, everything, holding, known
from bonsai.adapters.git_repo import Layout
from bonsai.adapters.git_rewrite import Job, rewrite
from bonsai.adapters.git_run import GitRun
from bonsai.adapters.git_survey import KEPT, Survey
from bonsai.errors import Busy, IoFailed, Refused
from bonsai.notes.forget import Forget

Move = tuple[str, str, str]  # a ref, or the git folder of a worktree on no branch; its old and its new object
#: Files of git that lead back to old commits, or quote what a person wrote; git makes each anew when it needs it.
_TRACES = (
    *("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE", "COMMIT_EDITMSG", "SQUASH_MSG", "MERGE_MSG", "MERGE_RR", "TAG_EDITMSG"),
    *("gc.log", "rr-cache", "filter-repo", "NOTES_EDITMSG", "EDIT_DESCRIPTION", "ADD_EDIT.patch"),
)


class Eraser:
    """The git side of one erasure. `git_dirs`: of all worktrees."""

    def __init__(self, run: GitRun, layout: Layout, git_dirs: Sequence[str]) -> None:
        self._run, self._layout, self._git_dirs = run, layout, git_dirs
        self._objects = os.path.join(layout.common_dir, "objects")

    # -- in the mirror -----------------------------------------------------------------------------------------

    def prepare(self, mirror: str, found: Survey, forget: Forget) -> tuple[list[Move], list[str]]:
        """Write the new history in a mirror that borrows the old objects; nothing else changes.

        Returns the refs that have to move, and the reflog of the stash as it will be. Raises IoFailed where the new
        history is not what was asked for.
        """
        run = self._mirror(mirror, found)
        commits = rewrite(mirror, self._job(found, forget)) if found.affected else {}
        missing = found.affected - commits.keys()
        if missing:
            raise IoFailed(f"git-filter-repo passed over {min(missing)}", hint="Nothing was changed.")
        out = ask(run, "for-each-ref", "--format=%(objectname) %(refname)").decode("utf-8", "surrogateescape")
        new = {name: oid for oid, name in (line.split(" ", 1) for line in out.splitlines())}
        moves = [(ref, found.tips.refs[ref], new[ref]) for ref in found.refs]
        moves += [(folder, old, commits[old]) for folder, old in found.tips.heads.items() if old in found.affected]
        for ref, old, now in moves:
            self._require_same_elsewhere(run, found, ref, old, now)
        ask(run, "repack", "-a", "-d", "-l", "-q")  # one pack of just what is new
        return [move for move in moves if move[1] != move[2]], _stash(found, commits, forget)

    def _mirror(self, mirror: str, found: Survey) -> GitRun:
        with told(mirror):
            os.makedirs(mirror, mode=0o700)
            run = GitRun(mirror)
            form = f"--object-format={self._layout.algorithm}"
            ask(run, "init", "--quiet", "--bare", "--template=", form)
            with open(os.path.join(mirror, "objects", "info", "alternates"), "w", encoding="utf-8") as file:
                file.write(f"{self._objects}\n")
        tips = found.tips
        kept = sorted({*tips.heads.values(), *(line.split(" ")[1] for line in tips.stash)} & found.affected)
        names = [(ref, tips.refs[ref]) for ref in found.refs]
        names += [(f"{KEPT}{number}", oid) for number, oid in enumerate(kept)]
        orders = "".join(f"create {ref}\0{oid}\0" for ref, oid in names)
        ask(run, "update-ref", "--stdin", "-z", data=orders.encode("utf-8", "surrogateescape"))
        if found.new:
            parts = [b"feature done\n"]
            for data in found.new.values():
                parts += [b"blob\ndata %d\n" % len(data), data, b"\n"]
            ask(run, "fast-import", "--quiet", data=b"".join([*parts, b"done\n"]))
            if None in known(run, found.new):
                raise IoFailed("git did not write a new version of a file", hint="Nothing was changed.")
        return run

    def _job(self, found: Survey, forget: Forget) -> Job:
        kept = {*found.tips.heads.values(), *(line.split(" ")[1] for line in found.tips.stash)} & found.affected
        revs = [*found.refs, *(f"{KEPT}{number}" for number in range(len(kept)))]
        return Job(
            revs=[*revs, *(f"^{sha}" for sha in sorted(found.boundary))],
            drops=sorted(found.drops),
            blobs=[(path, old, new) for (path, old), new in found.blobs.items()],
            names=sorted(found.names.items()),
            needles=[(needle.hex(), mark.hex()) for needle, mark in forget.needles],
        )

    def _require_same_elsewhere(self, run: GitRun, found: Survey, ref: str, old: str, new: str) -> None:
        """Nothing but what is erased may differ at a tip: else the rewrite is not what was asked for."""
        out = ask(run, "diff-tree", "-r", "-z", "--name-only", "--no-renames", f"{old}^{{tree}}", f"{new}^{{tree}}")
        changed = set(out.decode("utf-8", "surrogateescape").split("\0")) - {""}
        ours = {path for path, _ in found.blobs} | found.names.keys() | set(found.names.values())
        if changed - ours:
            raise IoFailed("the new history differs in other files", path=ref, hint="Nothing was changed.")

    # -- in the repository --------------------------------------------------------------------------------------

    def take_over(self, mirror: str) -> None:
        """Copy the new objects into the repository, durable."""
        folder = os.path.join(self._objects, "pack")
        packs = glob.glob(os.path.join(glob.escape(mirror), "objects", "pack", "pack-*.pack"))
        with told(folder):
            os.makedirs(folder, exist_ok=True)
            for pack in packs:
                for suffix in (".pack", ".idx"):  # git looks for packs by their index
                    source = pack.removesuffix(".pack") + suffix
                    _copy(source, os.path.join(folder, os.path.basename(source)))

    def switch(self, moves: Sequence[Move]) -> None:
        """Move every ref from its old object to its new one, all or none; those that moved already stay.

        One that somebody moved elsewhere after others had moved (a kill in between) is left: the proof then says so.

        Raises Busy when one of them is elsewhere and nothing has moved yet.
        """
        now = self._now(moves)
        left = [move for move in moves if now.get(move[0]) == move[1]]
        strayed = [name for name, old, new in moves if now.get(name) != old and not self._is_past(new, now.get(name))]
        if strayed and len(left) + len(strayed) == len(moves):
            raise Busy("moved meanwhile", path=strayed[0], hint="Try again.")
        refs = [move for move in left if move[0].startswith("refs/")]
        if refs:
            orders = "".join(f"update {name}\0{new}\0{old}\0" for name, old, new in refs)
            words = ("update-ref", "--no-deref", "-m", "bonsai: erase", "--stdin", "-z")
            ask(self._run, *words, data=orders.encode("utf-8", "surrogateescape"))
        for folder, old, new in left:
            if not folder.startswith("refs/"):
                ask(self._run, "update-ref", "--no-deref", "HEAD", new, old, env={"GIT_DIR": folder})

    def _is_past(self, commit: str, now: str | None) -> bool:
        """Whether a ref is at the commit, or has gone on from it."""
        return commit == now or bool(now and not self._run("merge-base", "--is-ancestor", commit, now).code)

    def _now(self, moves: Sequence[Move]) -> dict[str, str]:
        out = ask(self._run, "for-each-ref", "--format=%(objectname) %(refname)").decode("utf-8", "surrogateescape")
        found = {name: oid for oid, name in (line.split(" ", 1) for line in out.splitlines())}
        for folder, _, _ in moves:
            if not folder.startswith("refs/"):
                env = {"GIT_DIR": folder}
                found[folder] = ask(self._run, "rev-parse", "--verify", "HEAD", env=env).decode().strip()
        return found

    def unlock(self, moves: Sequence[Move]) -> None:
        """Remove the locks that our killed git left on the refs; the caller made sure that none lives."""
        for name, _, _ in moves:
            place = os.path.join(self._layout.common_dir, name) if name.startswith("refs/") else f"{name}/HEAD"
            with suppress(OSError):
                os.unlink(f"{place}.lock")

    def staged(self, git_dir: str) -> list[tuple[str, str, int]]:
        """(full path, object id, mode) of every file in the index of a worktree."""
        out = ask(self._run, "ls-files", "--stage", "-z", "--full-name", env={"GIT_DIR": git_dir} if git_dir else None)
        rows = (line.partition("\t") for line in out.decode("utf-8", "surrogateescape").split("\0") if line)
        return [(path, head.split(" ")[1], int(head.split(" ")[0], 8)) for head, _, path in rows]

    def sweep(self, stash: Sequence[str]) -> None:
        """Drop every reflog entry, every trace of old commits, and every object that nothing leads to."""
        common = self._layout.common_dir
        ask(self._run, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        with told(common):
            for folder in self._git_dirs:
                for name in _TRACES:
                    _remove(os.path.join(folder, name))
                for name in glob.glob(os.path.join(glob.escape(folder), "fast_import_crash_*")):
                    _remove(name)
            if stash:
                _write(os.path.join(common, "logs", "refs", "stash"), "".join(f"{line}\n" for line in stash))
            graph = [os.path.join(self._objects, "info", name) for name in ("commit-graph", "commit-graphs")]
            had_graph = any(map(os.path.exists, graph))
            for name in graph:
                _remove(name)
        ask(self._run, "repack", "-a", "-d", "-q")
        ask(self._run, "prune", "--expire=now")
        if had_graph:
            ask(self._run, "commit-graph", "write", "--reachable", "--changed-paths")

    # -- the proof ------------------------------------------------------------------------------------------------

    def left(self, forget: Forget, gone: Iterable[str]) -> tuple[list[str], int]:
        """Where something is left, in words, and how many objects were looked through.

        Args:
            forget: whose needles may stand in no object.
            gone: ids of objects that may not be there.
        """
        objects = everything(self._run)
        there = {item.oid for item in objects}
        found = [f"git object {oid}" for oid in sorted(set(gone) & there)]
        found += [f"git {item.kind} {item.oid}" for item in holding(self._run, objects, forget.found)]
        for folder in dict.fromkeys([self._layout.common_dir, *self._git_dirs]):
            found += _in_files(folder, forget)
        return list(dict.fromkeys(found)), len(objects)


def require_plain_stash(layout: Layout, found: Survey) -> None:
    """Raise Refused where the stash's entries are kept in a form that cannot be written anew."""
    if "refs/stash" in found.refs and os.path.exists(os.path.join(layout.common_dir, "reftable")):
        raise Refused("holds it", path="refs/stash", hint="Apply the stash, or drop it, then try again.")


def _stash(found: Survey, commits: Mapping[str, str], forget: Forget) -> list[str]:
    """The reflog of the stash over the new commits."""
    lines, last = [], ""
    for line in found.tips.stash:
        old, new, rest = line.split(" ", 2)
        last, new = last or old, commits.get(new, new)
        raw = forget.text_of(rest.encode("utf-8", "surrogateescape"))
        lines.append(f"{last} {new} {raw.decode('utf-8', 'surrogateescape')}")
        last = new
    return lines


def _in_files(folder: str, forget: Forget) -> list[str]:
    """Files of git, but for the objects, that hold something (the index and packed-refs hold names)."""
    found = []
    for place, folders, names in os.walk(folder):
        if place == folder:
            folders[:] = [name for name in folders if name not in {"objects", "modules", "worktrees"}]
        for name in names:
            path = os.path.join(place, name)
            with suppress(OSError), open(path, "rb") as file:
                if forget.found(file.read()):
                    found.append(path)
    return found


def _copy(source: str, target: str) -> None:
    if os.path.exists(target):
        return
    temporary = f"{target}.tmp-{os.getpid()}"
    shutil.copyfile(source, temporary)
    os.chmod(temporary, 0o444)
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, target)
    _sync(os.path.dirname(target))


def _write(path: str, text: str) -> None:
    with open(f"{path}.lock", "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)
    os.replace(f"{path}.lock", path)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
        return
    with suppress(FileNotFoundError):
        os.unlink(path)


def _sync(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync_folder(fd)
    finally:
        os.close(fd)
