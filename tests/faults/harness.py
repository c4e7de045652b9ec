"""Fault injection: one verb in a forked child, which stops, or is told that the disk failed, at its k-th step.

A step is anything that a run asks of the system: a file opened for writing, a rename, an fsync, a lock, a statement
to SQLite, a git process. Audit events tell of a step before it is done; wrappers tell that it is done, and cut writes
in half. Git processes run in sessions of their own, so a kill of ours leaves them alive, as it does in real life.
"""

import errno
import fcntl
import importlib
import json
import os
import pkgutil
import re
import select
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bonsai import adapters, facts, notes, passes
from bonsai.adapters import displaced
from bonsai.errors import BonsaiError
from bonsai.notes import boot
from bonsai.workspace import Workspace

ALL = os.environ.get("BONSAI_FAULTS") == "all"
WORKERS = 2
NOW = "2026-03-15T12:00:00Z"
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_OS_EVENTS = ("rename", "remove", "mkdir", "rmdir", "link", "symlink", "chmod", "truncate", "listdir", "scandir")
_EVENTS = {f"os.{name}" for name in _OS_EVENTS} | {"fcntl.flock", "subprocess.Popen", "sqlite3.connect"}
_TIMES = re.compile(rb"(?m)^(?:_Last indexed|# Last regenerated): .*\n")
_AFTER = ("rename", "replace", "unlink", "remove", "mkdir", "rmdir", "link", "fsync")

#: Which steps an error of the system can stop.
_MAKING = frozenset({"open to make", "os.mkdir", "os.link", "os.write", "torn os.write", "os.fsync"})
_CHANGING = frozenset({"os.rename", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "exchange"})
_OPENING = frozenset({"open to make", "open to write", "open to read", "os.listdir", "os.scandir"})
ERRNOS = {
    errno.ENOSPC: _MAKING,
    errno.EDQUOT: _MAKING,
    errno.EIO: _MAKING | _CHANGING | _OPENING,
    errno.EROFS: (_MAKING | _CHANGING | {"open to write"}) - {"os.write", "torn os.write"},
    errno.EACCES: (_MAKING | _CHANGING | _OPENING) - {"os.write", "torn os.write", "os.fsync"},
    errno.EMFILE: _OPENING | {"subprocess.Popen"},
}


@contextmanager
def small_disk(at: Path, size: str) -> Iterator[Path]:
    """A file system of its own, mounted at a new folder, that can be filled up. Skips where nothing can be mounted."""
    at.mkdir(exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(at)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


@dataclass(frozen=True)
class Fault:
    """An errno at step `at`, and with `lasting` at every later step that it can stop."""

    number: int
    at: int
    lasting: bool


@dataclass(frozen=True)
class Outcome:
    """How a child ended."""

    killed: bool
    step: str = ""  # at which it was killed, or first failed
    steps: int = 0  # how many there were
    code: int = 0  # exit code of the BonsaiError
    path: str | None = None
    words: str = ""
    bug: str = ""  # a traceback: anything that is no BonsaiError
    answer: Any = None
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{'killed at ' + self.step if self.killed else self.words or 'done'} {self.bug}".strip()


class _Steps:
    """Counts the steps of this process and strikes at one of them."""

    def __init__(self, kill_at: int, only: str, fault: Fault | None, report: Callable[[str], None]) -> None:
        self.count, self.first = 0, ""
        self._kill_at, self._only, self._fault, self._report = kill_at, only, fault, report
        self._can = ERRNOS[fault.number] if fault else frozenset()
        self._quiet = False

    def step(self, name: str, when: str = "before") -> bool:
        """Count one step; kills, raises, or says (for a torn write) that this is the one."""
        if self._quiet:
            return False
        if self._fault:
            if when == "after" or name not in self._can:
                return False
            self.count += 1
            if self.count == self._fault.at or (self._fault.lasting and self.count > self._fault.at):
                self.first = self.first or name
                if name.startswith("torn"):
                    return True
                raise OSError(self._fault.number, os.strerror(self._fault.number))
            return False
        if name in {"open to read", "os.listdir", "os.scandir"} or self._only not in name:
            return False
        self.count += 1
        if self.count == self._kill_at:
            self.first = f"{when} {name}"
            if name.startswith("torn"):
                return True
            self.kill()
        return False

    def kill(self) -> None:
        self._quiet = True
        self._report(self.first)
        os.kill(os.getpid(), signal.SIGKILL)

    def stop(self) -> None:
        self._quiet = True

    # -- hooks -----------------------------------------------------------------------------------------

    def install(self) -> None:
        sys.addaudithook(self._audit)
        for name in _AFTER:
            self._wrap(os, name, "os.fsync" if name == "fsync" else "")
        self._wrap(fcntl, "flock", "")
        self._wrap(displaced, "exchange", "exchange")
        self._wrap(subprocess.Popen, "__init__", "")
        self._wrap_write()
        self._wrap_open()
        self._wrap_connect()

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if (
                isinstance(path, int)
                or str(path).startswith(("/dev/null", "/dev/urandom", "/proc/"))
                or str(path).endswith((".py", ".pyc"))
            ):
                return
            kind = "make" if flags & os.O_CREAT else "write" if flags & _WRITING else "read"
            self.step(f"open to {kind}")
        elif event in _EVENTS:
            self.step(event)

    def _wrap(self, place: Any, name: str, before: str) -> None:
        real = getattr(place, name)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if before:
                self.step(before)
            result = real(*args, **kwargs)
            self.step(name, "after")
            return result

        setattr(place, name, wrapped)

    def _wrap_write(self) -> None:
        real = os.write

        def write(fd: int, data: Any) -> int:
            pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
            if pipe and self._fault:  # no disk can fail there
                return real(fd, data)
            self.step("os.write")
            # Only of a pipe may a write be trusted to be whole, and only a small one.
            if not (pipe and len(data) <= select.PIPE_BUF) and self.step("torn os.write"):
                real(fd, bytes(data)[:-5])  # in the middle of the last name, or before a last word
                if not self._fault:
                    self.kill()
                raise OSError(self._fault.number, os.strerror(self._fault.number))  # type: ignore[union-attr]
            written = real(fd, data)
            self.step("os.write", "after")
            return written

        os.write = write

    def _wrap_open(self) -> None:
        real = os.open

        def opened(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            fd = real(path, flags, *args, **kwargs)
            if flags & _WRITING:
                self.step("open", "after")
            return fd

        os.open = opened

    def _wrap_connect(self) -> None:
        real = sqlite3.connect

        def connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            db = real(*args, **kwargs)
            if not self._fault:  # an error that is raised in there is swallowed by sqlite3
                db.set_trace_callback(lambda statement: self.step(f"SQL {statement.split(' ')[0]}") and None)
            return db

        sqlite3.connect = connect  # type: ignore[assignment]


def run(
    act: Callable[[], Any],
    *,
    kill_at: int = 0,
    only: str = "",
    fault: Fault | None = None,
    env: dict[str, str] | None = None,
) -> Outcome:
    """Run `act` in a forked child, to its end or its death at a step (of those whose name holds `only`)."""
    _warm()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(act, lambda report: _Steps(kill_at, only, fault, report), env or {}, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Outcome(True, step=said.decode() or f"signal {os.WTERMSIG(status)}")
    return Outcome(False, **json.loads(said))


def _child(
    act: Callable[[], Any], make: Callable[[Callable[[str], None]], _Steps], env: dict[str, str], pipe: int
) -> None:
    """Never returns."""
    write, end = os.write, os._exit
    try:
        os.setsid()
        os.environ.update({"BONSAI_NOW": NOW, **env})
        steps = make(lambda text: write(pipe, text.encode()) and None)
        steps.install()
        start, found = time.monotonic(), {}
        try:
            found["answer"] = act()
        except BonsaiError as error:
            found |= {"code": error.code, "path": error.path, "words": f"{type(error).__name__}: {error}"}
        except BaseException:
            found["bug"] = traceback.format_exc()
        steps.stop()
        found |= {"seconds": time.monotonic() - start, "steps": steps.count, "step": steps.first}
        write(pipe, json.dumps(found, default=str).encode())
    finally:
        end(0)


@cache
def _warm() -> None:
    """Import what bonsai imports when it needs it, so that no step of a child is one of the import system."""
    for room in (adapters, passes, notes, facts):
        for module in pkgutil.iter_modules(room.__path__):
            with suppress(ImportError):  # the door to an extra
                importlib.import_module(f"{room.__name__}.{module.name}")
    with scratch() as root:
        (root / "MEMORY.md").write_text("---\na: 1\n---\n# One\n\n## Two\n\ntext\n")
        Workspace.init(root)
        verb(root, Workspace.migrate)()
        verb(root, Workspace.undo)()
        verb(root, Workspace.status)()


def verb(root: Path, act: Callable[[Workspace], Any]) -> Callable[[], None]:
    """A verb through a workspace that is opened anew, as a command does."""

    def call() -> None:
        with Workspace.open(root) as workspace:
            act(workspace)

    return call


def in_parallel(points: Sequence[Any], check: Callable[[Any], str]) -> list[str]:
    """What `check` finds wrong at the points, each in one of a few forked workers."""
    print(f"{len(points)} points")  # pytest -s shows it
    pipes = []
    for number in range(WORKERS):
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(reading)
            try:
                found = [words for point in points[number::WORKERS] if (words := _guarded(check, point))]
                with os.fdopen(writing, "w") as pipe:
                    json.dump(found, pipe)
            finally:
                os._exit(0)
        os.close(writing)
        pipes.append(reading)
    found = []
    for reading in pipes:
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        found += json.loads(said) if said else ["a worker died"]
    for _ in pipes:
        os.wait()
    return found


def _guarded(check: Callable[[Any], str], point: Any) -> str:
    try:
        return check(point)
    except BaseException:
        return f"{point}: {traceback.format_exc()}"


def spread(count: int, most: int, whole: int = 1_000_000) -> list[int]:
    """At most `most` of the steps 1 … count, evenly spread; at most `whole` with BONSAI_FAULTS=all."""
    most = whole if ALL else most
    if count <= most:
        return list(range(1, count + 1))
    return sorted({round(1 + number * (count - 1) / (most - 1)) for number in range(most)})


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory where there is one: what is tested is the order of steps, not the disk."""
    shm = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="faults-", dir=shm if os.access(shm, os.W_OK) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# -- looking at a workspace without bonsai --------------------------------------------------------------------------

STATE = ("_meta.json", "_stats.json", "_reflect_staging.json")


def git(root: Path, *args: str, check: bool = True, **settings: Any) -> str:
    """The person's git."""
    done = subprocess.run(
        ["git", "-c", "user.name=Pat", "-c", "user.email=pat@example.com", *args],
        cwd=root, capture_output=True, check=False, **settings,
    )  # fmt: skip
    assert not check or done.returncode == 0, f"git {' '.join(args)}: {done.stderr.decode()}"
    return done.stdout.decode("utf-8", "surrogateescape")


def managed(root: Path) -> dict[str, bytes]:
    """Every file that belongs in git: under memory/, MEMORY*.md, bonsai.toml."""
    found = [path for path in (root / "memory").rglob("*") if path.is_file()]
    found += [*root.glob("MEMORY*.md"), *root.glob("bonsai.toml")]
    kept = {str(path.relative_to(root)): path for path in found if path.name not in STATE}
    return {name: path.read_bytes() for name, path in kept.items() if "/.bonsai-" not in f"/{name}"}


def written(root: Path) -> dict[str, bytes]:
    """What of that people wrote: no index, and of a boot file not the block."""
    found = {path: data for path, data in managed(root).items() if not path.endswith("_index.md")}
    return {path: boot.strip(data) if path == "MEMORY.md" else data for path, data in found.items()}


def timeless(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files without the lines that say when an index was written: a run that was taken back may renew them."""
    return {path: _TIMES.sub(b"", data) if b"Last " in data else data for path, data in files.items()}


def in_head(root: Path) -> dict[str, bytes]:
    """The same as HEAD has it."""
    out = git(root, "-c", "core.quotePath=false", "ls-tree", "-r", "-z", "HEAD", "--", ".")
    found = {}
    for line in out.split("\0"):
        info, _, path = line.partition("\t")
        if path.startswith(("memory/", "MEMORY")) or path == "bonsai.toml":
            found[path] = info.split()[2]
    data = {}
    for path, oid in found.items():
        data[path] = subprocess.run(["git", "cat-file", "blob", oid], cwd=root, capture_output=True, check=True).stdout
    return data


def leftovers(root: Path) -> list[str]:
    """Temporary files of ours and locks of git that lie about."""
    found = [str(path.relative_to(root)) for path in root.rglob(".bonsai-*")]
    found += [str(path.relative_to(root)) for path in (root / ".git").rglob("*.lock")]
    found += [str(path.relative_to(root)) for path in (root / ".git").glob("fast_import_crash_*")]
    found += [str(path.relative_to(root)) for path in (root / ".git" / "objects").rglob("tmp_*")]
    return found + [
        str(path.relative_to(root)) for path in (root / ".git" / "refs" / "bonsai").rglob("*") if path.is_file()
    ]


def staged_elsewhere(root: Path) -> str:
    """The person's index but for the managed paths."""
    lines = git(root, "ls-files", "-s").splitlines()
    return "\n".join(line for line in lines if "\tmemory/" not in line and "\tMEMORY" not in line)


def sound(root: Path) -> str:
    """What is wrong with the repository, and where the person's index and the disk differ from HEAD; "" for nothing."""
    wrong = []
    done = subprocess.run(["git", "fsck", "--full", "--strict"], cwd=root, capture_output=True)
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode or "missing" in said or "error" in said:
        wrong.append(f"fsck: {said}")
    if not git(root, "rev-parse", "--verify", "HEAD^{commit}", check=False):
        wrong.append("HEAD does not resolve")
    status = git(root, "status", "--porcelain", "--", "memory", *(path.name for path in root.glob("MEMORY*.md")))
    if status:
        wrong.append(f"git status: {status}")
    return "; ".join(wrong)
