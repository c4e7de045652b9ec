"""What the conversation needs from outside. Every adapter of a port passes the same suite; all are thread-safe."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from bonsai.conversation.fact import Fact, Told
from bonsai.conversation.turn import Event, Message
from bonsai.notes.forget import Forget

Key = tuple[str, ...]  # a kind and names: ("summary", thread); any text may stand in a name
BUFFER = 12  # messages: about six turns


def nothing() -> None:
    """What is done meanwhile where there is nothing to do."""


class Buffer(Protocol):
    """What was said just now, and small values that end by themselves.

    Nothing here is the only copy of anything. Raises Unavailable: then only what is recent is lost.
    """

    def push(self, thread: str, messages: Sequence[Message], ttl: int) -> None:
        """Put messages (with their place in the log) in; one that is there already is not put twice.

        The newest 12 by that place stay, for `ttl` seconds from now.
        """

    def recent(self, thread: str) -> list[Message]:
        """The messages of a thread, oldest first."""

    def together(
        self, thread: str, keys: Sequence[Key], meanwhile: Callable[[], None] = nothing
    ) -> tuple[list[Message], list[str | None]]:
        """What `recent` and `get` say, asked at once. `meanwhile` is done, once, while a server works on it."""

    def put(self, key: Key, value: str, ttl: int) -> None:
        """Keep a value for so many seconds."""

    def get(self, key: Key) -> str | None:
        """The value, None where there is none or its time is over."""

    def take(self, key: Key) -> str | None:
        """The value, which is gone with that: of all who ask at once, one gets it."""

    def drop(self, keys: Sequence[Key]) -> None:
        """Forget values."""

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """Drop what holds something that is to be forgotten; how many rows held it. `count`: only count them.

        Every computation goes too: what was made from it may say it in other words, and is made anew when it is wanted.
        """

    def close(self) -> None:
        """Release connections."""


class Appended(NamedTuple):
    """Messages as they stand in the log, and how many of them are new there."""

    messages: list[Message]
    added: int


class MessageLog(Protocol):
    """Everything that was said, append-only, and what users did.

    Raises Unavailable or Busy (try again: nothing was half written, and a repetition is harmless), IoFailed.
    """

    def append(self, messages: Sequence[Message]) -> Appended:
        """Store all of them or none. A message whose id is there already stays as it is."""

    def read(self, thread: str, limit: int = 50, before: int = 0) -> list[Message]:
        """The newest messages of a thread (before a place in the log), oldest first."""

    def record(self, event: Event) -> bool:
        """Store an event; False where the same one is there already."""

    def events(self, user: str, type: str = "", limit: int = 50) -> list[Event]:
        """The newest events of a user, newest first."""

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """Put marks in the place of what is to be forgotten; how many rows held it. `count`: only count them."""

    def close(self) -> None:
        """Release connections."""


class FactStore(Protocol):
    """Facts by user and key, with every version that there was. Raises like MessageLog."""

    def put(self, user: str, facts: Sequence[Told], *, turn: str = "", since: str | None = None) -> list[Fact]:
        """Tell facts, all of them or none, by the rules of `fact.replaces`; returns them as they stand now."""

    def get(self, user: str, key: str) -> Fact | None:
        """The fact as it stands."""

    def newest(self, user: str, limit: int = 20) -> list[Fact]:
        """What was told last, newest first."""

    def search(self, user: str, query: str, limit: int = 10) -> list[Fact]:
        """Facts whose key or value holds a text, ignoring case, newest first."""

    def history(self, user: str, key: str) -> list[Fact]:
        """Every version of a fact, newest first; empty where there never was one."""

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """The same as in MessageLog, for every version of a fact."""

    def close(self) -> None:
        """Release connections."""
