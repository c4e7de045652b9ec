"""Redis and PostgreSQL of our own, for tests. As a program: `servers.py COMMAND…` runs it with both started.

The command finds them by TEST_REDIS_URL and TEST_DATABASE_URL; they are stopped when it ends.
"""

import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self


class Missing(Exception):
    """The server is not installed; the text says which package has it."""


class Server:
    """A server with a folder and a port of its own, both kept over a restart."""

    ending = signal.SIGTERM

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="bonsai-server-")
        self.port = _free_port()
        self.running: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        raise NotImplementedError

    def kill(self) -> None:
        """What a power cut does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it and take its folder away."""
        self._end(self.ending)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        if self.running is not None:
            self.running.send_signal(how)
            self.running.wait(30)
        self.running = None

    def _wait(self, works: Callable[[], bool]) -> Self:
        for _ in range(600):
            if works():
                return self
            assert self.running is None or self.running.poll() is None, "the server ended"
            time.sleep(0.05)
        raise AssertionError("the server does not start")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class Redis(Server):
    """Redis without a disk: after a kill it has forgotten everything."""

    def __init__(self) -> None:
        self.program = shutil.which("redis-server")
        if not self.program:
            raise Missing("redis-server is not installed (Debian: redis-server)")
        super().__init__()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> Self:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        assert self.program
        self.running = subprocess.Popen(
            [self.program, *options, "--dir", self.folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        return self._wait(lambda: _listens(self.port))


class Postgres(Server):
    """PostgreSQL, which keeps what it said that it has stored."""

    ending = signal.SIGINT  # does not wait for those who are connected

    def __init__(self) -> None:
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres")) or [shutil.which("postgres") or ""]
        if not found[-1]:
            raise Missing("PostgreSQL is not installed (Debian: postgresql)")
        super().__init__()
        self.bin = Path(found[-1]).parent
        # It refuses to run as root.
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        self.data = f"{self.folder}/data"
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self._do("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")

    def start(self) -> Self:
        settings = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder}
        # As durable as ever against a kill of the server; only a power cut of the machine would show.
        options = [f"-c{key}={value}" for key, value in {**settings, "fsync": "off"}.items()]
        self.running = subprocess.Popen(
            [self.bin / "postgres", "-D", self.data, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=self.user,
            cwd=self.folder,
        )
        return self._wait(self._answers)

    def restart(self) -> None:
        """As an administrator does it: whoever is connected is thrown out."""
        self._end(self.ending)
        self.start()

    def kill(self) -> None:
        """The kill of the first process; the others end by themselves."""
        self._end(signal.SIGKILL)
        for _ in range(200):
            if not _listens(self.port):
                return
            time.sleep(0.05)

    def _answers(self) -> bool:
        ready = [self.bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ready).returncode == 0

    def _do(self, *words: str) -> None:
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            [self.bin / words[0], *words[1:]], user=self.user, cwd=self.folder, env=environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def main(command: list[str]) -> int:
    with Redis() as redis, Postgres() as postgres:
        environment = {**os.environ, "TEST_REDIS_URL": redis.url, "TEST_DATABASE_URL": postgres.url}
        return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
