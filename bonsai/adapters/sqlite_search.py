"""The search index in SQLite: one row a passage, its terms in a full-text table that holds no text of its own.

The full-text tables get terms, not words: `notes.query.index_terms` has folded, stemmed and cut them already, so that
what a query looks for and what the index holds come from one function. The terms stand beside the text once more: the
ranking needs them, and a contentless table wants the old values for a delete, which keeps all counts exact.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from bonsai.adapters import sqlite_vectors
from bonsai.adapters.sqlite_file import DamagedError, DerivedFile, NotNowError, number, transaction
from bonsai.errors import Busy
from bonsai.notes.candidate import About, Candidate, Fields, Piece, Statistics
from bonsai.notes.change import Row, Stat
from bonsai.notes.meaning import Close, Embedder, Place
from bonsai.notes.query import VERSION

if TYPE_CHECKING:
    from bonsai.notes.document import Document

SCHEMA = 1000 * 5 + VERSION
NEAR = 2  # passages before and after a candidate that come with it
NOTES = 10  # notes that are looked into for what stands in their title, description, tags or path
OF_NOTE = 8  # passages of each of them
_WAIT_MS = 20  # for another writer: whoever asks can do without the index

#: Every visible ASCII character is part of a term, so that only the spaces between terms divide them.
_SIGNS = "".join(chr(code) for code in range(33, 127) if not chr(code).isalnum()).replace("'", "''").replace('"', '""')
_FTS = f"content='', tokenize=\"ascii tokenchars '{_SIGNS}'\""
_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, path BLOB UNIQUE NOT NULL, size INT, mtime INT, ctime INT, inode INT,"
    " mode INT, first INT, count INT, words INT, title TEXT, description TEXT, tags TEXT, date TEXT, type TEXT,"
    " source TEXT, title_terms TEXT, tags_terms TEXT, path_terms TEXT)",
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, note INT, first INT, last INT, trail TEXT, text TEXT, terms TEXT,"
    " heading TEXT, label TEXT)",
    "CREATE TABLE vectors (note INTEGER PRIMARY KEY, data BLOB)",  # those of its passages, one after the other
    f"CREATE VIRTUAL TABLE texts USING fts5(text, heading, {_FTS})",
    f"CREATE VIRTUAL TABLE about USING fts5(title, tags, path, {_FTS})",
    "INSERT INTO meta VALUES ('passages', 0), ('words', 0), ('notes', 0), ('last', 0)",
)
_ADD = (
    "UPDATE meta SET value = value + CASE name WHEN 'notes' THEN ? WHEN 'passages' THEN ? WHEN 'words' THEN ?"
    " ELSE ? END WHERE name IN ('notes', 'passages', 'words', 'last')"
)
_ABOUT = "path, title, description, tags, date, type, source"
_FIELDS = "title_terms, tags_terms, path_terms"
_PIECE = "id, note, first, last, trail, text, terms, heading, label"
_GAP = "\x1f"  # between the headings of a trail; no text that is shown holds it


class SqliteSearch:
    """The index in the file at `path` (absolute)."""

    def __init__(self, path: str) -> None:
        self._file = DerivedFile(path, SCHEMA, _TABLES)
        self._threads = threading.RLock()
        self._seen = (0, -1)  # which opening, and SQLite's data_version there, when `_known` was read
        self._known: dict[str, Row] | None = None

    @property
    def rebuilt(self) -> str:
        """Why the file was thrown away, "" where it was not."""
        return self._file.rebuilt

    def close(self) -> None:
        """Release the file."""
        self._file.close()
        self._known = None

    # -- transactions ------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything that is asked inside belongs to one state. Raises Busy, also when it was never complete."""
        with self._transaction("BEGIN") as db:
            if self._meta(db, "mark") is None:
                raise Busy("the search index is not complete", path=self._file.path, hint="Try again.")
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing. Raises Busy while another process writes, and where the file cannot be written."""
        try:
            with self._transaction("BEGIN IMMEDIATE"):
                yield
        except BaseException:
            self._known = None
            raise

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        with self._threads, self._using() as db:
            db.execute(f"PRAGMA busy_timeout={_WAIT_MS}")
            with transaction(db, begin):
                yield db

    @contextmanager
    def _using(self) -> Iterator[Connection]:
        """The connection. What is damaged is set aside; then too Busy is raised, for the caller to begin again."""
        with self._threads:
            try:
                with self._file.using() as db:
                    yield db
            except (NotNowError, DamagedError) as error:
                self._known = None
                if isinstance(error, DamagedError):
                    with suppress(NotNowError):
                        self._file.set_aside(str(error))
                raise Busy(f"the search index cannot be used: {error}", path=self._file.path, hint="Try again.") from (
                    error
                )

    # -- what it holds -----------------------------------------------------------------------------------------

    def known(self) -> Mapping[str, Row]:
        """The notes in the index as rows with the stat of what was read."""
        with self._using() as db:
            seen = (self._file.opened, number(db, "data_version"))
            if self._known is None or seen != self._seen:
                rows = db.execute("SELECT path, size, mtime, ctime, inode, mode FROM notes")
                self._known = {(path := _path(raw)): Row(path, Stat(*stat)) for raw, *stat in rows}
                self._seen = seen
            return self._known

    def abouts(self) -> list[About]:
        """What is said of each note."""
        with self._using() as db:
            return [About(_path(raw), *rest) for raw, *rest in db.execute(f"SELECT {_ABOUT} FROM notes")]

    def mark(self) -> str | None:
        """What the last `finish` said."""
        with self._using() as db:
            found = self._meta(db, "mark")
            return None if found is None else str(found)

    @staticmethod
    def _meta(db: Connection, name: str) -> str | int | None:
        found = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return found[0] if found else None

    # -- changing it -------------------------------------------------------------------------------------------

    def put(self, document: Document, stat: Stat) -> None:
        """Take in a note, inside `writing`."""
        about, pieces = document.about, document.pieces
        fields = [" ".join(terms) for terms in document.fields]
        with self._using() as db:
            self._take_out(db, about.path)
            first = int(self._meta(db, "last") or 0) + 1
            words = sum(len(piece.terms) for piece in pieces)
            values = (_raw(about.path), *stat, first, len(pieces), words, *about[1:], *fields)
            note = db.execute(f"INSERT INTO notes VALUES (NULL{', ?' * len(values)})", values).lastrowid
            rows = [
                (
                    at,
                    note,
                    *piece.lines,
                    _GAP.join(piece.trail),
                    piece.text,
                    " ".join(piece.terms),
                    " ".join(piece.heading),
                    " ".join(piece.label),
                )
                for at, piece in enumerate(pieces, start=first)
            ]
            db.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            db.executemany("INSERT INTO texts (rowid, text, heading) VALUES (?, ?, ?)", [(r[0], *r[6:8]) for r in rows])
            db.execute("INSERT INTO about (rowid, title, tags, path) VALUES (?, ?, ?, ?)", (note, *fields))
            self._count(db, notes=1, passages=len(pieces), words=words, last=len(pieces))
            if self._known is not None:
                self._known[about.path] = Row(about.path, stat)

    def drop(self, path: str) -> None:
        """Forget a note, inside `writing`."""
        with self._using() as db:
            self._take_out(db, path)
            if self._known is not None:
                self._known.pop(path, None)

    def finish(self, mark: str) -> None:
        """Say that the index holds all there is."""
        with self._using() as db:
            db.execute("REPLACE INTO meta VALUES ('mark', ?)", (mark,))

    def _take_out(self, db: Connection, path: str) -> None:
        sql = f"SELECT id, first, count, words, {_FIELDS} FROM notes WHERE path = ?"
        found = db.execute(sql, (_raw(path),)).fetchone()
        if found is None:
            return
        note, first, count, words, *fields = found
        span = (first, first + count - 1)
        old = "SELECT 'delete', id, terms, heading FROM passages WHERE id BETWEEN ? AND ?"
        db.execute(f"INSERT INTO texts (texts, rowid, text, heading) {old}", span)
        db.execute("INSERT INTO about (about, rowid, title, tags, path) VALUES ('delete', ?, ?, ?, ?)", (note, *fields))
        db.execute("DELETE FROM passages WHERE id BETWEEN ? AND ?", span)
        db.execute("DELETE FROM notes WHERE id = ?", (note,))
        db.execute("DELETE FROM vectors WHERE note = ?", (note,))
        self._count(db, notes=-1, passages=-count, words=-words)

    @staticmethod
    def _count(db: Connection, notes: int, passages: int, words: int, last: int = 0) -> None:
        db.execute(_ADD, (notes, passages, words, last))

    # -- what it means -----------------------------------------------------------------------------------------

    def learn(self, embedder: Embedder) -> None:
        """See the port. Raises Busy while another process writes."""
        with self._using() as db:
            if self._meta(db, "model") == embedder.name and not sqlite_vectors.missing(db):
                return
        with self.writing(), self._using() as db:
            if self._meta(db, "model") != embedder.name:
                sqlite_vectors.forget(db)
                db.execute("REPLACE INTO meta VALUES ('model', ?)", (embedder.name,))
            sqlite_vectors.learn(db, embedder, _piece)

    def alike(self, vector: bytes, limit: int, keep: Callable[[About], bool] | None = None) -> list[Candidate]:
        """See the port."""
        with self._using() as db, _agreeing():
            found = sqlite_vectors.alike(db, vector, limit, None if keep is None else _kept(db, keep))
            return _candidates(db, set(found), set(), 0)

    def closeness(self, vector: bytes, places: Collection[Place]) -> dict[Place, Close]:
        """See the port."""
        with self._using() as db:
            raw = {_raw(path): path for path, _ in places}
            return sqlite_vectors.closeness(db, vector, raw, places)

    # -- asking it ---------------------------------------------------------------------------------------------

    def search(
        self, terms: Sequence[str], limit: int, beside: int = 0, keep: Callable[[About], bool] | None = None
    ) -> list[Candidate]:
        """See the port."""
        if not terms:
            return []
        match = " OR ".join(map(_quoted, terms))
        with self._using() as db, _agreeing():
            kept = None if keep is None else _kept(db, keep)
            found = _best(db, match, limit, kept)
            return _candidates(db, {*found, *_of_notes(db, match, kept)}, set(found) if beside else set(), beside)

    def statistics(self, terms: Collection[str]) -> Statistics:
        """See the port."""
        with self._using() as db:
            totals = {name: int(self._meta(db, name) or 0) for name in ("passages", "words", "notes")}
            holding = {term: _holding(db, "texts", term) for term in terms}
            about = {term: _holding(db, "about", term) for term in terms}
            return Statistics(**totals, holding=holding, about=about)


@contextmanager
def _agreeing() -> Iterator[None]:
    """Raises DamagedError where a row names another one that is not there: damage that SQLite does not see."""
    try:
        yield
    except (KeyError, TypeError) as error:
        raise DamagedError("its rows contradict each other") from error


def _holding(db: Connection, table: str, term: str) -> int:
    sql = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"
    return int(db.execute(sql, (_quoted(term),)).fetchone()[0])


def _kept(db: Connection, keep: Callable[[About], bool]) -> set[int]:
    """The numbers of the notes that a filter lets through."""
    rows = db.execute(f"SELECT id, {_ABOUT} FROM notes")
    return {note for note, raw, *about in rows if keep(About(_path(raw), *about))}


def _best(db: Connection, match: str, limit: int, kept: set[int] | None) -> list[int]:
    """The passages that hold a term, best first."""
    rank = "rank MATCH 'bm25(1.0, 0.5)'"
    if kept is None:
        sql = f"SELECT rowid FROM texts WHERE texts MATCH ? AND {rank} ORDER BY rank LIMIT ?"
        return [at for (at,) in db.execute(sql, (match, limit))]
    sql = f"SELECT texts.rowid, note FROM texts JOIN passages ON id = texts.rowid WHERE texts MATCH ? AND {rank}"
    found: list[int] = []
    for at, note in db.execute(f"{sql} ORDER BY rank", (match,)):
        if note in kept:
            found.append(at)
            if len(found) == limit:
                break
    return found


def _of_notes(db: Connection, match: str, kept: set[int] | None) -> set[int]:
    """Passages of the notes that say something of the query above their text; the first one stands for the note."""
    found: set[int] = set()
    left = NOTES
    for (note,) in db.execute("SELECT rowid FROM about WHERE about MATCH ? ORDER BY rank", (match,)):
        if kept is not None and note not in kept:
            continue
        first, count = db.execute("SELECT first, count FROM notes WHERE id = ?", (note,)).fetchone()
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?"
        found.add(first)
        found.update(at for (at,) in db.execute(sql, (match, first, first + count - 1, OF_NOTE)))
        left -= 1
        if not left:
            break
    return found


def _candidates(db: Connection, wanted: set[int], centres: set[int], beside: int) -> list[Candidate]:
    """The passages with these numbers, and those of the same notes that stand beside some of them."""
    far = NEAR + beside
    around = {at + step for at in wanted for step in range(-far, far + 1)}
    rows = list(_by_number(db, f"SELECT {_PIECE} FROM passages WHERE id IN", around))
    numbers = {row[1] for row in rows if row[0] in wanted}
    pieces = {
        at: (note, Piece((first, last), _trail(trail), text, terms.split(), heading.split(), _label(label)))
        for at, note, first, last, trail, text, terms, heading, label in rows
        if note in numbers
    }
    steps = range(1, NEAR + 1)
    for at in centres & pieces.keys():
        wanted.update(at + step for step in range(-beside, beside + 1) if _is_of(pieces.get(at + step), pieces[at][0]))
    notes = {
        note: (first, Fields(title.split(), tags.split(), path.split()), About(_path(raw), *about))
        for note, first, title, tags, path, raw, *about in _by_number(
            db, f"SELECT id, first, {_FIELDS}, {_ABOUT} FROM notes WHERE id IN", numbers
        )
    }
    found = []
    for at in sorted(wanted & pieces.keys()):
        note, piece = pieces[at]
        first, fields, about = notes[note]
        before = [item[1] for step in steps if (item := pieces.get(at - step)) and item[0] == note]
        after = [item[1] for step in steps if (item := pieces.get(at + step)) and item[0] == note]
        found.append(Candidate(about, fields, at - first, piece, tuple(before[::-1]), tuple(after)))
    return found


def _piece(first: int, last: int, trail: str, text: str) -> Piece:
    return Piece((first, last), _trail(trail), text, [], [])


def _is_of(item: tuple[int, Piece] | None, note: int) -> bool:
    return item is not None and item[0] == note


def _by_number(db: Connection, sql: str, numbers: Collection[int]) -> Iterator[tuple[Any, ...]]:
    """Rows by their numbers, in parts, as SQLite takes only so many parameters."""
    ordered = sorted(numbers)
    for begin in range(0, len(ordered), 900):
        part = ordered[begin : begin + 900]
        yield from db.execute(f"{sql} ({','.join('?' * len(part))})", part)


@lru_cache(4096)
def _trail(stored: str) -> tuple[str, ...]:
    return tuple(stored.split(_GAP)) if stored else ()


@lru_cache(1024)
def _label(stored: str) -> frozenset[str]:
    return frozenset(stored.split())


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _raw(path: str) -> bytes:
    return path.encode("utf-8", "surrogatepass")


def _path(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
