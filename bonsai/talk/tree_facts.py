"""FactStore in the tree of a workspace: the default. One note a key, its versions in git."""

import threading
from collections.abc import Sequence

from bonsai.conversation.fact import Fact, Told
from bonsai.notes.forget import Forget
from bonsai.personal import Personal


class TreeFacts:
    """The FactStore over a workspace, which serves one thread at a time."""

    def __init__(self, home: Personal, lock: "threading.RLock | None" = None) -> None:
        self._home, self._lock = home, lock or threading.RLock()

    def put(self, user: str, facts: Sequence[Told], *, turn: str = "", since: str | None = None) -> list[Fact]:
        """See FactStore. Raises Refused too: what looks like a credential comes into no commit."""
        with self._lock:
            return self._home.tell(user, facts, turn=turn, since=since)

    def get(self, user: str, key: str) -> Fact | None:
        """See FactStore."""
        with self._lock:
            return self._home.fact(user, key)

    def newest(self, user: str, limit: int = 20) -> list[Fact]:
        """See FactStore."""
        with self._lock:
            return self._home.told(user, limit)

    def search(self, user: str, query: str, limit: int = 10) -> list[Fact]:
        """See FactStore."""
        with self._lock:
            return self._home.told(user, limit, query)

    def history(self, user: str, key: str) -> list[Fact]:
        """See FactStore."""
        with self._lock:
            return self._home.versions(user, key)

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """Nothing here: they are notes, which `Workspace.erase` takes out of git's history, too."""
        return 0

    def close(self) -> None:
        """The workspace is closed by whoever opened it."""
