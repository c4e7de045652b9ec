"""The files that notes speak of: whether a path is there, which words stand in the code. It reads and runs nothing."""

import os
import re
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress

MOST_FILES = 20_000
MOST_BYTES = 64 * 1024 * 1024  # of all files together
LARGE = 1024 * 1024  # bytes: a larger file is no source
_SKIPPED = frozenset(
    (".git", ".bonsai", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".tox", "target")
)
_MANIFESTS = frozenset(
    (
        *("pyproject.toml", "requirements.txt", "uv.lock", "poetry.lock", ".python-version"),
        *("package.json", "package-lock.json", "yarn.lock", ".nvmrc"),
        *("go.mod", "Cargo.toml", "Cargo.lock", "Gemfile.lock", "Dockerfile", ".tool-versions"),
    )
)
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{0,100}")


class Project:
    """The folders that a memory is about; nothing outside them is looked at, and no symlink leads out of them.

    Args:
        roots: absolute paths. Relative names in notes are looked for in each.
        skip: folders not to search for words (the memory itself, which says everything).
    """

    def __init__(self, roots: Sequence[str], skip: Collection[str] = ()) -> None:
        self._roots = [os.path.realpath(root) for root in roots]
        self._skip = {os.path.realpath(folder) for folder in skip}
        self._names: dict[str, list[str]] | None = None  # file name → where such files are

    def exists(self, name: str) -> bool | None:
        """Whether a file or folder is there; None where the path leads out of the folders."""
        path = os.path.expanduser(name)
        inside = [full for root in self._roots if (full := self._inside(root, path))]
        if not inside:
            return None
        if any(os.path.lexists(full) for full in inside):
            return True
        bare = name.strip("/")
        if "/" not in bare:  # `config.toml`: anywhere
            return bare in self._by_name()
        return any(full.endswith(f"/{bare}") for full in self._by_name().get(os.path.basename(bare), ()))

    def _inside(self, root: str, path: str) -> str:
        full = os.path.normpath(os.path.join(root, path))
        real = os.path.realpath(full)
        return full if real == root or real.startswith(f"{root.rstrip('/')}/") else ""

    def words(self, wanted: Collection[str]) -> set[str]:
        """Those of the words that stand in some source file."""
        left = {word.encode() for word in wanted}
        found: set[bytes] = set()
        for data in self._texts():
            found |= left.intersection(_WORD.findall(data))
            if len(found) == len(left):
                break
        return {word.decode() for word in found}

    def options(self, wanted: Collection[str]) -> set[str]:
        """Those of the options (`--dry-run`) that stand in some source file."""
        left = {option.encode() for option in wanted}
        found: set[bytes] = set()
        for data in self._texts():
            found |= {option for option in left - found if option in data}
        return {option.decode() for option in found}

    def versions(self, program: str) -> list[str]:
        """What manifests and lock files say about a program: the lines that name it."""
        said = []
        needle = program.casefold()
        for full in sorted({path for name in _MANIFESTS for path in self._by_name().get(name, ())}):
            for line in _read(full).decode("utf-8", "replace").splitlines():
                if needle in line.casefold() and re.search(r"\d\.\d", line):
                    said.append(line.strip()[:200])
        return said

    def documents(self) -> list[str]:
        """The texts that agents and people read anyway: CLAUDE.md, AGENTS.md, README.md and the like."""
        names = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", "README.md", "CONTRIBUTING.md")
        return [
            _read(os.path.join(root, name)).decode("utf-8", "replace")
            for root in self._roots
            for name in names
            if not os.path.islink(os.path.join(root, name))
        ]

    def _by_name(self) -> dict[str, list[str]]:
        if self._names is None:
            self._names = {}
            count = 0
            for root in self._roots:
                for folder, folders, files in os.walk(root):
                    folders[:] = sorted(name for name in folders if name not in _SKIPPED)
                    folders[:] = [name for name in folders if os.path.join(folder, name) not in self._skip]
                    for name in files:
                        self._names.setdefault(name, []).append(os.path.join(folder, name))
                    count += len(files)
                    if count > MOST_FILES:
                        return self._names
        return self._names

    def _texts(self) -> list[bytes]:
        found: list[bytes] = []
        total = 0
        for paths in self._by_name().values():
            for path in paths:
                if path.endswith(".md"):
                    continue  # what a document says of a function does not make it one
                data = _read(path)
                if b"\0" in data[:1024]:
                    continue
                total += len(data)
                if total > MOST_BYTES:
                    return found
                found.append(data)
        return found


def _read(path: str) -> bytes:
    """A regular file that is not large, b"" for anything else."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            info = os.fstat(fd)
            if stat.S_ISREG(info.st_mode) and info.st_size <= LARGE:
                with os.fdopen(os.dup(fd), "rb") as file:
                    return file.read(LARGE)
        finally:
            os.close(fd)
    return b""
