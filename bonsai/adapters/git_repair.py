"""Mending a damaged repository from what is whole: other copies, the reflog, the index, the files on disk.

Nothing is deleted: what is damaged is set aside, out of the repository, before anything is put in its place. The files
of the work tree are only read. The order matters: HEAD, objects, branch, index, reflog each need those before.
"""

import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from bonsai.adapters import git_damage, git_graph, git_reflog, git_refs, git_settings
from bonsai.adapters.git_damage import Aside
from bonsai.adapters.git_index import Index
from bonsai.adapters.git_repo import Layout, Repository, is_id
from bonsai.adapters.git_run import GitRun, Result
from bonsai.errors import IoFailed
from bonsai.notes.printed import counted

_MISSING = re.compile(r"missing (blob|tree|commit|tag) ([0-9a-f]{40,64})")
_ENTRY = re.compile(r"invalid reflog entry ([0-9a-f]{40,64})")
_FAR = 1000  # commits of the past that are tried, newest first
_HOUR = 3600.0  # seconds
_TOLD = 5  # lost objects that are named one by one


class DiskFile(NamedTuple):
    """A file as it stands."""

    path: str  # workspace-relative
    mode: int
    data: bytes


class Mended(NamedTuple):
    """What a repair came to."""

    done: list[str]  # in words
    lost: list[str]  # what git still lacks, in words
    back: bool  # the branch is at an earlier commit than it was, so that what stands on disk is to be committed


Files = Callable[[], Iterable[DiskFile]]
BlobId = Callable[[bytes], str]


def mend(root: str, files: Files, known: Sequence[tuple[str, int, str]], blob_id: BlobId, folder: str) -> Mended:
    """Mend what is damaged of the repository of a workspace as far as it can be.

    Args:
        files: what stands on disk and may be in git, each time anew.
        known: what HEAD held as far as somebody remembers: path, mode, object id.
        blob_id: names bytes as git does.
        folder: takes what is set aside (absolute; made when it is needed).

    Raises:
        IoFailed, Misconfigured (git refuses the repository all the same).
    """
    run = GitRun(root)
    repository = Repository(root, run, Index(run))
    dirs = repository.git_dirs()
    if dirs is None:
        return Mended([], [], False)
    aside = Aside(folder, os.path.dirname(dirs[1]))
    try:
        done, lost = git_settings.mend(root, *dirs, aside)
        done += git_refs.mend_head(*dirs, aside)
        calm = repository.state().blocked in (None, "unusable", "locked")
        repair = Repair(run, repository.layout(), repository.branch() if calm else "", files, known, blob_id, aside)
        found = repair.mend()
    except OSError as error:
        raise IoFailed(f"{error.strerror}", path=error.filename, hint="Correct that, then run it again.") from error
    kept = [f"what was damaged is in {folder}"] if aside.taken else []
    return Mended([*done, *found.done, *kept], [*lost, *found.lost], found.back)


class Repair:
    """One repair of the repository of a workspace; see `mend`.

    Args:
        branch: the full name of the branch of HEAD, "" where there is none or git is in the middle of something: then
            it is left where it is.
    """

    def __init__(
        self,
        run: GitRun,
        layout: Layout,
        branch: str,
        files: Files,
        known: Sequence[tuple[str, int, str]],
        blob_id: BlobId,
        aside: Aside,
    ) -> None:
        self._git, self._layout, self._branch = run, layout, branch
        self._files, self._known, self._blob_id, self._aside = files, known, blob_id, aside
        self._folders = list(dict.fromkeys((layout.git_dir, layout.common_dir)))
        self._reftable = os.path.isdir(os.path.join(layout.common_dir, "reftable"))  # refs and logs in no files
        self._private = os.path.join(layout.git_dir, f"bonsai-index-{secrets.token_hex(6)}")
        self._bad: set[str] = set()  # commits that are gone, or whose files are
        self._cut: list[str] = []  # what of the history, and which refs are gone, in words
        self.done: list[str] = []

    def mend(self) -> Mended:
        """Do everything. Raises OSError, and what git cannot be started for."""
        self.done += git_damage.mend(self._git, self._layout.common_dir, self._layout.algorithm, self._aside)
        try:
            index = self._has_index()
            self._make_again(index)
            back = self._mend_branch()
            self._mend_refs()
            self._cut_history()
            if not index:
                self._mend_index()
        finally:
            for name in (self._private, f"{self._private}.lock"):
                with suppress(OSError):
                    os.unlink(name)
        self._mend_reflogs()
        git_graph.write(self._git)
        return Mended(self.done, self._lost(), back)

    # -- objects ---------------------------------------------------------------------------------------

    def _missing(self) -> dict[str, str]:
        """What git looks for and does not find, {object id: kind}."""
        result = self._run("fsck", "--full", "--no-dangling", "--no-progress", seconds=_HOUR)
        lines = result.out.decode("utf-8", "replace").split("\n")
        return {found[2]: found[1] for line in lines if (found := _MISSING.fullmatch(line.strip()))}

    def _make_again(self, index: bool) -> None:
        """Objects that are gone and can be had: files that stand on disk as they were, folders of the index or of them.

        Trees show what else is missing, so it is done until nothing comes of it.
        """
        made = 0
        tried: set[str] = set()
        while new := self._missing().keys() - tried:
            tried |= new
            made += self._write_blobs(new) + self._write_trees(index, new)
        if made:
            self.done.append(f"made {counted(made, 'lost object')} again from the files on disk")

    def _write_blobs(self, wanted: set[str]) -> int:
        made = 0
        for file in self._files():
            if self._blob_id(file.data) in wanted:
                written = self._git("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin", data=file.data)
                made += written.code == 0
        return made

    def _write_trees(self, index: bool, wanted: set[str]) -> int:
        """Write the folders as the person's index has them, and as they stand on disk; how many wanted ones came."""
        env = {"GIT_INDEX_FILE": self._private}
        if index:
            stages = self._run("ls-files", "--stage", "-z", "--full-name", ":/", literal=False).out
            self._fill(stages, env)
            self._git("write-tree", "--missing-ok", env=env, config=git_damage.PLAIN)
        full = self._layout.full
        disk = ((file.path, file.mode, self._blob_id(file.data)) for file in self._files())
        for found in (disk, self._known):
            entries = (f"{mode:o} {oid}\t{full(path)}\0" for path, mode, oid in found)
            self._fill("".join(entries).encode("utf-8", "surrogateescape"), env)
            self._git("write-tree", "--missing-ok", env=env, config=git_damage.PLAIN)
        names = "".join(f"{oid}\n" for oid in wanted).encode()
        said = self._run("cat-file", "--batch-check", data=names).out
        return sum(b" tree " in line for line in said.split(b"\n"))

    def _fill(self, entries: bytes, env: dict[str, str]) -> None:
        """Make the private index hold exactly these entries."""
        with suppress(FileNotFoundError):
            os.unlink(self._private)
        self._git("update-index", "-z", "--index-info", data=entries, env=env, config=git_damage.PLAIN, whole=True)

    def _lost(self) -> list[str]:
        """Words for what stays lost."""
        missing = self._missing() | {sha: "commit" for sha in self._bad if not self._is_usable(sha)}
        names = [f"{kind} {oid}" for oid, kind in sorted(missing.items(), key=lambda item: item[1])]
        more = len(names) - _TOLD
        return self._cut + names[:_TOLD] + ([f"and {more} more objects"] if more > 0 else [])

    # -- the branch ------------------------------------------------------------------------------------

    def _mend_branch(self) -> bool:
        """Let the branch name the newest commit that can be used; whether that is not the one that it named."""
        ref = self._branch
        if not ref:
            return False
        path = os.path.join(self._layout.common_dir, os.fsdecode(ref.encode("utf-8", "surrogateescape")))
        text = git_reflog.read(path).decode("ascii", "replace").strip()
        result = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", ref)
        named = result.out.decode("ascii", "replace").strip() if result.code == 0 else ""
        logged = [new for _, new in self._entries(ref)]
        own = any(os.path.lexists(os.path.join(folder, "logs", ref)) for folder in self._folders)
        if not named and not os.path.lexists(path) and not (own or (logged and not self._stands(logged[0]))):
            return False  # a branch without a commit yet, perhaps one that was begun beside others (`--orphan`)
        stands = named
        if named and not text and git_refs.is_behind(self._layout.common_dir, ref, named):
            named = logged[0]
        candidates = dict.fromkeys([named or text, *self._ancestors(named or text), *logged])
        if not any(map(is_id, candidates)):
            candidates = dict.fromkeys(self._only_tip())
        found = next((sha for sha in list(candidates)[:_FAR] if is_id(sha) and self._is_usable(sha)), "")
        if found and found == stands and (found == text or not os.path.lexists(path)):
            return False
        self._bad |= {sha for sha in candidates if is_id(sha) and sha != found and not self._is_usable(sha)}
        if os.path.lexists(path):
            self._aside.take(path)
        if not found:
            self._forget(ref)
            self.done.append(f"{ref} begins anew: no commit of it can be read")
            return True
        result = self._git("update-ref", "--create-reflog", "-m", "bonsai doctor", ref, found)
        if result.code:
            raise self._git.failure(result)
        since = f", since {named[:10]} cannot be read" if named not in ("", found) else ""
        self.done.append(f"{ref} is at {found[:10]} again{since}")
        return bool(self._bad) or named not in ("", found)

    def _stands(self, sha: str) -> bool:
        """Whether a branch is at a commit."""
        return bool(self._run("for-each-ref", "--count=1", f"--points-at={sha}", "refs/heads").out)

    def _mend_refs(self) -> None:
        """The refs beside the branch of HEAD."""
        if self._reftable:
            return
        head = self._run("symbolic-ref", "--quiet", "HEAD").out.decode("utf-8", "surrogateescape").strip()
        found = git_refs.Refs(
            self._git, self._layout.common_dir, self._branch or head, self._kinds, self._is_usable, self._aside
        )
        found.mend()
        self.done += found.done
        self._cut += found.lost

    def _kinds(self, names: Iterable[str]) -> dict[str, str]:
        """The kind of each of these objects that is there."""
        data = "".join(f"{name}\n" for name in names if is_id(name)).encode()
        said = self._run("cat-file", "--batch-check=%(objectname) %(objecttype)", data=data).out if data else b""
        pairs = (line.split(" ") for line in said.decode("ascii", "replace").split("\n") if line)
        return {name: kind for name, kind in pairs if kind != "missing"}

    def _cut_history(self) -> None:
        """End the history where a commit, or a folder of one, is gone, as in a shallow clone.

        Else every log would fail, and each commit with it. Nothing older is deleted: should what is gone come back,
        `.git/shallow` goes, and all is there again.
        """
        if (
            not self._branch
            or self._run("rev-list", "--objects", "--filter=blob:none", "HEAD", seconds=_HOUR).code == 0
        ):
            return
        family, whole = self._family(), dict[str, list[str]]()
        waiting = self._run("rev-parse", "--verify", "--quiet", "HEAD").out.decode("ascii", "replace").split()
        while waiting:
            sha = waiting.pop()
            if sha not in whole and sha in family and self._is_usable(sha):
                whole[sha] = family[sha]
                waiting += family[sha]
        ends = [sha for sha, parents in whole.items() if not whole.keys() >= set(parents)]
        if not ends:
            return
        path = os.path.join(self._layout.common_dir, "shallow")
        git_reflog.write(path, git_reflog.read(path) + "".join(f"{sha}\n" for sha in ends).encode())
        logged = {sha for pair in self._entries(self._branch) for sha in pair}
        self._bad |= {sha for sha in logged - whole.keys() if sha.strip("0")}
        git_damage.set_graph_aside(self._layout.common_dir, self._aside)  # git uses none where history is cut
        self._cut += [f"the history before {sha[:10]}" for sha in ends]
        self.done.append(f"the history begins at {', '.join(sha[:10] for sha in ends)}: before it something is gone")

    def _forget(self, ref: str) -> None:
        """Take a branch out of packed-refs, too, where none of its commits is left."""
        path = os.path.join(self._layout.common_dir, "packed-refs")
        lines = git_reflog.read(path).split(b"\n")
        kept = [line for line in lines if not line.endswith(b" " + ref.encode("utf-8", "surrogateescape"))]
        if kept != lines:
            self._aside.keep(path)
            git_reflog.write(path, b"\n".join(kept))

    def _ancestors(self, sha: str) -> list[str]:
        """The commits before one, as far as they can be read."""
        found, family = list[str](), self._family() if is_id(sha) else {}
        while sha in family and len(found) < _FAR:
            found.append(sha)
            sha = next(iter(family[sha]), "")
        return found

    def _only_tip(self) -> list[str]:
        """The one commit that no other follows; where there are several nobody can tell which it was."""
        family = self._family()
        followed = {parent for parents in family.values() for parent in parents}
        tips = [sha for sha in family if sha not in followed]
        return tips if len(tips) == 1 else []

    def _family(self) -> dict[str, list[str]]:
        """All commits that are there, and their parents; `rev-list` from a tip gives up where one is gone."""
        out = self._run("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)").out
        commits = b"".join(line[7:] + b"\n" for line in out.split(b"\n") if line.startswith(b"commit "))
        if not commits:
            return {}
        family = self._run("rev-list", "--no-walk=unsorted", "--parents", "--stdin", data=commits, seconds=_HOUR).out
        rows = (line.split(" ") for line in family.decode("ascii", "replace").split("\n") if line)
        return {sha: parents for sha, *parents in rows}

    def _is_usable(self, sha: str) -> bool:
        """Whether a commit and all its folders are there: a text that is lost keeps nobody from going on."""
        return self._run("ls-tree", "-r", "-t", "--name-only", "--full-tree", "--end-of-options", sha).code == 0

    # -- index and reflogs -----------------------------------------------------------------------------

    def _has_index(self) -> bool:
        """Whether the person's index can be read; one that cannot is set aside, since git checks nothing beside it."""
        path = os.path.join(self._layout.git_dir, "index")
        if git_damage.is_whole_index(self._git, path, self._layout.algorithm):
            return True
        if os.path.lexists(path):
            self._aside.take(path)
        return False

    def _mend_index(self) -> None:
        """Make the person's index again, as HEAD is; what was staged beside that is in the file that is set aside."""
        index = os.path.join(self._layout.git_dir, "index")
        with suppress(FileNotFoundError):
            os.unlink(self._private)
        result = self._git("read-tree", "HEAD", env={"GIT_INDEX_FILE": self._private}, config=git_damage.PLAIN)
        if result.code == 0 and not os.path.lexists(index):
            os.replace(self._private, index)
        self.done.append("made the index again as HEAD is: what was staged beside that is not staged any more")

    def _entries(self, ref: str) -> Iterator[tuple[str, str]]:
        """The commits before and after each move of a ref, newest first."""
        for folder in self._folders:
            for name in (ref, "HEAD"):
                yield from git_reflog.entries(os.path.join(folder, "logs", name))

    def _mend_reflogs(self) -> None:
        """Keep of each reflog the lines that are one and that lead to what is there."""
        said = self._run("fsck", "--no-dangling", "--no-progress", "--connectivity-only", seconds=_HOUR)
        self._bad |= set(_ENTRY.findall(f"{said.out.decode('utf-8', 'replace')}\n{said.err}"))
        for path in git_reflog.places(self._layout):
            data = git_reflog.read(path)
            lines = data.split(b"\n")
            kept = [line for line in lines if (found := git_reflog.ENTRY.fullmatch(line)) and not self._is_gone(found)]
            if b"".join(line + b"\n" for line in kept) == data:
                continue
            self._aside.keep(path)
            git_reflog.write(path, b"".join(line + b"\n" for line in kept))
            self.done.append(f"left out what is damaged of {os.path.relpath(path, self._layout.git_dir)}")

    def _is_gone(self, entry: re.Match[bytes]) -> bool:
        return any(sha.decode() in self._bad for sha in entry.groups()[:2])

    def _run(self, *args: str, data: bytes = b"", seconds: float = 120.0, literal: bool = True) -> Result:
        """Ask git without what is derived, which may be damaged as well."""
        return self._git(*args, data=data, seconds=seconds, literal=literal, config=git_damage.PLAIN)
