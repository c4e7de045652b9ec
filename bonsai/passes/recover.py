"""Clear up after a run that was cut short: it happened whole or not at all, and the person's index agrees."""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from bonsai.errors import BonsaiError, Busy, CannotCreate, NotFound, Refused
from bonsai.notes import boot, layout
from bonsai.notes.change import Plan
from bonsai.notes.view import COMMITTED
from bonsai.ports.disk import Journal, NoteStore
from bonsai.ports.history import History

LATE = ".bonsai/unrefreshed.json"
_ID = re.compile(r"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?)?")  # a commit, or nothing
BlobId = Callable[[bytes], str]


def changes(plan: Plan, blob_id: BlobId) -> dict[str, Any]:
    """What an intent says of the files: enough to know old bytes and new ones when they are seen again."""
    return {
        "puts": [
            [put.path, "" if put.old is None else blob_id(put.old), blob_id(_written(put.path, put.data))]
            for put in plan.puts
        ],
        "drops": [[drop.path, blob_id(drop.old)] for drop in plan.drops],
    }


def unlock(history: History, journal: Journal) -> None:
    """Remove the locks that the git of a killed run left: they keep everybody from committing."""
    intent = _pending(journal)
    if intent is not None:
        history.remove_stale_locks(float(intent["time"]))


def recover(store: NoteStore, history: History, journal: Journal) -> list[str]:
    """Finish or take back the run that the journal says was under way; the caller then notes `done`.

    Returns:
        The paths for which the person's index may be behind HEAD, for the caller to bring in line first.

    Raises:
        Busy while a git process that the killed run started is still at work, IoFailed. Then the next run tries again.
    """
    intent = _pending(journal)
    if intent is None:
        return []
    unlock(history, journal)
    store.sweep()
    before = intent["head"]
    commit = happened(history, intent)
    if not commit:
        take_back(store, history.blob_id, history.blob, intent)
        return list(intent.get("behind", []))
    changed = history.tree_changes(before, commit) if before else None
    return sorted(
        {*intent.get("behind", []), *intent["paths"]} | set(changed if changed is not None else history.tree(commit))
    )


def happened(history: History, intent: dict[str, Any]) -> str:
    """The commit that a run made, or moved HEAD to, "" for neither. `onto` is by others, so it names no run of ours."""
    onto = intent.get("onto", "")
    if not onto:
        return history.contains_run(intent["run"], intent["head"])
    held = history.head() != intent["head"] and not history.log(limit=1, rev=f"HEAD..{onto}")
    return onto if held else ""


def _pending(journal: Journal) -> dict[str, Any] | None:
    """The intent that waits. One that we cannot have written (a clone may bring a journal) counts for nothing."""
    intent = journal.pending()
    if intent is None or not all(isinstance(intent.get(key), str) for key in ("run", "head")):
        return None
    if not isinstance(intent.get("time"), int | float) or not _ID.fullmatch(str(intent.get("onto", ""))):
        return None
    for key, size in (("paths", 1), ("behind", 1), ("puts", 3), ("drops", 2)):
        items = intent.get(key, [] if key == "behind" else None)
        if not isinstance(items, list):
            return None
        for item in items:
            words = item if isinstance(item, list) else [item]
            if len(words) != size or not all(isinstance(word, str) for word in words):
                return None
            if layout.kind_of(words[0]) not in COMMITTED:
                return None
    return intent


def take_back(store: NoteStore, blob_id: BlobId, blob: Callable[[str], bytes], intent: dict[str, Any]) -> None:
    """Give every file that a run changed its old bytes back, and remove those that it made.

    What a person saved since stays. It may rest on what the run had made (a MEMORY.md without the sections that became
    notes), so then those files stay too: a text that stands twice is no harm, one that is gone is.

    Args:
        blob: gives the old bytes by their id. Raises NotFound.
    """
    for path, old in intent.get("drops", []):
        if not store.exists(path):
            with suppress(CannotCreate, NotFound):
                store.create(path, blob(old))
    puts = intent.get("puts", [])
    edited = [path for path, old, new in puts if old and not _put_back(store, blob_id, blob, (path, old, new))]
    for path, old, new in puts:
        if old or edited:
            continue
        with suppress(Busy, NotFound, Refused):
            now = store.read(path)
            if blob_id(_written(path, now)) == new:
                store.remove(path, now)
                store.prune(layout.folder_of(path))


def _put_back(store: NoteStore, blob_id: BlobId, blob: Callable[[str], bytes], put: tuple[str, str, str]) -> bool:
    """Whether the file has its old bytes (again)."""
    path, old, new = put
    with suppress(Busy, NotFound, Refused):
        now = store.read(path)
        if blob_id(now) == old:
            return True
        if blob_id(_written(path, now)) == new:
            store.replace(path, blob(old), now)
            return True
    return False


def _written(path: str, data: bytes) -> bytes:
    """What of a file a plan decides: of a boot file not the block, which a run renews after it carried out its plan."""
    return boot.strip(data) if layout.kind_of(path) is layout.Kind.BOOT else data


def late_paths(store: NoteStore) -> list[str]:
    """The paths for which the person's index is behind HEAD, because it was locked or a run was killed."""
    with suppress(BonsaiError, ValueError, TypeError):
        found = json.loads(store.read(LATE))
        return [path for path in found if isinstance(path, str) and layout.kind_of(path) in COMMITTED]
    return []


def remember_late(store: NoteStore, paths: Iterable[str]) -> bool:
    """Add to them, at once: a kill must not forget it, since the person's next commit would undo ours.

    Says whether that worked.
    """
    late = sorted({*late_paths(store), *paths})
    with suppress(BonsaiError):
        if late:
            store.generate(LATE, json.dumps(late).encode())
        return True
    return False
