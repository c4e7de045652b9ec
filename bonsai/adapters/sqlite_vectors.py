"""The vectors of passages, beside their rows in the search index: what is taken out there is gone here, too."""

from collections.abc import Callable, Collection, Mapping
from sqlite3 import Connection

from bonsai.adapters import vector_search
from bonsai.notes.candidate import Piece
from bonsai.notes.meaning import Close, Embedder, Place, gist

_MISSING = "FROM notes LEFT JOIN vectors ON vectors.note = notes.id WHERE vectors.note IS NULL AND count > 0"
PART = 500  # notes that are embedded at once


def missing(db: Connection) -> bool:
    """Whether there are passages without a vector."""
    return db.execute(f"SELECT 1 {_MISSING} LIMIT 1").fetchone() is not None


def forget(db: Connection) -> None:
    """Drop the vectors of a model that is asked no more."""
    db.execute("DELETE FROM vectors")


def learn(db: Connection, embedder: Embedder, piece: Callable[..., Piece]) -> None:
    """Embed the passages that have no vector; `piece` makes one of a row (first, last, trail, text)."""
    notes = db.execute(f"SELECT notes.id, first, count {_MISSING} ORDER BY first").fetchall()
    for begin in range(0, len(notes), PART):
        part = notes[begin : begin + PART]
        texts = [_gists(db, first, count, piece) for _, first, count in part]
        vectors = iter(embedder.embed([text for note in texts for text in note]))
        rows = [(note, b"".join(next(vectors) for _ in of)) for (note, *_), of in zip(part, texts, strict=True)]
        db.executemany("INSERT INTO vectors VALUES (?, ?)", rows)


def _gists(db: Connection, first: int, count: int, piece: Callable[..., Piece]) -> list[str]:
    sql = "SELECT first, last, trail, text FROM passages WHERE id BETWEEN ? AND ? ORDER BY id"
    return [gist(piece(*row)) for row in db.execute(sql, (first, first + count - 1))]


def alike(db: Connection, vector: bytes, limit: int, kept: set[int] | None) -> list[int]:
    """The numbers of the passages that are nearest to a vector, in some notes or in all."""
    sql = "SELECT notes.id, first, count, data FROM vectors JOIN notes ON notes.id = vectors.note ORDER BY first"
    rows = [row for row in db.execute(sql) if kept is None or row[0] in kept]
    numbers = [at for _, first, count, _ in rows for at in range(first, first + count)]
    return [numbers[at] for at in vector_search.nearest(vector, b"".join(data for *_, data in rows), limit)]


def closeness(
    db: Connection, vector: bytes, paths: Mapping[bytes, str], places: Collection[Place]
) -> dict[Place, Close]:
    """The closeness of those places that have vectors; `paths`: each path by what stands for it in the table."""
    asked: dict[str, list[int]] = {}
    for path, number in places:
        asked.setdefault(path, []).append(number)
    found: dict[Place, Close] = {}
    for raw, path in paths.items():
        sql = "SELECT data FROM notes JOIN vectors ON vectors.note = notes.id WHERE path = ?"
        for (data,) in db.execute(sql, (raw,)):
            found |= {(path, at): item for at, item in vector_search.closeness(data, asked[path], vector).items()}
    return found
