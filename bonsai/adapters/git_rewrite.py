"""Rewriting history with git-filter-repo, whose only door this is: a process of its own, in a mirror.

git-filter-repo works on the current folder and ends the process when something is wrong, so it has one of its own:
`python -m bonsai.adapters.git_rewrite`, with the job as JSON on stdin.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from bonsai.adapters.git_run import settings_environment
from bonsai.errors import IoFailed, Unavailable, install_hint


@dataclass(frozen=True, slots=True)
class Job:
    """What a rewrite does. Paths are full, and like ids text with surrogate escapes.

    Args:
        revs: refs to rewrite, and `^commit` where to stop.
        drops: paths that go from every commit.
        blobs: [path, object id, new object id], "" drops that version.
        names: [path, new path].
        needles: [bytes, bytes in their place], as hex digits: for messages and people.
    """

    revs: list[str]
    drops: list[str]
    blobs: list[tuple[str, str, str]]
    names: list[tuple[str, str]]
    needles: list[tuple[str, str]]


def require() -> None:
    """Raise Unavailable where git-filter-repo is not installed."""
    if find_spec("git_filter_repo") is None:
        raise Unavailable("git-filter-repo is not installed", hint=install_hint("erase"))


def rewrite(mirror: str, job: Job) -> dict[str, str]:
    """Rewrite the refs of a bare repository; returns {old commit: new commit}. Raises Unavailable, IoFailed."""
    require()
    # Isolated from the current folder (-P): it is the mirror.
    words = [sys.executable, "-P", "-m", __name__]
    try:
        done = subprocess.run(
            words,
            cwd=mirror,
            env=settings_environment(),
            input=json.dumps(asdict(job)).encode(),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
            chosen = [line for line in said if line.startswith("fatal:")] or said[-1:] or ["no word of why"]
            raise IoFailed(f"git-filter-repo: {chosen[0]}", hint="Nothing was changed.")
        with open(os.path.join(mirror, "filter-repo", "commit-map"), "rb") as file:
            rows = [line.split() for line in file.read().decode().splitlines()[1:]]
    except OSError as error:
        raise IoFailed(f"git-filter-repo: {error.strerror}", hint="Nothing was changed.") from error
    return {row[0]: row[1] for row in rows if len(row) == 2}


class _Filter:
    """The callbacks of git-filter-repo."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._drops = {_bytes(path) for path in job["drops"]}
        self._blobs = {(_bytes(path), old.encode()): new.encode() for path, old, new in job["blobs"]}
        self._names = {_bytes(old): _bytes(new) for old, new in job["names"]}
        self._needles = [(bytes.fromhex(old), bytes.fromhex(new)) for old, new in job["needles"]]

    def commit(self, commit: Any, _: Any) -> None:
        """A commit without what goes; one that says nothing any more stays, for its run and its date."""
        changes = []
        for change in commit.file_changes:
            if change.filename in self._drops:
                continue
            new = self._blobs.get((change.filename, change.blob_id), change.blob_id) if change.type == b"M" else b"-"
            if not new:
                continue
            if change.type == b"M":
                change.blob_id = new
            change.filename = self._names.get(change.filename, change.filename)
            changes.append(change)
        commit.file_changes = changes
        for name in ("message", "author_name", "author_email", "committer_name", "committer_email"):
            setattr(commit, name, self._clear(getattr(commit, name)))

    def tag(self, tag: Any, _: Any) -> None:
        """A tag without the text."""
        for name in ("message", "tagger_name", "tagger_email"):
            setattr(tag, name, self._clear(getattr(tag, name)))

    def _clear(self, text: bytes | None) -> bytes | None:
        for needle, mark in self._needles if text else ():
            text = text.replace(needle, mark) if text else text
        return text


def main() -> None:
    """Run the job on stdin in the current folder, a bare repository that may be spoiled."""
    import git_filter_repo

    job = json.load(sys.stdin)
    # `never`: which commits there were, and which run made them, is not what is to be forgotten.
    options = ["--force", "--partial", "--prune-empty", "never", "--prune-degenerate", "never"]
    args = git_filter_repo.FilteringOptions.parse_args([*options, "--preserve-commit-encoding"], error_on_empty=False)
    args.refs = job["revs"]
    callbacks = _Filter(job)
    git_filter_repo.RepoFilter(args, commit_callback=callbacks.commit, tag_callback=callbacks.tag).run()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


if __name__ == "__main__":
    main()
