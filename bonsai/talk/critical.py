"""What a new device would start from is sent to the database behind the back of the turn: no agent waits for it."""

import threading
from collections.abc import Callable

from bonsai.errors import BonsaiError
from bonsai.personal import Personal

WAIT = 10.0  # seconds that closing waits for what is on its way


class CriticalSync:
    """Runs sync-critical in a thread of its own, once at a time, and once more where it was wanted meanwhile.

    Args:
        opened: opens the workspace anew; a thread uses one at a time, and a sending may take its time.
        warn: takes a sentence about one that failed.
    """

    def __init__(self, opened: Callable[[], Personal], warn: Callable[[str], None]) -> None:
        self._opened, self._warn = opened, warn
        self._lock = threading.Lock()
        self._wanted = False
        self._thread: threading.Thread | None = None

    def want(self) -> None:
        """Something has changed."""
        with self._lock:
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bonsai-sync-critical", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Wait a moment for what is on its way."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(WAIT)

    def _run(self) -> None:
        while self._goes_on():
            try:
                with self._opened() as home:
                    home.sync_critical()
            except BonsaiError as error:
                self._warn(f"what a new device would start from was not sent: {error}")

    def _goes_on(self) -> bool:
        with self._lock:
            wanted, self._wanted = self._wanted, False
            if not wanted:
                self._thread = None
            return wanted
