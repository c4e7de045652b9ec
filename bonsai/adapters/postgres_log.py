"""MessageLog in PostgreSQL: for many processes on many machines."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bonsai.adapters.postgres import Postgres, each, iso
from bonsai.conversation import unsaid
from bonsai.conversation.armour import armour, armour_json, bare, bare_json
from bonsai.conversation.ports import Appended
from bonsai.conversation.turn import MOST, Event, Message, countable
from bonsai.notes.forget import Forget

if TYPE_CHECKING:
    from psycopg import Connection

COLUMNS = f"id::text, thread_id, role, content, user_id, intent, metadata, {iso('created_at')}, seq"
_INSERT = """
    INSERT INTO messages (id, thread_id, role, content, user_id, intent, metadata, created_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, clock_timestamp()) ON CONFLICT (id) DO NOTHING
"""
#: The code of the document that this goes back to wrote half a hash: what it stored is known, too.
_EVENT = """
    INSERT INTO events (id, user_id, ts, type, payload, payload_hash)
    SELECT %(id)s, %(user)s, clock_timestamp(), %(type)s, %(payload)s, %(hash)s WHERE NOT EXISTS (
        SELECT FROM events WHERE user_id = %(user)s AND type = %(type)s AND payload_hash = left(%(hash)s, 16))
    ON CONFLICT DO NOTHING
"""
_EVENTS = f"""
    SELECT user_id, type, payload, {iso("ts")} FROM events
    WHERE user_id = %(user)s AND (%(type)s = '' OR type = %(type)s)
    ORDER BY ts DESC, id LIMIT {{limit}}
"""
_UNSAY = """
    UPDATE messages SET thread_id = %s, role = %s, content = %s, user_id = %s, intent = %s, metadata = %s WHERE id = %s
"""
_SAME = """
    DELETE FROM events WHERE id <> %(old)s
        AND (id = %(id)s OR (user_id = %(user)s AND type = %(type)s AND payload_hash = %(hash)s))
"""
_UNDO = """
    UPDATE events SET id = %(id)s, user_id = %(user)s, type = %(type)s, payload = %(payload)s, payload_hash = %(hash)s
    WHERE id = %(old)s
"""


class PostgresLog:
    """The MessageLog in the tables of `postgres.MIGRATIONS`."""

    def __init__(self, database: Postgres) -> None:
        self._database = database

    def append(self, messages: Sequence[Message]) -> Appended:
        """See MessageLog."""

        def work(db: "Connection[Any]") -> Appended:
            for thread in sorted({item.thread for item in messages}):
                # Whoever is first in the log is also seen first: a reader who goes on from the last place that he
                # saw would else miss what another writer commits late.
                db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", (armour(thread),))
            cursor = db.cursor()
            cursor.executemany(_INSERT, [_row(item) for item in messages])
            added = cursor.rowcount
            query = f"SELECT {COLUMNS} FROM messages WHERE id = ANY(%s::uuid[])"
            held = {row[0]: message_of(row) for row in db.execute(query, ([item.id for item in messages],))}
            return Appended([held[item.id] for item in messages], added)

        return self._database.run(work)

    def read(self, thread: str, limit: int = 50, before: int = 0) -> list[Message]:
        """See MessageLog."""
        where = f"WHERE thread_id = %s AND seq < %s ORDER BY seq DESC LIMIT {countable(limit)}"
        query = f"SELECT {COLUMNS} FROM messages {where}"
        rows = self._database.ask(query, (armour(thread), countable(before) or MOST))
        return [message_of(row) for row in reversed(rows)]

    def record(self, event: Event) -> bool:
        """See MessageLog."""
        row = {"id": event.id, "user": armour(event.user), "type": armour(event.type)}
        row |= {"payload": _json(event.payload), "hash": event.hash}
        # A repetition after a lost connection may find the event that its first attempt stored. It is stored, and
        # once; that it is then called a known one is the smaller lie.
        return self._database.run(lambda db: db.execute(_EVENT, row).rowcount == 1)

    def events(self, user: str, type: str = "", limit: int = 50) -> list[Event]:
        """See MessageLog."""
        rows = self._database.ask(_EVENTS.format(limit=countable(limit)), {"user": armour(user), "type": armour(type)})
        return [_event(*row) for row in rows]

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See MessageLog. What the files of the server still hold of it is for its own clearing away."""

        def work(db: "Connection[Any]") -> int:
            messages = map(message_of, each(db, f"SELECT {COLUMNS} FROM messages"))
            said = unsaid.holding(((item.id, item) for item in messages), what)
            events = each(db, "SELECT id, user_id, type, payload FROM events")
            done = unsaid.holding(((number, _event(*row)) for number, *row in events), what)
            for number, _, item in said if not count else ():
                db.execute(_UNSAY, (*_row(item)[1:], number))
            for number, _, other in done if not count else ():
                values = {"old": number, "id": other.id, "user": armour(other.user), "type": armour(other.type)}
                values |= {"payload": _json(other.payload), "hash": other.hash}
                db.execute(_SAME, values)
                db.execute(_UNDO, values)
            return len(said) + len(done)

        found = self._database.run(work)
        if found and not count:
            self._database.vacuum("messages", "events")
        return found

    def close(self) -> None:
        """Release the connections."""
        self._database.close()


def _row(item: Message) -> tuple[Any, ...]:
    texts = map(armour, (item.thread, item.role, item.content, item.user))
    return (item.id, *texts, armour(item.intent) or None, None if item.metadata is None else _json(item.metadata))


def _event(user: str, kind: str, payload: Any, time: str | None = "") -> Event:
    return Event(bare(user), bare(kind), bare_json(payload), time or "")


def _json(value: Any) -> str:
    return json.dumps(armour_json(value), allow_nan=False)


def message_of(row: Sequence[Any]) -> Message:
    """The message in a row of COLUMNS."""
    number, thread, role, content, user, intent, metadata, time, seq = row
    more = None if metadata is None else bare_json(metadata)
    return Message(
        number, bare(thread), bare(role), bare(content), bare(user), bare(intent or ""), more, time or "", seq
    )
