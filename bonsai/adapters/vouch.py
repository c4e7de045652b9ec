"""Whether a live daemon vouches for what stands on disk: asked by a file whose event it must see.

Whoever asks makes a file in `.bonsai/cookies/`. The kernel tells the daemon of it after everything that happened
before, so its answer, the paths that it saw since a mark, leaves nothing out. The thread that reads the events answers,
so it does not matter what the daemon is busy with. Without an answer in time, a look at everything tells.
"""

import json
import os
import stat
import threading
import time
from contextlib import suppress

from bonsai.adapters.lock import is_held

FOLDER = ".bonsai/cookies"
WAIT = 0.1  # seconds for an answer: a look at everything takes about as long
PAUSE = 0.0005  # seconds between two looks for it
QUIET = 5.0  # seconds in which nobody is asked after an answer did not come
MOST = 10_000  # paths that are remembered; for older marks nobody can tell
_ANSWER = ".answer"


class Cookies:
    """Asks the daemon of the workspace at `root`. See the port Vouching."""

    def __init__(self, root: str) -> None:
        self._lock, self._folder = f"{root}/.bonsai/daemon.lock", f"{root}/{FOLDER}"
        self._not_before = 0.0

    def ask(self, since: str) -> tuple[str, list[str] | None]:
        """(a mark for the next time, the paths that something happened to since the mark `since`)."""
        if time.monotonic() < self._not_before or not hasattr(os, "mknod") or not is_held(self._lock):
            return "", None
        cookie = f"{self._folder}/{os.urandom(8).hex()}"
        try:
            # No open, no close: one event. The mark is in a name, so that it is there when the event comes.
            made = f"{cookie}-{since.encode().hex()}" if since else f"{cookie}-"
            os.mknod(made, 0o600 | stat.S_IFREG)
        except OSError:  # the daemon makes the folder: one that does not answer this way
            return "", None
        try:
            return self._answer(f"{cookie}{_ANSWER}")
        finally:
            for path in (made, f"{cookie}{_ANSWER}"):
                with suppress(OSError):
                    os.unlink(path)

    def _answer(self, path: str) -> tuple[str, list[str] | None]:
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            with suppress(FileNotFoundError, ValueError, KeyError), open(path, encoding="utf-8") as file:
                found = json.load(file)
                return str(found["mark"]), found["paths"]
            time.sleep(PAUSE)
        self._not_before = time.monotonic() + QUIET
        return "", None


class Witness:
    """What the daemon's watcher saw, and the answers. `saw` and `answer` are called by the thread that reads events."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._life = ""  # of the watches: what was seen before they stood, or after they broke, is not known
        self._seen: dict[str, int] = {}  # path → when it was seen last, in that order
        self._count = self._floor = 0

    def begin(self) -> None:
        """The watches stand, and tell of everything from here on."""
        with self._lock:
            self._life, self._seen, self._count, self._floor = os.urandom(4).hex(), {}, 0, 0

    def end(self) -> None:
        """The watches do not tell of everything any more."""
        with self._lock:
            self._life = ""

    def prepare(self) -> None:
        """Make the folder that is watched for cookies, and clear up what was left in it. Never raises."""
        folder = f"{self._root}/{FOLDER}"
        with suppress(OSError):
            if stat.S_ISDIR(os.lstat(os.path.dirname(folder)).st_mode):
                os.makedirs(folder, 0o700, exist_ok=True)
                for name in os.listdir(folder):
                    os.unlink(f"{folder}/{name}")

    def saw(self, path: str) -> None:
        """Something happened to a path."""
        with self._lock:
            self._count += 1
            self._seen.pop(path, None)
            self._seen[path] = self._count
            if len(self._seen) > MOST:
                oldest = next(iter(self._seen))
                self._floor = self._seen.pop(oldest)

    def answer(self, path: str) -> bool:
        """Answer a cookie; whether the path is in their folder at all."""
        folder, _, name = path.rpartition("/")
        if folder != FOLDER:
            return False
        token, dash, since = name.partition("-")
        place = f"{self._root}/{FOLDER}"
        if not dash or not os.path.lexists(f"{place}/{name}"):  # an answer, or a cookie that is taken back
            return True
        text = json.dumps(self._since(since))
        with suppress(OSError):
            temp = f"{place}/{token}.new"
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(text)
            os.rename(temp, f"{place}/{token}{_ANSWER}")
        return True

    def _since(self, mark: str) -> dict[str, str | list[str] | None]:
        with self._lock:
            life, _, count = _decoded(mark).partition(".")
            now = f"{self._life}.{self._count}" if self._life else ""
            if not now or life != self._life or not count.isdigit() or int(count) < self._floor:
                return {"mark": now, "paths": None}
            paths = []
            for path in reversed(self._seen):
                if self._seen[path] <= int(count):
                    break
                paths.append(path)
            return {"mark": now, "paths": paths}


def _decoded(mark: str) -> str:
    with suppress(ValueError):
        return bytes.fromhex(mark).decode("ascii", "replace")
    return ""
