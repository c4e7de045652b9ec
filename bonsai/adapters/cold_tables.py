"""The cold tier in SQL: two tables that other tools know, one with the whole notes, and full text where there is FTS5.

SQLite and libSQL speak the same SQL, so all that differs is how statements get there: see `Run`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from bonsai.conversation import unsaid
from bonsai.errors import BonsaiError, Busy, Refused, Unavailable
from bonsai.facts.archive import ColdRow, Critical
from bonsai.facts.score import IMPORTANCE, finite
from bonsai.notes import layout
from bonsai.notes.forget import Forget

Statement: TypeAlias = tuple[str, Sequence[Any]]
Rows: TypeAlias = list[tuple[Any, ...]]
#: Carries out statements in one transaction, all or none, and gives the rows of each.
Run: TypeAlias = Callable[[Sequence[Statement]], list[Rows]]

TABLES = (
    "CREATE TABLE IF NOT EXISTS cold_memories (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, text TEXT NOT NULL,"
    " category TEXT NOT NULL, importance REAL DEFAULT 0.5, created_at INTEGER NOT NULL,"
    " access_count INTEGER DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS critical_state (agent_id TEXT PRIMARY KEY, data TEXT NOT NULL,"
    " updated_at INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS cold_notes (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL,"
    " note BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS cold_by_category ON cold_memories (agent_id, category)",
    "CREATE INDEX IF NOT EXISTS cold_by_path ON cold_notes (path)",
)
FULL_TEXT = "CREATE VIRTUAL TABLE IF NOT EXISTS cold_words USING fts5(text, category)"
#: Rows that another tool wrote get what they lack.
_ADOPT = (
    "INSERT INTO cold_notes (id, path, note) SELECT id, '', x'' FROM cold_memories"
    " WHERE id NOT IN (SELECT id FROM cold_notes)"
)
_NAMES = "SELECT name FROM sqlite_master WHERE name IN ('cold_memories', 'cold_notes', 'critical_state', 'cold_words')"
_LACKING = "SELECT (SELECT count(*) FROM cold_memories) > (SELECT count(*) FROM cold_notes)"
_ADOPT_WORDS = (
    "INSERT INTO cold_words (rowid, text, category) SELECT n.number, m.text, m.category FROM cold_memories m"
    " JOIN cold_notes n ON n.id = m.id WHERE n.number NOT IN (SELECT rowid FROM cold_words)"
)
_PUT = (
    "INSERT INTO cold_memories (id, agent_id, text, category, importance, created_at, access_count)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET text = excluded.text, category = excluded.category,"
    " importance = excluded.importance, created_at = excluded.created_at,"
    " access_count = max(access_count, excluded.access_count) WHERE agent_id = excluded.agent_id"
)
_PUT_NOTE = (
    "INSERT INTO cold_notes (id, path, note) VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET path = excluded.path, note = excluded.note"
)
_PUT_WORDS = (
    "INSERT OR REPLACE INTO cold_words (rowid, text, category) SELECT number, ?, ? FROM cold_notes WHERE id = ?"
)
_FIELDS = (
    "SELECT m.id, m.agent_id, m.text, m.category, m.importance, m.created_at, m.access_count,"
    " coalesce(n.path, ''), coalesce(n.note, x'')"
)
COLUMNS = f"{_FIELDS} FROM cold_memories m LEFT JOIN cold_notes n ON n.id = m.id"
# CROSS: the words come first. Left to itself SQLite asked them for each row anew: a minute with 10,000 rows.
_BY_WORDS = (
    f"{_FIELDS} FROM cold_words CROSS JOIN cold_notes n ON n.number = cold_words.rowid"
    " CROSS JOIN cold_memories m ON m.id = n.id WHERE cold_words MATCH ? AND m.agent_id = ?"
    " ORDER BY bm25(cold_words), m.importance DESC, m.id LIMIT ?"
)
_SAVE = (
    "INSERT INTO critical_state (agent_id, data, updated_at) VALUES (?, ?, ?) ON CONFLICT (agent_id)"
    " DO UPDATE SET data = excluded.data, updated_at = excluded.updated_at WHERE updated_at < excluded.updated_at"
)
_MOST_WORDS = 16


class ColdTables:
    """An `Archive` over anything that carries out SQL."""

    def __init__(self, run: Run, *, remote: bool, close: Callable[[], None] = lambda: None) -> None:
        self.remote = remote
        self._run, self._close = run, close
        self._ready = False
        self._words = False  # whether the server has FTS5

    def init(self) -> None:
        """Make the tables where they are missing, and give the rows of other tools what they lack."""
        self._run([(statement, ()) for statement in TABLES])
        self._words = True
        try:
            self._run([(FULL_TEXT, ())])
        except (Unavailable, Busy):
            raise
        except BonsaiError:  # a server without FTS5: then words are looked for one by one
            self._words = False
        self._run([(_ADOPT, ()), *([(_ADOPT_WORDS, ())] if self._words else [])])
        self._ready = True

    def put(self, rows: Sequence[ColdRow]) -> None:
        """Add rows, or bring those with the same id up to date; all of them or none."""
        self._need()
        statements: list[Statement] = []
        for row in rows:
            plain = (row.id, row.agent, row.text, row.category, row.importance, row.created_at, row.accesses)
            statements += [(_PUT, plain), (_PUT_NOTE, (row.id, row.path, row.note))]
            if self._words:
                statements.append((_PUT_WORDS, (row.text, row.category, row.id)))
        if statements:
            self._run(statements)

    def search(self, agent: str, words: Sequence[str], limit: int) -> list[ColdRow]:
        """Rows that hold one of the words, the best first."""
        self._need()
        asked = [word for word in words if word.strip()][:_MOST_WORDS]
        if not asked:
            return []
        if self._words:
            match = " OR ".join('"' + word.replace('"', '""') + '"*' for word in asked)
            with suppress(Refused):  # words that no tokenizer makes anything of
                return rows_of(self._run([(_BY_WORDS, (match, agent, limit))])[0])
        test = " OR ".join(["m.text LIKE ? ESCAPE '!' OR m.category LIKE ? ESCAPE '!'"] * len(asked))
        likes = [like for word in asked for like in [f"%{_escaped(word)}%"] * 2]
        sql = f"{COLUMNS} WHERE m.agent_id = ? AND ({test}) ORDER BY m.importance DESC, m.created_at DESC, m.id LIMIT ?"
        return rows_of(self._run([(sql, (agent, *likes, limit))])[0])

    def get(self, agent: str, path: str) -> list[ColdRow]:
        """The rows whose id or path is this one, newest first."""
        self._need()
        sql = f"{COLUMNS} WHERE m.agent_id = ? AND (m.id = ? OR n.path = ?) ORDER BY m.created_at DESC, m.id"
        return rows_of(self._run([(sql, (agent, path, path))])[0])

    def page(self, agent: str, after: str, limit: int) -> list[ColdRow]:
        """The next rows by id, of those behind `after`."""
        self._need()
        sql = f"{COLUMNS} WHERE m.agent_id = ? AND m.id > ? ORDER BY m.id LIMIT ?"
        return rows_of(self._run([(sql, (agent, after, limit))])[0])

    def known(self, agent: str) -> set[str]:
        """The ids that it holds."""
        self._need()
        return {str(row[0]) for row in self._run([("SELECT id FROM cold_memories WHERE agent_id = ?", (agent,))])[0]}

    def counts(self, agent: str) -> Mapping[str, int]:
        """Rows by category."""
        self._need()
        sql = "SELECT category, count(*) FROM cold_memories WHERE agent_id = ? GROUP BY category"
        return {str(name): int(count) for name, count in self._run([(sql, (agent,))])[0]}

    def drop(self, agent: str, ids: Sequence[str]) -> None:
        """Delete rows for good."""
        self._need()
        statements: list[Statement] = []
        for item in ids:
            mine = "SELECT id FROM cold_memories WHERE id = ? AND agent_id = ?"
            if self._words:
                number = f"SELECT number FROM cold_notes WHERE id IN ({mine})"
                statements.append((f"DELETE FROM cold_words WHERE rowid IN ({number})", (item, agent)))
            statements.append((f"DELETE FROM cold_notes WHERE id IN ({mine})", (item, agent)))
            statements.append(("DELETE FROM cold_memories WHERE id = ? AND agent_id = ?", (item, agent)))
        if statements:
            self._run(statements)

    def save_critical(self, agent: str, state: Critical) -> bool:
        """Keep a state; an older one never replaces a newer. Says whether this one stands there now."""
        self._need()
        said = ("SELECT data, updated_at FROM critical_state WHERE agent_id = ?", (agent,))
        rows = self._run([(_SAVE, (agent, state.data, state.updated_at)), said])[1]
        return bool(rows) and str(rows[0][0]) == state.data and int(finite(rows[0][1], 0)) == state.updated_at

    def critical(self, agent: str) -> Critical | None:
        """The state that was kept last."""
        self._need()
        rows = self._run([("SELECT data, updated_at FROM critical_state WHERE agent_id = ?", (agent,))])[0]
        return Critical(str(rows[0][0]), int(finite(rows[0][1], 0))) if rows else None

    def agents(self) -> list[str]:
        """Everybody that it holds something of."""
        self._need()
        sql = "SELECT agent_id FROM cold_memories UNION SELECT agent_id FROM critical_state"
        return [str(row[0]) for row in self._run([(sql, ())])[0]]

    def drop_critical(self, agent: str) -> None:
        """Delete the state of an agent."""
        self._need()
        self._run([("DELETE FROM critical_state WHERE agent_id = ?", (agent,))])

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """Delete the rows, and the states of a new device, that hold something of what is to be forgotten.

        Returns how many there are; `count`: only count them.
        """
        found = 0
        for agent in self.agents():
            gone = [row.id for row in self._every(agent) if _holds(row, what)]
            kept = self.critical(agent)
            state = kept is not None and unsaid.holds(kept.data, what)
            found += len(gone) + state
            if gone and not count:
                self.drop(agent, gone)
            if state and not count:
                self.drop_critical(agent)
        if found and self._words and not count:  # the index keeps the words of deleted rows until it is made anew
            self._run([("INSERT INTO cold_words (cold_words) VALUES ('rebuild')", ())])
        return found

    def _every(self, agent: str) -> Iterator[ColdRow]:
        after = ""
        while page := self.page(agent, after, 500):
            yield from page
            after = page[-1].id

    def close(self) -> None:
        """Release the connection."""
        self._close()

    def _need(self) -> None:
        """The tables as they have to be: one question where they are, since a server far away takes its time."""
        if self._ready:
            return
        with suppress(Refused):  # no table, or one of another shape
            names, lacking = self._run([(_NAMES, ()), (_LACKING, ())])
            if len(names) == 4 and lacking == [(0,)]:
                self._ready = self._words = True
                return
        self.init()


def rows_of(found: Rows) -> list[ColdRow]:
    """What COLUMNS gives, as rows; a value of another kind than ours counts as the usual one."""
    return [
        ColdRow(
            str(item),
            str(agent),
            str(text),
            str(category),
            finite(weight, IMPORTANCE),
            int(finite(created, 0)),
            int(finite(accesses, 0)),
            str(path),
            note.encode() if isinstance(note, str) else bytes(note or b""),
        )
        for item, agent, text, category, weight, created, accesses, path, note in found
    ]


def _holds(row: ColdRow, what: Forget) -> bool:
    """Whether a row is of a note that goes, or holds something of it. A path counts only in the tree of its agent."""
    if row.path in what.names and layout.tree_of(row.path).owner == row.agent:
        return True
    texts = row.text, row.path, row.category, row.id
    return what.found(row.note) or any(unsaid.holds(text, what) for text in texts)


def _escaped(word: str) -> str:
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")
