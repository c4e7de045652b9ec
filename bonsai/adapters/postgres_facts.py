"""FactStore in PostgreSQL: for services with many users."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from bonsai.adapters.postgres import Postgres, each, iso
from bonsai.adapters.postgres_log import COLUMNS, message_of
from bonsai.conversation import unsaid
from bonsai.conversation.armour import armour, bare
from bonsai.conversation.fact import CONFIDENCE, Fact, Told, folded
from bonsai.conversation.turn import MOST, Message, countable
from bonsai.notes.forget import Forget

if TYPE_CHECKING:
    from psycopg import Connection

_NAMES = "user_id, fact_key, fact_value, confidence, version, updated_at, turn"
_COLUMNS = _NAMES.replace("updated_at", iso("updated_at"))
#: The rules of `fact.replaces`, where two writers meet at the row itself.
_PUT = f"""
    INSERT INTO semantic_facts AS old (id, user_id, fact_key, fact_value, confidence, updated_at, turn, folded)
    VALUES (%(id)s, %(user)s, %(key)s, %(value)s, %(confidence)s, clock_timestamp(), %(turn)s, %(folded)s)
    ON CONFLICT (user_id, fact_key) DO UPDATE SET
        fact_value = EXCLUDED.fact_value, confidence = EXCLUDED.confidence, updated_at = clock_timestamp(),
        turn = EXCLUDED.turn, folded = EXCLUDED.folded, version = coalesce(old.version, 1) + 1
    WHERE old.turn <> EXCLUDED.turn
        AND (%(since)s::timestamptz IS NULL OR old.updated_at <= %(since)s::timestamptz)
        AND NOT (%(keep)s AND coalesce(old.confidence, 0.8) > EXCLUDED.confidence)
    RETURNING {_COLUMNS}
"""
_KEEP = f"INSERT INTO fact_versions ({_NAMES}) VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
#: The columns of messages, then confidence; of a fact, its own in their place.
_BOTH = f"""
    (SELECT {COLUMNS}, NULL::float8 FROM messages
     WHERE thread_id = %s AND seq < {MOST} ORDER BY seq DESC LIMIT {{messages}})
    UNION ALL
    (SELECT '', user_id, fact_key, fact_value, turn, '', NULL::jsonb, {iso("updated_at")}, version, confidence
     FROM semantic_facts WHERE user_id = %s ORDER BY updated_at DESC, fact_key LIMIT {{facts}})
"""
_LONG_AGO = "0001-01-01T00:00:00+00:00"  # of a row that another tool wrote without a time
_ONCE = "once:"  # how the turn of a fact begins that no turn told
_FOLDED = r"coalesce(folded, lower(fact_key || E'\n' || fact_value))"


class PostgresFacts:
    """The FactStore in the tables of `postgres.MIGRATIONS`."""

    def __init__(self, database: Postgres) -> None:
        self._database, self._source = database, f"postgres {database.place}"

    def put(self, user: str, facts: Sequence[Told], *, turn: str = "", since: str | None = None) -> list[Fact]:
        """See FactStore."""
        turn = turn or f"{_ONCE}{uuid4()}"  # so that a transaction which is done again after a broken connection is not
        facts = list(facts)

        def work(db: "Connection[Any]") -> list[Fact]:
            # In the order of the keys: two writers of the same facts never wait for each other in a circle.
            order = sorted(range(len(facts)), key=lambda number: facts[number].key)
            done = {number: self._put(db, user, facts[number], turn, since) for number in order}
            return [done[number] for number in range(len(facts))]

        return self._database.run(work)

    def _put(self, db: "Connection[Any]", user: str, new: Told, turn: str, since: str | None) -> Fact:
        row = db.execute(
            _PUT,
            {
                "id": uuid4(),
                "user": armour(user),
                "key": armour(new.key),
                "value": armour(new.value),
                "confidence": new.confidence,
                "turn": armour(turn),
                "folded": armour(folded(new.key, new.value)),
                "since": since,
                "keep": new.keep_confident,
            },
        ).fetchone()
        if row is not None:
            db.execute(_KEEP, row)
            return self._fact(row)
        found = self._get(db, user, new.key)
        assert found is not None  # it was in the way
        return found

    def get(self, user: str, key: str) -> Fact | None:
        """See FactStore."""
        return self._database.run(lambda db: self._get(db, user, key))

    def _get(self, db: "Connection[Any]", user: str, key: str) -> Fact | None:
        query = f"SELECT {_COLUMNS} FROM semantic_facts WHERE user_id = %s AND fact_key = %s"
        row = db.execute(query, (armour(user), armour(key))).fetchone()
        return self._fact(row) if row else None

    def newest(self, user: str, limit: int = 20) -> list[Fact]:
        """See FactStore."""
        where = f"WHERE user_id = %s ORDER BY updated_at DESC, fact_key LIMIT {countable(limit)}"
        return self._query(f"SELECT {_COLUMNS} FROM semantic_facts {where}", (armour(user),))

    def newest_with(
        self, thread: str, messages: int, user: str, facts: int, meanwhile: Callable[[], None]
    ) -> tuple[list[Message], list[Fact]]:
        """The newest messages of a thread and facts of a user, as `read` and `newest` give them, in one trip.

        Two would cost a service half as much again, and what lies between it and the database twice.
        """
        query = _BOTH.format(messages=countable(messages), facts=countable(facts))
        rows = self._database.ask(query, (armour(thread), armour(user)), meanwhile)
        said = [message_of(row[:9]) for row in rows if row[0]]
        told = [self._fact((row[1], row[2], row[3], row[9], row[8], row[7], row[4])) for row in rows if not row[0]]
        return sorted(said, key=attrgetter("seq")), told

    def search(self, user: str, query: str, limit: int = 10) -> list[Fact]:
        """See FactStore."""
        where = (
            f"FROM semantic_facts WHERE user_id = %s AND strpos({_FOLDED}, %s) > 0"
            f" ORDER BY updated_at DESC, fact_key LIMIT {countable(limit)}"
        )
        values = (armour(user), armour(query.casefold()))
        return self._query(f"SELECT {_COLUMNS} {where}", values)

    def history(self, user: str, key: str) -> list[Fact]:
        """See FactStore."""
        where = "FROM fact_versions WHERE user_id = %s AND fact_key = %s ORDER BY version DESC"
        return self._query(f"SELECT {_COLUMNS} {where}", (armour(user), armour(key)))

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """See FactStore."""

        def work(db: "Connection[Any]") -> int:
            found = 0
            for table in ("semantic_facts", "fact_versions"):
                rows = each(db, f"SELECT {_COLUMNS} FROM {table}")
                changed = unsaid.holding(((table, self._fact(row)) for row in rows), what)
                found += len(changed)
                for _, old, new in changed if not count else ():
                    _unsay(db, table, old, new)
            return found

        found = self._database.run(work)
        if found and not count:
            self._database.vacuum("semantic_facts", "fact_versions")
        return found

    def close(self) -> None:
        """Release the connections."""
        self._database.close()

    def _query(self, query: str, values: Sequence[Any]) -> list[Fact]:
        return [self._fact(row) for row in self._database.ask(query, values)]

    def _fact(self, row: Sequence[Any]) -> Fact:
        user, key, value, confidence, version, updated, turn = row
        sure = CONFIDENCE if confidence is None else confidence
        told_by = "" if turn.startswith(_ONCE) else bare(turn)
        return Fact(bare(user), bare(key), bare(value), sure, version or 1, updated or _LONG_AGO, told_by, self._source)


def _unsay(db: "Connection[Any]", table: str, old: Fact, new: Fact) -> None:
    """Give a row other words; where its key is that of another fact then, it takes its place."""
    names = {"user": new.user, "key": new.key, "value": new.value, "old_user": old.user, "old_key": old.key}
    values: dict[str, Any] = {name: armour(text) for name, text in names.items()}
    values |= {"folded": armour(folded(new.key, new.value)), "turn": armour(new.turn), "version": new.version}
    is_version = table == "fact_versions"
    same = " AND version = %(version)s" if is_version else ""
    if (new.user, new.key) != (old.user, old.key):
        db.execute(f"DELETE FROM {table} WHERE user_id = %(user)s AND fact_key = %(key)s{same}", values)
    more = "" if is_version else ", folded = %(folded)s"
    more += ", turn = %(turn)s" if new.turn != old.turn else ""
    db.execute(
        f"UPDATE {table} SET user_id = %(user)s, fact_key = %(key)s, fact_value = %(value)s{more}"
        f" WHERE user_id = %(old_user)s AND fact_key = %(old_key)s{same}",
        values,
    )
