"""The names of a tree: which clash, which look like copies, which links lead nowhere; kept from look to look."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from bonsai.notes import layout, lifecycle, links
from bonsai.notes.change import Row
from bonsai.notes.problem import Problem, problem
from bonsai.notes.summary import Summary

NAMES = "names"  # in View.memo
_ABSENT = object()


class Names:
    """What stands under which names. `update` takes in what differs: one more note costs no walk over all links."""

    def __init__(self) -> None:
        self._known: dict[str, Summary | None] = {}
        self._spellings: dict[str, str | set[str]] = {}  # folded → the path, or those that clash
        self._clashes: set[str] = set()  # folded
        self._copies: set[str] = set()  # paths that are named like a sync tool's copies
        self._linking: set[str] = set()  # paths of notes with links
        self._says: dict[str, int] = {}  # what a wiki link may say → how many notes it may mean
        self._broken: dict[str, list[str]] = {}

    def is_taken(self, path: str) -> bool:
        """Whether something stands under a name that some disk could not tell from this one."""
        return layout.fold(path) in self._spellings

    def update(self, rows: Mapping[str, Row]) -> None:
        """Take in the rows as they are now."""
        known = self._known
        gone = [path for path in known if (row := rows.get(path)) is None or row.stat is None]
        new = [
            (path, row.summary)
            for path, row in rows.items()
            if row.stat is not None and known.get(path, _ABSENT) is not row.summary
        ]
        if not gone and not new:
            return
        lost = set[str]()
        for path in gone:
            lost |= self._leave(path)
            del known[path]
            self._respell(path, self._others(path))
        for path, summary in new:
            if path in known:
                lost |= self._leave(path)
            else:
                self._respell(path, {*self._others(path), path})
            known[path] = summary
            self._enter(path, summary)
        # A name that came can only mend links, one that went only break them.
        again = self._linking if gone or lost - self._says.keys() else {*self._broken, *(path for path, _ in new)}
        for path in again & self._linking:
            summary = known[path]
            found = links.broken(path, summary.links, known, self._says) if summary else []
            self._broken.pop(path, None)
            if found:
                self._broken[path] = found

    def problems(self, exists: Callable[[str], bool]) -> Iterator[Problem]:
        """Clashing spellings, conflict copies and links that lead nowhere; `exists` asks the disk for other files."""
        for group in sorted(sorted(self._spellings[name]) for name in self._clashes):
            others = ", ".join(group[1:])
            yield problem("case-clash", group[0], f"differs only in case or Unicode form from {others}: rename one")
        for path in sorted(self._copies):
            if original := lifecycle.conflict_copy(path, self._known):
                words = f"looks like a sync tool's copy of {original}: merge the two by hand"
                yield problem("conflict-copy", path, words)
        for path in sorted(self._broken):
            for target in self._broken[path]:
                place = links.resolve(path, target)
                if place is None or not exists(place):
                    yield problem("broken-link", path, f"links to {target}, which does not exist: correct the link")

    # -- one path --------------------------------------------------------------------------------------

    def _enter(self, path: str, summary: Summary | None) -> None:
        if lifecycle.is_named_like_a_copy(path):
            self._copies.add(path)
        if summary and summary.links and not layout.is_archived(path):
            self._linking.add(path)
        for name in _said(path, summary):
            self._says[name] = self._says.get(name, 0) + 1

    def _leave(self, path: str) -> set[str]:
        """Forget a path; returns the names that it had."""
        names = _said(path, self._known[path])
        for name in names:
            self._says[name] -= 1
            if not self._says[name]:
                del self._says[name]
        self._copies.discard(path)
        self._linking.discard(path)
        self._broken.pop(path, None)
        return names

    def _others(self, path: str) -> set[str]:
        """The other paths that are spelled alike."""
        found = self._spellings.get(layout.fold(path), set())
        return ({found} if isinstance(found, str) else found) - {path}

    def _respell(self, path: str, paths: set[str]) -> None:
        """Note which paths are spelled like `path`."""
        name = layout.fold(path)
        name = path if name == path else name  # one text, not two equal ones for each of 10,000 notes
        self._clashes.discard(name)
        if len(paths) > 1:
            self._clashes.add(name)
            self._spellings[name] = paths
        elif paths:
            self._spellings[name] = next(iter(paths))
        else:
            self._spellings.pop(name, None)


def names_of(memo: MutableMapping[str, Any], rows: Mapping[str, Row]) -> Names:
    """The names of these rows; `memo` keeps them for the next time."""
    found: Names = memo.setdefault(NAMES, Names())
    found.update(rows)
    return found


def _said(path: str, summary: Summary | None) -> set[str]:
    """What a wiki link may say to mean a note, folded."""
    return links.known_names([path], [summary] if summary else [])
