"""One run: the engine under every verb. Looks, commits edits, carries out a plan whole or not at all, recovers."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from bonsai.commits import Commits, Join, Outside
from bonsai.errors import Busy, CannotCreate, IoFailed, Misconfigured, NotFound, Refused
from bonsai.notes import layout, moment
from bonsai.notes.change import PathTime, Plan, Row, Stat
from bonsai.notes.draft import FILE, Draft
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.names import names_of
from bonsai.notes.shape import shape
from bonsai.notes.summary import summarise
from bonsai.notes.view import EVERYTHING, View, is_inside, touch
from bonsai.passes import allow, pending, reindex
from bonsai.passes.look import Look
from bonsai.passes.recover import late_paths, recover, remember_late, unlock

_ATTRIBUTES = "/.gitattributes"


class Run(Commits):
    """What happens between taking the writer lock and giving it back."""

    usable = True  # whether git can be asked at all
    calm = True  # whether git is in the middle of nothing, so that its index may be brought in line
    writer = True  # whether the lock is held, so that leftovers may be cleared up

    def __init__(self, outside: Outside) -> None:
        super().__init__(outside)
        self._only: Sequence[str] | None = None
        self.kept_back: set[str] = set()  # pending, and may not be committed
        self.stamp = ""  # the time that indexes bear; "": that of the run
        self._asked: dict[str, bool] = {}  # whether git ignores a path: a process each time it is asked

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
                raise Busy(f"nothing can be committed now ({state.blocked}): {state.detail}", path=outside.store.root)
            if state.blocked is None and outside.journal.pending() is not None:
                remember_late(outside.store, recover(outside.store, outside.history, outside.journal))
                outside.journal.done()
            run = cls(outside)
            run.usable = run.calm = state.blocked is None
            yield run

    def look(self, only: Sequence[str] | None = None, full: bool = False) -> View:
        """Look at the tree; what a killed run left is put back first."""
        self._only = only
        head = None if self.usable else ""
        self.view = self._look.view(only, full, head)
        if self.view.leftovers and self.writer:
            self.out.store.sweep()
            self._look = Look(self.out.store, self.out.cache, self.out.history, time.time_ns(), self.out.progress)
            self.view = self._look.view(only, full, head)
        self.view.allowed = allow.allowed(self.out.store)
        if self.calm and self.writer and late_paths(self.out.store):
            self._refresh({})  # the index was locked, or the run killed, when its commit was made
        return self.view

    def see(self, paths: Sequence[str]) -> None:
        """Look again at what we changed ourselves."""
        self._look.again(self.view, paths)

    def note_intent(self, op: str) -> None:
        """Have the journal say that a git of ours is at work which touches no file of the memory."""
        self.out.journal.begin(self._intent(op, []))

    def save(self) -> None:
        """Keep what was learnt in the cache."""
        self._look.save(self.view)

    def draft(self) -> Draft:
        """A draft over the tree as it is."""
        names = names_of(self.view.memo, self.view.rows)
        store, rows = self.out.store, self.view.rows

        def mode(path: str) -> int:
            row = rows.get(path)
            return row.head_mode or row.stat.mode if row and row.stat else FILE

        return Draft(store.read, lambda path: names.is_taken(path) or store.exists(path), mode)

    # -- indexes ---------------------------------------------------------------------------------------

    def reindex(
        self, check: bool = False, violations: Callable[[], int] | None = None, agents: Sequence[Tree] = ()
    ) -> list[str]:
        """Write the indexes that differ (or only say which); returns their paths. `agents`: trees that may be empty."""
        view, store, changed = self.view, self.out.store, []
        memo: dict[str, bytes | None] = {}
        made: dict[str, bytes] = {}
        odd: list[str] = []

        def read(path: str) -> bytes | None:
            if path not in memo:
                memo[path] = view.fresh.get(path)
                if memo[path] is None:
                    with suppress(NotFound, Refused):
                        memo[path] = store.read(path)
            return memo[path]

        self._find_private()
        trees = list(dict.fromkeys([*view.trees(), *agents]))
        for tree in (tree for tree in view.deserted() if tree not in agents):
            out = reindex.nothing(view, tree)
            odd += reindex.set_aside(view, store, out, read)
            changed += sorted(out) if check else reindex.write(store, out, read)
            for folder in (tree.domains, tree.memory) if not check else ():
                store.prune(folder, whole=True)
        if view.dirty or not all(reindex.is_complete(view, store, tree) for tree in trees):
            view.accesses = self.out.accesses()
            for tree in trees:
                found = shape(view, tree)
                count = violations() if violations and not tree.agent else self._known_violations()
                out = reindex.render(
                    view, found, read, self.out.settings, self.stamp or self.now_iso, count, self.out.ignore_text
                )
                odd += reindex.set_aside(view, store, out, read)
                made |= {path: data for path, data in out.items() if data and layout.kind_of(path) is Kind.INDEX}
                changed += sorted(out) if check else reindex.write(store, out, read)
        committed = [path for path in changed if layout.kind_of(path) is not Kind.STATE]
        if not check:
            self._look.again(view, committed, made)
            view.dirty = {layout.folder_of(path) or layout.MEMORY for path in odd}
            self._look.note(last_reindex=self.now_iso)
        return committed

    def imagined(self, plan: Plan, tree: Tree) -> bytes:
        """The boot file as it would be once a plan were carried out; nothing is written."""
        rows = dict(self.view.rows)
        for put in plan.puts:
            note = layout.kind_of(put.path) is Kind.NOTE
            summary = summarise(put.path, put.data, len(put.data)) if note else None
            rows[put.path] = Row(put.path, Stat(len(put.data), 0, 0, 0, put.mode), "new", summary=summary)
        for drop in plan.drops:
            rows.pop(drop.path, None)
        view = replace(self.view, rows=rows, memo={}, dirty={EVERYTHING}, fresh={})
        puts = {put.path: put.data for put in plan.puts}

        def read(path: str) -> bytes | None:
            with suppress(NotFound, Refused):
                return puts[path] if path in puts else self.out.store.read(path)
            return None

        out = reindex.render(view, shape(view, tree), read, self.out.settings, self.now_iso, 0, self.out.ignore_text)
        return out.get(tree.boot) or read(tree.boot) or b""

    def _find_private(self) -> None:
        """Which notes may not be committed: their text must not come into git through an index either."""
        view, history = self.view, self.out.history
        known: set[str] = set(json.loads(self._look.recall("private") or "[]"))
        if self._only is None:
            looked = list(view.rows.values())
        else:  # files by name: an edit must not cost a walk of all rows; folders with all that is below
            folders = [path for path in self._only if path not in view.rows]
            looked = [row for path in (*self._only, *known) if (row := view.rows.get(path))]
            looked += [row for path, row in view.rows.items() if is_inside(path, folders)] if folders else []
        notes = [row for row in looked if row.summary is not None]
        new = [row.path for row in notes if not row.head]
        private = {row.path for row in notes if row.secrets and view.is_held(row)}
        if self.usable:
            # Few folders have one: to ask the disk about each folder cost a twentieth of a commit.
            attributes = [path for path in view.rows if path.endswith(_ATTRIBUTES)] if self._only is None else None
            private |= self._ignored(new) | history.filtered([row.path for row in notes], attributes)
        else:
            private |= known  # git cannot be asked what it ignores
        for path in private ^ known:
            touch(view, path)
        view.private = private
        if private != known:
            self._look.note(private=json.dumps(sorted(private)))

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
        return moment.stamp(self.now)

    @property
    def last_reindex(self) -> str:
        """When the last reindex looked, "" for never."""
        return self._look.recall("last_reindex")

    # -- committing ------------------------------------------------------------------------------------

    def commit_edits(self, forgive: bool = False, spare: str = "") -> str | None:
        """Commit the person's pending edits by themselves, so that old bytes are in HEAD; what may not be is held.

        Raises Refused when too many notes are gone at once; `forgive`: leaves all deletions alone instead. Those at or
        below the path `spare` are always left alone.
        """
        share = float(self.out.settings["commit", "max_deleted"])
        if not forgive:
            pending.require_no_accident(self.view, share)
        found = pending.sort_out(self.view, self.out.history, generated=False)
        everything = forgive and bool(pending.vanished(self.view, share))
        found.rows = [
            row
            for row in found.rows
            if row.stat is not None or not (everything or (spare and is_inside(row.path, [spare])))
        ]
        self.kept_back = {*found.held, *(item.path for item in found.problems)}
        if not found.rows:
            return None
        outside = replace(self.out, actor="human") if self.out.actor in ("import", "daemon") else self.out
        edit = Run(outside)  # a run of its own, so that `undo` can take back the one without the other
        edit.view, edit._look = self.view, self._look
        subject = f"edit: {pending.subject(found.rows)}"
        sha = edit.commit_rows(found.rows, "edit", subject, pending.describe(found.rows))
        self.behind = edit.behind
        return sha

    def commit_pending(self, indexes: Sequence[str], only: Sequence[str] = ()) -> tuple[str | None, pending.Pending]:
        """Commit the person's pending edits with the indexes of these paths, which the run has just written.

        `only`: the edits of these paths, or below them. Returns the commit, None where there was nothing to commit, and
        what was sorted out.
        """
        found = pending.sort_out(self.view, self.out.history, generated=True, only=[*only, *indexes] if only else ())
        self.kept_back = {*found.held, *(item.path for item in found.problems)}
        edited = [row for row in found.rows if row.path not in indexes]
        op = "edit" if edited else "reindex"
        subject = f"{op}: {pending.subject(edited or found.rows)}"
        return self.commit_rows(found.rows, op, subject, pending.describe(edited)), found

    # -- carrying out a plan ---------------------------------------------------------------------------

    def carry_out(self, plan: Plan, join: Join | None = None) -> str | None:
        """Do what a plan says, with its indexes, as one commit; None for an empty plan, unless it joins a history.

        Raises Refused for a note that may not be committed, Busy, IoFailed, and whatever stopped it; then nothing has
        changed.
        """
        if not plan.paths and join is None:
            return None
        if join is None:
            self._may_commit(plan)
        else:
            self._may_join(plan)
        self._need_saved(plan)
        intent = {**self._intent(plan.op, plan.paths, plan), "onto": join.onto if join else ""}
        self.out.journal.begin(intent, durable=True)
        made: list[str] = []
        try:
            self._apply(plan, made)
            self._look.again(self.view, plan.paths)
            if unread := self.view.unread.intersection(plan.paths):  # else the commit would do without it
                raise IoFailed("cannot be read", path=min(unread), hint="Correct that, then run the command again.")
            written = self.reindex()
            # Also those that `reindex` wrote before: their edits have just been committed, and nobody else would come.
            late = [row.path for row in self.view.pending() if layout.kind_of(row.path) is Kind.INDEX]
            indexes = self._committable([*written, *late])
            rows = [row for path in sorted({*plan.paths, *indexes}) if (row := self.view.rows.get(path))]
            rows = [row for row in rows if row.path not in self.kept_back]
            message = self._message(plan.op, plan.subject, plan.body, plan.trailers)
            return self._joined(rows, message, join) if join else self._commit(rows, message)
        except BaseException:
            # A new file that is not ours to remove: one that a person made meanwhile, with the very bytes of the plan.
            intent["puts"] = [put for put in intent["puts"] if put[1] or put[0] in made]
            olds = [put.old for put in plan.puts if put.old is not None] + [drop.old for drop in plan.drops]
            self._abandon(intent, {self.out.history.blob_id(old): old for old in olds})
            raise

    def _committable(self, indexes: list[str]) -> set[str]:
        """Without those of folders that git ignores: an index tells what stands in notes that git must not see."""
        new = [path for path in indexes if (row := self.view.rows.get(path)) and not row.head]
        return set(indexes) - self._ignored(new)

    def _ignored(self, paths: Sequence[str]) -> set[str]:
        if unknown := [path for path in paths if path not in self._asked]:
            found = self.out.history.ignored(unknown)
            self._asked |= {path: path in found for path in unknown}
        return {path for path in paths if self._asked[path]}

    def _may_commit(self, plan: Plan) -> None:
        history = self.out.history
        notes = [path for path in plan.paths if layout.name_of(path) != layout.BACKUP]
        added = [put.path for put in plan.puts if put.old is None]
        ignored = self._ignored(added)
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
        self.need_no_secret(plan)

    def _may_join(self, plan: Plan) -> None:
        """What others committed is in git already; only what cannot be written here as it is there stops it."""
        held = self.kept_back.intersection(plan.paths) | self.out.history.filtered(plan.paths)
        if held:
            hint = "`bonsai status` says why; correct that, or use `git pull`."
            raise Refused("may not be changed here, so nothing was merged", path=min(held), hint=hint)

    def need_no_secret(self, plan: Plan) -> None:
        """No pass writes what looks like a credential, be it in git already. Raises Refused for the whole plan."""
        for put in plan.puts:
            for found in self._secrets(put.data)[:1]:
                rows = [row for path in plan.paths if (row := self.view.rows.get(path))]
                come = (row for row in rows for item in row.secrets if item.fingerprint == found.fingerprint)
                raise Refused(
                    f"holds what looks like a credential ({found.kind} {found.masked}), so nothing was changed",
                    path=next(come, Row(put.path)).path,
                    hint=f"Take it out, or `bonsai allow {found.fingerprint}` where it is none.",
                )

    def _need_saved(self, plan: Plan) -> None:
        """Nothing is overwritten or deleted that is not in HEAD, byte for byte. Raises Busy."""
        olds = {put.path: put.old for put in plan.puts if put.old is not None} | {d.path: d.old for d in plan.drops}
        for path, old in olds.items():
            row = self.view.rows.get(path)
            if row is None or self.out.history.blob_id(old) != row.head:
                hint = "Run `bonsai commit`, then try again."
                raise Busy("has bytes that are in no commit yet", path=path, hint=hint)

    def _apply(self, plan: Plan, made: list[str]) -> None:
        """What is new comes first: a text that moves from one file to others is never in none of them."""
        store = self.out.store
        new = [put for put in plan.puts if put.old is None]
        folders = sorted({layout.folder_of(put.path) for put in new})
        each = len(folders) == len(new)
        for put in new:
            made.append(put.path)
            try:
                store.create(put.path, put.data, put.mode, settle=each)
            except CannotCreate:
                made.pop()
                raise
        for folder in folders if not each else ():  # once, not for each of 10,000 notes; before anything old goes
            store.settle(folder)
        for put in plan.puts:
            if put.old is not None:
                store.replace(put.path, put.data, put.old)
        store.remove_all({drop.path: drop.old for drop in plan.drops})
        for folder in sorted({layout.folder_of(drop.path) for drop in plan.drops}):
            store.prune(folder)

    def times(self) -> dict[str, PathTime]:
        """Commit times of every path at HEAD."""
        return self._look.times(self.view) if self.usable else {}
