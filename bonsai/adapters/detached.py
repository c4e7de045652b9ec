"""Processes of the daemon: starting one that outlives its starter, and ending one, never that of somebody else."""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import IO


class Detached:
    """A process without a terminal, in a session of its own."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it. Raises OSError."""
        import subprocess
        import tempfile

        # Not a pipe: that would break when the starter is gone. Not a file with a name: nobody would delete it.
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (it stays open as long as the process)
        self._process = subprocess.Popen(
            command,
            cwd="/",  # it must not keep a disk from being unmounted
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )

    def failure(self) -> str:
        """What it said in the end, "" while it runs."""
        code = self._process.poll()
        if code is None:
            return ""
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "surrogateescape").strip().splitlines()
        return said[0].removeprefix("bonsai: ") if said else f"it ended with exit code {code}"


def terminate(pid: int) -> bool:
    """Ask a `bonsai watch` to end; False when it is no such process, is gone, or is another user's."""
    if pid <= 1 or not is_watch(pid):
        return False
    try:
        os.kill(pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def is_watch(pid: int) -> bool:
    """Whether the process is a `bonsai watch` that has not ended (a zombie has)."""
    words = _command_line(pid)
    return "watch" in words and any(os.path.basename(word) == "bonsai" for word in words)


def _command_line(pid: int) -> list[str]:
    """The words of a process's command line, none when it is gone."""
    if os.path.isdir("/proc/self"):
        with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).split("\0")
        return []
    import subprocess

    with suppress(OSError):
        done = subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, check=False)
        return os.fsdecode(done.stdout).split()
    return []
