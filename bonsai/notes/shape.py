"""The live notes of a tree by their place, as the indexes show them; kept from look to look."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bonsai.notes import boot, layout, lifecycle
from bonsai.notes.change import Row
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.summary import Summary
from bonsai.notes.view import ARCHIVE_END, View

NOT_COMMITTED = "(not in git)"  # instead of the first line of a note that may not be committed


class Fact(NamedTuple):
    """What a note with an importance says of itself, for the boot file."""

    importance: float
    since: float | None  # Unix seconds of its date, None for none
    lead: str


@dataclass(slots=True)
class Shape:
    """The live notes of one tree by their place."""

    tree: Tree
    private: set[str] = field(default_factory=set)  # notes whose text must not come into git
    folders: dict[str, dict[str, Row]] = field(default_factory=dict)  # domain → path → note right in it
    daily: set[str] = field(default_factory=set)
    also: set[str] = field(default_factory=set)  # notes outside the domains
    unnamed: set[str] = field(default_factory=set)  # of those the ones that no boot file may name
    feedback: set[str] = field(default_factory=set)  # feedback.md and every note of that type
    facts: dict[str, Fact] = field(default_factory=dict)  # those that may be hot
    _listed: dict[str, list[tuple[str, Summary]]] = field(default_factory=dict)  # of this rendering
    _first: str | None = None

    def put(self, path: str, row: Row | None) -> None:
        """Let a note stand (`row`) or no longer stand (None) in its place."""
        of_user = layout.is_of_user(path)  # what one user told is nothing for whoever reads the index
        summary = row.summary if row is not None else None
        self._put_fact(path, None if of_user else summary)
        self._put_feedback(path, None if of_user else row)
        start = f"{self.tree.domains}/"
        domain = layout.folder_of(path[len(start) :]) if path.startswith(start) else ""
        if domain:
            self._put_in(domain, path, row)
        elif not of_user:
            self._put_beside(path, row)

    def _put_fact(self, path: str, summary: Summary | None) -> None:
        if summary is None or summary.importance is None:
            self.facts.pop(path, None)
        else:
            since = lifecycle.moment(summary.dated)
            self.facts[path] = Fact(summary.importance, since.timestamp() if since else None, summary.lead)

    def _put_feedback(self, path: str, row: Row | None) -> None:
        summary = row.summary if row is not None else None
        told = row is not None and (path == self.tree.at("feedback.md") or (summary and summary.type == "feedback"))
        told = told and not (summary and summary.untrusted)
        if bool(told) is not (path in self.feedback):
            (self.feedback.add if told else self.feedback.discard)(path)
            self._first = None

    def _put_in(self, domain: str, path: str, row: Row | None) -> None:
        notes = self.folders.setdefault(domain, {})
        if row is not None:
            notes[path] = row
        else:
            notes.pop(path, None)
        if not notes:
            del self.folders[domain]

    def _put_beside(self, path: str, row: Row | None) -> None:
        """Outside the domains: a daily note, or another one."""
        daily = layout.is_daily(path)
        place = self.daily if daily else self.also
        (place.discard if row is None else place.add)(path)
        hidden = not daily and row is not None and row.summary is not None and row.summary.untrusted
        (self.unnamed.add if hidden else self.unnamed.discard)(path)

    @property
    def domains(self) -> list[str]:
        """The top-level domains that hold a note, at whatever depth."""
        return sorted({domain.partition("/")[0] for domain in self.folders})

    @property
    def others(self) -> list[str]:
        """The notes outside the domains, as the root index names them."""
        return sorted(path[len(self.tree.memory) + 1 :].removesuffix(".md") for path in self.also - self.unnamed)

    def drop_lists(self) -> None:
        """Before a rendering, since notes may differ from the last one; and behind it, since they are long."""
        self._listed.clear()

    @property
    def first(self) -> str:
        """Words for the feedback, which is to be read first; kept, since a tree may hold thousands."""
        if self._first is None:
            self._first = boot.read_first(self.feedback)
        return self._first

    def listed(self, domain: str) -> list[tuple[str, Summary]]:
        """The notes right in a domain, by file name; also those that no index may name."""
        if domain not in self._listed:
            rows = sorted(self.folders.get(domain, {}).items())
            told = [(layout.name_of(path), self._told(path, row.summary)) for path, row in rows if row.summary]
            self._listed[domain] = told
        return self._listed[domain]

    def _told(self, path: str, summary: Summary) -> Summary:
        """What an index may say of a note."""
        return replace(summary, lead=NOT_COMMITTED) if path in self.private else summary

    def every(self) -> set[str]:
        """All domains that have an index: those with notes and their parents."""
        found = set(self.folders)
        for domain in self.folders:
            parent = domain.rpartition("/")[0]
            while parent and parent not in found:
                found.add(parent)
                parent = parent.rpartition("/")[0]
        return found


class Count(NamedTuple):
    """One tree in numbers: live notes in its domains, top-level domains, tokens."""

    notes: int
    domains: int
    tokens: int


def count(view: View, tree: Tree) -> Count:
    """Count what stands in the domains of a tree."""
    start, notes, tokens, tops = f"{tree.domains}/", 0, 0, set()
    for path, row in view.rows.items():
        if row.summary is None or not path.startswith(start) or path.endswith(ARCHIVE_END):
            continue
        top, deeper, _ = path[len(start) :].partition("/")
        if deeper:
            notes += 1
            tokens += row.summary.tokens
            tops.add(top)
    return Count(notes, len(tops), tokens)


def shape(view: View, tree: Tree) -> Shape:
    """Sort the live notes of a tree; after the first time only those that a look found changed are sorted again."""
    key = f"shape:{tree.agent}"
    found: Shape | None = view.memo.get(key)
    if found is None:
        found = view.memo[key] = Shape(tree)
        for row in view.notes(tree):
            found.put(row.path, row)
    else:
        for path in view.memo.get(f"touched:{tree.agent}", ()):
            now = view.rows.get(path)
            live = now is not None and now.stat is not None and now.summary is not None
            live = live and layout.kind_of(path) is Kind.NOTE and not layout.is_archived(path)
            found.put(path, now if live else None)
    view.memo[f"touched:{tree.agent}"] = set()
    found.private = view.private
    found.drop_lists()
    return found
