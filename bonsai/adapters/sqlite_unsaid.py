"""Takes what is to be forgotten out of the SQLite file of a conversation, so that none of its bytes stays."""

import os

from bonsai.adapters import clock
from bonsai.adapters.sqlite_facts import MIGRATIONS, SqliteFacts
from bonsai.adapters.sqlite_log import SqliteLog
from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.notes.forget import Forget

NAME = ".bonsai/conversation.db"


def forget(path: str, what: Forget, count: bool = False) -> int:
    """Put marks in the place of what is forgotten; the rest of each message stays. `count`: only count the rows.

    Raises Busy, IoFailed.
    """
    if not os.path.exists(path):
        return 0
    store = SqliteStore(path, NAME, MIGRATIONS, durable=True)
    try:
        found = sum(part(store, clock.now).erase(what, count=count) for part in (SqliteLog, SqliteFacts))
        if not count:
            store.compact()
    finally:
        store.close()
    return found
