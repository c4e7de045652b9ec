"""Diff: the memory as it stands against what it was at a commit."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bonsai.errors import NotFound
from bonsai.notes import boot, compare, layout
from bonsai.notes.layout import Kind
from bonsai.notes.rename import bare_name
from bonsai.notes.view import COMMITTED, View, is_inside
from bonsai.passes.reports import Changed, ChangeKind
from bonsai.ports.history import History


class _Pair(NamedTuple):
    """One file then and now; "" where it was not, or is no more."""

    old: str
    new: str


def diff(
    view: View, history: History, read: Callable[[str], bytes], commit: str, only: Sequence[str] = ()
) -> list[Changed]:
    """What differs between a commit ("" for nothing at all) and the disk, in `only` or below it.

    What may not be committed (ignored, a `filter` attribute) never stood in a commit as it stands here: it is left out.
    Raises NotFound when `only` names what is neither here nor there.
    """
    tree = history.tree(commit) if commit else {}
    then = {path: blob.oid for path, blob in tree.items() if layout.kind_of(path) in COMMITTED and not view.hides(path)}
    now = {path: row.blob for path, row in view.rows.items() if row.blob and layout.kind_of(path) in COMMITTED}
    for path in only:
        if not any(is_inside(there, [path]) for there in (*then, *now)):
            raise NotFound("is neither here nor there", path=path, hint="`bonsai log PATH` tells what became of it.")
    differ = sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path))
    outside = _outside(view, history, [path for path in differ if path in now])
    then, now = ({path: side[path] for path in differ if path in side and path not in outside} for side in (then, now))
    pairs = [pair for pair in _pairs(then, now) if not only or any(is_inside(path, only) for path in pair if path)]
    return _changes(history, read, commit, pairs)


def _outside(view: View, history: History, here: Sequence[str]) -> set[str]:
    strange = [path for path in here if not view.rows[path].head]
    return (history.ignored(strange) if strange else set()) | (history.filtered(here) if here else set())


def _pairs(then: Mapping[str, str], now: Mapping[str, str]) -> list[_Pair]:
    """Which file is which: by name, by equal bytes, by a name that only changed its folder or was archived."""
    gone = {path: then[path] for path in then if path not in now}
    came = {path: now[path] for path in now if path not in then}
    found = [_Pair(path, path) for path in then if path in now]
    keys: tuple[Callable[[str, str], str], ...] = (lambda path, oid: oid, lambda path, oid: bare_name(path))
    for key in keys:
        origins = {key(path, oid): path for path, oid in gone.items() if layout.kind_of(path) is not Kind.INDEX}
        for new, oid in list(came.items()):
            if layout.kind_of(new) is not Kind.INDEX and (old := origins.pop(key(new, oid), "")):
                found.append(_Pair(old, new))
                del gone[old], came[new]
    found += [_Pair(path, "") for path in gone] + [_Pair("", path) for path in came]
    return sorted(found, key=lambda pair: pair.new or pair.old)


def _changes(history: History, read: Callable[[str], bytes], commit: str, pairs: Sequence[_Pair]) -> list[Changed]:
    olds = [pair.old for pair in pairs if pair.old]
    before = dict(zip(olds, history.read_many([(commit, path) for path in olds]), strict=True))
    return [_changed(pair, before.get(pair.old) or b"", read(pair.new) if pair.new else b"") for pair in pairs]


def _changed(pair: _Pair, before: bytes, after: bytes) -> Changed:
    text = compare.unified(before, after, pair.old, pair.new)
    rows = text.split("\n")[2:] if text.startswith("--- ") else []
    kind: ChangeKind = (
        "added" if not pair.old else "deleted" if not pair.new else "edited" if pair.old == pair.new else "renamed"
    )
    added, removed = (sum(row.startswith(mark) for row in rows) for mark in "+-")
    return Changed(pair.new or pair.old, pair.old, kind, added, removed, text, _is_generated(pair, before, after))


def _is_generated(pair: _Pair, before: bytes, after: bytes) -> bool:
    """Whether nothing that a person wrote differs: an index, or the block of a boot file."""
    kind = layout.kind_of(pair.new or pair.old)
    return kind is Kind.INDEX or (
        kind is Kind.BOOT and bool(pair.old and pair.new) and boot.strip(before) == boot.strip(after)
    )
