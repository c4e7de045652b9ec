"""MessageLog in a SQLite file: the default, for one machine."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.conversation import unsaid
from bonsai.conversation.armour import armour, armour_json, bare, bare_json
from bonsai.conversation.ports import Appended
from bonsai.conversation.turn import MOST, Event, Message, countable
from bonsai.notes.forget import Forget

_COLUMNS = "id, thread_id, role, content, user_id, intent, metadata, created_at, seq"


class SqliteLog:
    """The MessageLog in the tables of `sqlite_facts.MIGRATIONS`."""

    def __init__(self, file: SqliteStore, clock: Callable[[], datetime]) -> None:
        self._file, self._clock = file, clock

    def append(self, messages: Sequence[Message]) -> Appended:
        """See MessageLog."""
        with self._file.writing() as db:
            time = self._clock().isoformat()  # once it is our turn, so that times go the way of the order
            added = sum(_insert(db, item, time) for item in messages)
            query = f"SELECT {_COLUMNS} FROM messages WHERE id = ?"
            return Appended([_message(db.execute(query, (item.id,)).fetchone()) for item in messages], added)

    def read(self, thread: str, limit: int = 50, before: int = 0) -> list[Message]:
        """See MessageLog."""
        query = f"SELECT {_COLUMNS} FROM messages WHERE thread_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?"
        rows = self._file.ask(query, (armour(thread), countable(before) or MOST, countable(limit)))
        return [_message(row) for row in reversed(rows)]

    def record(self, event: Event) -> bool:
        """See MessageLog."""
        query = "INSERT OR IGNORE INTO events (id, user_id, ts, type, payload, payload_hash) VALUES (?, ?, ?, ?, ?, ?)"
        names = armour(event.user), self._clock().isoformat(), armour(event.type)
        with self._file.writing() as db:
            return db.execute(query, (event.id, *names, _json(event.payload), event.hash)).rowcount == 1

    def events(self, user: str, type: str = "", limit: int = 50) -> list[Event]:
        """See MessageLog."""
        query = (
            "SELECT user_id, type, payload, ts FROM events WHERE user_id = ?1 AND (?2 = '' OR type = ?2)"
            " ORDER BY seq DESC LIMIT ?3"
        )
        rows = self._file.ask(query, (armour(user), armour(type), countable(limit)))
        return [_event(*row) for row in rows]

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See MessageLog. The bytes are gone from the file once it is compacted."""
        with self._file.writing() as db:
            messages = map(_message, db.execute(f"SELECT {_COLUMNS} FROM messages"))
            said = unsaid.holding(((item.seq, item) for item in messages), what)
            events = db.execute("SELECT seq, user_id, type, payload FROM events")
            done = unsaid.holding(((seq, _event(*row)) for seq, *row in events), what)
            if not count:
                for seq, _, item in said:
                    query = (
                        "UPDATE messages SET thread_id = ?, role = ?, content = ?, user_id = ?, intent = ?,"
                        " metadata = ? WHERE seq = ?"
                    )
                    db.execute(query, (*_texts(item), seq))
                for seq, _, other in done:
                    query = (
                        "UPDATE OR REPLACE events SET id=?, user_id=?, type=?, payload=?, payload_hash=? WHERE seq=?"
                    )
                    names = armour(other.user), armour(other.type)
                    db.execute(query, (other.id, *names, _json(other.payload), other.hash, seq))
        return len(said) + len(done)

    def close(self) -> None:
        """Release the file."""
        self._file.close()


def _insert(db: sqlite3.Connection, item: Message, time: str) -> bool:
    query = (
        "INSERT OR IGNORE INTO messages (id, thread_id, role, content, user_id, intent, metadata, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    return db.execute(query, (item.id, *_texts(item), time)).rowcount == 1


def _texts(item: Message) -> tuple[str | None, ...]:
    texts = map(armour, (item.thread, item.role, item.content, item.user))
    return (*texts, armour(item.intent) or None, None if item.metadata is None else _json(item.metadata))


def _event(user: str, kind: str, payload: str, time: str = "") -> Event:
    return Event(bare(user), bare(kind), bare_json(json.loads(payload)), time)


def _json(value: Any) -> str:
    return json.dumps(armour_json(value), allow_nan=False)


def _message(row: Sequence[Any]) -> Message:
    number, thread, role, content, user, intent, metadata, time, seq = row
    more = None if metadata is None else bare_json(json.loads(metadata))
    return Message(number, bare(thread), bare(role), bare(content), bare(user), bare(intent or ""), more, time, seq)
