"""What git says of the past: the log, one path through its names, where each line comes from, the state at a time."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from bonsai.adapters import git_blame, git_log, git_reflog
from bonsai.adapters.git_repo import Layout
from bonsai.adapters.git_run import GitRun, Result
from bonsai.errors import BonsaiError, NotFound
from bonsai.notes.change import PathTime
from bonsai.notes.rename import came_from
from bonsai.ports.history import Commit, Origin, Rename

LOG = ("log", "-z", "--no-renames", "--no-color", "--no-show-signature", "--no-notes")
_TELL = (git_log.FORMAT, "--name-only", "--diff-merges=first-parent")
_UNKNOWN = (
    "Not a valid object name",
    "invalid object name",
    "bad object",
    "unknown revision",
    "ambiguous argument",
    "bad revision",
)
_MISSING = (
    *_UNKNOWN,
    *("does not exist in", "exists on disk, but not in", "could not get object info", "bad file", "no such path"),
)
_NAMES = 50  # a path is followed through so many names: a history that goes round in circles ends too

Changes = Callable[[str, str], list[Rename]]


def missing(run: GitRun, result: Result, name: str) -> BonsaiError:
    """The error of a command that asked for a file or a revision."""
    if "corrupt" not in result.err and any(words in result.err for words in _MISSING):
        return NotFound("git has no such file or revision", path=name, hint="`bonsai log` lists what there is.")
    return run.failure(result)


def log(
    run: GitRun,
    layout: Layout,
    paths: Sequence[str],
    limit: int,
    rev: str,
    follow: Changes | None,
    saying: Sequence[str] = (),
) -> list[Commit]:
    """What `History.log` promises; `follow` tells what a commit changed, None: the names are those given."""
    # Literal pathspecs are relative to the workspace; `full` is only asked whether they stay in it.
    given = [layout.full(path.rstrip("/"))[len(layout.prefix) :] for path in paths]
    if follow and given:
        found = _trail(run, layout, given[0], rev, follow)
        out = _walk(run, found[:limit] if limit else found)
    else:
        most = [f"--max-count={limit}"] if limit else []
        words = ["--fixed-strings", "--all-match", *(f"--grep={text}" for text in saying)] if saying else []
        shape = [*_TELL, "--full-diff", *most, *words, "--end-of-options", rev, "--", *(given or layout.pathspecs)]
        out = _log(run, rev, *shape, literal=bool(given))
    return [commit for commit in git_log.commits(out, layout.managed, _ends(layout)) if commit.paths]


def commits(run: GitRun, layout: Layout, shas: Sequence[str]) -> dict[str, Commit]:
    """What `History.commits` promises."""
    return {item.sha: item for item in git_log.commits(_walk(run, shas), layout.managed, _ends(layout))}


def _ends(layout: Layout) -> list[str]:
    """The commits at which a shallow clone ends."""
    return git_reflog.read(os.path.join(layout.common_dir, "shallow")).decode("ascii", "replace").split()


def blame(
    run: GitRun, layout: Layout, commit: str, path: str, copies: bool, lines: Sequence[range] = ()
) -> list[Origin]:
    """What `History.blame` promises.

    Of a commit, never of the work tree: git would send that through the filters that the repository names. `-C` looks
    at the files that the same commit changed, which is where migrate, merge and split take lines from; `-C -C` would
    read every note there is and take two notes with equal frontmatter for copies of each other.
    """
    name = layout.full(path)[len(layout.prefix) :]
    words = ["--porcelain", "--no-textconv", *(["-M", "-C4"] if copies else [])]
    words += [f"-L{span.start},{span.stop - 1}" for span in lines]
    # The repository's own config may ask to pass over some commits.
    result = run("blame", *words, "--no-ignore-revs-file", commit, "--", name)
    if result.code:
        raise missing(run, result, path)
    return list(git_blame.origins(result.out, layout.managed))


def at(run: GitRun, moment: datetime, head: str) -> str:
    """What `History.at` promises."""
    out = run.ok("log", "--first-parent", "--topo-order", "--no-show-signature", "--format=%H %ct", head, "--")
    latest = moment.timestamp()
    for line in out.decode().splitlines():
        sha, seconds = line.split(" ")
        if int(seconds) <= latest:
            return sha
    return ""


def read_many(run: GitRun, layout: Layout, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
    """What `History.read_many` promises: one process, except for names with a line break."""
    lines = [f"{commit}:{layout.full(path)}" for commit, path in wanted]
    plain = [line for line in lines if "\n" not in line]
    data = "".join(f"{line}\n" for line in plain).encode("utf-8", "surrogateescape")
    known = dict(zip(plain, _batch(run.ok("cat-file", "--batch", data=data)), strict=True)) if plain else {}
    for line in set(lines) - set(plain):
        result = run("cat-file", "blob", "--end-of-options", line)
        known[line] = None if result.code else result.out
    return [known[line] for line in lines]


def _batch(out: bytes) -> Iterator[bytes | None]:
    """Read what `cat-file --batch` prints; None for what is missing, and for what is no file."""
    position = 0
    while position < len(out):
        end = out.index(b"\n", position)
        head = out[position:end].rsplit(b" ", 2)
        position = end + 1
        if len(head) < 3 or not head[2].isdigit():  # `… missing`, `… ambiguous`
            yield None
            continue
        size = int(head[2])
        yield out[position : position + size] if head[1] == b"blob" else None
        position += size + 1


def path_times(
    run: GitRun, layout: Layout, head: str, cached: Mapping[str, PathTime], base: str
) -> dict[str, PathTime]:
    """What `History.path_times` promises, and the times of paths that are no more."""
    # After a rewrite of history the cached times may be those of commits that are gone.
    known = bool(base) and not run("merge-base", "--is-ancestor", "--end-of-options", base, head).code
    span = f"{base}..{head}" if known else head
    words = (git_log.TIMES, "--name-status", "--diff-merges=combined", "--end-of-options", span, "--")
    out = _log(run, span, *words, *layout.pathspecs, literal=False)
    return git_log.times(out, layout.managed, cached if known else {})


def strays(run: GitRun, layout: Layout) -> list[tuple[str, str]]:
    """(commit, full path) where a commit of a run touches what is not managed."""
    others = [f":(top,exclude{spec[5:]}" for spec in layout.pathspecs]
    words = ("--fixed-strings", "--grep=Bonsai-Run: ", "--diff-merges=first-parent", "--name-only", git_log.FORMAT)
    out = _log(run, "HEAD", *words, "HEAD", "--", ":(top)", *others, literal=False)
    found = git_log.commits(out, lambda full: full)
    return [(commit.sha, path) for commit in found if commit.run for path in commit.paths if not layout.managed(path)]


def _log(run: GitRun, rev: str, *rest: str, literal: bool = True) -> bytes:
    result = run(*LOG, "--topo-order", *rest, literal=literal)
    if result.code:
        raise missing(run, result, rev)
    return result.out


def _walk(run: GitRun, shas: Sequence[str]) -> bytes:
    """The log of just these commits, in this order. Raises NotFound."""
    if not shas:
        return b""
    names = "".join(f"{sha}\n" for sha in shas).encode()
    result = run(*LOG, *_TELL, "--no-walk=unsorted", "--stdin", data=names)
    if result.code:
        raise missing(run, result, shas[0])
    return result.out


# --- one path through its names ---------------------------------------------------------------------------------------


def _trail(run: GitRun, layout: Layout, path: str, rev: str, changes: Changes) -> list[str]:
    """The commits of one path, newest first, under each name that it had.

    Not `git log --follow`: a note of two lines that gains `archived:` is no longer half alike, and --follow ends there.
    It also takes ten times as long.
    """
    todo, seen, found = [(path, rev)], {path}, dict[str, None]()
    while todo:
        name, start = todo.pop()
        for sha, parent, added in _touching(run, layout, name, start):
            found[sha] = None
            origin = came_from((item[:2] for item in changes(parent, sha)), name) if added and parent else ""
            if origin and origin not in seen and len(seen) < _NAMES:
                seen.add(origin)
                todo.append((origin, parent))
    if len(seen) == 1:
        return list(found)
    # Not the log of these names: for more than one path git does not use what the commit-graph knows of changed paths.
    order = run.ok("rev-list", "--topo-order", "--end-of-options", rev, "--").decode().split("\n")
    return [sha for sha in order if sha in found]


def _touching(run: GitRun, layout: Layout, name: str, rev: str) -> Iterator[tuple[str, str, bool]]:
    """(commit, its first parent, whether it made the path) of every commit that touches a path."""
    full = layout.full(name)
    out = _log(run, rev, "--format=:%H %P", "--name-status", "--end-of-options", rev, "--", name)
    tokens = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    sha = parent = ""
    added = False
    for token in tokens:
        if token.startswith(":"):
            if sha:
                yield sha, parent, added
            sha, parent, *_ = [*token[1:].split(" "), ""]
            added = False
        elif status := token.lstrip("\n"):
            added = (next(tokens) == full and status[0] == "A") or added
    if sha:
        yield sha, parent, added
