"""Why: who wrote each line of a note, when, in which run, and what it replaced."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bonsai.errors import BadData, NotFound
from bonsai.notes import boot, compare, layout
from bonsai.notes.layout import Kind
from bonsai.notes.printed import counted
from bonsai.notes.summary import summarise
from bonsai.passes.reports import Arrival, WhyLine
from bonsai.ports.history import Commit, History, Origin

BY_HAND = frozenset({"", "edit", "init", "reindex"})  # a run of these moves no text from one note to another
_BACK = frozenset({"restore", "undo"})  # what bring a file back that was gone
_COPIED = 40  # letters and digits in a row that a person does not write twice: git's own measure
_DEEP = 20  # a file that was purged and brought back so often is followed no further
_MANY = 1000  # files of a commit that are read to see what it may have moved
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
        raise NotFound(f"has no line {span}", path=version.path, hint=f"It has {counted(count, 'line')}.")
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


class Asked(NamedTuple):
    """Some lines (1-based) of a file."""

    version: Version
    numbers: Sequence[int]


def explain(history: History, asked: Sequence[Asked]) -> list[WhyLine]:
    """Tell of each line that is asked about where it comes from, all of them with as few questions to git as can be."""
    known = history.read_many([(version.commit, version.path) for version, _ in asked if version.commit])
    data = iter(known)
    stories = [_story(item, next(data) if item.version.commit else None) for item in asked]
    came = _came(history, [story.committed for story in stories])
    origins = [item.origin for found in came for item in found.values()]
    shas = {sha for found in came for item in found.values() for sha in (item.origin.sha, item.via) if sha}
    commits, replaced = history.commits(sorted(shas)), _replaced(history, origins)
    return [line for story, found in zip(stories, came, strict=True) for line in _told(story, found, commits, replaced)]


class _Committed(NamedTuple):
    """A file of a commit, and those of its lines (0-based) that are of interest."""

    path: str
    commit: str
    rows: Sequence[bytes]
    lines: Sequence[int]


class _Story(NamedTuple):
    asked: Asked
    rows: Sequence[bytes]  # as they stand
    known: Mapping[int, int]  # which line (0-based) was which in the commit
    committed: _Committed


def _story(asked: Asked, data: bytes | None) -> _Story:
    version = asked.version
    rows = compare.split(version.data)
    before = compare.split(data) if data is not None and b"\0" not in data else []
    known = compare.stayed(before, rows)
    lines = sorted({known[number - 1] for number in asked.numbers if number - 1 in known})
    return _Story(asked, rows, known, _Committed(version.path, version.commit, before, lines))


def _told(
    story: _Story,
    came: Mapping[int, _Came],
    commits: Mapping[str, Commit],
    replaced: Mapping[Origin, list[str]],
) -> Iterator[WhyLine]:
    version = story.asked.version
    title = summarise(version.path, version.data, len(version.data)).title
    pending = _pairs(story.committed.rows, story.rows)
    for number in story.asked.numbers:
        text = _shown(story.rows[number - 1])
        line = WhyLine(path=version.path, line=number, text=text, title=title, replaced=pending.get(number, []))
        if number - 1 in story.known:
            _fill(line, came[story.known[number - 1]], commits, replaced)
        yield line


def _fill(line: WhyLine, came: _Came, commits: Mapping[str, Commit], replaced: Mapping[Origin, list[str]]) -> None:
    commit = commits[came.origin.sha]
    line.sha, line.time, line.message = commit.sha, commit.time, commit.subject
    line.actor, line.author, line.op = commit.actor or "human", commit.author, commit.op
    line.run, line.session, line.cut = commit.run, commit.session, commit.cut
    line.origin = f"{came.origin.path}:{came.origin.line}"
    line.replaced = replaced.get(came.origin, [])
    if came.via:
        by = commits[came.via]
        line.via = Arrival(by.sha, by.time, by.actor or "human", by.op, by.run, by.subject)


# -- where the lines of a commit come from -----------------------------------------------------------------------------


def _came(history: History, files: Sequence[_Committed], depth: int = 0) -> list[dict[int, _Came]]:
    """Where the lines of committed files were written, by their numbers, for each file."""
    plain = [_blamed(history, file, file.lines, copies=False) for file in files]
    commits = history.commits(sorted({item.sha for found in plain for item in found.values()}))
    before = _before(history, commits.values())
    result = []
    for file, found in zip(files, plain, strict=True):
        came = {at: _Came(item, "") for at, item in found.items()}
        suspects = {at for at, item in found.items() if _may_be_copied(file.rows[at], before[item.sha])}
        if suspects:
            came |= _copied(history, file, suspects, commits)
        result.append(_brought_back(history, came, depth) if depth < _DEEP else came)
    return result


def _blamed(history: History, file: _Committed, lines: Sequence[int], *, copies: bool) -> dict[int, Origin]:
    """Where these lines come from."""
    if not lines:
        return {}
    spans = [range(first + 1, last + 2) for first, last in _runs(lines)]
    return dict(zip(sorted(lines), history.blame(file.path, file.commit, copies, spans), strict=True))


def _runs(lines: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of each row of numbers without a gap."""
    first = last = -2
    for number in sorted(lines):
        if number != last + 1:
            if last >= 0:
                yield first, last
            first = number
        last = number
    if last >= 0:
        yield first, last


def _before(history: History, commits: Iterable[Commit]) -> dict[str, frozenset[bytes] | None]:
    """What lines stood, before each commit, in the files that it changed; None where that is not worth to be read.

    Only a line that stood in one of them can have been moved or copied by that commit, and asking git for copies costs
    far more than to read these files: nearly every line is new where it was first seen.
    """
    files: dict[str, list[tuple[str, str]]] = {}
    for commit in commits:
        names = [path for path in commit.paths if layout.kind_of(path) is not Kind.INDEX]
        if len(commit.parents) > 1 or len(names) > _MANY:
            continue
        files[commit.sha] = [(parent, name) for parent in commit.parents for name in names]
    data = iter(history.read_many([item for items in files.values() for item in items]))
    found = {
        sha: frozenset(row.rstrip(b"\r\n") for _ in items for row in compare.split(next(data) or b""))
        for sha, items in files.items()
    }
    return {commit.sha: found.get(commit.sha) for commit in commits}


def _may_be_copied(row: bytes, before: frozenset[bytes] | None) -> bool:
    return before is None or row.rstrip(b"\r\n") in before


def _copied(history: History, file: _Committed, suspects: set[int], commits: Mapping[str, Commit]) -> dict[int, _Came]:
    """Those of the lines that were moved or copied here, in the company of the lines that came with them."""
    whole = history.blame(file.path, file.commit, copies=False)
    near: set[int] = set()
    for at in suspects:
        if at not in near:
            near |= set(_around(whole, at))
    origins = _blamed(history, file, sorted(near), copies=True)
    found: dict[int, _Came] = {}
    for group in _groups(origins, whole):
        source, here = origins[group[0]], whole[group[0]]
        if source == here or suspects.isdisjoint(group) or here.sha not in commits:
            continue
        if _is_copy(history, source, [whole[at] for at in group], commits[here.sha]):
            found |= {
                at: _Came(origins[at], here.sha if origins[at].sha != here.sha else "")
                for at in group
                if at in suspects
            }
    return found


def _around(whole: Sequence[Origin], at: int) -> range:
    """The lines in a row that came in the commit of one of them."""
    first = last = at
    while first and whole[first - 1].sha == whole[at].sha:
        first -= 1
    while last + 1 < len(whole) and whole[last + 1].sha == whole[at].sha:
        last += 1
    return range(first, last + 1)


def _groups(origins: Mapping[int, Origin], whole: Sequence[Origin]) -> list[list[int]]:
    """Lines in a row that came in one commit from one place."""
    found: list[list[int]] = []
    last = None
    for at, origin in origins.items():
        key = origin.path, origin != whole[at], whole[at].sha
        if found and key == last and found[-1][-1] == at - 1:
            found[-1].append(at)
        else:
            found.append([at])
        last = key
    return found


def _is_copy(history: History, source: Origin, lines: Sequence[Origin], commit: Commit) -> bool:
    """Whether what git takes for moved lines was moved: two people may well write the same short line.

    An index quotes notes, and files outside the memory are none of ours: no line comes from there.
    """
    here = lines[0]
    if not source.path or layout.kind_of(source.path) is Kind.INDEX:
        return False
    if commit.op not in BY_HAND:
        return True
    wanted = [(here.sha, here.path), *([(here.before, here.before_path)] if here.before else [])]
    after, *others = [compare.split(data or b"") for data in history.read_many(wanted)]
    rows = [after[line.line - 1] for line in lines]
    if source.path not in (here.path, here.before_path):
        return sum(char.isalnum() for row in rows for char in row.decode("utf-8", "replace")) >= _COPIED
    # What still stands at its old place too was written once more, not moved.
    return bool(others) and all(after.count(row) <= others[0].count(row) for row in set(rows))


def _brought_back(history: History, came: dict[int, _Came], depth: int) -> dict[int, _Came]:
    """Lines of a file that a run brought back lead on to where they stood before the file went."""
    files = {
        (item.origin.sha, item.origin.path) for item in came.values() if item.origin.path and not item.origin.before
    }
    commits = history.commits(sorted({sha for sha, _ in files}))
    for sha, path in files:
        commit = commits[sha]
        if commit.op not in _BACK or not commit.parents:
            continue
        last = last_version(history, path, commit.parents[0])
        if not last:
            continue
        old, new = (compare.split(data or b"") for data in history.read_many([(last, path), (sha, path)]))
        known = compare.stayed(old, new)
        back = {
            at: known[item.origin.line - 1]
            for at, item in came.items()
            if (item.origin.sha, item.origin.path) == (sha, path) and item.origin.line - 1 in known
        }
        [earlier] = _came(history, [_Committed(path, last, old, sorted(set(back.values())))], depth + 1)
        came |= {at: _Came(earlier[was].origin, came[at].via or sha) for at, was in back.items()}
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
