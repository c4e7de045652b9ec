"""A workspace of its own for a test: files written as a person writes them, git, the verbs, and a time that stands."""

import os
import subprocess
from pathlib import Path

from bonsai import Workspace
from bonsai.notes.problem import Problem
from bonsai.ports.history import Commit

NOW = "2026-03-15T08:15:00Z"
GENERAL = "memory/domains/general"
STATE = {"_meta.json", "_stats.json", "_reflect_staging.json"}
PERSON = ("-c", "user.name=Pat Doe", "-c", "user.email=pat@example.com")


def set_time(now: str) -> None:
    """From here on it is this time; the fixture `fixed_time` puts back what was."""
    os.environ["BONSAI_NOW"] = now


class Sandbox:
    """`box.ws` is the workspace, opened anew each time as every command does; the rest is the person at work."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._open: list[Workspace] = []

    @property
    def ws(self) -> Workspace:
        return self.opened()

    def opened(self, agent: str = "", actor: str = "", session: str = "") -> Workspace:
        self.close()
        self._open = [Workspace.open(self.root, agent=agent, actor=actor, session=session)]
        return self._open[0]

    def close(self) -> None:
        for workspace in self._open:
            workspace.close()

    # -- files -----------------------------------------------------------------------------------------

    def write(self, path: str, data: str | bytes) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def has(self, path: str) -> bool:
        return os.path.lexists(self.root / path)

    def files(self) -> dict[str, bytes]:
        """Everything that a person could notice: memory/, MEMORY*.md, bonsai.toml, but for the operational state."""
        found = [*self.root.glob("memory/**/*"), *self.root.glob("MEMORY*"), *self.root.glob("bonsai.toml")]
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(found)
            if path.is_file() and path.name not in STATE
        }

    # -- git -------------------------------------------------------------------------------------------

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *PERSON, *words], cwd=self.root, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape")

    def git_fails(self, *words: str) -> None:
        assert subprocess.run(["git", *PERSON, *words], cwd=self.root, capture_output=True).returncode

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def count(self) -> int:
        return int(self.git("rev-list", "--count", "HEAD"))

    def committed(self, path: str, rev: str = "HEAD") -> bytes | None:
        done = subprocess.run(["git", "cat-file", "blob", f"{rev}:./{path}"], cwd=self.root, capture_output=True)
        return None if done.returncode else done.stdout

    def tree(self, rev: str = "HEAD") -> set[str]:
        return set(self.git("ls-tree", "-r", "-z", "--name-only", rev).split("\0")) - {""}

    def last(self, number: int = 1) -> list[Commit]:
        return self.ws.log(limit=number).commits

    def message(self, rev: str = "HEAD") -> str:
        return self.git("log", "-1", "--format=%B", rev)

    def assert_clean(self) -> None:
        """Disk, HEAD and the person's index agree about the memory."""
        assert self.git("status", "--porcelain", "--", "memory", ":(glob)MEMORY*.md", "bonsai.toml") == ""
        assert self.ws.status().uncommitted == 0

    def problems(self, code: str = "") -> list[Problem]:
        return [item for item in self.ws.status().problems if code in ("", item.code)]


def outside_block(boot: bytes) -> bytes:
    """A boot file without its generated block, found in the plainest way."""
    before, begin, rest = boot.partition(b"<!-- bonsai:begin -->")
    _, end, after = rest.partition(b"<!-- bonsai:end -->")
    assert begin and end
    return before + after
