"""Erase: which names a note had, what the tombstone says, and what waits for a decision about what is gone."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bonsai.errors import BadData, Usage
from bonsai.notes import layout
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Kind
from bonsai.notes.rename import came_from
from bonsai.ports.history import History

PLACE = f"{layout.MEMORY}/{layout.ERASED}"
_SHOWN = 20  # ids in the trailer; the file has them all
_ERASABLE = {Kind.NOTE, Kind.ASSET, Kind.HELPER}


def need_erasable(path: str) -> None:
    """Raise Usage for what cannot go whole: generated files, settings, the boot file."""
    if layout.kind_of(path) not in _ERASABLE or layout.name_of(path) in {layout.ERASED, layout.PURGE_LOG}:
        raise Usage(
            "cannot be erased whole",
            path=path,
            hint="Name a note, or the words themselves: `bonsai erase --match TEXT`.",
        )


def names_of(history: History, path: str, stands: Callable[[str], bool]) -> tuple[list[str], set[tuple[str, str]]]:
    """Every name that a note had, `path` first: where it came from, and where it went when it stands there no more.

    A former name that another note has now is not among them: of that, the versions from before are told as
    (path, object id).
    """
    names, versions = [path], set[tuple[str, str]]()
    gone = not stands(path)
    for name in names:  # grows while it is walked
        for commit in history.log([name]) if history.head() else []:
            parent = commit.parents[0] if commit.parents else ""
            changes = history.changes(parent, commit.sha)
            pairs = [(item.old, item.new) for item in changes]
            later = {new for old, new in pairs if old == name and new} if gone or name != path else set()
            origin = came_from(pairs, name) if any(new == name and old != name for old, new in pairs) else ""
            if origin and origin not in names and stands(origin):
                versions |= _versions(history, origin, parent)
                origin = ""
            names += sorted(other for other in {*later, origin} - {"", *names} if _is_ours(other))
    return names, versions


def _versions(history: History, path: str, rev: str) -> set[tuple[str, str]]:
    found = set()
    for commit in history.log([path], rev=rev):
        changes = history.changes(commit.parents[0] if commit.parents else "", commit.sha)
        found |= {(path, item.new_oid) for item in changes if item.new == path}
    return found


def _is_ours(path: str) -> bool:
    return layout.kind_of(path) in _ERASABLE


def tombstones(data: bytes | None) -> list[dict[str, Any]]:
    """What `_erased.json` lists, oldest first. Raises BadData for a file that is damaged."""
    if data is None or not data.strip():
        return []
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadData(f"not JSON: {error}", path=PLACE, hint="Take an older version: `bonsai restore`.") from error
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BadData("not a list of erasures", path=PLACE, hint="Take an older version: `bonsai restore`.")
    return found


def erased_ids(data: bytes | None) -> frozenset[str]:
    """The object ids that no sync may bring back. Raises BadData."""
    ids = (oid for item in tombstones(data) for key in ("blobs", "commits") for oid in _texts(item.get(key)))
    return frozenset(ids)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def tombstone(
    run: str, when: str, what: str, reason: str, blobs: Iterable[str], commits: Iterable[str]
) -> dict[str, Any]:
    """What stays of something that was erased: no word of it.

    The ids are those of git, since `sync` has to know the objects again. There is no hash of a text: one of a short
    secret could be found by trying.
    """
    entry = {"run": run, "erased_at": when, "what": what, "reason": reason}
    return {**entry, "blobs": sorted(blobs), "commits": sorted(commits)}


def plan(draft: Draft, entry: Mapping[str, Any]) -> Plan:
    """The commit of a tombstone; empty where it is there already."""
    old = draft.get(PLACE)
    known = tombstones(old)
    if any(item.get("run") == entry["run"] for item in known):
        return Plan("erase", "")
    text = json.dumps([*known, dict(entry)], indent=2, ensure_ascii=False) + "\n"
    draft.put(PLACE, text.encode("utf-8", "replace"))
    ids = [*entry["blobs"], *entry["commits"]]
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    trailers = {"Bonsai-Erased": " ".join(ids[:_SHOWN]) + more} if ids else {}
    if entry["reason"]:
        trailers["Bonsai-Reason"] = str(entry["reason"])
    subject = f"erase: {layout.short(str(entry['what']))}"
    return draft.plan("erase", subject, "the content is in no commit any more", trailers)


def without_candidates(data: bytes, names: Sequence[str]) -> bytes | None:
    """A staging file without what it asks about a note; None where nothing is left, or it is damaged."""
    try:
        staging = json.loads(data)
        left = [item for item in staging["candidates"] if not _speaks_of(item, names)]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if len(left) == len(staging["candidates"]):
        return data
    text = json.dumps({**staging, "candidates": left}, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace") if left else None


def _speaks_of(item: object, names: Sequence[str]) -> bool:
    said = json.dumps(item, ensure_ascii=False)
    return any(json.dumps(name, ensure_ascii=False)[1:-1] in said for name in names)
