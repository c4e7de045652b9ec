"""Buffer in Redis: what was said just now, for many processes on many machines. The door to redis."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from bonsai.conversation import unsaid
from bonsai.conversation.armour import armour, bare
from bonsai.conversation.kept import packed, spelled, unpacked
from bonsai.conversation.ports import BUFFER, Key, nothing
from bonsai.conversation.turn import Message
from bonsai.errors import Misconfigured, Unavailable, install_hint
from bonsai.notes.forget import Forget

if TYPE_CHECKING:
    from redis import Redis

WAIT = 0.5  # seconds for an answer: an agent must not stand still for what it can do without
_GLOB = re.compile(r"[][*?^\\-]")  # what means something in a pattern of Redis
REST = 2.0  # seconds in which a cache that did not answer is not asked again


class RedisBuffer:
    """The Buffer at a `redis://` or `rediss://` address. Times end by the clock of the server.

    Args:
        url: its password is never shown.
        namespace: what the names of all keys begin with; two services that share a server take two.

    Raises:
        Misconfigured: an address that is none, or redis is not installed.
    """

    def __init__(self, url: str, namespace: str = "bonsai") -> None:
        self._namespace = namespace
        self._redis, self.place = _client(url)
        number = self._redis.connection_pool.connection_kwargs.get("db") or 0
        self.name = f"Redis {self.place}/{number}, keys {namespace}:*"  # what tells it from any other
        self._lock, self._ask_at = threading.Lock(), 0.0

    def push(self, thread: str, messages: Sequence[Message], ttl: int) -> None:
        """See Buffer. Ordered by the place in the log: two writers, or a late retry, mix nothing up."""
        name = self._name(("buffer", thread))
        with self._asked(), self._redis.pipeline(transaction=True) as pipe:
            pipe.zadd(name, {packed(item): item.seq for item in messages})
            pipe.zremrangebyrank(name, 0, -BUFFER - 1)
            pipe.expire(name, ttl)
            pipe.execute()

    def recent(self, thread: str) -> list[Message]:
        """See Buffer."""
        with self._asked():
            found: Any = self._redis.zrange(self._name(("buffer", thread)), 0, -1)
        return unpacked(map(_text, found), thread)

    def together(
        self, thread: str, keys: Sequence[Key], meanwhile: Callable[[], None] = nothing
    ) -> tuple[list[Message], list[str | None]]:
        """See Buffer. One trip."""
        with self._asked(), self._redis.pipeline(transaction=False) as pipe:
            failed = _during(pipe, meanwhile)
            pipe.zrange(self._name(("buffer", thread)), 0, -1)
            pipe.mget([self._name(key) for key in keys])
            found, values = pipe.execute()
        if failed:
            raise failed[0]
        return unpacked(map(_text, found), thread), [None if value is None else bare(_text(value)) for value in values]

    def put(self, key: Key, value: str, ttl: int) -> None:
        """See Buffer."""
        with self._asked():
            self._redis.set(self._name(key), armour(value).encode(), ex=ttl)

    def get(self, key: Key) -> str | None:
        """See Buffer."""
        with self._asked():
            found: Any = self._redis.get(self._name(key))
        return None if found is None else bare(_text(found))

    def take(self, key: Key) -> str | None:
        """See Buffer."""
        with self._asked():
            found: Any = self._redis.getdel(self._name(key))
        return None if found is None else bare(_text(found))

    def drop(self, keys: Sequence[Key]) -> None:
        """See Buffer."""
        if keys:
            with self._asked():
                self._redis.delete(*map(self._name, keys))

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See Buffer."""
        found = 0
        ours = _GLOB.sub(r"\\\g<0>", self._namespace) + ":*"
        computed = self._name(("cache", "")).encode()
        with self._asked():
            for name in self._redis.scan_iter(match=ours, count=1000):
                held = self._held(name, what)
                found += len(held)
                if name.startswith(computed):
                    held = [name]
                if count or not held:
                    continue
                if held == [name]:
                    self._redis.delete(name)
                else:
                    self._redis.zrem(name, *held)
        return found

    def _held(self, name: bytes, what: Forget) -> list[bytes]:
        """The members of a set that hold what is forgotten, or the name itself, where all of it does."""
        kind: Any = self._redis.type(name)
        value: Any = self._redis.get(name) if kind == b"string" else b""
        if unsaid.holds(bare(unquote(_text(name))), what) or _holds(value or b"", what):
            return [name]
        members: Any = self._redis.zrange(name, 0, -1) if kind == b"zset" else []
        return [item for item in members if _holds(item, what)]

    def close(self) -> None:
        """Release connections."""
        self._redis.close()

    def _name(self, key: Key) -> str:
        return f"{self._namespace}:{spelled(key)}"

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Whatever Redis says becomes Unavailable; where it says nothing it has a rest: an outage costs half a second.

        One that refuses (it is full, a key is of another program) has answered at once, and answers other questions.
        """
        from redis.exceptions import RedisError, ResponseError

        with self._lock:
            resting = time.monotonic() < self._ask_at
        if resting:
            raise self._down("does not answer")
        try:
            yield
        except ResponseError as error:
            raise self._down(f"refuses it ({type(error).__name__})", "Look at its settings.") from error
        except (RedisError, OSError, ValueError) as error:
            with self._lock:
                self._ask_at = time.monotonic() + REST
            raise self._down(f"does not answer ({type(error).__name__})") from error

    def _down(self, what: str, hint: str = "Start Redis, or correct REDIS_URL.") -> Unavailable:
        return Unavailable(f"the cache {what}", path=self.place, hint=hint)


def _during(pipe: Any, act: Callable[[], None]) -> list[BaseException]:
    """Have `act` done, once, when a pipeline has sent its commands and is about to read the first answer.

    What it raises will be in the list that is returned: the answers have to be read first, or whoever is given the
    connection next would take them for his.
    """
    todo, parse, failed = [act], pipe.parse_response, list[BaseException]()

    def read(*args: Any, **options: Any) -> Any:
        if todo:
            try:
                todo.pop()()
            except BaseException as error:
                failed.append(error)
        return parse(*args, **options)

    pipe.parse_response = read
    return failed


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _holds(data: bytes, what: Forget) -> bool:
    return unsaid.holds(bare(_text(data)), what)


def _client(url: str) -> "tuple[Redis, str]":
    """A client that connects when it is first used, and the address without its password."""
    try:
        from redis import Redis
        from redis.backoff import ConstantBackoff
        from redis.retry import Retry
    except ImportError as error:
        hint = install_hint("redis")
        raise Misconfigured("REDIS_URL is set, and redis is not installed", hint=hint) from error
    try:
        # One more try, on a new connection: after a restart of the server every pooled one is dead.
        client = Redis.from_url(
            url, socket_timeout=WAIT, socket_connect_timeout=WAIT, retry=Retry(ConstantBackoff(0.02), 1)
        )
    except ValueError as error:  # its text would show the password
        hint = "Write it like redis://HOST:6379/0."
        raise Misconfigured("REDIS_URL is no address of a Redis server", hint=hint) from error
    settings = client.connection_pool.connection_kwargs
    return client, f"{settings.get('host') or settings.get('path', 'redis')}:{settings.get('port', '')}".rstrip(":")
