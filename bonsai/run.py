"""One run: the engine under every verb. Looks, commits edits, carries out a plan whole or not at all, recovers."""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bonsai.config import Settings
from bonsai.errors import BonsaiError, Busy, Misconfigured, NotFound, Refused
from bonsai.notes import layout
from bonsai.notes.change import PathTime, Plan, Row
from bonsai.notes.draft import FILE, Draft
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.problem import Problem
from bonsai.notes.view import View
from bonsai.passes import pending, reindex
from bonsai.passes.look import Look
from bonsai.passes.recover import changes, recover, take_back, unlock
from bonsai.ports import Author, Blob, Cache, FileChange, History, Journal, Lock, NoteStore

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


class Run:
    """What happens between taking the writer lock and giving it back."""

    usable = True  # whether git can be asked at all
    writer = True  # whether the lock is held, so that leftovers may be cleared up

    def __init__(self, outside: Outside) -> None:
        self.out = outside
        self.now = outside.clock()
        self.id = secrets.token_hex(6)
        self._look = Look(outside.store, outside.cache, outside.history, time.time_ns())
        self.view = View({}, "")
        self.kept_back: set[str] = set()  # pending, and may not be committed

    # -- starting --------------------------------------------------------------------------------------

    @classmethod
    @contextmanager
    def writing(cls, outside: Outside, usable: bool = True) -> Iterator["Run"]:
        """Hold the lock, with the repository ready and every killed run cleared up.

        Raises Misconfigured without a repository, Busy while git is in the middle of something.
        """
        with outside.lock():
            state = outside.history.state()
            if state.blocked == "locked":
                unlock(outside.history, outside.journal)
                state = outside.history.state()
            if not state.exists:
                raise Misconfigured("there is no git repository", path=outside.store.root, hint="Run `bonsai init`.")
            if state.blocked and (usable or state.blocked != "unusable"):
                raise Busy(
                    f"git is in the middle of something ({state.blocked}): {state.detail}",
                    path=outside.store.root,
                    hint="Finish or abort it with git, then try again.",
                )
            if state.blocked is None:
                behind = recover(outside.store, outside.history, outside.journal)
                if behind:
                    outside.cache.save((), (), {"unrefreshed": json.dumps(behind)})
                    outside.journal.done()
            run = cls(outside)
            run.usable = state.blocked is None
            yield run

    def look(self, only: Sequence[str] | None = None, full: bool = False) -> View:
        """Look at the tree; what a killed run left is put back first."""
        head = None if self.usable else ""
        self.view = self._look.view(only, full, head)
        if self.view.leftovers and self.writer:
            self.out.store.sweep()
            self._look = Look(self.out.store, self.out.cache, self.out.history, time.time_ns())
            self.view = self._look.view(only, full, head)
        if self.usable and self.writer and self._look.recall("unrefreshed") not in ("", "[]"):
            self._refresh({})  # the index was locked, or the run killed, when its commit was made
        return self.view

    def save(self) -> None:
        """Keep what was learnt in the cache."""
        self._look.save(self.view)

    def draft(self) -> Draft:
        """A draft over the tree as it is."""
        folded = {layout.fold(path) for path, row in self.view.rows.items() if row.stat is not None}
        store, rows = self.out.store, self.view.rows

        def mode(path: str) -> int:
            row = rows.get(path)
            return row.head_mode or row.stat.mode if row and row.stat else FILE

        return Draft(store.read, lambda path: layout.fold(path) in folded or store.exists(path), mode)

    # -- indexes ---------------------------------------------------------------------------------------

    def reindex(
        self, check: bool = False, violations: Callable[[], int] | None = None, agents: Sequence[Tree] = ()
    ) -> list[str]:
        """Write the indexes that differ (or only say which); returns their paths. `agents`: trees that may be empty."""
        view, store, changed = self.view, self.out.store, []
        memo: dict[str, bytes | None] = {}
        odd: list[str] = []

        def read(path: str) -> bytes | None:
            if path not in memo:
                memo[path] = view.fresh.get(path)
                if memo[path] is None:
                    with suppress(NotFound, Refused):
                        memo[path] = store.read(path)
            return memo[path]

        trees = list(dict.fromkeys([*view.trees(), *agents]))
        if view.dirty or not all(reindex.is_complete(view, store, tree) for tree in trees):
            for tree in trees:
                found = reindex.shape(view, tree)
                count = violations() if violations and not tree.agent else self._known_violations()
                out = reindex.render(view, found, read, self.out.settings, self.now_iso, count, self.out.ignore_text)
                odd += reindex.set_aside(view, store, out, read)
                changed += sorted(out) if check else reindex.write(store, out, read)
        committed = [path for path in changed if layout.kind_of(path) is not Kind.STATE]
        if not check:
            self._look.again(view, committed)
            view.dirty = {layout.folder_of(path) or layout.MEMORY for path in odd}
            self._look.note(last_reindex=self.now_iso)
        return committed

    def _known_violations(self) -> int:
        with suppress(ValueError):
            return int(self._look.recall("violations") or 0)
        return 0

    def keep_violations(self, count: int) -> None:
        """Remember the number of old notes in general/ for `_stats.json`."""
        self._look.note(violations=str(count))

    @property
    def now_iso(self) -> str:
        """The time of the run as the indexes show it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def last_reindex(self) -> str:
        """When the last reindex looked, "" for never."""
        return self._look.recall("last_reindex")

    # -- committing ------------------------------------------------------------------------------------

    def commit_edits(self) -> str | None:
        """Commit the person's pending edits by themselves, so that old bytes are in HEAD; what may not be is held."""
        pending.require_no_accident(self.view, float(self.out.settings["commit", "max_deleted"]))
        found = pending.sort_out(self.view, self.out.history, generated=False)
        self.kept_back = {*found.held, *(item.path for item in found.problems)}
        if not found.rows:
            return None
        outside = replace(self.out, actor="human") if self.out.actor == "import" else self.out
        edit = Run(outside)  # a run of its own, so that `undo` can take back the one without the other
        edit.view, edit._look = self.view, self._look
        return edit.commit_rows(
            found.rows, "edit", f"edit: {layout.listed([row.path for row in found.rows])}", pending.describe(found.rows)
        )

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

    def _commit(self, rows: Sequence[Row], message: str) -> str | None:
        history, view, paths = self.out.history, self.view, [row.path for row in rows]
        for attempt in range(TRIES):
            rows = [row for path in paths if (row := view.rows.get(path)) and view.differs(row)]
            if not rows:
                self.out.journal.done()
                return None
            changes = [self._change(row) for row in rows]
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
        with suppress(BonsaiError):  # it happened; the next run finds out as much
            self.out.journal.done()
        return sha

    def _change(self, row: Row) -> FileChange:
        """The bytes of a row, which are exactly those that its blob names."""
        if row.stat is None:
            return FileChange(row.path, None)
        mode = row.head_mode or row.stat.mode
        data = self.view.fresh.get(row.path)
        if data is None or self.out.history.blob_id(data) != row.blob:
            data = self.out.store.read(row.path)
            if self.out.history.blob_id(data) != row.blob:  # saved again since the look: commit what stands there now
                self._look.again(self.view, [row.path])
                self.view.fresh[row.path] = data
                self.view.rows[row.path].blob = self.out.history.blob_id(data)
        return FileChange(row.path, data, mode)

    def _blob(self, path: str) -> Blob | None:
        row = self.view.rows.get(path)
        return Blob(row.head_mode, row.head) if row and row.head else None

    def _refresh(self, blobs: dict[str, Blob | None]) -> None:
        """The person's index for the committed paths, and for those that it was locked for before."""
        late: list[str] = json.loads(self._look.recall("unrefreshed") or "[]")
        blobs = {**{path: self._blob(path) for path in late}, **blobs}
        displaced = None  # the commit stands, whatever becomes of the index: the next run tries again
        with suppress(BonsaiError):
            displaced = self.out.history.refresh_index(blobs)
            if displaced:
                self.out.journal.done({"staged": displaced})
        left = sorted(blobs) if displaced is None else []
        if left != late:
            self._look.note(unrefreshed=json.dumps(left))
        if left:  # at once: a kill before the end of the run must not forget it
            self.out.cache.save((), (), {"unrefreshed": json.dumps(left)})

    def _message(self, op: str, subject: str, body: str, trailers: dict[str, str]) -> str:
        lines = {"Bonsai-Op": op, "Bonsai-Actor": self.out.actor, "Bonsai-Run": self.id, **trailers}
        if self.out.session:
            lines["Bonsai-Session"] = self.out.session
        tail = "\n".join(f"{key}: {_one_line(value)}" for key, value in lines.items())
        return "\n\n".join(part for part in (_one_line(subject), body.strip(), tail) if part) + "\n"

    def _intent(self, op: str, paths: Sequence[str], plan: Plan | None = None) -> dict[str, Any]:
        return {
            "run": self.id,
            "op": op,
            "time": time.time(),
            "head": self.view.head,
            "paths": list(paths),
            **changes(plan or Plan(op, ""), self.out.history.blob_id),
        }

    # -- carrying out a plan ---------------------------------------------------------------------------

    def carry_out(self, plan: Plan) -> str | None:
        """Do what a plan says, with its indexes, as one commit; None for an empty plan.

        Raises Refused for a note that may not be committed, and whatever stopped it; then nothing has changed.
        """
        if not plan.paths:
            return None
        self._may_commit(plan)
        # What is new comes first: a text that moves from one file to others is never in none of them.
        plan = replace(plan, puts=tuple(sorted(plan.puts, key=lambda put: put.old is not None)))
        intent = self._intent(plan.op, plan.paths, plan)
        self.out.journal.begin(intent, durable=True)
        made: list[str] = []
        try:
            self._apply(plan, made)
            self._look.again(self.view, plan.paths)
            indexes = self._committable(self.reindex())
            rows = [row for path in sorted({*plan.paths, *indexes}) if (row := self.view.rows.get(path))]
            rows = [row for row in rows if row.path not in self.kept_back]
            return self._commit(rows, self._message(plan.op, plan.subject, plan.body, plan.trailers))
        except BaseException:
            # A new file that is not ours to remove: one that a person made meanwhile, with the very bytes of the plan.
            intent["puts"] = [put for put in intent["puts"] if put[1] or put[0] in made]
            olds = [put.old for put in plan.puts if put.old is not None] + [drop.old for drop in plan.drops]
            self._abandon(intent, {self.out.history.blob_id(old): old for old in olds})
            raise

    def _abandon(self, intent: dict[str, Any], old: Mapping[str, bytes]) -> None:
        """Take back what was done, unless the commit stands after all; what cannot be done now is for the next run."""
        self.view.memo.clear()
        with suppress(BonsaiError):
            if not self.out.history.contains_run(self.id, intent["head"]):
                take_back(self.out.store, self.out.history.blob_id, old.__getitem__, intent)
                self.out.journal.done({"taken_back": self.id})

    def _committable(self, indexes: list[str]) -> set[str]:
        """Without those of folders that git ignores: an index tells what stands in notes that git must not see."""
        new = [path for path in indexes if (row := self.view.rows.get(path)) and not row.head]
        return set(indexes) - (self.out.history.ignored(new) if new else set())

    def _may_commit(self, plan: Plan) -> None:
        history = self.out.history
        notes = [path for path in plan.paths if layout.name_of(path) != layout.BACKUP]
        added = [put.path for put in plan.puts if put.old is None]
        ignored = history.ignored(added)
        backup = {path for path in ignored if layout.name_of(path) == layout.BACKUP}
        self.kept_back |= backup  # the original is in HEAD as MEMORY.md, so a copy that git ignores is no loss
        held = (self.kept_back | ignored) - backup | history.filtered(notes)
        for path in [*notes, *added]:
            if path in held:
                raise Refused(
                    "may not be committed, so it is left alone",
                    path=path,
                    hint="`bonsai status` says why; correct that first.",
                )

    def _apply(self, plan: Plan, made: list[str]) -> None:
        store = self.out.store
        for put in plan.puts:
            if put.old is None:
                store.create(put.path, put.data, put.mode)
                made.append(put.path)
            else:
                store.replace(put.path, put.data, put.old)
        for drop in plan.drops:
            store.remove(drop.path, drop.old)
        for folder in sorted({layout.folder_of(drop.path) for drop in plan.drops}):
            store.prune(folder)

    # -- ages ------------------------------------------------------------------------------------------

    def times(self) -> dict[str, PathTime]:
        """Commit times of every path at HEAD, from the cache where it knows them."""
        if not self.view.head or not self.usable:
            return {}
        known = json.loads(self._look.recall("times") or "{}")
        base = self._look.recall("times_head")
        if base == self.view.head:
            return {path: PathTime(*pair) for path, pair in known.items()}
        times = self.out.history.path_times({path: PathTime(*pair) for path, pair in known.items()}, base)
        self._look.note(times=json.dumps(times), times_head=self.view.head)
        return times

    def problems(self) -> list[Problem]:
        """What is wrong with names, links and notes on disk."""
        found = list(self.view.problems)
        for row in self.view.rows.values():
            if row.summary is not None and row.stat is not None:
                found += row.summary.problems
        return found


def _one_line(text: str) -> str:
    return " ".join(text.split())
