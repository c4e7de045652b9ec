"""The conversation for asyncio: the same verbs, each in a thread of its own pool."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import isawaitable
from typing import Any, ParamSpec, Self, TypeVar

from bonsai.conversation import context as contexts
from bonsai.conversation import prompt as prompts
from bonsai.conversation.context import Context
from bonsai.conversation.fact import CONFIDENCE, Fact, Told
from bonsai.conversation.turn import Event, Message, need_user
from bonsai.talk.recent import CACHE_TTL, EMBEDDING_TTL, FOLLOW_UP_TTL, PERSON_TTL, SCRATCH_TTL, SUMMARY_TTL, Cached
from bonsai.talk.service import Conversation, Written

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 16


class AsyncConversation:
    """A Conversation whose verbs are awaited. All say and raise what those of `Conversation` do."""

    def __init__(self, sync: Conversation) -> None:
        self.sync = sync
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="bonsai")

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        redis_url: str | None = None,
        database_url: str | None = None,
        facts: str = "",
        namespace: str = "",
        agent: str = "",
        tell: Callable[[str], None] | None = None,
    ) -> Self:
        """See `Conversation.open`."""
        make = partial(
            Conversation.open,
            path,
            redis_url=redis_url,
            database_url=database_url,
            facts=facts,
            namespace=namespace,
            agent=agent,
            tell=tell,
        )
        return cls(await asyncio.to_thread(make))

    async def load(
        self, thread: str, user: str = "", query: str = "", *, tokens: int = contexts.TOKENS, peek: bool = False
    ) -> Context:
        """What the next turn should know."""
        return await self._do(self.sync.load, thread, user, query, tokens=tokens, peek=peek)

    @staticmethod
    def prompt(context: Context) -> str:
        """The context as text for a prompt."""
        return prompts.render(context)

    async def write_back(
        self,
        thread: str,
        user: str,
        said: str,
        answered: str,
        *,
        facts: Iterable[Told | Mapping[str, Any]] = (),
        turn: str = "",
        intent: str = "",
        metadata: Mapping[str, Any] | None = None,
        distil: bool = False,
    ) -> Written:
        """Store a turn in all tiers, once."""
        return await self._do(
            self.sync.write_back,
            thread,
            user,
            said,
            answered,
            facts=facts,
            turn=turn,
            intent=intent,
            metadata=metadata,
            distil=distil,
        )

    async def add(
        self,
        thread: str,
        role: str,
        content: str,
        *,
        user: str = "",
        id: str = "",
        intent: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Message:
        """Store one message."""
        return await self._do(self.sync.add, thread, role, content, user=user, id=id, intent=intent, metadata=metadata)

    async def messages(self, thread: str) -> list[Message]:
        """The last messages, oldest first."""
        return await self._do(self.sync.messages, thread)

    async def history(self, thread: str, limit: int = contexts.HISTORY, before: int = 0) -> list[Message]:
        """The newest messages of a thread, oldest first."""
        return await self._do(self.sync.history, thread, limit, before)

    async def record(self, user: str, type: str, payload: Mapping[str, Any]) -> bool:
        """Store an event; False where the same one was stored before."""
        return await self._do(self.sync.record, user, type, payload)

    async def events(self, user: str, type: str = "", limit: int = contexts.HISTORY) -> list[Event]:
        """The newest events of a user, newest first."""
        return await self._do(self.sync.events, user, type, limit)

    async def set_fact(
        self, user: str, key: str, value: str, confidence: float = CONFIDENCE, *, keep_confident: bool = False
    ) -> Fact:
        """Tell a fact."""
        return await self._do(self.sync.set_fact, user, key, value, confidence, keep_confident=keep_confident)

    async def fact(self, user: str, key: str) -> Fact | None:
        """A fact as it stands."""
        return await self._do(self.sync.fact, user, key)

    async def facts(self, user: str = "", limit: int = contexts.FACTS) -> list[Fact]:
        """What a user told last, newest first."""
        return await self._do(self.sync.facts, user, limit)

    async def search_facts(self, user: str, query: str, limit: int = 10) -> list[Fact]:
        """Facts of a user whose key or value holds a text."""
        return await self._do(self.sync.search_facts, user, query, limit)

    async def fact_history(self, user: str, key: str) -> list[Fact]:
        """Every version of a fact, newest first."""
        return await self._do(self.sync.fact_history, user, key)

    async def set_summary(self, thread: str, text: str, ttl: int = SUMMARY_TTL) -> None:
        """Keep the rolling summary of a thread."""
        await self._do(self.sync.set_summary, thread, text, ttl)

    async def summary(self, thread: str) -> str:
        """The rolling summary."""
        return await self._do(self.sync.summary, thread)

    async def set_scratch(self, run: str, key: str, value: str, ttl: int = SCRATCH_TTL) -> None:
        """Keep an intermediate result of a run."""
        await self._do(self.sync.set_scratch, run, key, value, ttl)

    async def scratch(self, run: str, key: str) -> str | None:
        """The intermediate result."""
        return await self._do(self.sync.scratch, run, key)

    async def set_follow_up(self, thread: str, context: Any, ttl: int = FOLLOW_UP_TTL) -> None:
        """Keep what was asked."""
        await self._do(self.sync.set_follow_up, thread, context, ttl)

    async def follow_up(self, thread: str) -> Any:
        """What was asked; it stays."""
        return await self._do(self.sync.follow_up, thread)

    async def take_follow_up(self, thread: str) -> Any:
        """What was asked; of all who ask for it, one gets it."""
        return await self._do(self.sync.take_follow_up, thread)

    async def person_model(self, user: str, compute: Callable[[], Any]) -> Any:
        """See `Conversation.person_model`; what `compute` gives is awaited, where it can be."""
        return await self.compute(f"person_model:{need_user(user)}", compute, user=user, ttl=PERSON_TTL)

    async def compute(
        self,
        name: str,
        compute: Callable[[], Any],
        *,
        user: str | None = None,
        keys: Sequence[str] = (),
        ttl: int = EMBEDDING_TTL,
    ) -> Any:
        """See `Conversation.compute`; what `compute` gives is awaited, where it can be."""
        held = await self.cached(name, user, keys)
        if held.found:
            return held.value
        value = compute()
        if isawaitable(value):
            value = await value
        await self.keep(name, value, held.stamp, ttl)
        return value

    async def cached(self, name: str, user: str | None = None, keys: Sequence[str] = ()) -> Cached:
        """A computation, where it is there and no fact that it depends on has been told since."""
        return await self._do(self.sync.cached, name, user, keys)

    async def keep(self, name: str, value: Any, stamp: str, ttl: int = CACHE_TTL) -> None:
        """Cache a computation that began when `cached` gave this stamp."""
        await self._do(self.sync.keep, name, value, stamp, ttl)

    async def forget(self, name: str) -> None:
        """Let a computation be made again."""
        await self._do(self.sync.forget, name)

    async def close(self) -> None:
        """Release threads, files and connections."""
        await self._do(self.sync.close)
        self._pool.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _do(self, verb: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(verb, *args, **named))
