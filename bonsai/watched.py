"""What the daemon asks of a workspace: to be the only one, to say how it is, to act in its own name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bonsai.adapters.files import Files, ensure_private
from bonsai.adapters.lock import WriterLock, is_held
from bonsai.errors import BonsaiError, Busy
from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.passes.reports import DaemonReport
    from bonsai.ports.disk import Watcher

DAEMON = ".bonsai/daemon.json"
JOBS = ".bonsai/schedule.json"


class Watched(Place):
    """A workspace that a daemon watches."""

    def watcher(self) -> Watcher:
        """A watcher of this workspace, not started yet."""
        from bonsai.adapters.watcher import DiskWatcher

        return DiskWatcher(self.root)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Be the one daemon of this workspace. Raises Busy when there is another one."""
        ensure_private(self.root)
        try:
            # Not 0: whoever asks whether there is a daemon (`is_held`) has the lock for an instant.
            with WriterLock(f"{self._private}/daemon.lock", 0.5)():
                with suppress(BonsaiError):  # what a dead one said must not be taken for ours
                    self._store.discard(DAEMON)
                yield
        except Busy as error:
            if is_held(f"{self._private}/daemon.lock") and error.path == ".bonsai/lock":
                raise Busy(
                    "a daemon watches this workspace already", path=self.root, hint="`bonsai daemon status` shows it."
                ) from error
            raise

    def lost(self) -> bool:
        """Whether the lock of the daemon is no longer there, in a workspace that is: it was replaced, or cleaned."""
        return Files.find_workspace(self.root) == self.root and not is_held(f"{self._private}/daemon.lock")

    def is_any_empty(self, paths: Iterable[str]) -> bool:
        """Whether one of the paths is a file without a byte (a pipe never has one); not where it cannot be told."""
        with suppress(BonsaiError):
            entries = map(self._store.stat, paths)
            return any(entry is not None and entry.kind == "file" and entry.stat.size == 0 for entry in entries)
        return False

    def unsettled(self) -> bool:
        """Whether the person's index, locked when a commit was made, still waits to be brought in line."""
        from bonsai.passes.recover import LATE

        return self._store.exists(LATE)

    def reread(self) -> bool:
        """Take bonsai.toml as it is now; whether that changed something. Raises Misconfigured, IoFailed, Refused."""
        settings = self._settings()
        changed = settings != self.settings
        self.settings = settings
        self._outside = replace(self._outside, settings=settings)
        return changed

    @contextmanager
    def acting(self, actor: str) -> Iterator[None]:
        """Do what is inside in the name of another actor (`daemon`); edits of a person stay theirs."""
        before = self._outside.actor
        self._outside = replace(self._outside, actor=actor)
        try:
            yield
        finally:
            self._outside = replace(self._outside, actor=before)

    def trim(self) -> None:
        """Give the memory that a look at everything took back to the system."""
        from bonsai.adapters import heap

        self._cache.trim()
        heap.trim()

    def say(self, state: Mapping[str, Any] | None) -> None:
        """Tell `.bonsai/daemon.json` how the daemon is; None: there is none any more."""
        import json

        if state is not None:
            text = json.dumps({"pid": os.getpid(), **state}, ensure_ascii=False)
            self._store.generate(DAEMON, f"{text}\n".encode("utf-8", "replace"))
        elif self._json(DAEMON).get("pid") == os.getpid():  # not that of another daemon, where the folder was replaced
            self._store.discard(DAEMON)

    def daemon(self) -> DaemonReport:
        """Whether a daemon watches this workspace, and how it is. A dead one holds no lock, whatever the file says."""
        from bonsai.passes.reports import DaemonReport

        running = is_held(f"{self._private}/daemon.lock")  # before the file: the lock is taken first
        said = self._json(DAEMON)
        pid = said.get("pid")
        number = pid if running and isinstance(pid, int) else None

        def text(key: str) -> str:
            return str(said.get(key) or "")

        return DaemonReport(
            running=running,
            pid=number,
            state=text("state"),
            since=text("since"),
            mode=text("mode"),
            paused=text("paused"),
            last_commit=text("last_commit") or None,
            last_commit_at=text("last_commit_at") or None,
            died=bool(said) and not running,
        )

    def last_jobs(self) -> dict[str, str]:
        """When the scheduled jobs ran last, by name."""
        return {str(name): str(when) for name, when in self._json(JOBS).items()}

    def keep_jobs(self, times: Mapping[str, str]) -> None:
        """Remember when the scheduled jobs ran last."""
        import json

        self._store.generate(JOBS, f"{json.dumps(times)}\n".encode())
