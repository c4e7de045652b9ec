"""The conversation as a service embeds it: what the next turn should know, and what a turn leaves behind."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Self
from uuid import uuid4

from bonsai.adapters import clock
from bonsai.conversation import context as contexts
from bonsai.conversation import prompt as prompts
from bonsai.conversation.context import Context, Passage
from bonsai.conversation.distil import distilled
from bonsai.conversation.fact import CONFIDENCE, Fact, Told, by_weight, each_told, told
from bonsai.conversation.ports import Appended
from bonsai.conversation.turn import Event, Message, event, message, need_count, need_name, need_str, need_user
from bonsai.errors import BadData, BonsaiError, Refused, Usage
from bonsai.talk.critical import CriticalSync
from bonsai.talk.recent import EMBEDDING_TTL, PERSON_TTL, Recent
from bonsai.talk.stores import Stores, open_stores
from bonsai.talk.tree_facts import TreeFacts

CONSIDERED = 60  # facts: of these newest ones, those that weigh most are in the context
QUERY = 2000  # characters of a message that are a good question to the memory
PASSAGE_TOKENS = 1500


@dataclass(slots=True)
class Written:
    """What a turn left behind. `refused` says which facts may not be kept, and why; `repeated`: it was there before."""

    turn: str
    messages: list[Message]
    facts: list[Fact]
    refused: list[str] = field(default_factory=list)
    repeated: bool = False
    warnings: list[str] = field(default_factory=list)


class Conversation(Recent):
    """Three tiers of memory behind one door. Thread-safe; many processes may have the same stores.

    The short-term memory (messages, summaries, scratch, follow-ups, cached computations) never fails: see `Recent`.
    What is in a database raises Unavailable or Busy where it does not answer: nothing was half stored, and the same
    call may be made again. A turn that is written again is stored once: give it the same `turn`.
    """

    @classmethod
    def open(
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
        """The conversation of the workspace at `path`.

        Args:
            redis_url: where the short-term memory is; None: REDIS_URL; "": in `.bonsai/cache`.
            database_url: where messages and events are; None: DATABASE_URL; "": in `.bonsai/conversation.db`.
            facts: where facts are: "tree", "sqlite" or "postgres"; "": BONSAI_FACTS, else the tree.
            namespace: what the keys in Redis begin with; "": BONSAI_NAMESPACE, else `bonsai`.
            agent: whose tree of the workspace it is.
            tell: takes one sentence for each outage of the cache. It is also in the warnings of the next report.

        Raises:
            NotFound: no such folder. Misconfigured: an address that is none, a package that is not installed.
        """
        stores = open_stores(
            path, redis_url=redis_url, database_url=database_url, facts=facts, namespace=namespace, agent=agent
        )
        return cls(stores, tell=tell)

    def __init__(
        self,
        stores: Stores,
        *,
        now: Callable[[], datetime] = clock.now,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        if not (tell is None or callable(tell)):
            raise BadData("`tell` takes no sentence", hint="Give a function of one text.")
        super().__init__(stores.buffer, self._warn)
        self._stores, self._now, self._tell_person = stores, now, tell
        self._guard = threading.Lock()
        self._untold: list[str] = []
        self._critical = CriticalSync(stores.another, self._warn)
        self._unfinished: dict[tuple[str, ...], str] = {}  # turns that failed: the same one again has the same id

    # -- a turn ----------------------------------------------------------------------------------------

    def load(
        self, thread: str, user: str = "", query: str = "", *, tokens: int = contexts.TOKENS, peek: bool = False
    ) -> Context:
        """What the next turn should know, within a budget. Takes the follow-up with it, unless it only peeks.

        Args:
            query: what the memory is asked: the new message. "": the last one of the user.
            tokens: the budget, an estimate (about four characters each).

        Raises:
            Unavailable, Busy, IoFailed: a database does not answer.
        """
        need_str("query", query)
        need_count("budget of tokens", tokens, 1)
        out = Context(need_name("thread", thread), need_user(user))
        recalled: list[list[Passage]] = []

        def recall() -> None:
            if self._stores.lock.acquire(blocking=False):  # else connections would wait with us for the other threads
                try:
                    recalled.append(self._recalled(user, query))
                finally:
                    self._stores.lock.release()

        def meanwhile() -> None:  # the database works on what is known, the cache on what is recent
            out.buffer, out.summary, out.follow_up = self._short_term(thread, recall)

        out.history, facts = self._stores.known(thread, contexts.HISTORY, user, CONSIDERED, meanwhile)
        passages = recalled[0] if recalled else self._recalled(user, query)
        out.facts = by_weight(facts, self._now())[: contexts.FACTS]
        if not query:
            said = (item.content for item in reversed(out.buffer or out.history) if item.role == "user")
            passages = self._recalled(user, next(said, ""))
        known = {fact.source for fact in out.facts}
        out.passages = [hit for hit in passages if hit.path not in known][: contexts.PASSAGES]
        if out.follow_up is not None and not peek:  # last, since it is gone with that: nothing may fail any more
            out.follow_up = self.take_follow_up(thread)
        out.warnings = self._warnings()
        return contexts.fit(out, tokens, prompts.tokens)

    @staticmethod
    def prompt(context: Context) -> str:
        """The context as text for a prompt: fenced, with where everything is from."""
        return prompts.render(context)

    def write_back(
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
        """Store a turn in all tiers, once: the same `turn` again changes nothing, and completes what was cut short.

        Without a `turn` one is made; the same call after an error goes on with it.

        Args:
            said, answered: the two messages; one may be "".
            facts: what the caller has learnt: `Told`, or mappings with key, value and perhaps confidence.
            distil: also keep what the turn comes to, by rules; in the tree as a note of the user.

        Raises:
            BadData, Usage: before anything is stored. Unavailable, Busy, IoFailed: write it back again.
        """
        news = each_told(facts)
        pairs = [("user", need_str("message", said)), ("assistant", need_str("message", answered))]
        call = (need_name("thread", thread), need_user(user), said, answered)
        with self._guard:
            turn = turn or self._unfinished.get(call) or uuid4().hex
        make = partial(message, thread, user=user, intent=intent, metadata=metadata, turn=turn)
        messages = [make(role, text) for role, text in pairs if text]
        if not messages:
            raise Usage("the turn is empty", hint="Give at least one of the two messages.")
        try:
            written = self._written(thread, user, messages, news, turn)
            if distil:
                self._distil(user, said, answered, written)
        except BonsaiError:
            with self._guard:
                self._unfinished[call] = turn
            raise
        with self._guard:
            self._unfinished.pop(call, None)
        home = self._stores.home
        if home is not None and home.is_remote:
            self._critical.want()
        written.warnings = self._warnings()
        return written

    def _written(self, thread: str, user: str, messages: list[Message], news: list[Told], turn: str) -> Written:
        stored = self._stores.log.append(messages)
        repeated = stored.added < len(messages)
        out = Written(turn, stored.messages, [], repeated=repeated)
        if news:
            self._told_all(user, news, out, stored.messages[0].time if repeated else None)
        self._push(thread, stored.messages)
        return out

    def _distil(self, user: str, said: str, answered: str, out: Written) -> None:
        """One line about the turn: a note beside the facts of the user, or a fact where there are no notes."""
        fact, importance = distilled(said, answered)
        home = self._stores.home
        try:
            if not fact:
                return
            if home is not None and isinstance(self._stores.facts, TreeFacts):
                with self._stores.lock:
                    home.note_down(user, fact, turn=out.turn, importance=importance)
            else:
                self._stores.facts.put(user, [Told(f"turn {out.turn}", fact, importance)], turn=out.turn)
        except Refused as error:
            out.refused.append(f"the turn in short: {error}")

    def _told_all(self, user: str, news: Sequence[Told], out: Written, since: str | None) -> None:
        """All facts at once, or each by itself where one of them may not be kept."""
        put = self._stores.facts.put
        try:
            out.facts = put(user, news, turn=out.turn, since=since)
        except Refused as error:
            if len(news) == 1:
                out.refused.append(f"{news[0].key}: {error}")
                return
            for new in news:
                self._told_all(user, [new], out, since)
            return
        finally:
            self._changed(user, [new.key for new in news])

    # -- messages and events ---------------------------------------------------------------------------

    def add(
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
        """Store one message, as `write_back` does. The same `id` in a thread is the same message."""
        made = message(thread, role, content, turn=id or uuid4().hex, user=user, intent=intent, metadata=metadata)
        stored: Appended = self._stores.log.append([made])
        self._push(thread, stored.messages)
        return stored.messages[0]

    def history(self, thread: str, limit: int = contexts.HISTORY, before: int = 0) -> list[Message]:
        """The newest messages of a thread (before a place in the log), oldest first."""
        place = need_count("place", before)
        return self._stores.log.read(need_name("thread", thread), need_count("limit", limit), place)

    def record(self, user: str, type: str, payload: Mapping[str, Any]) -> bool:
        """Store an event; False where the same one was stored before."""
        return self._stores.log.record(event(user, type, payload))

    def events(self, user: str, type: str = "", limit: int = contexts.HISTORY) -> list[Event]:
        """The newest events of a user, newest first."""
        return self._stores.log.events(need_user(user), need_str("type", type), need_count("limit", limit))

    # -- facts -----------------------------------------------------------------------------------------

    def set_fact(
        self, user: str, key: str, value: str, confidence: float = CONFIDENCE, *, keep_confident: bool = False
    ) -> Fact:
        """Tell a fact: the newer value wins. `keep_confident`: not over one that is surer. Returns what stands now.

        Raises BadData, Refused (it looks like a credential), and what a database raises.
        """
        need_user(user)
        new = told(Told(key, value, confidence, keep_confident))
        try:
            return self._stores.facts.put(user, [new])[0]
        finally:
            self._changed(user, [key])

    def fact(self, user: str, key: str) -> Fact | None:
        """A fact as it stands."""
        return self._stores.facts.get(need_user(user), need_name("key", key))

    def facts(self, user: str = "", limit: int = contexts.FACTS) -> list[Fact]:
        """What a user told last, newest first."""
        return self._stores.facts.newest(need_user(user), need_count("limit", limit))

    def search_facts(self, user: str, query: str, limit: int = 10) -> list[Fact]:
        """Facts of a user whose key or value holds a text."""
        return self._stores.facts.search(need_user(user), need_str("query", query), need_count("limit", limit))

    def fact_history(self, user: str, key: str) -> list[Fact]:
        """Every version of a fact, newest first."""
        return self._stores.facts.history(need_user(user), need_name("key", key))

    # -- computations ----------------------------------------------------------------------------------

    def person_model(self, user: str, compute: Callable[[], Any]) -> Any:
        """What is computed from the facts of a user, kept for five minutes or until one of them is told anew."""
        return self.compute(f"person_model:{need_user(user)}", compute, user=user, ttl=PERSON_TTL)

    def compute(
        self,
        name: str,
        compute: Callable[[], Any],
        *,
        user: str | None = None,
        keys: Sequence[str] = (),
        ttl: int = EMBEDDING_TTL,
    ) -> Any:
        """A computation, from the cache where it is there (`ttl` seconds; an embedding lasts a day).

        Args:
            compute: makes it; its result must be JSON.
            user: whose facts it depends on ("": the owner's); None: on none. `keys`: on these of them alone.
        """
        held = self.cached(name, user, keys)
        if held.found:
            return held.value
        value = compute()
        self.keep(name, value, held.stamp, ttl)
        return value

    # -- inside ----------------------------------------------------------------------------------------

    def _recalled(self, user: str, query: str) -> list[Passage]:
        home = self._stores.home
        if home is None or not query.strip():
            return []
        try:
            with self._stores.lock:
                limit = contexts.PASSAGES + contexts.FACTS  # some may be facts that are in the context anyway
                hits = home.recall_for(user, query[:QUERY], limit=limit, tokens=PASSAGE_TOKENS)
        except BonsaiError as error:  # the memory in files is not well: the conversation goes on without it
            self._warn(f"nothing was recalled: {error}")
            return []
        return [Passage(hit.path, hit.lines, hit.heading, hit.text, hit.score, hit.source) for hit in hits]

    def _warn(self, sentence: str) -> None:
        with self._guard:
            self._untold.append(sentence)
        if self._tell_person is not None:
            self._tell_person(sentence)

    def _warnings(self) -> list[str]:
        """What nobody has been told yet."""
        file = self._stores.file
        if file is not None and file.damage:
            damage, file.damage = file.damage, ""
            self._warn(damage)
        with self._guard:
            untold, self._untold = self._untold, []
        return untold

    def close(self) -> None:
        """Release files and connections; what is on its way to a database has a moment to get there."""
        self._critical.close()
        self._stores.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
