"""History through git: the port, as short calls of plumbing."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime

from bonsai.adapters import git_log, git_merge, git_past, git_reflog, git_rules
from bonsai.adapters.git_commit import Committer, Config, Draft, read_config
from bonsai.adapters.git_index import Index
from bonsai.adapters.git_locks import Locks, tidied
from bonsai.adapters.git_packs import Packs
from bonsai.adapters.git_repo import Layout, Repository, is_id
from bonsai.adapters.git_run import GitRun, Result
from bonsai.adapters.git_tree import entries, is_file, raw_changes
from bonsai.errors import Busy, NotFound, Refused
from bonsai.notes.change import PathTime
from bonsai.ports.history import Author, Blob, Commit, FileChange, Origin, Rename, RepoState


class GitHistory:
    """`ports.History` of the workspace at `root`, through the git that the person has installed."""

    def __init__(self, root: str) -> None:
        self._run = GitRun(root)
        self._index = Index(self._run)
        self._repo = Repository(root, self._run, self._index)
        self._packs = Packs(self._run)
        self._committer = Committer(self._run)
        self._config: tuple[Layout, Config] | None = None
        self._last = ("", "")  # the last commit made here, and its parent

    @property
    def unsigned(self) -> str:
        """See History."""
        return self._committer.unsigned

    # --- the repository ---------------------------------------------------------------------------------------------

    def state(self) -> RepoState:
        """See History."""
        return self._repo.state()

    def create(self) -> None:
        """See History."""
        self._run.ok("init", "--quiet")

    def head(self) -> str:
        """See History."""
        return self._repo.head()

    def resolve(self, rev: str) -> str:
        """See History."""
        self._repo.layout()
        if rev and "\0" not in rev and rev[0] != "^":  # `^HEAD` is what to leave out, and names a commit too
            result = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
            if result.code == 0:
                return result.out.decode().strip()
        raise NotFound("there is no such revision", path=rev, hint="`bonsai log` lists the revisions.")

    def check(self) -> list[str]:
        """See History."""
        layout = self._repo.layout()
        result = self._run("fsck", "--full", "--no-dangling", "--no-progress", seconds=600)
        lines = (result.out.decode("utf-8", "replace") + result.err).split("\n")
        found = [line.strip() for line in lines if line.strip() and not line.startswith("notice:")]
        return ((found or [result.words]) if result.code else []) + git_reflog.damaged(layout)

    def locks(self) -> list[str]:
        """See History."""
        return self._locks().held()

    def remove_stale_locks(self, since: float, *, foreign_older_than: float | None = None) -> list[str]:
        """See History."""
        return self._locks().remove(since, foreign_older_than)

    # --- trees and blobs --------------------------------------------------------------------------------------------

    def tree(self, commit: str) -> dict[str, Blob]:
        """See History."""
        layout = self._repo.layout()
        if not commit:
            return {}
        found: dict[str, Blob] = {}
        top = ["--", layout.prefix] if layout.prefix else []
        folder = f"{layout.prefix}memory"
        for path, kind, blob in entries(self._tree_output(commit, *top)):
            if path == folder and kind == "tree":
                below = entries(self._tree_output(commit, "--", f"{folder}/", deep=True))
                found |= {layout.managed(path): blob for path, _, blob in below if is_file(blob)}
            elif is_file(blob) and layout.managed(path):
                found[layout.managed(path)] = blob
        return found

    def tree_changes(self, old: str, new: str) -> dict[str, Blob | None] | None:
        """See History."""
        layout = self._repo.layout()
        if not old:
            return None
        result = self._diff(layout, old, new, renames=False)
        if result.code:
            return None
        changes = ((layout.managed(item.new), item) for item in raw_changes(result.out))
        return {
            path: Blob(item.new_mode, item.new_oid) if item.new_mode else None
            for path, item in changes
            if path and (item.old_mode or item.new_mode)
        }

    def changes(self, old: str, new: str, renames: bool = True) -> list[Rename]:
        """See History."""
        layout = self._repo.layout()
        result = self._diff(layout, old or self._empty_tree(), new, renames=renames)
        if result.code:
            raise git_past.missing(self._run, result, f"{old}..{new}")
        found = []
        for item in raw_changes(result.out):
            before = layout.managed(item.old) if item.old_mode and item.status != "A" else ""
            after = layout.managed(item.new) if item.new_mode and item.status != "D" else ""
            if before or after:
                found.append(Rename(before, after, item.old_oid if before else "", item.new_oid if after else ""))
        return found

    def blob_id(self, data: bytes) -> str:
        """See History."""
        return _object_id(self._repo.algorithm(), b"blob", data)

    def read(self, commit: str, path: str) -> bytes:
        """See History."""
        layout = self._repo.layout()
        if not commit:  # `:path` would be the index
            raise NotFound("there is no commit yet", path=path)
        result = self._run("cat-file", "blob", "--end-of-options", f"{commit}:{layout.full(path)}")
        if result.code:
            raise git_past.missing(self._run, result, path)
        return result.out

    def blob(self, oid: str) -> bytes:
        """See History."""
        self._repo.layout()
        result = self._run("cat-file", "blob", "--end-of-options", oid)
        if result.code:
            raise git_past.missing(self._run, result, oid)
        return result.out

    # --- commits ----------------------------------------------------------------------------------------------------

    def commit(self, changes: Sequence[FileChange], message: str, parent: str, author: Author, now: datetime) -> str:
        """See History."""
        layout = self._repo.layout()
        ref = self._repo.branch()
        # fast-import refuses what is no fast-forward, but a HEAD that went back or to another branch may be one.
        if not ref or self._repo.head() != parent:
            raise Busy("HEAD moved meanwhile", path=self._run.root, hint="Try again.")
        state = self._repo.state()  # again: a merge that a person began since would take this commit back when it ends
        if state.blocked:
            raise Busy(state.detail, path=self._run.root, hint="Try again when that is done.")
        full = [FileChange(layout.full(item.path), item.data, item.mode) for item in changes]
        outside = next(
            (item.path for item, there in zip(changes, full, strict=True) if not layout.managed(there.path)), ""
        )
        if outside:
            raise Refused("bonsai commits nothing but its own files", path=outside, hint="Commit it with git.")
        config = self._settings(layout)
        draft = Draft(parent, full, message, config.author(author), config.committer(), now)
        self._index.prepare(layout.git_dir, {item.path: self._blob_of(item) for item in full}, layout.digits)
        try:
            with tidied(self._run, self._locks):
                sha = self._committer.commit(ref, draft, config.signing(), layout.git_dir)
            self._index.settle()
        except BaseException:
            self._index.forget()
            raise
        self._last = (sha, parent)
        self._packs.gather(layout.common_dir)
        return sha

    def refresh_index(self, blobs: Mapping[str, Blob | None]) -> dict[str, str] | None:
        """See History."""
        layout = self._repo.layout()
        full = {layout.full(path): blob for path, blob in blobs.items()}
        with tidied(self._run, self._locks):
            displaced = self._index.refresh(layout.git_dir, full, self._old_tree, layout.digits)
        return None if displaced is None else {layout.managed(path): oid for path, oid in displaced.items()}

    def contains_run(self, run: str, since: str) -> str:
        """See History."""
        head = self.head()
        if head in {"", since}:
            return ""
        wanted = (*git_past.LOG, git_log.FORMAT, "--fixed-strings", f"--grep=Bonsai-Run: {run}", "--end-of-options")
        result = self._run(*wanted, f"{since}..HEAD" if since else "HEAD", "--")
        if result.code:  # the commit that the run began at is gone: a history that somebody rewrote
            result = self._run(*wanted, "HEAD", "--")
        if result.code:
            raise self._run.failure(result)
        return next((item.sha for item in git_log.commits(result.out, str) if item.run == run), "")

    def log(
        self,
        paths: Sequence[str] = (),
        limit: int = 0,
        rev: str = "HEAD",
        follow: bool = False,
        saying: Sequence[str] = (),
    ) -> list[Commit]:
        """See History."""
        layout = self._repo.layout()
        if rev == "HEAD" and not self.head():
            return []
        return git_past.log(self._run, layout, paths, limit, rev, self.changes if follow else None, saying)

    def strays(self) -> list[tuple[str, str]]:
        """See History."""
        return git_past.strays(self._run, self._repo.layout()) if self.head() else []

    def commits(self, shas: Sequence[str]) -> dict[str, Commit]:
        """See History."""
        return git_past.commits(self._run, self._repo.layout(), shas)

    def blame(self, path: str, rev: str = "HEAD", copies: bool = True, lines: Sequence[range] = ()) -> list[Origin]:
        """See History."""
        commit = rev if is_id(rev) else self.resolve(rev)
        return git_past.blame(self._run, self._repo.layout(), commit, path, copies, lines)

    def at(self, moment: datetime) -> str:
        """See History."""
        head = self.head()
        return git_past.at(self._run, moment, head) if head else ""

    def read_many(self, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
        """See History."""
        return git_past.read_many(self._run, self._repo.layout(), wanted)

    def path_times(self, cached: Mapping[str, PathTime], base: str) -> dict[str, PathTime]:
        """See History."""
        layout, head = self._repo.layout(), self.head()
        if not head:
            return {}
        if base == head:
            return dict(cached)
        found = git_past.path_times(self._run, layout, head, cached, base)
        return {path: found[path] for path in self.tree(head) if path in found}

    # --- rules and merges -------------------------------------------------------------------------------------------

    def ignored(self, paths: Sequence[str]) -> set[str]:
        """See History."""
        return git_rules.ignored(self._run, self._repo.layout(), paths)

    def filtered(self, paths: Sequence[str], attributes: Sequence[str] | None = None) -> set[str]:
        """See History."""
        return git_rules.filtered(self._run, self._repo.layout(), paths, attributes)

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
        """See History."""
        return git_merge.merge(self._run, base, ours, theirs)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _blob_of(self, change: FileChange) -> Blob | None:
        return None if change.data is None else Blob(change.mode, self.blob_id(change.data))

    def _locks(self) -> Locks:
        layout = self._repo.layout()
        return Locks(layout, self._repo.branch())

    def _settings(self, layout: Layout) -> Config:
        if self._config is None or self._config[0] is not layout:
            self._config = (layout, read_config(self._run))
        return self._config[1]

    def _old_tree(self) -> str:
        sha, parent = self._last
        if not sha or sha != self.head():
            parent = self._run("rev-parse", "--verify", "--quiet", "HEAD^1").out.decode().strip()
        return parent or self._empty_tree()

    def _empty_tree(self) -> str:
        return _object_id(self._repo.algorithm(), b"tree", b"")

    def _tree_output(self, commit: str, *rest: str, deep: bool = False) -> bytes:
        result = self._run("ls-tree", *(["-r"] if deep else []), "-z", "--full-tree", "--end-of-options", commit, *rest)
        if result.code:
            raise git_past.missing(self._run, result, commit)
        return result.out

    def _diff(self, layout: Layout, old: str, new: str, *, renames: bool) -> Result:
        shape = ("-r", "-z", "--raw", "-M" if renames else "--no-renames", "--no-ext-diff", "--no-textconv")
        specs = layout.pathspecs
        return self._run("diff-tree", *shape, "--end-of-options", old, new, "--", *specs, literal=False)


def _object_id(algorithm: str, kind: bytes, data: bytes) -> str:
    digest = hashlib.new(algorithm, b"%s %d\0" % (kind, len(data)), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()
