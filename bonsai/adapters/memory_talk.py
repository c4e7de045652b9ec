"""The ports of the conversation in one process: for tests, and for agents that keep nothing."""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bonsai.conversation import unsaid
from bonsai.conversation.fact import Fact, Told, folded, replaces
from bonsai.conversation.ports import BUFFER, Appended, Key, nothing
from bonsai.conversation.turn import Event, Message
from bonsai.notes.forget import Forget

Clock = Callable[[], datetime]


class MemoryBuffer:
    """A Buffer in dictionaries."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._threads: dict[str, tuple[float, dict[int, Message]]] = {}  # until when, and by the place in the log
        self._values: dict[Key, tuple[float, str]] = {}

    def push(self, thread: str, messages: Sequence[Message], ttl: int) -> None:
        """See Buffer."""
        with self._lock:
            held = self._held(thread) | {item.seq: item._replace(metadata=None) for item in messages}
            newest = sorted(held)[-BUFFER:]
            self._threads[thread] = (self._now() + ttl, {seq: held[seq] for seq in newest})

    def recent(self, thread: str) -> list[Message]:
        """See Buffer."""
        with self._lock:
            return list(self._held(thread).values())

    def together(
        self, thread: str, keys: Sequence[Key], meanwhile: Callable[[], None] = nothing
    ) -> tuple[list[Message], list[str | None]]:
        """See Buffer."""
        meanwhile()
        return self.recent(thread), [self.get(key) for key in keys]

    def put(self, key: Key, value: str, ttl: int) -> None:
        """See Buffer."""
        with self._lock:
            now = self._now()
            self._values = {name: held for name, held in self._values.items() if held[0] > now}
            self._values[key] = (now + ttl, value)

    def get(self, key: Key) -> str | None:
        """See Buffer."""
        with self._lock:
            until, value = self._values.get(key, (0.0, ""))
            return value if until > self._now() else None

    def take(self, key: Key) -> str | None:
        """See Buffer."""
        with self._lock:
            until, value = self._values.pop(key, (0.0, ""))
            return value if until > self._now() else None

    def drop(self, keys: Sequence[Key]) -> None:
        """See Buffer."""
        with self._lock:
            for key in keys:
                self._values.pop(key, None)

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See Buffer."""
        with self._lock:
            every = [((name, seq), item) for name, (_, held) in self._threads.items() for seq, item in held.items()]
            said = [place for place, _, _ in unsaid.holding(every, what)]
            kept = [
                key for key, (_, value) in self._values.items() if any(unsaid.holds(t, what) for t in (*key, value))
            ]
            if not count:
                for thread, seq in said:
                    del self._threads[thread][1][seq]
                self._values = {
                    key: held for key, held in self._values.items() if key not in kept and key[0] != "cache"
                }
            return len(said) + len(kept)

    def close(self) -> None:
        """Nothing is open."""

    def _now(self) -> float:
        return self._clock().timestamp()

    def _held(self, thread: str) -> dict[int, Message]:
        until, held = self._threads.get(thread, (0.0, {}))
        return held if until > self._now() else {}


class MemoryLog:
    """A MessageLog in lists."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._messages: dict[str, Message] = {}
        self._threads: dict[str, list[Message]] = defaultdict(list)
        self._events: dict[str, Event] = {}

    def append(self, messages: Sequence[Message]) -> Appended:
        """See MessageLog."""
        with self._lock:
            time, added = self._clock().isoformat(), 0
            for item in messages:
                if item.id not in self._messages:
                    kept = item._replace(time=time, seq=len(self._messages) + 1)
                    self._messages[item.id] = kept
                    self._threads[item.thread].append(kept)
                    added += 1
            return Appended([self._messages[item.id] for item in messages], added)

    def read(self, thread: str, limit: int = 50, before: int = 0) -> list[Message]:
        """See MessageLog."""
        with self._lock:
            held = [item for item in self._threads.get(thread, []) if not before or item.seq < before]
            return held[-limit:] if limit > 0 else []

    def record(self, event: Event) -> bool:
        """See MessageLog."""
        with self._lock:
            new = event.id not in self._events
            self._events.setdefault(event.id, replace(event, time=self._clock().isoformat()))
            return new

    def events(self, user: str, type: str = "", limit: int = 50) -> list[Event]:
        """See MessageLog."""
        with self._lock:
            held = [item for item in self._events.values() if item.user == user and type in ("", item.type)]
            return held[::-1][:limit]

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See MessageLog."""
        with self._lock:
            said = unsaid.holding(self._messages.items(), what)
            done = unsaid.holding(self._events.items(), what)
            if not count:
                self._messages.update((key, new) for key, _, new in said)
                self._threads = defaultdict(list)
                for item in self._messages.values():
                    self._threads[item.thread].append(item)
                for key, _, other in done:
                    del self._events[key]
                    self._events.setdefault(other.id, other)
            return len(said) + len(done)

    def close(self) -> None:
        """Nothing is open."""


class MemoryFacts:
    """A FactStore in a dictionary: the versions of each fact, oldest first."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock, self._lock = clock or (lambda: datetime.now(UTC)), threading.Lock()
        self._facts: dict[tuple[str, str], list[Fact]] = {}

    def put(self, user: str, facts: Sequence[Told], *, turn: str = "", since: str | None = None) -> list[Fact]:
        """See FactStore."""
        with self._lock:
            now = self._clock().isoformat()
            for new in facts:
                held = self._facts.setdefault((user, new.key), [])
                if not held or replaces(new, held[-1], turn, since):
                    held.append(
                        Fact(user, new.key, new.value, new.confidence, len(held) + 1, now, turn, "in this process")
                    )
            return [self._facts[user, new.key][-1] for new in facts]

    def get(self, user: str, key: str) -> Fact | None:
        """See FactStore."""
        with self._lock:
            return self._facts[user, key][-1] if (user, key) in self._facts else None

    def newest(self, user: str, limit: int = 20) -> list[Fact]:
        """See FactStore."""
        return self._newest(user, limit)

    def search(self, user: str, query: str, limit: int = 10) -> list[Fact]:
        """See FactStore."""
        return self._newest(user, limit, query.casefold())

    def history(self, user: str, key: str) -> list[Fact]:
        """See FactStore."""
        with self._lock:
            return self._facts.get((user, key), [])[::-1]

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See FactStore."""
        with self._lock:
            found = unsaid.holding(((held, fact) for held in self._facts.values() for fact in held), what)
            for held, old, new in found if not count else ():
                held[held.index(old)] = new
            self._facts = {(held[-1].user, held[-1].key): held for held in self._facts.values()}
            return len(found)

    def close(self) -> None:
        """Nothing is open."""

    def _newest(self, user: str, limit: int, text: str = "") -> list[Fact]:
        with self._lock:
            held = [versions[-1] for (owner, _), versions in self._facts.items() if owner == user]
        found = sorted((fact for fact in held if text in folded(fact.key, fact.value)), key=lambda fact: fact.key)
        return sorted(found, key=lambda fact: fact.updated, reverse=True)[:limit]
