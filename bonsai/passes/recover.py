"""Clear up after a killed run: it happened whole or not at all, and the person's index agrees."""

from contextlib import suppress
from typing import Any

from bonsai.errors import BonsaiError, NotFound
from bonsai.ports import History, Journal, NoteStore


def recover(store: NoteStore, history: History, journal: Journal) -> list[str]:
    """Finish or take back the run that the journal says was under way.

    Files with bytes that are neither the run's old nor its new ones were saved by a person since: they stay.

    Returns:
        The paths for which the person's index may be behind HEAD; the caller brings it in line and then notes `done`.
    """
    intent = journal.pending()
    if intent is None:
        return []
    history.remove_stale_locks(float(intent.get("time", 0)))
    store.sweep()
    head, before = history.head(), str(intent.get("head", ""))
    paths = {str(path) for path in intent.get("paths", [])}
    if head and history.contains_run(str(intent.get("run", "")), before):
        changes = history.tree_changes(before, head) if before else None
        paths |= set(changes if changes is not None else history.tree(head))
    else:
        _take_back(store, history, intent)
    return sorted(paths)


def _take_back(store: NoteStore, history: History, intent: dict[str, Any]) -> None:
    """Give every file that holds the run's new bytes its old ones back; they are in HEAD."""
    for path, old, new in reversed(intent.get("puts", [])):
        with suppress(NotFound):
            now = store.read(path)
            if history.blob_id(now) != new:
                continue
            if old:
                store.replace(path, history.blob(old), now)
            else:
                store.remove(path, now)
    for path, old in intent.get("drops", []):
        if not store.exists(path):
            with suppress(NotFound):
                _put_back(store, path, history.blob(old))


def _put_back(store: NoteStore, path: str, data: bytes) -> None:
    with suppress(BonsaiError):
        store.create(path, data)
