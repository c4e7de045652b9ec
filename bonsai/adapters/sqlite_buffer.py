"""Buffer in a SQLite file: the default, shared by all processes of a machine."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from urllib.parse import unquote

from bonsai.adapters.sqlite_store import SqliteStore
from bonsai.conversation import unsaid
from bonsai.conversation.armour import armour, bare
from bonsai.conversation.kept import packed, spelled, unpacked
from bonsai.conversation.ports import BUFFER, Key, nothing
from bonsai.conversation.turn import Message
from bonsai.errors import BonsaiError, Unavailable
from bonsai.notes.forget import Forget

_MIGRATIONS = [
    [
        "CREATE TABLE recent (thread TEXT, seq INTEGER, data TEXT NOT NULL, PRIMARY KEY (thread, seq)) WITHOUT ROWID",
        "CREATE TABLE threads (thread TEXT PRIMARY KEY, until REAL NOT NULL) WITHOUT ROWID",
        "CREATE TABLE held (name TEXT PRIMARY KEY, value TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID",
        "CREATE INDEX held_until ON held (until)",
        "CREATE INDEX threads_until ON threads (until)",
    ],
]
_RECENT = "SELECT data FROM recent JOIN threads USING (thread) WHERE thread = ? AND until > ? ORDER BY seq"


class SqliteBuffer:
    """The Buffer in the file at `path` (absolute). Nothing in it is the only copy of anything, so it is not synced."""

    def __init__(self, path: str, name: str, clock: Callable[[], datetime]) -> None:
        self._file, self._clock = SqliteStore(path, name, _MIGRATIONS, durable=False), clock

    def push(self, thread: str, messages: Sequence[Message], ttl: int) -> None:
        """See Buffer."""
        name, now = armour(thread), self._now()
        with _unavailable(), self._file.writing() as db:
            self._forget(now, db.execute)
            db.executemany(
                "INSERT OR IGNORE INTO recent VALUES (?, ?, ?)", [(name, m.seq, packed(m)) for m in messages]
            )
            db.execute(
                "DELETE FROM recent WHERE thread = ?1 AND seq NOT IN"
                " (SELECT seq FROM recent WHERE thread = ?1 ORDER BY seq DESC LIMIT ?2)",
                (name, BUFFER),
            )
            db.execute("REPLACE INTO threads VALUES (?, ?)", (name, now + ttl))

    def recent(self, thread: str) -> list[Message]:
        """See Buffer."""
        with _unavailable():
            return unpacked((row[0] for row in self._file.ask(_RECENT, (armour(thread), self._now()))), thread)

    def together(
        self, thread: str, keys: Sequence[Key], meanwhile: Callable[[], None] = nothing
    ) -> tuple[list[Message], list[str | None]]:
        """See Buffer."""
        meanwhile()
        names, now = [spelled(key) for key in keys], self._now()
        query = f"SELECT name, value FROM held WHERE until > ? AND name IN ({', '.join('?' * len(names))})"
        with _unavailable():
            texts = [row[0] for row in self._file.ask(_RECENT, (armour(thread), now))]
            held = {name: bare(value) for name, value in self._file.ask(query, (now, *names))}
        return unpacked(texts, thread), [held.get(name) for name in names]

    def put(self, key: Key, value: str, ttl: int) -> None:
        """See Buffer."""
        now = self._now()
        with _unavailable(), self._file.writing() as db:
            self._forget(now, db.execute)
            db.execute("REPLACE INTO held VALUES (?, ?, ?)", (spelled(key), armour(value), now + ttl))

    def get(self, key: Key) -> str | None:
        """See Buffer."""
        with _unavailable():
            rows = self._file.ask("SELECT value FROM held WHERE name = ? AND until > ?", (spelled(key), self._now()))
        return bare(rows[0][0]) if rows else None

    def take(self, key: Key) -> str | None:
        """See Buffer."""
        with _unavailable(), self._file.writing() as db:
            row = db.execute("DELETE FROM held WHERE name = ? RETURNING value, until", (spelled(key),)).fetchone()
        return bare(row[0]) if row and row[1] > self._now() else None

    def drop(self, keys: Sequence[Key]) -> None:
        """See Buffer."""
        with _unavailable(), self._file.writing() as db:
            db.executemany("DELETE FROM held WHERE name = ?", [(spelled(key),) for key in keys])

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See Buffer."""
        with _unavailable(), self._file.writing() as db:
            rows = db.execute("SELECT thread, seq, data FROM recent").fetchall()
            said = [row[:2] for row in rows if unsaid.holds(bare(row[0]), what) or unsaid.holds(row[2], what)]
            values = db.execute("SELECT name, value FROM held").fetchall()
            held = [
                (name,) for name, value in values if any(unsaid.holds(bare(t), what) for t in (unquote(name), value))
            ]
            if not count:
                db.executemany("DELETE FROM recent WHERE thread = ? AND seq = ?", said)
                db.executemany("DELETE FROM held WHERE name = ?", held)
                db.execute("DELETE FROM held WHERE name GLOB 'cache:*'")
        return len(said) + len(held)

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def _now(self) -> float:
        return self._clock().timestamp()

    def _forget(self, now: float, execute: Callable[..., object]) -> None:
        """What is over goes, whoever writes next; there may be nobody who ever asks for it again."""
        execute("DELETE FROM held WHERE until <= ?", (now,))
        execute("DELETE FROM recent WHERE thread IN (SELECT thread FROM threads WHERE until <= ?)", (now,))
        execute("DELETE FROM threads WHERE until <= ?", (now,))


@contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except BonsaiError as error:
        raise Unavailable(error.cause, path=error.path, hint=error.hint) from error
