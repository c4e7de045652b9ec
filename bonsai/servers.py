"""The servers that a workspace is told to use or has used, and what an erasure does on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from bonsai.adapters import known_servers
from bonsai.errors import BonsaiError
from bonsai.passes.erased import Asked

if TYPE_CHECKING:
    from bonsai.notes.forget import Forget

URLS = ("BONSAI_DB_URL", "TURSO_DATABASE_URL", "TURSO_URL")
TOKENS = ("BONSAI_DB_TOKEN", "TURSO_AUTH_TOKEN", "TURSO_TOKEN")
NAMESPACE = "bonsai"  # what the keys in Redis begin with
#: What names a server of each kind.
VARIABLES = {"Redis": "REDIS_URL and BONSAI_NAMESPACE name it", "libSQL": "BONSAI_DB_URL names it"}
Erase: TypeAlias = "Callable[[Forget, bool, Callable[[str], None]], int]"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the servers are, "" for none: Redis and what its keys begin with, PostgreSQL, libSQL (URL and token)."""

    redis: str = ""
    namespace: str = NAMESPACE
    database: str = ""
    cold: tuple[str, str] = ("", "")


def addresses(
    redis_url: str | None = None, database_url: str | None = None, namespace: str = "", cold: tuple[str, str] = ("", "")
) -> Addresses:
    """The addresses as given; what is not given (None, a `namespace` or `cold` of "") is that of the environment."""
    return Addresses(
        os.environ.get("REDIS_URL", "") if redis_url is None else redis_url,
        namespace or os.environ.get("BONSAI_NAMESPACE", NAMESPACE),
        os.environ.get("DATABASE_URL", "") if database_url is None else database_url,
        cold_address(cold),
    )


def cold_address(given: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """URL and token of the libSQL database of the cold tier: as given, else of the environment; "" for none."""
    url = given[0] or next((found for name in URLS if (found := os.environ.get(name, ""))), "")
    token = given[1] or next((found for name in TOKENS if (found := os.environ.get(name, ""))), "")
    return url, token


def erase(root: str, what: Forget, where: Addresses, *, count: bool = False) -> list[Asked]:
    """Take what is to be forgotten out of every server that is set; `count`: only count its rows.

    A server that does not answer, or whose package is missing, is told by its `cause`, and so is each one that the
    workspace at `root` has used before and that nothing names now. Nothing is raised. `hint` is when to try again.
    """
    out, named = list[Asked](), set[str]()
    for kind, ask in _set(where):
        try:
            out.append(Asked(kind, ask(what, count, named.add)))
        except BonsaiError as error:
            out.append(Asked(kind, 0, f"{error}", "When it answers"))
    for server in known_servers.known(root):
        if server not in named:
            names = VARIABLES.get(server.partition(" ")[0], "DATABASE_URL names it")
            out.append(Asked(server, 0, "nothing says how to reach it", f"Once {names}"))
    return out


def _set(where: Addresses) -> Iterator[tuple[str, Erase]]:
    if where.redis:
        yield "Redis", partial(_in_redis, where.redis, where.namespace)
    if where.database:
        yield "PostgreSQL", partial(_in_postgres, where.database)
    if where.cold[0]:
        yield "libSQL", partial(_in_libsql, *where.cold)


def _in_redis(url: str, namespace: str, what: Forget, count: bool, called: Callable[[str], None]) -> int:
    from bonsai.adapters.redis_buffer import RedisBuffer

    with closing(RedisBuffer(url, namespace)) as buffer:
        called(buffer.name)
        return buffer.erase(what, count=count)


def _in_postgres(url: str, what: Forget, count: bool, called: Callable[[str], None]) -> int:
    from bonsai.adapters.postgres import Postgres
    from bonsai.adapters.postgres_facts import PostgresFacts
    from bonsai.adapters.postgres_log import PostgresLog

    with closing(Postgres(url)) as server:
        called(server.name)
        if not server.has_tables():  # DATABASE_URL may be that of another program, where nothing of ours ever was
            return 0
        return PostgresLog(server).erase(what, count=count) + PostgresFacts(server).erase(what, count=count)


def _in_libsql(url: str, token: str, what: Forget, count: bool, called: Callable[[str], None]) -> int:
    from bonsai.adapters.libsql import libsql_archive, server_name

    called(server_name(url))
    with closing(libsql_archive(url, token, retries=1, wait=1.0)) as archive:
        return archive.erase(what, count=count)
