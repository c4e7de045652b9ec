"""What is derived from the notes and kept, so that nothing is read or counted twice; deletable at any time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from bonsai.notes.meaning import Meanings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from bonsai.notes.candidate import About, Candidate, Statistics
    from bonsai.notes.change import Row, Stat
    from bonsai.notes.document import Document


@dataclass(slots=True)
class Snapshot:
    """What the cache holds."""

    rows: dict[str, Row] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    memo: dict[str, Any] = field(default_factory=dict)  # what passes derived; lives as long as this object


class Cache(Protocol):
    """Derived state of the tree: deletable at any time; damage is set aside and said once."""

    @property
    def rebuilt(self) -> str:
        """Why the cache was thrown away on opening, "" where it was not."""

    def load(self) -> Snapshot:
        """Everything; the same object again as long as nobody else wrote. Do not change it: use `save`."""

    def save(self, rows: Iterable[Row], gone: Iterable[str] = (), meta: Mapping[str, str] | None = None) -> None:
        """Put rows, delete paths, put meta values; the loaded snapshot follows."""

    def clear(self) -> None:
        """Forget everything."""

    def close(self) -> None:
        """Release the file."""


class Passages(Meanings, Protocol):
    """The passages of a memory, to be searched. Raises Busy where that is not possible now: begin again."""

    def reading(self) -> AbstractContextManager[None]:
        """Everything that is asked inside belongs to one state."""

    def search(
        self, terms: Sequence[str], limit: int, beside: int = 0, keep: Callable[[About], bool] | None = None
    ) -> list[Candidate]:
        """Passages that hold a term in their text or headings: the best `limit` by BM25, and so many beside each.

        Also some of the notes whose title, description, tags or path match best; all of notes for which `keep` is true.
        """

    def statistics(self, terms: Collection[str]) -> Statistics:
        """How often terms occur."""


class SearchIndex(Passages, Protocol):
    """The index of one memory tree. Derived: deletable at any time; damage is set aside and said once."""

    @property
    def rebuilt(self) -> str:
        """Why the index was thrown away on opening, "" where it was not."""

    def known(self) -> Mapping[str, Row]:
        """The notes that it holds, each as a row with the stat of the bytes that were read. Do not change it."""

    def abouts(self) -> list[About]:
        """What is said of each note."""

    def mark(self) -> str | None:
        """What the last `finish` said; None as long as the index was never complete."""

    def writing(self) -> AbstractContextManager[None]:
        """Others see all that is changed inside, or nothing. Never waits long."""

    def put(self, document: Document, stat: Stat) -> None:
        """Take in a note, inside `writing`."""

    def drop(self, path: str) -> None:
        """Forget a note that is gone, inside `writing`."""

    def finish(self, mark: str) -> None:
        """Say, inside `writing`, that the index holds all there is."""

    def close(self) -> None:
        """Release the file."""
