"""History in one process: one branch, renames by equal content. Enough to run every pass without git."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from hashlib import sha1

from bonsai.errors import Busy, Misconfigured, NotFound
from bonsai.notes.change import PathTime
from bonsai.notes.compare import split
from bonsai.ports.history import Author, Blob, Commit, FileChange, Origin, Rename, RepoState

_TRAILER = re.compile(r"Bonsai-(Op|Actor|Run|Session|Undoes): (.*)")
_ANCESTOR = re.compile(r"(?:HEAD|@)(?:~(\d{1,9})|(\^{0,99}))")

Tree = dict[str, Blob]


@dataclass(frozen=True, slots=True)
class _Node:
    commit: Commit
    tree: Tree
    seconds: int


class MemoryHistory:
    """History in a list of commits. `blocked`, `ignoring` and `filtering` are for tests to set."""

    def __init__(self, exists: bool = True) -> None:
        self.exists = exists
        self.blocked: str | None = None
        self.unsigned = ""
        self.ignoring: set[str] = set()
        self.filtering: set[str] = set()
        self._nodes: list[_Node] = []
        self._blobs: dict[str, bytes] = {}

    def state(self) -> RepoState:
        """Exists and blocked as set."""
        return RepoState(self.exists, self.blocked, self.blocked or "", False)

    def create(self) -> None:
        """From now on there is a repository."""
        self.exists = True

    def head(self) -> str:
        """The last commit, "" before the first one."""
        return self._nodes[-1].commit.sha if self._nodes else ""

    def tree(self, commit: str) -> Tree:
        """All files of a commit."""
        return dict(self._node(commit).tree)

    def tree_changes(self, old: str, new: str) -> dict[str, Blob | None] | None:
        """Paths that differ, with what `new` has."""
        try:
            before, after = self._tree(old), self._tree(new)
        except NotFound:
            return None
        return {path: after.get(path) for path in before | after if before.get(path) != after.get(path)}

    def blob_id(self, data: bytes) -> str:
        """git's SHA-1 object id of the bytes."""
        return sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()

    def read(self, commit: str, path: str) -> bytes:
        """A file of a commit."""
        found = self._node(commit).tree.get(path)
        if found is None:
            raise NotFound(f"not in commit {commit[:12]}", path=path)
        return self._blobs[found.oid]

    def blob(self, oid: str) -> bytes:
        """The bytes of an object."""
        if oid not in self._blobs:
            raise NotFound(f"no object {oid[:12]}")
        return self._blobs[oid]

    def commit(self, changes: Sequence[FileChange], message: str, parent: str, author: Author, now: datetime) -> str:
        """One commit on top of `parent`; Busy where that is not the last one."""
        if not self.exists:
            raise Misconfigured("no git repository", hint="Run: bonsai init")
        if parent != self.head():
            raise Busy("somebody else committed meanwhile", hint="Try again.")
        tree = dict(self._tree(parent))
        before = dict(tree)
        for path, data, mode in changes:
            if data is None:
                tree.pop(path, None)
            else:
                oid = self.blob_id(data)
                self._blobs[oid] = data
                tree[path] = Blob(mode, oid)
        paths = tuple(sorted(path for path in before | tree if before.get(path) != tree.get(path)))
        text = f"{parent}\n{now.isoformat()}\n{message}\n{sorted(tree.items())}"
        sha = sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        commit = _commit(sha, message, parent, author, now, paths)
        self._nodes.append(_Node(commit, tree, int(now.timestamp())))
        return sha

    def refresh_index(self, blobs: Mapping[str, Blob | None]) -> dict[str, str] | None:
        """There is no index."""
        return {}

    def locks(self) -> list[str]:
        """There are none."""
        return []

    def remove_stale_locks(self, since: float, *, foreign_older_than: float | None = None) -> list[str]:
        """There are none."""
        return []

    def resolve(self, rev: str) -> str:
        """HEAD, HEAD~2, HEAD^, or the start (at least four characters) of one commit's name."""
        found: list[str] = []
        if match := _ANCESTOR.fullmatch(rev):
            back = int(match[1]) if match[1] else len(match[2] or "")
            found = [node.commit.sha for node in self._nodes[-1 - back :][:1]] if back < len(self._nodes) else []
        elif len(rev) >= 4:
            found = [node.commit.sha for node in self._nodes if node.commit.sha.startswith(rev)]
        if len(found) != 1:
            raise NotFound(f"no revision {rev!r}")
        return found[0]

    def contains_run(self, run: str, since: str) -> str:
        """The commit after `since` that a run made."""
        for node in reversed(self._nodes):
            if node.commit.sha == since:
                break
            if node.commit.run == run:
                return node.commit.sha
        return ""

    def log(
        self,
        paths: Sequence[str] = (),
        limit: int = 0,
        rev: str = "HEAD",
        follow: bool = False,
        saying: Sequence[str] = (),
    ) -> list[Commit]:
        """Commits newest first that touch one of the paths (or what is below it)."""
        if not self._nodes:
            return []
        wanted, found = list(paths), []
        for node in reversed(self._nodes[: self._position(self.resolve(rev)) + 1]):
            if wanted and not any(_covers(path, touched) for path in wanted for touched in node.commit.paths):
                continue
            found.append(node.commit)
            if limit and len(found) == limit:
                break
            if follow:
                renames = self.changes(next(iter(node.commit.parents), ""), node.commit.sha)
                wanted = [next((item.old for item in renames if item.new == wanted[0] and item.old), wanted[0])]
        return found

    def strays(self) -> list[tuple[str, str]]:
        """There are none."""
        return []

    def commits(self, shas: Sequence[str]) -> dict[str, Commit]:
        """These commits."""
        return {sha: self._node(sha).commit for sha in shas}

    def blame(self, path: str, rev: str = "HEAD", copies: bool = True, lines: Sequence[range] = ()) -> list[Origin]:
        """Where each line comes from, through renames; copies are not looked for."""
        if lines:
            found = self.blame(path, rev, copies)
            return [found[number - 1] for span in lines for number in span]
        here = self._position(self.resolve(rev))
        rows = split(self.read(self._nodes[here].commit.sha, path))
        while here and self._nodes[here - 1].tree.get(path) == self._nodes[here].tree[path]:
            here -= 1
        commit = self._nodes[here].commit
        parent = next(iter(commit.parents), "")
        old = next((item.old for item in self.changes(parent, commit.sha) if item.new == path), "")
        if not old:
            return [Origin(commit.sha, path, number, "", "") for number in range(1, len(rows) + 1)]
        known = _matches(rows, split(self.read(parent, old)))
        earlier = self.blame(old, parent)
        return [
            earlier[known[at]] if at in known else Origin(commit.sha, path, at + 1, parent, old)
            for at in range(len(rows))
        ]

    def at(self, moment: datetime) -> str:
        """The last commit that is not dated later."""
        latest = moment.timestamp()
        return next((node.commit.sha for node in reversed(self._nodes) if node.seconds <= latest), "")

    def read_many(self, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
        """Files of commits."""
        found = (self._node(commit).tree.get(path) for commit, path in wanted)
        return [self._blobs[blob.oid] if blob else None for blob in found]

    def changes(self, old: str, new: str, renames: bool = True) -> list[Rename]:
        """What differs between two commits; a file that went and one that came with the same bytes are a rename."""
        before, after = self._tree(old), self._tree(new)
        gone = {path: before[path].oid for path in before if path not in after}
        came = {path: after[path].oid for path in after if path not in before}
        found = [
            Rename(path, path, before[path].oid, after[path].oid)
            for path in before
            if path in after and before[path] != after[path]
        ]
        for path, oid in sorted(came.items()):
            origin = next((name for name in sorted(gone) if gone[name] == oid), "") if renames else ""
            found.append(Rename(origin, path, gone.pop(origin, ""), oid))
        found += [Rename(path, "", oid, "") for path, oid in gone.items()]
        return sorted(found, key=lambda item: item.new or item.old)

    def path_times(self, cached: Mapping[str, PathTime], base: str) -> dict[str, PathTime]:
        """Times of every path at HEAD."""
        times: dict[str, PathTime] = {}
        before: Tree = {}
        for node in self._nodes:
            for path in node.commit.paths:
                named = times[path].named if path in before and path in times else node.seconds
                times[path] = PathTime(node.seconds, named)
            before = node.tree
        return {path: time for path, time in times.items() if path in before}

    def ignored(self, paths: Sequence[str]) -> set[str]:
        """Those in `ignoring`."""
        return self.ignoring & set(paths)

    def filtered(self, paths: Sequence[str], attributes: Sequence[str] | None = None) -> set[str]:
        """Those in `filtering`."""
        return self.filtering & set(paths)

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
        """Three-way merge by lines."""
        lines, clean = [], True
        for one, two, three in _regions(*(text.splitlines(keepends=True) for text in (base, ours, theirs))):
            if two == one:
                lines += three
            elif three in (one, two):
                lines += two
            else:
                clean = False
                lines += [b"<<<<<<< now\n", *_ended(two), b"=======\n", *_ended(three), b">>>>>>> wanted\n"]
        return b"".join(lines), clean

    def check(self) -> list[str]:
        """Always sound."""
        return []

    def _tree(self, commit: str) -> Tree:
        return self._node(commit).tree if commit else {}

    def _node(self, commit: str) -> _Node:
        return self._nodes[self._position(commit)]

    def _position(self, commit: str) -> int:
        for number, node in enumerate(self._nodes):
            if node.commit.sha == commit:
                return number
        raise NotFound(f"no commit {commit[:12]!r}")


def _commit(sha: str, message: str, parent: str, author: Author, now: datetime, paths: tuple[str, ...]) -> Commit:
    subject, _, body = message.strip("\n").partition("\n")
    last = body.rstrip("\n").rpartition("\n\n")[2]
    trailers = {match[1]: match[2] for line in last.splitlines() if (match := _TRAILER.fullmatch(line))}
    return Commit(
        sha=sha,
        time=now.isoformat(timespec="seconds"),
        author=author.name or "bonsai",
        subject=subject,
        body=body.strip("\n"),
        op=trailers.get("Op", ""),
        actor=trailers.get("Actor", ""),
        run=trailers.get("Run", ""),
        session=trailers.get("Session", ""),
        undoes=trailers.get("Undoes", ""),
        paths=paths,
        parents=(parent,) if parent else (),
    )


def _covers(path: str, touched: str) -> bool:
    return touched == path or touched.startswith(f"{path}/")


def _ended(lines: list[bytes]) -> list[bytes]:
    """The lines, the last one with a line end: a marker must begin a line."""
    return [line if line.endswith(b"\n") else line + b"\n" for line in lines]


def _regions(
    base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> Iterator[tuple[list[bytes], list[bytes], list[bytes]]]:
    """The three texts cut at the lines that all of them share: what lies between, then each shared line."""
    in_ours, in_theirs = _matches(base, ours), _matches(base, theirs)
    start, here, there = 0, 0, 0
    for number in [number for number in range(len(base)) if number in in_ours and number in in_theirs]:
        yield base[start:number], ours[here : in_ours[number]], theirs[there : in_theirs[number]]
        yield [base[number]], [base[number]], [base[number]]
        start, here, there = number + 1, in_ours[number] + 1, in_theirs[number] + 1
    yield base[start:], ours[here:], theirs[there:]


def _matches(base: list[bytes], other: list[bytes]) -> dict[int, int]:
    """Which line of `base` is which line of `other`."""
    blocks = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
