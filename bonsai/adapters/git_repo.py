"""Which repository a workspace is in, which branch it is on, and whether a commit may be made now."""

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from bonsai.adapters.git_index import Index
from bonsai.adapters.git_run import GitRun, Result
from bonsai.errors import BonsaiError, IoFailed, Misconfigured, Refused
from bonsai.notes.layout import CONFIG, MEMORY, path_fault
from bonsai.ports.history import RepoState

_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NOTHING = RepoState(False, None, "", False)
#: Files of an operation in progress, in the order in which they mean something: a rebase may hold a CHERRY_PICK_HEAD.
_OPERATIONS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a repository's parts are (absolute paths), and where the workspace is in it."""

    git_dir: str  # of this worktree
    common_dir: str  # shared by all worktrees
    top: str  # of the work tree
    prefix: str  # of the workspace in the work tree: "" or "folder/…/"
    algorithm: str  # sha1 or sha256

    def full(self, path: str) -> str:
        """A workspace path as the repository names it. Raises Refused for one that would leave the workspace."""
        if fault := path_fault(path):
            raise Refused(fault, path=path.replace("\0", "\\0"), hint="Name a path inside the workspace.")
        return self.prefix + path

    def managed(self, full: str) -> str:
        """The workspace path of a managed file (memory/**, MEMORY*.md, bonsai.toml), "" for every other file."""
        path = full[len(self.prefix) :]
        if not full.startswith(self.prefix):
            return ""
        boot = path.startswith("MEMORY") and path.endswith(".md") and "/" not in path
        return path if boot or path == CONFIG or path.startswith(f"{MEMORY}/") else ""

    @property
    def pathspecs(self) -> list[str]:
        """What names the managed files to git. Not literal: MEMORY*.md of the past have names that nobody knows."""
        plain = re.sub(r"([\\*?\[\]])", r"\\\1", self.prefix)
        return [
            f":(top,literal){self.prefix}{MEMORY}/",
            f":(top,literal){self.prefix}{CONFIG}",
            f":(top,glob){plain}MEMORY*.md",
        ]

    @property
    def digits(self) -> int:
        """Digits of an object id."""
        return 64 if self.algorithm == "sha256" else 40


class _Mark(NamedTuple):
    """What tells without a process that the repository is still the one that was probed."""

    folder: str  # that holds the nearest `.git`
    stats: tuple[int, ...]


class Repository:
    """The repository of one workspace. Raises Misconfigured where there is none that can be used."""

    def __init__(self, root: str, run: GitRun, index: Index) -> None:
        self.root, self._run, self._index = root, run, index
        self._mark: _Mark | None = None
        self._config: tuple[int, ...] = ()
        self._layout: Layout | None = None

    def layout(self) -> Layout:
        """Where everything is; asks git only when `.git` or its config changed."""
        found = self._look()
        if isinstance(found, Layout):
            return found
        if not found.exists:
            raise Misconfigured("there is no git repository", path=self.root, hint="Run `bonsai init`.")
        raise Misconfigured(found.detail, path=self.root, hint="Correct that, then try again.")

    def git_dirs(self) -> tuple[str, str] | None:
        """The git folder and the shared one, found without git, which knows none any more when HEAD is garbage."""
        mark = self._nearest()
        if mark is None:
            return None
        git_dir = os.path.join(mark.folder, ".git")
        if os.path.isfile(git_dir):  # of a worktree, a submodule
            link = (_read(git_dir) or "").removeprefix("gitdir:").strip()
            git_dir = os.path.normpath(os.path.join(mark.folder, link))
        shared = _read(os.path.join(git_dir, "commondir")) or ""
        return git_dir, os.path.normpath(os.path.join(git_dir, shared))

    def algorithm(self) -> str:
        """The hash of the last known repository, without looking again; sha1 where there is none."""
        if self._layout is None:
            try:
                self._look()
            except BonsaiError:
                return "sha1"
        return self._layout.algorithm if self._layout else "sha1"

    def branch(self) -> str:
        """The full name of the branch that HEAD is on, born or not; "" where HEAD is on none."""
        return self._branch(self.layout())

    def head(self) -> str:
        """The commit of HEAD, "" before the first one. Raises IoFailed when the branch is damaged."""
        layout = self.layout()
        ref = self._branch(layout)
        text = _read(_ref_path(layout, ref) if ref else os.path.join(layout.git_dir, "HEAD"))
        if text is not None and _HEX.fullmatch(text):
            return text
        if ref and text is not None and not text.startswith("ref:"):
            raise IoFailed(f"the branch {ref} is damaged", path=self.root, hint="See `git reflog` for its last commit.")
        if text is None and not _indirect(layout):
            return ""
        result = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}")
        if result.code == 1 and not result.err:
            return ""
        if result.code:
            raise self._run.failure(result)
        return result.out.decode().strip()

    def state(self) -> RepoState:
        """What `History.state` promises."""
        try:
            found = self._look()
            if isinstance(found, RepoState):
                return found
            index_lock = os.path.lexists(os.path.join(found.git_dir, "index.lock"))
            reason, detail = self._blocked(found)
            return RepoState(True, reason or None, detail, index_lock)
        except (BonsaiError, OSError) as error:
            return RepoState(True, "unusable", f"{error}. {getattr(error, 'hint', '')}".strip(), False)

    def _blocked(self, layout: Layout) -> tuple[str, str]:
        for name, reason in _OPERATIONS:
            if os.path.lexists(os.path.join(layout.git_dir, name)):
                return reason, f"a {reason} is in progress: finish it, or run `git {reason} {_way_out(reason)}`"
        if os.path.lexists(os.path.join(layout.git_dir, "sequencer")):
            todo = _read(os.path.join(layout.git_dir, "sequencer", "todo")) or ""
            reason = "revert" if todo.startswith("revert") else "cherry-pick"
            return reason, f"a {reason} is in progress: finish it, or run `git {reason} --abort`"
        ref = self._branch(layout)
        if not ref:
            return "detached", "HEAD is on no branch: run `git switch BRANCH`"
        for lock in (os.path.join(layout.git_dir, "HEAD.lock"), f"{_ref_path(layout, ref)}.lock"):
            if os.path.lexists(lock):
                return "locked", f"{lock} is held: wait for the other git, or run `bonsai doctor --unlock`"
        self.head()
        unmerged = self._index.unmerged(layout.git_dir)
        if unmerged:
            return "unmerged", f"{unmerged} has an unresolved conflict: resolve it and run `git add`"
        left_out = self._index.left_out(layout.git_dir, layout.top, layout.pathspecs)
        if left_out:  # else it would be taken for deleted
            way = f"run `git sparse-checkout add {layout.prefix}{MEMORY}`"
            return "unusable", f"a sparse checkout leaves out {left_out}: {way}"
        return "", ""

    def _branch(self, layout: Layout) -> str:
        path = os.path.join(layout.git_dir, "HEAD")
        if os.path.islink(path):  # as git made it before 2005, and still reads it
            return os.readlink(path) if os.readlink(path).startswith("refs/heads/") else ""
        text = _read(path)
        if text is None or not (text.startswith("ref:") or _HEX.fullmatch(text)):
            raise IoFailed(
                "HEAD is damaged", path=self.root, hint="Put the branch back: git symbolic-ref HEAD refs/heads/…"
            )
        ref = text.removeprefix("ref:").strip() if text.startswith("ref:") else ""
        if ref == "refs/heads/.invalid":  # what a repository with reftable says to those who read files
            ref = self._run("symbolic-ref", "--quiet", "HEAD").out.decode("utf-8", "surrogateescape").strip()
        return ref if ref.startswith("refs/heads/") else ""

    def _look(self) -> Layout | RepoState:
        mark = self._nearest()
        if self._layout and mark and mark == self._mark and _stats(self._layout.common_dir, "config") == self._config:
            return self._layout
        self._mark, self._layout = None, None
        found = self._probe(mark)
        if isinstance(found, Layout):
            self._mark, self._layout, self._config = mark, found, _stats(found.common_dir, "config")
        return found

    def _probe(self, mark: _Mark | None) -> Layout | RepoState:
        result = self._run(
            "rev-parse", "--path-format=absolute", "--show-object-format", "--is-bare-repository",
            "--is-inside-work-tree", "--git-dir", "--git-common-dir", "--show-prefix",
        )  # fmt: skip
        if result.code:
            return self._unusable(result, mark)
        lines = result.out.split(b"\n")
        if lines[0].startswith(b"--"):  # it hands back what it does not know
            return RepoState(True, "unusable", "this git is too old: install git 2.31 or newer", False)
        if os.path.lexists(os.path.join(self.root, MEMORY, ".git")):
            # Its owner keeps the notes apart from this repository, which others may read: they do not belong in it.
            words = f"{MEMORY}/ has a repository of its own, perhaps a submodule"
            return RepoState(
                True, "unusable", f"{words}: to keep the notes in this one, move {MEMORY}/.git away", False
            )
        if lines[1] == b"true":
            return RepoState(True, "bare", f"{self.root} is in a bare repository, which has no files", False)
        if "\n" in os.path.realpath(self.root):  # git says paths line by line
            return RepoState(True, "unusable", f"{self.root!r} has a line break in its name: rename the folder", False)
        if lines[2] != b"true" or len(lines) != 7:
            return RepoState(True, "unusable", f"{self.root} is not in the work tree of its repository", False)
        git_dir, common_dir = os.fsdecode(lines[3]), os.fsdecode(lines[4])
        prefix = lines[5].decode("utf-8", "surrogateescape")
        top = os.path.realpath(self.root)
        for _ in range(prefix.count("/")):
            top = os.path.dirname(top)
        if mark and mark.folder != top:
            # git passes over a broken `.git` and takes the repository above, which is not the one that is meant.
            return RepoState(True, "unusable", f"{mark.folder}/.git is damaged: repair it, or move it away", False)
        return Layout(git_dir, common_dir, top, prefix, lines[0].decode())

    def _unusable(self, result: Result, mark: _Mark | None) -> RepoState:
        if "dubious ownership" in result.err:
            folder = mark.folder if mark else self.root
            words = f"{self.root} belongs to another user, so git refuses to work in it: "
            way = f"correct its owner, or run `git config --global --add safe.directory '{folder}'`"
            return RepoState(True, "unusable", words + way, False)
        if "not a git repository" in result.err and mark is None:
            return _NOTHING
        return RepoState(True, "unusable", f"git cannot use the repository of {self.root}: {result.words}", False)

    def _nearest(self) -> _Mark | None:
        """The nearest `.git` that means something; an empty folder of that name above the workspace does not, nor does
        one above the disk that it is on, where git does not look."""
        root = folder = os.path.realpath(self.root)
        disk = _stats(root, "")[:1]
        while True:
            path = os.path.join(folder, ".git")
            stats = _stats(folder, ".git")
            if stats and (folder == root or not _is_empty(path)):
                return _Mark(folder, (*stats, *_stats(folder, "")[:4]))
            above = os.path.dirname(folder)
            if folder == above or _stats(above, "")[:1] != disk:
                return None
            folder = above


def is_id(text: str) -> bool:
    """Whether a text is the whole name of an object."""
    return bool(_HEX.fullmatch(text))


def _is_empty(folder: str) -> bool:
    with suppress(OSError):  # a file, or another user's folder, may mean something
        return not os.listdir(folder)
    return False


def _way_out(reason: str) -> str:
    return "reset" if reason == "bisect" else "--abort"


def _indirect(layout: Layout) -> bool:
    """Whether a ref may stand elsewhere than in a file of its own."""
    return any(os.path.exists(os.path.join(layout.common_dir, name)) for name in ("packed-refs", "reftable"))


def _ref_path(layout: Layout, ref: str) -> str:
    return os.path.join(layout.common_dir, os.fsdecode(ref.encode("utf-8", "surrogateescape")))


def _read(path: str) -> str | None:
    """A small file of git as text, None where there is none. Raises IoFailed."""
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("utf-8", "surrogateescape").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise IoFailed(f"{error.strerror}", path=path, hint="Correct that, then run the command again.") from error


def _stats(folder: str, name: str) -> tuple[int, ...]:
    """Identity of a file or folder, and for a file its content's age; empty where there is none."""
    try:
        found = os.lstat(os.path.join(folder, name))
    except OSError:
        return ()
    content = (found.st_mtime_ns, found.st_size) if not stat.S_ISDIR(found.st_mode) else ()
    return found.st_dev, found.st_ino, found.st_uid, found.st_mode, *content
