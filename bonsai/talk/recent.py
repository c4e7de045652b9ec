"""Short-term memory that never fails: what cannot be kept is lost, and that is said once an outage."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from bonsai.conversation.kept import loaded
from bonsai.conversation.ports import Buffer, Key
from bonsai.conversation.turn import Message, json_text, need_count, need_name, need_str, need_text, need_user
from bonsai.errors import BadData, Unavailable

T = TypeVar("T")
DAY = 86_400
BUFFER_TTL = SUMMARY_TTL = 3 * DAY  # seconds
SCRATCH_TTL = 2 * 3600
FOLLOW_UP_TTL = 600
CACHE_TTL = EMBEDDING_TTL = DAY
PERSON_TTL = 300
STAMP_TTL = 7 * DAY  # longer than any computation may be cached
LONGEST = 100 * 365 * DAY  # Redis takes no time that ends beyond its clock


class Cached(NamedTuple):
    """What a cache knows of a computation: `stamp` says of which state of its facts a new result would be."""

    found: bool
    value: Any
    stamp: str


class Recent:
    """A Buffer whose outages are no errors. `told` takes the one sentence about each of them."""

    def __init__(self, buffer: Buffer, told: Callable[[str], None]) -> None:
        self._buffer, self._told = buffer, told
        self._lock = threading.Lock()
        self._down: set[str] = set()  # what fails now: a server that is full can still be read
        self._owed: dict[Key, None] = {}  # facts that were told while the cache could not hear of it

    # -- what was said ---------------------------------------------------------------------------------

    def messages(self, thread: str) -> list[Message]:
        """The last messages, oldest first."""
        need_name("thread", thread)
        return self._try(lambda: self._buffer.recent(thread), [])

    def _push(self, thread: str, messages: Sequence[Message]) -> None:
        """Put messages, with their place in the log, into the buffer of a thread."""
        self._try(lambda: self._buffer.push(thread, messages, BUFFER_TTL), None, "writing")

    def _short_term(self, thread: str, meanwhile: Callable[[], None]) -> tuple[list[Message], str, Any]:
        """The last messages, the summary and what was asked (it stays), for one question to the buffer.

        `meanwhile` is done while it works, unless it does not.
        """
        nothing: tuple[list[Message], list[str | None]] = ([], [None, None])
        keys = ("summary", thread), ("follow_up", thread)
        messages, (summary, asked) = self._try(lambda: self._buffer.together(thread, keys, meanwhile), nothing)
        return messages, summary or "", loaded(asked)

    def set_summary(self, thread: str, text: str, ttl: int = SUMMARY_TTL) -> None:
        """Keep the rolling summary of a thread."""
        self._put(("summary", need_name("thread", thread)), need_text("summary", text), ttl)

    def summary(self, thread: str) -> str:
        """The rolling summary, "" where there is none."""
        return self._get(("summary", need_name("thread", thread))) or ""

    def set_scratch(self, run: str, key: str, value: str, ttl: int = SCRATCH_TTL) -> None:
        """Keep an intermediate result of a run."""
        self._put(("scratch", need_name("run", run), need_name("key", key)), need_text("value", value), ttl)

    def scratch(self, run: str, key: str) -> str | None:
        """The intermediate result."""
        return self._get(("scratch", need_name("run", run), need_name("key", key)))

    # -- what was asked --------------------------------------------------------------------------------

    def set_follow_up(self, thread: str, context: Any, ttl: int = FOLLOW_UP_TTL) -> None:
        """Keep what was asked in a thread until the answer comes."""
        self._put(("follow_up", need_name("thread", thread)), need_text("follow-up", json_text(context)), ttl)

    def follow_up(self, thread: str) -> Any:
        """What was asked; it stays."""
        return loaded(self._get(("follow_up", need_name("thread", thread))))

    def take_follow_up(self, thread: str) -> Any:
        """What was asked; of all who ask for it, one gets it."""
        key = "follow_up", need_name("thread", thread)
        return loaded(self._try(lambda: self._buffer.take(key), None))

    # -- what was computed -----------------------------------------------------------------------------

    def cached(self, name: str, user: str | None = None, keys: Sequence[str] = ()) -> Cached:
        """A computation, where it is there and no fact that it depends on has been told since.

        Args:
            user: whose facts it depends on; None: of none.
            keys: on these facts of the user alone; without any, on all.
        """
        need_name("name", name)
        if isinstance(keys, str):  # each of its letters would be taken for a key
            raise BadData("the keys are one text", hint=f"Give them as a list: [{keys[:40]!r}].")
        if self._owed:
            self._settle()
        stamp = self._stamp(user, keys)
        held = loaded(self._get(("cache", name)))
        if isinstance(held, dict) and held.get("stamp") == stamp and not self._owed:
            return Cached(True, held.get("value"), stamp)
        return Cached(False, None, stamp)

    def keep(self, name: str, value: Any, stamp: str, ttl: int = CACHE_TTL) -> None:
        """Cache a computation that began when `cached` gave this stamp."""
        text = json_text({"stamp": need_str("stamp", stamp), "value": value})
        self._put(("cache", need_name("name", name)), text, ttl, STAMP_TTL)

    def forget(self, name: str) -> None:
        """Let a computation be made again."""
        key = "cache", need_name("name", name)
        self._try(lambda: self._buffer.drop([key]), None, "writing")

    def _changed(self, user: str, keys: Sequence[str]) -> None:
        """Facts of a user have been told: what depends on them is of yesterday."""
        with self._lock:
            self._owed.update(dict.fromkeys([("stamp", user), *(("stamp", user, key) for key in keys)]))
        self._settle()

    def close(self) -> None:
        """Release the buffer."""
        self._buffer.close()

    # -- inside ----------------------------------------------------------------------------------------

    def _settle(self) -> None:
        with self._lock:
            owed = list(self._owed)
        for key in owed:
            if self._try(partial(self._stamped, key), False, "writing"):
                with self._lock:
                    self._owed.pop(key, None)

    def _stamped(self, key: Key) -> bool:
        self._buffer.put(key, uuid4().hex, STAMP_TTL)
        return True

    def _stamp(self, user: str | None, keys: Sequence[str]) -> str:
        if user is None and not keys:
            return ""
        whose = need_user(user or "")
        wanted: list[Key] = [("stamp", whose, need_name("key", key)) for key in keys] or [("stamp", whose)]
        return "|".join(self._get(key) or "" for key in wanted)

    def _put(self, key: Key, value: str, ttl: int, longest: int = LONGEST) -> None:
        seconds = min(need_count("time to live", ttl, 1), longest)
        self._try(lambda: self._buffer.put(key, value, seconds), None, "writing")

    def _get(self, key: Key) -> str | None:
        return self._try(lambda: self._buffer.get(key), None)

    def _try(self, ask: Callable[[], T], otherwise: T, doing: str = "reading") -> T:
        try:
            answer = ask()
        except Unavailable as error:
            with self._lock:
                first = not self._down
                self._down.add(doing)
            if first:
                self._told(f"{error}; until it is back, what was said last, summaries and follow-ups are not kept")
            return otherwise
        if self._down:
            with self._lock:
                self._down.discard(doing)
        return answer
