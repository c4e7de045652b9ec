"""The cold tier: what it keeps of a fact, and what is needed from the database that holds it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from bonsai.errors import BadData
from bonsai.facts import fact as facts
from bonsai.facts.extract import extract
from bonsai.facts.fact import Fact
from bonsai.notes import layout, taxonomy
from bonsai.notes.forget import Forget
from bonsai.notes.layout import Kind, Tree


class ColdRow(NamedTuple):
    """One fact in the cold tier. `note` is the whole note, byte for byte; empty for a row that others wrote."""

    id: str
    agent: str
    text: str
    category: str
    importance: float
    created_at: int  # Unix seconds
    accesses: int = 0
    path: str = ""  # where the note stood
    note: bytes = b""


class Critical(NamedTuple):
    """The state that a new device starts from: JSON, and when it was taken (Unix seconds)."""

    data: str
    updated_at: int


class Archive(Protocol):
    """A database with the cold rows of many agents.

    Everything is safe to repeat. Raises Unavailable (not reachable, after all tries), Refused (it does not let us),
    IoFailed, Busy.
    """

    remote: bool  # whether it outlives this device

    def init(self) -> None:
        """Make the tables where they are missing."""

    def put(self, rows: Sequence[ColdRow]) -> None:
        """Add rows, or bring those with the same id up to date; all of them or none."""

    def search(self, agent: str, words: Sequence[str], limit: int) -> list[ColdRow]:
        """Rows that hold one of the words, the best first."""

    def get(self, agent: str, path: str) -> list[ColdRow]:
        """The rows whose id or path is this one, newest first."""

    def page(self, agent: str, after: str, limit: int) -> list[ColdRow]:
        """The next rows by id, of those behind `after`."""

    def known(self, agent: str) -> set[str]:
        """The ids that it holds."""

    def counts(self, agent: str) -> Mapping[str, int]:
        """Rows by category."""

    def drop(self, agent: str, ids: Sequence[str]) -> None:
        """Delete rows for good."""

    def save_critical(self, agent: str, state: Critical) -> bool:
        """Keep a state; an older one never replaces a newer. Says whether this one stands there now."""

    def critical(self, agent: str) -> Critical | None:
        """The state that was kept last."""

    def erase(self, what: Forget, *, count: bool = False) -> int:
        """Delete the rows of all agents that hold what is to be forgotten; how many there are. `count`: only count."""

    def close(self) -> None:
        """Release the connection."""


def row_of(fact: Fact, agent: str, note: bytes) -> ColdRow:
    """A fact as a row."""
    return ColdRow(
        fact.id,
        Tree(agent).owner,
        fact.text,
        fact.category,
        fact.importance,
        fact.created_at,
        fact.access_count,
        fact.path,
        note,
    )


def place(row: ColdRow, tree: Tree) -> str:
    """Where the note of a row belongs: where it stood, as far as that is a place in this tree."""
    path = row.path
    if path and not layout.path_fault(path) and layout.kind_of(path) is Kind.NOTE and layout.tree_of(path) == tree:
        return path
    try:
        domain = taxonomy.domain_path(row.category)
    except BadData:
        domain = taxonomy.GENERAL
    return f"{tree.domains}/{domain}/{facts.file_name(row.text, row.id)}.md"


def note_of(row: ColdRow, now_iso: str) -> bytes:
    """The note of a row, made from its columns where another tool wrote it."""
    if row.note:
        return row.note
    found = extract(row.text)
    return facts.note_of(
        row.text or "-",
        {
            "id": row.id,
            "type": facts.TYPE,
            "domain": row.category,
            "created": facts.when(row.created_at) or now_iso,
            "importance": f"{row.importance:.4g}",
            "urls": found.urls,
            "commands": found.commands,
            "paths": found.paths,
        },
    )
