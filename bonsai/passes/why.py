"""Why: who wrote each line of a note, when, in which run, and what it replaced."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bonsai.errors import BadData, NotFound
from bonsai.notes import boot, compare, layout
from bonsai.notes.layout import Kind
from bonsai.notes.summary import summarise
from bonsai.passes.reports import Arrival, WhyLine
from bonsai.ports import Commit, History, Origin

BY_HAND = frozenset({"", "edit", "init", "reindex"})  # a run of these moves no text from one note to another
_BACK = frozenset({"restore", "undo"})  # what bring a file back that was gone
_COPIED = 40  # letters and digits in a row that a person does not write twice: git's own measure
_DEEP = 20  # a file that was purged and brought back so often is followed no further
_LINES = re.compile(r"(.{1,4096}):(\d{1,9})(?:-(\d{1,9}))?", re.DOTALL)
_PATHLIKE = re.compile(r"(?:memory/|MEMORY|\.{0,2}/)")


class Target(NamedTuple):
    """What is asked about: some lines of a path, from and to, 1-based; None stands for all of it."""

    path: str
    lines: tuple[int, int] | None = None


class Version(NamedTuple):
    """A note as it stands, and the commit that knows it ("" for none)."""

    path: str
    data: bytes
    commit: str


class _Came(NamedTuple):
    """Where a line was written, and the commit that brought it into this file, where that is another one."""

    origin: Origin
    via: str


def targets(text: str) -> list[Target]:
    """What an argument can mean, the likeliest first: a name may well end in `:12`."""
    found = _LINES.fullmatch(text)
    whole = [Target(text)]
    return [*whole, Target(found[1], (int(found[2]), int(found[3] or found[2])))] if found else whole


def is_pathlike(text: str) -> bool:
    """Whether a text that names no file was meant to name one."""
    name = targets(text)[-1].path
    if "://" in name:  # an address stands in notes, and is none
        return False
    return bool(_PATHLIKE.match(name)) or name.endswith(".md") or ("/" in name and len(name.split()) == 1)


def last_version(history: History, path: str, rev: str = "HEAD") -> str:
    """The last commit that had a file, "" where none did."""
    for commit in history.log([path], limit=1, rev=rev):
        for sha in (commit.sha, *commit.parents):
            if history.read_many([(sha, path)])[0] is not None:
                return sha
    return ""


def numbers(target: Target, version: Version) -> range:
    """The lines (1-based) that are asked about. Raises NotFound, BadData (the file is no text)."""
    if b"\0" in version.data:
        raise BadData("is no text that has lines", path=version.path, hint="`bonsai log PATH` tells its commits.")
    count = len(compare.split(version.data))
    first, last = target.lines or (1, count)
    if target.lines and not 1 <= first <= last <= count:
        span = f"{first}" if first == last else f"{first}-{last}"
        raise NotFound(f"has no line {span}", path=version.path, hint=f"It has {count} lines.")
    return range(first, last + 1)


def containing(path: str, data: bytes, text: str) -> list[int]:
    """The lines (1-based) that hold a text, whatever its case and its spaces; the generated block only quotes."""
    wanted = _plain(text)
    rows = compare.split(data) if b"\0" not in data else []
    found = [number for number, row in enumerate(rows, 1) if wanted in _plain(row.decode("utf-8", "surrogateescape"))]
    if found and layout.kind_of(path) is Kind.BOOT:
        # Without their ends: what stood before the block loses its own when the block goes.
        own = compare.stayed(*([row.rstrip() for row in side] for side in (compare.split(boot.strip(data)), rows)))
        found = [number for number in found if number - 1 in own]
    return found


def explain(history: History, version: Version, wanted: Iterable[int]) -> list[WhyLine]:
    """Tell of each of the wanted lines where it comes from."""
    rows = compare.split(version.data)
    committed = history.read_many([(version.commit, version.path)])[0] if version.commit else None
    before = compare.split(committed) if committed is not None and b"\0" not in committed else []
    known = compare.stayed(before, rows)
    came = _came(history, version.path, version.commit) if before else []
    story = [(number, came[known[number - 1]] if number - 1 in known else None) for number in wanted]
    shas = {sha for _, item in story if item for sha in (item.origin.sha, item.via) if sha}
    told = _Telling(
        title=summarise(version.path, version.data, len(version.data)).title,
        path=version.path,
        commits=history.commits(sorted(shas)),
        replaced=_replaced(history, [item.origin for _, item in story if item]),
    )
    pending = _pairs(before, rows)
    return [told.line(number, rows[number - 1], item, pending.get(number, [])) for number, item in story]


@dataclass(frozen=True)
class _Telling:
    title: str
    path: str
    commits: Mapping[str, Commit]
    replaced: Mapping[Origin, list[str]]

    def line(self, number: int, row: bytes, came: _Came | None, pending: list[str]) -> WhyLine:
        found = WhyLine(path=self.path, line=number, text=_shown(row), title=self.title, replaced=pending)
        if came is None:
            return found
        commit = self.commits[came.origin.sha]
        found.sha, found.time, found.message = commit.sha, commit.time, commit.subject
        found.actor, found.author, found.op = commit.actor or "human", commit.author, commit.op
        found.run, found.session = commit.run, commit.session
        found.origin = f"{came.origin.path}:{came.origin.line}"
        found.replaced = self.replaced.get(came.origin, [])
        if came.via:
            by = self.commits[came.via]
            found.via = Arrival(by.sha, by.time, by.actor or "human", by.op, by.run, by.subject)
        return found


# -- where the lines of a commit come from -----------------------------------------------------------------------------


def _came(history: History, path: str, commit: str, depth: int = 0) -> list[_Came]:
    """Where each line of a committed file was written."""
    origins, plain = history.blame(path, commit), history.blame(path, commit, copies=False)
    commits = history.commits(sorted({item.sha for item in plain}))
    found: list[_Came] = []
    for group in _groups(origins, plain):
        first = plain[group.start]
        copied = origins[group.start] != first and _is_copy(history, origins, plain, group, commits[first.sha])
        for at in group:
            via = first.sha if copied and origins[at].sha != first.sha else ""
            found.append(_Came(origins[at] if copied else plain[at], via))
    return _brought_back(history, found, depth) if depth < _DEEP else found


def _groups(origins: Sequence[Origin], plain: Sequence[Origin]) -> list[range]:
    """Lines in a row that came in one commit from one place."""
    found: list[range] = []
    for at, (origin, here) in enumerate(zip(origins, plain, strict=True)):
        key = origin.path, origin != here, here.sha
        if found:
            last = found[-1].start
            if key == (origins[last].path, origins[last] != plain[last], plain[last].sha):
                found[-1] = range(last, at + 1)
                continue
        found.append(range(at, at + 1))
    return found


def _is_copy(
    history: History, origins: Sequence[Origin], plain: Sequence[Origin], group: range, commit: Commit
) -> bool:
    """Whether what git takes for moved lines was moved: two people may well write the same short line.

    An index quotes notes, and files outside the memory are none of ours: no line comes from there.
    """
    source, here = origins[group.start], plain[group.start]
    if not source.path or layout.kind_of(source.path) is Kind.INDEX:
        return False
    if commit.op not in BY_HAND:
        return True
    wanted = [(here.sha, here.path), *([(here.before, here.before_path)] if here.before else [])]
    after, *others = [compare.split(data or b"") for data in history.read_many(wanted)]
    rows = [after[plain[at].line - 1] for at in group]
    if source.path not in (here.path, here.before_path):
        return sum(char.isalnum() for row in rows for char in row.decode("utf-8", "replace")) >= _COPIED
    # What still stands at its old place too was written once more, not moved.
    return bool(others) and all(after.count(row) <= others[0].count(row) for row in set(rows))


def _brought_back(history: History, came: list[_Came], depth: int) -> list[_Came]:
    """Lines of a file that a run brought back lead on to where they stood before the file went."""
    files = {(item.origin.sha, item.origin.path) for item in came if item.origin.path and not item.origin.before}
    commits = history.commits(sorted({sha for sha, _ in files}))
    for sha, path in files:
        commit = commits[sha]
        if commit.op not in _BACK or not commit.parents:
            continue
        last = last_version(history, path, commit.parents[0])
        if not last:
            continue
        old, new = (compare.split(data or b"") for data in history.read_many([(last, path), (sha, path)]))
        known, earlier = compare.stayed(old, new), _came(history, path, last, depth + 1)
        for at, item in enumerate(came):
            if (item.origin.sha, item.origin.path) == (sha, path) and item.origin.line - 1 in known:
                came[at] = _Came(earlier[known[item.origin.line - 1]].origin, item.via or sha)
    return came


# -- what a line replaced ----------------------------------------------------------------------------------------------


def _replaced(history: History, origins: Sequence[Origin]) -> dict[Origin, list[str]]:
    """What stood where each line was written, until then."""
    files = {item[:2] + item[3:]: None for item in origins if item.before and item.path}
    names = [name for sha, path, before, old in files for name in ((before, old), (sha, path))]
    data = [compare.split(one or b"") for one in history.read_many(names)]
    pairs = {file: _pairs(*data[2 * at : 2 * at + 2]) for at, file in enumerate(files)}
    return {item: pairs.get(item[:2] + item[3:], {}).get(item.line, []) for item in origins}


def _pairs(old: Sequence[bytes], new: Sequence[bytes]) -> dict[int, list[str]]:
    """The lines of `old` that each line (1-based) of `new` replaced: one for one where there are as many."""
    found: dict[int, list[str]] = {}
    for change in compare.changes(old, new):
        gone = [_shown(row) for row in old[change.first : change.last]]
        even = len(gone) == change.end - change.start
        for at in range(change.start, change.end):
            found[at + 1] = gone[at - change.start : at - change.start + 1] if even else gone
    return found


def _shown(row: bytes) -> str:
    return row.rstrip(b"\r\n").decode("utf-8", "surrogateescape")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
