"""The servers that a workspace is told to use, and what an erasure does on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from bonsai.errors import BonsaiError
from bonsai.passes.erased import Asked

if TYPE_CHECKING:
    from bonsai.notes.forget import Forget

URLS = ("BONSAI_DB_URL", "TURSO_DATABASE_URL", "TURSO_URL")
TOKENS = ("BONSAI_DB_TOKEN", "TURSO_AUTH_TOKEN", "TURSO_TOKEN")
NAMESPACE = "bonsai"  # what the keys in Redis begin with
Erase: TypeAlias = "Callable[[Forget, bool], int]"


def cold_address(given: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """URL and token of the libSQL database of the cold tier: as given, else of the environment; "" for none."""
    url = given[0] or next((found for name in URLS if (found := os.environ.get(name, ""))), "")
    token = given[1] or next((found for name in TOKENS if (found := os.environ.get(name, ""))), "")
    return url, token


def erase(what: Forget, cold: tuple[str, str], *, count: bool = False) -> list[Asked]:
    """Take what is to be forgotten out of every server that is set; `count`: only count its rows.

    Args:
        cold: URL and token of the cold tier, ("", "") where that is a file.

    A server that does not answer, or whose package is missing, is told by its `cause`; nothing is raised.
    """
    out = []
    for name, ask in _configured(*cold):
        try:
            out.append(Asked(name, ask(what, count)))
        except BonsaiError as error:
            out.append(Asked(name, 0, f"{error}", error.hint))
    return out


def _configured(url: str, token: str) -> Iterator[tuple[str, Erase]]:
    if redis := os.environ.get("REDIS_URL", ""):
        yield "Redis", partial(_in_redis, redis, os.environ.get("BONSAI_NAMESPACE", NAMESPACE))
    if database := os.environ.get("DATABASE_URL", ""):
        yield "PostgreSQL", partial(_in_postgres, database)
    if url:
        yield "libSQL", partial(_in_libsql, url, token)


def _in_redis(url: str, namespace: str, what: Forget, count: bool) -> int:
    from bonsai.adapters.redis_buffer import RedisBuffer

    with closing(RedisBuffer(url, namespace)) as buffer:
        return buffer.erase(what, count=count)


def _in_postgres(url: str, what: Forget, count: bool) -> int:
    from bonsai.adapters.postgres import Postgres
    from bonsai.adapters.postgres_facts import PostgresFacts
    from bonsai.adapters.postgres_log import PostgresLog

    with closing(Postgres(url)) as server:
        if not server.has_tables():  # DATABASE_URL may be that of another program, where nothing of ours ever was
            return 0
        return PostgresLog(server).erase(what, count=count) + PostgresFacts(server).erase(what, count=count)


def _in_libsql(url: str, token: str, what: Forget, count: bool) -> int:
    from bonsai.adapters.libsql import libsql_archive

    with closing(libsql_archive(url, token, retries=1, wait=1.0)) as archive:
        return archive.erase(what, count=count)
