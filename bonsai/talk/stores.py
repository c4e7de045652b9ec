"""Which stores a conversation has: embedded ones, or those that REDIS_URL and DATABASE_URL name."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bonsai.adapters import clock
from bonsai.adapters.files import ensure_private
from bonsai.adapters.known_servers import remember
from bonsai.conversation.fact import Fact
from bonsai.conversation.ports import Buffer, FactStore, MessageLog
from bonsai.conversation.turn import Message, need_str
from bonsai.errors import BadData, Misconfigured
from bonsai.personal import Personal
from bonsai.servers import Addresses, addresses
from bonsai.talk.tree_facts import TreeFacts

if TYPE_CHECKING:
    from bonsai.adapters.sqlite_store import SqliteStore

BACKENDS = ("tree", "sqlite", "postgres")


@dataclass(slots=True)
class Stores:
    """The three tiers, and the workspace whose passages are recalled (None: nothing is).

    `lock` is held by whoever uses the workspace; `file` is the SQLite file behind the embedded ones; `together` asks
    one database for both of its tiers.
    """

    buffer: Buffer
    log: MessageLog
    facts: FactStore
    home: Personal | None = None
    lock: "threading.RLock" = field(default_factory=threading.RLock)
    file: "SqliteStore | None" = None
    together: Callable[[str, int, str, int, Callable[[], None]], tuple[list[Message], list[Fact]]] | None = None

    def known(
        self, thread: str, messages: int, user: str, facts: int, meanwhile: Callable[[], None]
    ) -> tuple[list[Message], list[Fact]]:
        """The newest messages of a thread, oldest first, and the newest facts of a user; `meanwhile` is done too."""
        if self.together is not None:
            return self.together(thread, messages, user, facts, meanwhile)
        meanwhile()
        return self.log.read(thread, messages), self.facts.newest(user, facts)

    def another(self) -> Personal:
        """The workspace opened once more, for another thread."""
        assert self.home is not None
        return Personal.open(self.home.root, agent=self.home.agent)

    def close(self) -> None:
        """Release everything."""
        for store in (self.buffer, self.log, self.facts, self.home):
            if store is not None:
                store.close()


def open_stores(
    path: str | os.PathLike[str],
    *,
    redis_url: str | None = None,
    database_url: str | None = None,
    facts: str = "",
    namespace: str = "",
    agent: str = "",
) -> Stores:
    """The stores of the workspace at `path`. See `Conversation.open`. Raises NotFound, Misconfigured."""
    if not isinstance(path, str | os.PathLike):
        raise BadData("the folder of the workspace is no path", hint="Give it as a text or a Path.")
    for name, given in (("redis_url", redis_url), ("database_url", database_url)):
        need_str(name, given or "")
    need_str("namespace", namespace), need_str("agent", agent)
    where = addresses(redis_url, database_url, namespace)
    backend = facts or os.environ.get("BONSAI_FACTS", "") or BACKENDS[0]
    if backend not in BACKENDS:
        raise Misconfigured(f"there is no place for facts called {backend!r}", hint=f"There are {', '.join(BACKENDS)}.")
    if backend == "postgres" and not where.database:
        raise Misconfigured("facts are to be in PostgreSQL, and no database is named", hint="Set DATABASE_URL.")
    home = Personal.open(path, agent=agent)
    try:
        return _opened(home, where, backend)
    except BaseException:
        home.close()
        raise


def _opened(home: Personal, where: Addresses, backend: str) -> Stores:
    from bonsai.adapters.sqlite_facts import MIGRATIONS, SqliteFacts
    from bonsai.adapters.sqlite_log import SqliteLog
    from bonsai.adapters.sqlite_store import SqliteStore

    ensure_private(home.root)
    lock = threading.RLock()
    name = ".bonsai/conversation.db"
    file = SqliteStore(f"{home.root}/{name}", name, MIGRATIONS, durable=True)
    log: MessageLog = SqliteLog(file, clock.now)
    store: FactStore = TreeFacts(home, lock)
    if backend == "sqlite":
        store = SqliteFacts(file, clock.now)
    together = None
    if where.database:
        from bonsai.adapters.postgres import Postgres
        from bonsai.adapters.postgres_facts import PostgresFacts
        from bonsai.adapters.postgres_log import PostgresLog

        server = Postgres(where.database)
        remember(home.root, server.name)
        log = PostgresLog(server)
        if backend == "postgres":
            store = told = PostgresFacts(server)
            together = told.newest_with
    return Stores(_buffer(home, where), log, store, home, lock, file, together)


def _buffer(home: Personal, where: Addresses) -> Buffer:
    if where.redis:
        from bonsai.adapters.redis_buffer import RedisBuffer

        buffer = RedisBuffer(where.redis, where.namespace)
        remember(home.root, buffer.name)
        return buffer
    from bonsai.adapters.sqlite_buffer import SqliteBuffer

    name = ".bonsai/cache/recent.db"  # a cache: whoever empties that folder loses what was said last, and no more
    return SqliteBuffer(f"{home.root}/{name}", name, clock.now)
