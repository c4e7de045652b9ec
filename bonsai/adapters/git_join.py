"""Two histories of one repository: what they have in common, how they differ, and the commit that joins them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bonsai.adapters import git_log
from bonsai.adapters.git_commit import Committer, Draft, read_config
from bonsai.adapters.git_index import Index
from bonsai.adapters.git_locks import Locks, tidied
from bonsai.adapters.git_past import LOG
from bonsai.adapters.git_repo import Layout, Repository
from bonsai.adapters.git_run import GitRun
from bonsai.adapters.git_tree import entries
from bonsai.errors import Busy
from bonsai.ports.history import Author, FileChange


class Entry(NamedTuple):
    """A path of a commit, mode 0 where there is nothing, and the mode that it had before."""

    mode: int
    oid: str
    before: int = 0

    @property
    def is_file(self) -> bool:
        """Whether only regular files stand and stood there."""
        return {self.mode, self.before} <= {0, 0o100644, 0o100755}


class Histories:
    """The histories that are in the repository around a workspace. Raises what `GitRun.failure` makes."""

    def __init__(self, root: str) -> None:
        self.run = GitRun(root)
        self._repo = Repository(root, self.run, Index(self.run))
        self._times: dict[str, int] = {}

    @property
    def layout(self) -> Layout:
        """Where the repository is."""
        return self._repo.layout()

    def base(self, one: str, other: str) -> str:
        """The commit from which both went on, "" for none; of several the latest, the same on both sides."""
        result = self.run("merge-base", "--all", "--end-of-options", one, other)
        found = result.out.decode().split()
        if len(found) < 2:
            return found[0] if found else ""
        return max(found, key=lambda sha: (self.time(sha), sha))

    def holds(self, commit: str, older: str) -> bool:
        """Whether a commit is, or follows, an older one."""
        return not self.run("merge-base", "--is-ancestor", "--end-of-options", older, commit).code

    def count(self, old: str, new: str) -> int:
        """Commits of `new` that `old` ("" for none) does not hold."""
        words = [new, *([f"^{old}"] if old else [])]
        return int(self.run.ok("rev-list", "--count", "--end-of-options", *words))

    def time(self, commit: str) -> int:
        """When a commit was made, Unix seconds."""
        if commit not in self._times:
            out = self.run.ok("log", "-1", "--no-show-signature", "--format=%ct", "--end-of-options", commit)
            self._times[commit] = int(out.decode().strip())
        return self._times[commit]

    def times(self, base: str, tip: str) -> dict[str, int]:
        """When each managed path was last changed after `base`."""
        layout = self.layout
        words = (git_log.TIMES, "--name-status", "--diff-merges=combined", "--end-of-options")
        span = f"{base}..{tip}" if base else tip
        out = self.run(*LOG, "--topo-order", *words, span, "--", *layout.pathspecs, literal=False)
        if out.code:
            raise self.run.failure(out)
        return {path: found.changed for path, found in git_log.times(out.out, layout.managed, {}).items()}

    def entries(self, base: str, tip: str) -> dict[str, Entry]:
        """What differs from `base` ("" for the empty tree) as it is in `tip`, the whole repository, by full path."""
        if not base:
            out = self.run.ok("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tip)
            return {path: Entry(blob.mode, blob.oid) for path, _, blob in entries(out)}
        words = ("-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv", "--end-of-options")
        out = self.run.ok("diff-tree", *words, base, tip, literal=False)
        return dict(_raw(out))

    def entry(self, tip: str, path: str) -> Entry:
        """One file of a commit, by its workspace path."""
        name = self.layout.full(path)
        out = self.run.ok("ls-tree", "-z", "--full-tree", "--end-of-options", tip, "--", name)
        return next(Entry(blob.mode, blob.oid) for _, _, blob in entries(out))

    def new_objects(self, tip: str, known: str) -> Iterator[str]:
        """The ids of all objects that come with `tip` and are not in `known`."""
        out = self.run.ok("rev-list", "--objects", "--end-of-options", tip, f"^{known}")
        for line in out.split(b"\n"):
            if line:
                yield line.split(b" ", 1)[0].decode()

    # --- joining ----------------------------------------------------------------------------------------------------

    def forward(self, old: str, new: str) -> str:
        """Move the branch on to a commit that holds it. Raises Busy when it has moved."""
        if self._repo.head() != old:
            raise Busy("HEAD moved meanwhile", path=self.run.root, hint="Try again.")
        with tidied(self.run, lambda: Locks(self.layout, self._repo.branch())):
            orders = f"update {self._repo.branch()}\0{new}\0{old}\0".encode("utf-8", "surrogateescape")
            words = ("--create-reflog", "-m", "bonsai sync: fast-forward", "--stdin", "-z")
            result = self.run("update-ref", *words, data=orders)
            if result.code:
                raise self.run.failure(result)
        return new

    def join(
        self, changes: Sequence[FileChange], odd: Mapping[str, Entry], message: str, ours: str, theirs: str,
        author: Author, now: datetime,
    ) -> str:  # fmt: skip
        """Make the commit that joins two histories, on the branch. Raises Busy when that has moved.

        Args:
            changes: what is to differ from `ours`, by workspace path.
            odd: what is taken over as it is, by workspace path: links, submodules, hidden files.
        """
        layout = self.layout
        if self._repo.head() != ours:
            raise Busy("HEAD moved meanwhile", path=self.run.root, hint="Try again.")
        state = self._repo.state()
        if state.blocked:
            raise Busy(state.detail, path=self.run.root, hint="Try again when that is done.")
        full = [FileChange(layout.full(item.path), item.data, item.mode) for item in changes]
        links = [(layout.full(path), entry[:2]) for path, entry in odd.items()]
        config = read_config(self.run)
        draft = Draft(ours, full, message, config.author(author), config.committer(), now, theirs, links)
        with tidied(self.run, lambda: Locks(layout, self._repo.branch())):
            return Committer(self.run).commit(self._repo.branch(), draft, config.signing(), layout.git_dir)


def _raw(out: bytes) -> Iterator[tuple[str, Entry]]:
    """Read `diff-tree --raw -z --no-renames` with every mode as it is."""
    tokens = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    for head in tokens:
        if head.startswith(":"):
            before, mode, _, oid, _ = head[1:].split(" ")
            yield next(tokens), Entry(int(mode, 8), oid, int(before, 8))
