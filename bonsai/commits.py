"""Commits of a run: exactly the rows that are asked for, once, with the person's index brought in line after it."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from bonsai.config import Settings
from bonsai.errors import BonsaiError, Busy, NotFound
from bonsai.notes import layout
from bonsai.notes.change import Plan, Row
from bonsai.notes.secrets import Secret, find_in
from bonsai.notes.view import View
from bonsai.passes.look import Look
from bonsai.passes.recover import LATE, changes, happened, late_paths, remember_late, take_back
from bonsai.ports.derived import Cache
from bonsai.ports.disk import Journal, Lock, NoteStore
from bonsai.ports.history import Author, Blob, FileChange, History

TRIES = 8  # of a commit, when somebody else moves HEAD at the same time


@dataclass(frozen=True)
class Outside:
    """The adapters of one workspace, and who is at work."""

    store: NoteStore
    cache: Cache
    history: History
    journal: Journal
    lock: Lock
    settings: Settings
    clock: Callable[[], datetime]
    ignore_text: str  # the lines of memory/.gitignore
    actor: str = "human"
    session: str = ""
    author: Author = field(default_factory=Author)
    progress: Callable[[str, int, int], None] | None = None
    accesses: Callable[[], Mapping[str, int]] = dict  # path → how often recall gave the note to somebody


class Join(Protocol):
    """Takes another history into ours: by a commit with two parents, or by moving HEAD on to theirs."""

    onto: str  # the commit that HEAD moves to, "" where one is made
    odd: Mapping[str, Blob | None]  # what else comes with it, and no run looks at: links, submodules

    def __call__(self, changes: Sequence[FileChange], message: str, head: str) -> str:
        """The commit that HEAD is at now. Raises Busy when it was no longer at `head`."""


class Commits:
    """The part of a run that commits; `view` is what the run looked at last."""

    def __init__(self, outside: Outside) -> None:
        self.out = outside
        self.now = outside.clock()
        self.id = _new_id()
        self._look = Look(outside.store, outside.cache, outside.history, time.time_ns(), outside.progress)
        self.view = View({}, "")
        self.behind: list[str] = []  # where the index is behind HEAD, and there was no room to write that down

    def commit_rows(
        self, rows: Sequence[Row], op: str, subject: str, body: str = "", trailers: dict[str, str] | None = None
    ) -> str | None:
        """Make one commit of these rows; None when HEAD has them already. Raises Busy when HEAD keeps moving."""
        if not rows:
            return None
        intent = self._intent(op, [row.path for row in rows])
        self.out.journal.begin(intent)
        try:
            return self._commit(rows, self._message(op, subject, body, trailers or {}))
        except BaseException:
            self._abandon(intent, {})
            raise

    def _joined(self, rows: Sequence[Row], message: str, join: Join) -> str:
        """Like `_commit`, with another history: nothing of it may be left out, so it is this HEAD or none."""
        history, view, before = self.out.history, self.view, self.view.head
        changes = [change for row in rows if view.differs(row) and (change := self._change(row, whole=True))]
        try:
            sha = join(changes, message, before)
        except BonsaiError:
            sha = happened(history, {"run": self.id, "head": before, "onto": join.onto})
            if not sha:
                raise
        self._look.head_moved(view, sha)
        changed = history.tree_changes(before, sha) or {}
        self._refresh({**{path: self._blob(path) for path in changed}, **join.odd})
        self._settled()
        return sha

    def _commit(self, rows: Sequence[Row], message: str) -> str | None:
        history, view, paths = self.out.history, self.view, [row.path for row in rows]
        for attempt in range(TRIES):
            rows = [row for path in paths if (row := view.rows.get(path)) and view.differs(row)]
            if not rows:
                self.out.journal.done()
                return None
            changes = [change for row in rows if (change := self._change(row))]
            if not changes:
                self.out.journal.done()
                return None
            rows = [view.rows[change.path] for change in changes]
            try:
                sha = history.commit(changes, message, view.head, self.out.author, self.now)
                break
            except BonsaiError as error:
                sha = history.contains_run(self.id, view.head)  # git may have died after it had moved the branch
                if sha:
                    break
                if not isinstance(error, Busy) or attempt == TRIES - 1:
                    raise
                head = history.head()
                if head != view.head:
                    self._look.head_moved(view, head)
                else:
                    time.sleep(0.05 * (attempt + 1))
        self._look.committed(view, rows, sha)
        self._refresh({row.path: self._blob(row.path) for row in rows})
        self._settled()
        return sha

    def _settled(self) -> None:
        """The commit stands. Another one is another run: `undo` takes back one, by its id."""
        if not self.behind:
            with suppress(BonsaiError):  # it happened; the next run finds out as much
                self.out.journal.done()
        self.id = _new_id()

    def _change(self, row: Row, whole: bool = False) -> FileChange | None:
        """The bytes of a row, which are exactly those that its blob names; None for a file that came and went.

        `whole`: also what may otherwise not be committed, because it is in git already.
        """
        path, blob_id, rows = row.path, self.out.history.blob_id, self.view.rows
        data = self.view.fresh.get(path) if row.stat is not None else None
        if row.stat is not None and (data is None or blob_id(data) != row.blob):
            with suppress(NotFound):
                data = self.out.store.read(path)
            if data is None or blob_id(data) != row.blob:  # saved again, or gone, since the look
                self._look.again(self.view, [path])
        now = rows.get(path)
        if now is None or now.stat is None:
            return FileChange(path, None) if now and now.head else None
        if data is None:  # deleted and made anew: an editor at work
            data = self.out.store.read(path)
        seen, now.blob = now.blob, blob_id(data)
        if not whole and (self.view.is_held(now) or (now.blob != seen and self._secrets(data))):
            return None  # saved since the look, with what may not be committed: the next look says so
        return FileChange(path, data, now.head_mode or now.stat.mode)

    def _secrets(self, data: bytes) -> list[Secret]:
        """What in these bytes looks like a credential and is not allowed."""
        return [item for item in find_in(data) if item.fingerprint not in self.view.allowed]

    def _blob(self, path: str) -> Blob | None:
        row = self.view.rows.get(path)
        return Blob(row.head_mode, row.head) if row and row.head else None

    def _refresh(self, blobs: dict[str, Blob | None]) -> None:
        """The person's index for the committed paths, and for those that it was locked for before."""
        late = [*late_paths(self.out.store), *self.behind]
        blobs = {**{path: self._blob(path) for path in late}, **blobs}
        displaced = None  # the commit stands, whatever becomes of the index: the next run tries again
        with suppress(BonsaiError):
            displaced = self.out.history.refresh_index(blobs)
            if displaced:
                self.out.journal.done({"staged": displaced})
        self.behind = []
        if displaced is None and not remember_late(self.out.store, blobs):
            self.behind = sorted(blobs)
        elif displaced is not None and late:
            with suppress(BonsaiError):
                self.out.store.discard(LATE)

    def _message(self, op: str, subject: str, body: str, trailers: dict[str, str]) -> str:
        lines = {"Bonsai-Op": op, "Bonsai-Actor": self.out.actor, "Bonsai-Run": self.id, **trailers}
        if self.out.session:
            lines["Bonsai-Session"] = self.out.session
        tail = "\n".join(f"{key}: {_one_line(value)}" for key, value in lines.items())
        body = "\n".join(map(layout.printable, body.strip().splitlines()))
        return "\n\n".join(part for part in (_one_line(subject), body, tail) if part) + "\n"

    def _intent(self, op: str, paths: Sequence[str], plan: Plan | None = None) -> dict[str, Any]:
        return {
            "run": self.id,
            "op": op,
            "time": time.time(),
            "head": self.view.head,
            "paths": list(paths),
            "behind": self.behind,
            **changes(plan or Plan(op, ""), self.out.history.blob_id),
        }

    def _abandon(self, intent: dict[str, Any], old: Mapping[str, bytes]) -> None:
        """Take back what was done, unless the commit stands after all; what cannot be done now is for the next run."""
        self.view.memo.clear()
        with suppress(BonsaiError):
            if not happened(self.out.history, intent):
                take_back(self.out.store, self.out.history.blob_id, old.__getitem__, intent)
                if not self.behind:
                    self.out.journal.done({"taken_back": self.id})


def _new_id() -> str:
    return secrets.token_hex(6)


def _one_line(text: str) -> str:
    return " ".join(text.split())
