"""What the disk holds of something that is forgotten: in the memory, and in what bonsai keeps beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bonsai import servers
from bonsai.adapters import known_servers, private_files, sqlite_cold, sqlite_unsaid
from bonsai.errors import NotFound, Refused, Unavailable
from bonsai.notes import boot, forget, layout
from bonsai.notes.layout import Kind
from bonsai.passes import erase

if TYPE_CHECKING:
    from bonsai.notes.forget import Forget
    from bonsai.passes.erased import EraseReport
    from bonsai.ports.disk import NoteStore

#: What else bonsai keeps that can hold text: its name in `.bonsai`, and what takes the forgotten out of that file.
STORES: dict[str, Callable[[str, Forget, bool], int]] = {
    "cold.db": sqlite_cold.forget,
    "conversation.db": sqlite_unsaid.forget,
}
#: What lets an erasure be done without a server.
GONE = f"Where it is gone for good, take away the variable that names it and its line in {known_servers.NAME}."
_PERSONS = frozenset({Kind.NOTE, Kind.BOOT, Kind.CONFIG, Kind.ASSET})
SWAP = (".swp", ".swo", ".swx")


class Traces:
    """The files of a workspace, looked through for what is forgotten.

    Args:
        store: the files.
        blob_id: git's name of some bytes.
    """

    def __init__(self, store: NoteStore, blob_id: Callable[[bytes], str]) -> None:
        self._store, self._blob_id = store, blob_id

    def rest(self, names: Sequence[str]) -> bytes:
        """What stays: all notes as they stand, but for one under its names; these, which git's log and the tombstone
        tell (a note may have its own path as its heading: nothing could prove that such a line is gone)."""
        rest = [name.encode("utf-8", "surrogateescape") for path in names for name in (path, layout.short(path))]
        for entry in self._store.scan():
            kind = layout.kind_of(entry.path)
            generated = layout.name_of(entry.path) in {layout.BACKUP, layout.PURGE_LOG, layout.ERASED}
            if kind in _PERSONS and not generated and entry.path not in names:
                data = self.read(entry.path) or b""
                rest.append(boot.strip(data) if kind is Kind.BOOT else data)
        return b"\n".join(rest)

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, None where there is none that may be read."""
        with suppress(NotFound, Refused):
            return self._store.read(path)
        return None

    def holding(self, what: Forget) -> list[str]:
        """The files of the memory that have to change."""
        found = []
        for entry in self._store.scan():
            if entry.kind != "file":
                continue
            data = self.read(entry.path)
            if data is None:
                continue
            goes = what.drops(entry.path, self._blob_id(data))
            if goes or what.scrub(entry.path, data) != data or (what.text and what.name(entry.path) != entry.path):
                found.append(entry.path)
        return found

    def rewrite(self, what: Forget, names: Mapping[str, str]) -> None:
        """The files on disk without what is erased."""
        store = self._store
        for path in self.holding(what):
            if path.endswith(SWAP):  # opened since: the proof tells of it
                continue
            data = store.read(path)
            clear = what.scrub(path, data)
            if what.drops(path, self._blob_id(data)):
                store.remove(path, data)
                store.prune(layout.folder_of(path))
            elif not what.text or what.name(path) == path:
                store.replace(path, clear, data)
            else:
                store.create(names.get(path) or forget.free_name(what.name(path), store.exists), clear)
                store.remove(path, data)

    def kept(self, what: Forget) -> int:
        """How many rows of the embedded stores hold it."""
        return sum(ask(f"{self._store.root}/.bonsai/{name}", what, True) for name, ask in STORES.items())

    def clear_kept(self, what: Forget) -> None:
        """The cache goes; of what else is kept in `.bonsai`, and of a waiting reflection, what speaks of it."""
        for entry in self._store.scan() if what.names else ():
            if layout.name_of(entry.path) != layout.STAGING or (data := self.read(entry.path)) is None:
                continue
            left = erase.without_candidates(data, sorted(what.names))
            if left is None:
                self._store.discard(entry.path)
            elif left != data:
                self._store.generate(entry.path, left)
        private_files.remove(self._store.root, ".bonsai/cache")
        for name, clear_store in STORES.items():
            clear_store(f"{self._store.root}/.bonsai/{name}", what, False)
        for path, data in private_files.contents(self._store.root, ["erasing"]):
            clear = what.text_of(data)
            if clear != data and b"\0" not in data:
                self._store.generate(path, clear)

    def left(self, what: Forget) -> list[str]:
        """Where on disk something is left: in the memory, and in what bonsai keeps."""
        # Indexes are made from the notes that stay: a line of theirs may be like one of the note by chance.
        found = self.holding(replace(what, leads=frozenset(), text=""))
        found += [what.name(entry.path) for entry in self._store.scan() if what.name(entry.path) != entry.path]
        found += [path for path, data in private_files.contents(self._store.root, ["erasing"]) if what.found(data)]
        return found


def ask_servers(
    root: str,
    what: Forget,
    report: EraseReport,
    path: str,
    where: servers.Addresses,
    *,
    count: bool = False,
    again: bool = False,
) -> None:
    """Take it out of the servers, or only `count`; tells in the report.

    Args:
        path: the note that goes, "" where a text does.
        where: the servers that are set.
        again: whether everything else is done.

    Raises NotFound (it is nowhere), Unavailable (a server has to be asked first).
    """
    known = {item.server: item.rows for item in report.servers}
    report.servers = servers.erase(root, what, where, count=count)
    same = "erase its words there: `bonsai erase --match TEXT`" if path else "run the same `bonsai erase` again"
    lost = next((item for item in report.servers if item.cause), None)
    found = report.paths or report.commits_rewritten or report.rows or any(item.rows for item in report.servers)
    if lost and not report.dry_run and not again and (path or not found):
        why = "its words are known from its history alone" if path else "nothing else holds it"
        hint = f"Nothing was changed. {lost.hint}, try again. {GONE}"
        raise Unavailable(f"{lost.server} may hold it, and {why}: {lost.cause}", path=path or None, hint=hint)
    for item in report.servers:
        item.rows = max(item.rows, known.get(item.server, 0))
        item.hint = item.hint and f"{item.hint}, {same}. {GONE}"
    if not found and not lost and not any(item.rows for item in report.servers):
        raise NotFound("the text stands nowhere", hint="It is looked for as it is, in upper and lower case.")
