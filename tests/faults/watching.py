"""A workspace with a real daemon on it, the editors that people use, and the person's git beside them."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import harness

BONSAI = [sys.executable, "-P", "-m", "bonsai"]
HELPERS = re.compile(r"4913$|~$|\.bak$|\.tmp|\.sw[a-z]$|(^|/)\.(?!git(?:ignore|attributes)$)|(^|/)#|\.part$")
PROMISE = 5.0  # seconds from a save to its commit


class Daemon:
    """A `bonsai watch` on one workspace, or on several."""

    def __init__(self, *roots: Path, wait: bool = True) -> None:
        self.roots = roots
        self._lines: list[str] = []
        self.process = subprocess.Popen(
            [*BONSAI, "watch", *map(str, roots)], stdin=-3, stdout=-3, stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if wait:
            for root in roots:
                until(lambda root=root: self.state(root).get("state") == "watching", 30, self.said)

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr as stream:
            self._lines.extend(line.rstrip("\n").partition("  ")[2] or line.rstrip("\n") for line in stream)

    @property
    def lines(self) -> list[str]:
        """What it said, without the times."""
        return list(self._lines)

    @property
    def talk(self) -> list[str]:
        """What it said but for its commits."""
        return [line for line in self.lines if not re.match(r"commit [0-9a-f]{10} ", line)]

    def said(self) -> str:
        return f"the daemon said: {self.lines[-8:]}"

    def state(self, root: Path | None = None) -> dict[str, Any]:
        """daemon.json, where it is that of this process."""
        try:
            found = json.loads(((root or self.roots[0]) / ".bonsai/daemon.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return found if found["pid"] == self.process.pid else {}

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def end(self, number: int = signal.SIGTERM, seconds: float = 5) -> int:
        """End it; its exit code."""
        if self.alive:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it did not end within {seconds} s; {self.said()}") from None
        self._reader.join(5)
        return code

    # -- what it costs -----------------------------------------------------------------------------------------

    def cpu(self) -> float:
        """Seconds of the processor so far, with its git processes."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def memory(self, what: str = "VmRSS") -> float:
        """MB."""
        found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found
        return int(found[1]) / 1024

    def files(self) -> int:
        """Open file descriptors."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@contextmanager
def daemon(*roots: Path, wait: bool = True) -> Iterator[Daemon]:
    found = Daemon(*roots, wait=wait)
    try:
        yield found
    finally:
        found.end(signal.SIGKILL)


def until(what: Callable[[], Any], seconds: float, why: Callable[[], str] = lambda: "") -> float:
    """Wait until something is so; the seconds it took."""
    start = time.monotonic()
    while not what():
        assert time.monotonic() - start < seconds, f"not within {seconds:g} s; {why()}"
        time.sleep(0.05)
    return time.monotonic() - start


# -- workspaces ---------------------------------------------------------------------------------------------------


def workspace(root: Path, notes: int = 0) -> Path:
    """A workspace with some notes, all committed."""
    root.mkdir(parents=True)
    run(root, "init", str(root))
    for number in range(notes):
        write(root / f"memory/domains/general/note-{number}.md", f"# Note {number}\n\nAs it was.\n")
    if notes:
        run(root, "commit")
    return root


def ask(root: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """A command of bonsai: its exit code, and what it answered."""
    done = subprocess.run([*BONSAI, "-C", str(root), *words, "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode != 70, done.stderr
    return done.returncode, json.loads(done.stdout or "{}")


def run(root: Path, *words: str) -> dict[str, Any]:
    """A command of bonsai that goes well; what it answered."""
    code, answer = ask(root, *words)
    assert code == 0, f"{words}: {code} {answer}"
    return answer


def codes(root: Path) -> dict[str, str]:
    """The problems that status names, with their severity."""
    return {item["code"]: item["severity"] for item in ask(root, "status")[1]["problems"]}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def behind(root: Path) -> str:
    """In what HEAD differs from what people saved; "" for nothing. Indexes and helper files are left out."""
    disk = {path: _blob(data) for path, data in _readable(root).items()}
    out = harness.git(root, "-c", "core.quotePath=false", "ls-tree", "-r", "-z", "HEAD", "--", "memory", "MEMORY.md")
    head = {path: info.split()[2] for line in out.split("\0") if line for info, _, path in [line.partition("\t")]}
    wrong = [path for path in sorted(disk.keys() | head.keys()) if counts(path) and disk.get(path) != head.get(path)]
    return f"{len(wrong)} differ: {wrong[:5]}" if wrong else ""


def _readable(root: Path) -> dict[str, bytes]:
    found = {}
    for folder, _, names in os.walk(root / "memory"):
        for name in names:
            path = f"{os.path.relpath(folder, root)}/{name}"
            if counts(path):
                with suppress(FileNotFoundError):
                    found[path] = Path(root, path).read_bytes()
    return found


def _blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data)).hexdigest()


def counts(path: str) -> bool:
    """Whether a path is a person's: MEMORY.md has a block of bonsai, an index is all bonsai's."""
    return not (HELPERS.search(path) or path.endswith(("_index.md", ".json")) or path == "MEMORY.md")


def commits(root: Path) -> int:
    return int(harness.git(root, "rev-list", "--count", "HEAD"))


def named(root: Path) -> set[str]:
    """Every path that was ever in a commit."""
    return set(harness.git(root, "log", "--format=", "--name-only", "-z", "HEAD").replace("\n", "\0").split("\0")) - {
        ""
    }


def history(root: Path, path: str) -> list[str]:
    """The texts of a note, oldest first."""
    shas = harness.git(root, "log", "--reverse", "--format=%H", "--", path).split()
    return [harness.git(root, "show", f"{sha}:{path}", check=False) for sha in shas]


# -- editors -------------------------------------------------------------------------------------------------------


def in_place(path: Path, text: str) -> None:
    """Open, write over, shorten."""
    with open(path, "r+b") as file:
        file.write(text.encode())
        file.truncate()


def by_rename(path: Path, text: str) -> None:
    """As GNOME's editors, VS Code and most programs that care."""
    temp = path.with_name(f".goutputstream-{os.getpid()}")
    temp.write_text(text)
    os.replace(temp, path)


def by_backup(path: Path, text: str) -> None:
    """As Emacs: the old file becomes the backup, a new one is written."""
    os.replace(path, path.with_name(f"{path.name}~"))
    path.write_text(text)


def by_truncation(path: Path, text: str) -> None:
    """As nano and shell redirection: the file is empty for a moment."""
    with open(path, "w") as file:
        time.sleep(0.002)
        file.write(text)


def by_deletion(path: Path, text: str) -> None:
    """As some sync programs: it is gone for a moment."""
    path.unlink()
    time.sleep(0.002)
    path.write_text(text)


def as_vim(path: Path, text: str) -> None:
    """A swap file while it is edited, a test file, a backup that goes away again."""
    swap, backup, probe = path.with_name(f".{path.name}.swp"), path.with_name(f"{path.name}~"), path.with_name("4913")
    swap.write_bytes(b"b0VIM 9.0")
    probe.write_bytes(b"")
    probe.unlink()
    os.replace(path, backup)
    path.write_text(text)
    os.chmod(path, 0o644)
    backup.unlink()
    swap.unlink()


EDITORS: Sequence[Callable[[Path, str], None]] = (in_place, by_rename, by_backup, by_truncation, by_deletion, as_vim)
