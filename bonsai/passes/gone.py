"""What the memory held once and no longer does: archived, purged, or edited away; found, and how to bring it back."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from bonsai.errors import BonsaiError, Busy, NotFound, Refused
from bonsai.notes.change import NOWHERE, Row
from bonsai.notes.document import Document, document, readable
from bonsai.notes.layout import Tree, is_archived, is_searched
from bonsai.notes.ranking import Ranked
from bonsai.ports.derived import Passages, SearchIndex
from bonsai.ports.disk import NoteStore
from bonsai.ports.history import Commit, History

CHUNK = 200  # versions that are read at once
REV = 10  # digits of a revision in a name
ALIKE = 30  # live passages that are compared with a found one
Progress = Callable[[str, int, int], None]


def catch_up(index: SearchIndex, history: History, head: str, tree: Tree, progress: Progress) -> None:
    """Take in what the commits since the last time replaced or deleted, each version under `PATH@REV`.

    After a history that was rewritten everything is taken in anew. Raises Busy.
    """
    mark = index.mark()
    if mark == head:
        return
    commits = history.log() if head else []
    new = _since(commits, mark or "")
    with index.writing():
        if index.mark() != mark:  # deleted meanwhile, or somebody else was faster
            raise Busy("the index of what is gone has changed", hint="Try again.")
        if new is None:
            for path in list(index.known()):
                index.drop(path)
        steps = list(_steps(commits if new is None else new, tree))
        for number in range(0, len(steps), CHUNK):
            progress("reading what is gone", number, len(steps))
            for item in _lost(history, steps[number : number + CHUNK]):
                index.put(item, NOWHERE)
        index.finish(head)


def uncommitted(
    index: SearchIndex, history: History, head: str, tree: Tree, rows: Sequence[Row], store: NoteStore
) -> SearchIndex:
    """What no commit tells: the archives as they stand, and texts that were edited away since HEAD.

    A note that cannot be read now is left out: it is a problem of status, not of all others.
    """
    for row in rows:
        archive = row.stat is not None and is_archived(row.path) and is_searched(row.path, tree, archived=True)
        edited = row.head and row.head != row.blob and is_searched(row.path, tree, archived=True)
        if not archive and not edited:
            continue
        try:
            now = _standing(store, row)
        except BonsaiError:
            continue
        if archive and now is not None:
            index.put(document(row.path, now), NOWHERE)
        if edited:
            for item in _difference(row.path, head, history.blob(row.head), now):
                index.put(item, NOWHERE)
    index.finish("")
    return index


def _standing(store: NoteStore, row: Row) -> bytes | None:
    """A note as it stands; None where it is gone, or a symlink or a pipe has taken its place. Raises IoFailed."""
    if row.stat is None:
        return None
    try:
        return store.read(row.path)
    except (NotFound, Refused):
        return None


def forgotten(
    ranked: Sequence[Ranked], live: Passages, limit: int, log: Callable[[], Sequence[Commit]]
) -> list[Ranked]:
    """Those that really are gone: no live passage says the same. Of equal texts only the one that stood last.

    Args:
        log: the commits, newest first; asked for only where the same text is gone from several places.
    """
    ranked = _newest(ranked, log)
    seen: set[frozenset[str]] = set()
    kept = [_lines(item.candidate.piece.text) for item in ranked if is_archived(item.candidate.about.path)]

    def is_gone(item: Ranked) -> bool:
        lines, archived = _lines(item.candidate.piece.text), is_archived(item.candidate.about.path)
        if lines in seen or (not archived and any(lines <= other for other in kept)):
            return False
        seen.add(lines)
        said: dict[str, set[str]] = {}
        for other in live.search(list(dict.fromkeys(item.candidate.piece.terms))[:24], ALIKE):
            said.setdefault(other.about.path, set()).update(_lines(other.piece.text))
        return not any(lines <= held for held in said.values())

    with live.reading():  # else a note that is saved meanwhile has passages, and is not there
        return list(islice(filter(is_gone, ranked), limit))


def place(path: str) -> tuple[str, str]:
    """(path of the note, command that brings it back) of a found document."""
    name, at, rev = path.rpartition("@")
    return name if at and len(rev) == REV else path, f"bonsai restore {shlex.quote(path)}"


def _newest(ranked: Sequence[Ranked], log: Callable[[], Sequence[Commit]]) -> list[Ranked]:
    """Of equal texts the version that stood last, in the place of the best.

    What a migrate moved out of MEMORY.md and somebody edited away later is gone from both; to restore the MEMORY.md of
    then would bring back all that was moved.
    """
    groups: dict[frozenset[str], list[Ranked]] = {}
    for item in ranked:
        groups.setdefault(_lines(item.candidate.piece.text), []).append(item)
    if len(groups) == len(ranked):
        return list(ranked)
    ages: dict[str, int] = {}
    for number, commit in enumerate(log()):
        for parent in commit.parents[:1]:
            ages.setdefault(parent[:REV], number)

    def age(item: Ranked) -> int:
        return ages.get(item.candidate.about.path.rpartition("@")[2], -1)  # archived, or not committed yet: now

    return [min(group, key=age) for group in groups.values()]


def _since(commits: Sequence[Commit], mark: str) -> list[Commit] | None:
    """The commits that are newer than a mark; None where it is not among them."""
    for number, commit in enumerate(commits):
        if commit.sha == mark:
            return list(commits[:number])
    return None


def _steps(commits: Iterable[Commit], tree: Tree) -> Iterator[tuple[str, str, str]]:
    """(path, commit before, commit) for each note that a commit changed."""
    for commit in commits:
        if commit.parents:
            yield from (
                (path, commit.parents[0], commit.sha) for path in commit.paths if is_searched(path, tree, archived=True)
            )


def _lost(history: History, steps: Sequence[tuple[str, str, str]]) -> Iterator[Document]:
    wanted = [(commit, path) for path, before, after in steps for commit in (before, after)]
    data = history.read_many(wanted)
    for (path, before, _), old, new in zip(steps, data[::2], data[1::2], strict=True):
        if old is not None:
            yield from _difference(path, before, old, new)


def _difference(path: str, commit: str, old: bytes, new: bytes | None) -> Iterator[Document]:
    """The old version as a document of the passages that the new one lacks, if there are any."""
    found = document(path, old)
    kept = _lines(readable(new)) if new is not None else frozenset()
    pieces = [piece for piece in found.pieces if not _lines(piece.text) <= kept]
    if pieces:
        about = found.about._replace(path=f"{path}@{commit[:REV]}")
        yield Document(about, found.fields, pieces)


def _lines(text: str) -> frozenset[str]:
    """The lines that say something; headings stay when what is below them goes."""
    rows = (row.strip() for row in text.splitlines())
    return frozenset(row for row in rows if row and not row.startswith("#"))
