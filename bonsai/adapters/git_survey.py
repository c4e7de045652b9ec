"""What of a repository an erasure must rewrite: every ref, every commit, every version of a managed file."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from bonsai.adapters.git_objects import Known, Object, ask, known, read
from bonsai.adapters.git_repo import Layout
from bonsai.adapters.git_run import GitRun
from bonsai.errors import Refused
from bonsai.notes.forget import Forget, free_name

KEPT = "refs/bonsai/erase-"  # in the mirror alone: what a reflog of the stash or a detached HEAD leads to
_BUSY = (
    *("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "sequencer"),
    "index.lock",
)
_GITLINK = "160000"


class Version(NamedTuple):
    """A file as a commit brought it in. The path is full."""

    commit: str
    path: str
    oid: str


@dataclass
class Tips:
    """Where history is entered: {name: object}, with each commit that a name comes to ("" where it comes to none)."""

    refs: dict[str, str]
    commits: dict[str, str]
    heads: dict[str, str] = field(default_factory=dict)  # git folder of a worktree on no branch → its commit
    stash: list[str] = field(default_factory=list)  # lines of the stash's reflog

    @property
    def roots(self) -> list[str]:
        """The commits to start from."""
        stashed = [line.split(" ")[1] for line in self.stash]
        return sorted({*self.commits.values(), *self.heads.values(), *stashed} - {""})


@dataclass
class Survey:
    """What there is to do."""

    tips: Tips
    affected: set[str]  # commits that get another id
    boundary: set[str]  # their parents that stay as they are
    drops: set[str] = field(default_factory=set)  # full paths that go whole
    blobs: dict[tuple[str, str], str] = field(default_factory=dict)  # (full path, id) → new id, "" where it goes
    new: dict[str, bytes] = field(default_factory=dict)  # new id → bytes
    names: dict[str, str] = field(default_factory=dict)  # full path → new full path
    erased: set[str] = field(default_factory=set)  # ids of the blobs and the commits that held it
    paths: set[str] = field(default_factory=set)  # workspace paths of the files that held it

    @property
    def refs(self) -> list[str]:
        """Those that move."""
        return sorted(ref for ref, commit in self.tips.commits.items() if commit in self.affected)


class Surveyor:
    """Looks through the history of one repository. `digest` gives the object id of bytes."""

    def __init__(self, run: GitRun, layout: Layout, digest: Callable[[bytes], str]) -> None:
        self._run, self._layout, self._digest = run, layout, digest

    # -- where history is entered --------------------------------------------------------------------------

    def tips(self) -> Tips:
        """Every ref but symbolic ones, each HEAD on no branch, each entry of the stash."""
        shape = "--format=%(refname)%00%(objectname)%00%(symref)"
        out = ask(self._run, "for-each-ref", shape).decode("utf-8", "surrogateescape")
        rows = [line.split("\0") for line in out.split("\n") if line]
        refs = {name: oid for name, oid, symbolic in rows if not symbolic}
        peeled = known(self._run, (f"{oid}^{{commit}}" for oid in refs.values()))
        commits = {name: item.oid if item else "" for name, item in zip(refs, peeled, strict=True)}
        heads = {}
        for folder in self.git_dirs():
            with suppress(OSError), open(os.path.join(folder, "HEAD"), encoding="ascii") as file:
                text = file.read().strip()
                if len(text) == self._layout.digits:
                    heads[folder] = text
        return Tips(refs, commits, heads, self._stash())

    def git_dirs(self) -> list[str]:
        """The git folder of every worktree, ours first."""
        common = self._layout.common_dir
        found = [self._layout.git_dir, common, *glob.glob(os.path.join(glob.escape(common), "worktrees", "*"))]
        return list(dict.fromkeys(os.path.realpath(folder) for folder in found))

    def _stash(self) -> list[str]:
        name = os.path.join(self._layout.common_dir, "logs", "refs", "stash")
        with suppress(OSError), open(name, "rb") as file:
            return [line for line in file.read().decode("utf-8", "surrogateescape").split("\n") if line]
        return []

    # -- what is in it ---------------------------------------------------------------------------------------

    def versions(self, tips: Tips) -> list[Version]:
        """Every version of every file, with each commit that brought it in."""
        shape = ("--raw", "--no-abbrev", "--no-renames", "-m", "--no-ext-diff", "--no-textconv", "--format=commit %H")
        words = ("log", "-z", *shape, "--no-show-signature", "--no-notes", "--no-color", "--stdin")
        out = ask(self._run, *words, data=_lines(tips.roots)) if tips.roots else b""
        return list(dict.fromkeys(_versions(out)))

    def parents(self, tips: Tips) -> dict[str, list[str]]:
        """Every commit with its parents, children first."""
        out = ask(self._run, "rev-list", "--parents", "--topo-order", "--stdin", data=_lines(tips.roots))
        rows = (line.split() for line in out.decode().splitlines())
        return {row[0]: row[1:] for row in rows}

    def bytes_of(self, oids: Iterable[str]) -> Iterator[Object]:
        """Objects by their ids; those that are missing are left out."""
        yield from read(self._run, (item for item in known(self._run, dict.fromkeys(oids)) if item))

    def foreign(self, versions: Sequence[Version], forget: Forget) -> dict[bytes, str]:
        """Which needles stand in files of the repository that are not bonsai's, each with the path of one such file."""
        managed = {item.oid for item in versions if self._layout.managed(item.path)}
        paths = {item.oid: item.path for item in versions if item.oid not in managed}
        found: dict[bytes, str] = {}
        for item in self.bytes_of(paths):
            for needle in forget.needles_in(item.data):
                found.setdefault(needle, paths[item.oid])
        return found

    # -- what is to be done ------------------------------------------------------------------------------------

    def survey(self, tips: Tips, versions: Sequence[Version], forget: Forget) -> Survey:
        """What an erasure changes. Raises Refused for a ref that cannot be rewritten."""
        found = Survey(tips, set(), set())
        self._files(found, versions, forget)
        # A file of others, or a note that stays, may have the very bytes: these are not gone, and nothing to refuse.
        found.erased -= {item.oid for item in versions if (item.path, item.oid) not in found.blobs}
        touched = {item.commit for item in versions if self._is_touched(found, item)}
        graph = self.parents(tips) if tips.roots else {}
        told = {item.oid for item in self.bytes_of(graph) if forget.found(item.data)} if forget.needles else set()
        tagged = self._tags(tips, forget)
        found.erased |= told
        found.affected = _descendants(graph, touched | told | tagged)
        found.boundary = {parent for sha in found.affected for parent in graph.get(sha, ())} - found.affected
        return found

    def _files(self, found: Survey, versions: Sequence[Version], forget: Forget) -> None:
        ours = dict.fromkeys(
            (item.path, item.oid, path) for item in versions if (path := self._layout.managed(item.path))
        )
        kept: dict[str, list[tuple[str, str]]] = {}
        for full, oid, path in ours:
            if forget.drops(path, oid):
                found.blobs[full, oid] = ""
                found.erased.add(oid)
                found.paths.add(path)
                if path in forget.names:
                    found.drops.add(full)
            else:
                kept.setdefault(oid, []).append((full, path))
        for item in self.bytes_of(kept):
            for full, path in kept[item.oid]:
                clear = forget.scrub(path, item.data)
                if clear != item.data:
                    new = self._digest(clear)
                    found.blobs[full, item.oid], found.new[new] = new, clear
                    found.erased.add(item.oid)
                    found.paths.add(path)
        self._rename(found, sorted({path for _, _, path in ours}), forget)

    def _rename(self, found: Survey, paths: Sequence[str], forget: Forget) -> None:
        taken = set(paths)
        for path in paths:
            name = forget.name(path) if forget.text else path
            if name == path:
                continue
            free = free_name(name, taken.__contains__)
            taken.add(free)
            found.names[self._layout.full(path)] = self._layout.full(free)
            found.paths.add(free)

    def _is_touched(self, found: Survey, item: Version) -> bool:
        return item.path in found.names or (item.path, item.oid) in found.blobs

    def _tags(self, tips: Tips, forget: Forget) -> set[str]:
        """The commits of the annotated tags that hold something: each is written anew with its tag."""
        commits = set()
        kinds = dict(zip(tips.refs, known(self._run, tips.refs.values()), strict=True))
        for ref, kind in kinds.items():
            if forget.found(ref.encode("utf-8", "surrogateescape")):
                raise Refused("its name holds the text", path=forget.name(ref), hint="Rename the branch or tag first.")
            chain = list(self._chain(kind)) if kind and kind.kind != "commit" else []
            if any(forget.found(item.data) for item in chain):
                if not tips.commits[ref]:
                    raise Refused("holds it, and leads to no commit", path=ref, hint="Delete that ref with git first.")
                commits.add(tips.commits[ref])
        return commits

    def _chain(self, tag: Known) -> Iterator[Object]:
        """A tag, and the tags that it leads to."""
        todo = [tag.oid]
        while todo:
            for item in list(self.bytes_of([todo.pop()])):
                yield item
                if item.kind == "tag":
                    todo.append(item.data[:200].split(b"\n")[0].removeprefix(b"object ").decode("ascii", "replace"))

    # -- what stands in the way --------------------------------------------------------------------------------

    def require_whole(self) -> None:
        """Raise Refused for a repository in which it could not be said that nothing is left."""
        common, objects = self._layout.common_dir, os.path.join(self._layout.common_dir, "objects")
        if self._layout.algorithm != "sha1":
            hint = "There is no tool for that yet: start a new repository with the files as they are."
            raise Refused(
                f"names objects by {self._layout.algorithm}, and git-filter-repo cannot", path=common, hint=hint
            )
        if os.path.exists(os.path.join(common, "shallow")):
            raise Refused("is a shallow clone", path=common, hint="Run `git fetch --unshallow` first.")
        if os.path.exists(os.path.join(objects, "info", "alternates")):
            hint = "Run `git repack -a -d`, then remove objects/info/alternates."
            raise Refused("borrows objects of another repository", path=common, hint=hint)
        for name in ("promisor", "keep"):
            if found := glob.glob(os.path.join(glob.escape(objects), "pack", f"*.{name}")):
                raise Refused("keeps a pack as it is", path=found[0], hint="Remove that mark, or make a full clone.")
        if ask(self._run, "for-each-ref", "--count=1", "refs/replace/") or os.path.exists(f"{common}/info/grafts"):
            raise Refused("shows other objects than it has", path=common, hint="Remove `git replace` refs and grafts.")

    def require_free(self, found: Survey, staged: Callable[[str], Iterable[tuple[str, str, int]]]) -> None:
        """Raise Refused for another worktree that is in the middle of something, or that has what goes checked out.

        Args:
            staged: (full path, object id, mode) of the index of a worktree, by its git folder.
        """
        for folder in self.git_dirs()[1:]:
            if not os.path.exists(os.path.join(folder, "index")) and not os.path.exists(os.path.join(folder, "gitdir")):
                continue
            place = _work_tree(folder)
            if any(os.path.lexists(os.path.join(folder, name)) for name in _BUSY):
                raise Refused("git is in the middle of something in that worktree", path=place, hint="Finish it first.")
            if any(item[:2] in found.blobs or item[0] in found.names for item in staged(folder)):
                raise Refused(
                    "that worktree has it checked out",
                    path=place,
                    hint="Commit what you need there, then run `git worktree remove` and try again.",
                )


def _work_tree(git_dir: str) -> str:
    with suppress(OSError), open(os.path.join(git_dir, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
        return os.path.dirname(file.read().strip())
    return os.path.dirname(git_dir)


def _versions(out: bytes) -> Iterator[Version]:
    commit = ""
    tokens = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    for token in tokens:
        head = token.lstrip("\n")
        if head.startswith("commit "):
            commit = head[7:].strip()
        elif head.startswith(":"):
            _, mode, _, oid, _ = head[1:].split(" ")
            path = next(tokens)
            if mode not in {"000000", _GITLINK}:
                yield Version(commit, path, oid)


def _descendants(graph: dict[str, list[str]], touched: set[str]) -> set[str]:
    """The touched commits and all that come after them. `graph` has children first."""
    found = set(touched)
    for sha in reversed(graph):
        if not found.isdisjoint(graph[sha]):
            found.add(sha)
    return found & graph.keys()


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()
