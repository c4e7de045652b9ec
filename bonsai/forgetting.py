"""The verbs about what must not be known: erase (really forgetting) and allow (what may be committed after all)."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bonsai.adapters.files import ensure_private
from bonsai.errors import BonsaiError, Busy, IoFailed, NotFound, Refused, Usage
from bonsai.notes import layout
from bonsai.notes.layout import Kind
from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.adapters.git_erase import Eraser, Move
    from bonsai.adapters.git_repo import Layout
    from bonsai.adapters.git_run import GitRun
    from bonsai.adapters.git_survey import Survey, Surveyor, Version
    from bonsai.erasing import Traces
    from bonsai.notes.forget import Forget
    from bonsai.passes.erased import EraseReport, Told
    from bonsai.passes.reports import AllowReport
    from bonsai.ports.history import Blob
    from bonsai.run import Run

ERASING = ".bonsai/erasing"  # the mirror, and the job: while the job stands there, the erasure goes on to its end
JOB = f"{ERASING}/job.json"


@dataclass
class _Git:
    """The git side, built for one erasure."""

    run: GitRun
    place: Layout
    surveyor: Surveyor
    eraser: Eraser


class Forgetting(Place):
    """A workspace that can forget."""

    def allow(self, fingerprint: str = "", *, remove: bool = False) -> AllowReport:
        """Let what looks like a credential be committed on this device, by its fingerprint; without one only list.

        `remove`: hold it back again. Raises BadData (no fingerprint), NotFound (nothing to remove).
        """

        from bonsai.passes import allow
        from bonsai.passes.reports import AllowReport

        if not fingerprint:
            return AllowReport(sorted(allow.allowed(self._store)))
        ensure_private(self.root)
        with self._outside.lock():
            return allow.allow(self._store, fingerprint, remove)

    def erase(
        self,
        path: str = "",
        *,
        match: str = "",
        reason: str = "",
        dry_run: bool = False,
        yes: bool = False,
        redis_url: str | None = None,
        database_url: str | None = None,
        namespace: str = "",
    ) -> EraseReport:
        """Remove a note, or a text wherever it stands, from disk, indexes, caches and all of git's history.

        Nobody can take that back. `dry_run` changes nothing; without it `yes` is needed. Raises NotFound (nothing of
        the kind), Refused (no `yes`; a repository in which it could not be proven), IoFailed (something is left),
        Unavailable (a server that is set does not answer, so that nobody could say later what to look for there).

        Rows of the conversation and the cold tier go too, in `.bonsai` and on the servers, whose addresses are given as
        to `Conversation.open` (None: of the environment). What a server that does not answer, or that was used and is
        not named now, may still hold is told in the report, which is not `complete` then.
        """

        from bonsai.adapters.git_rewrite import require
        from bonsai.erasing import ask_servers
        from bonsai.servers import addresses

        self._need_one(path, match)
        require()
        with self._writing() as run:
            run.look()
            if yes and not dry_run:
                run.commit_edits()
            git = self._git()
            git.surveyor.require_whole()
            found, what, report = self._survey(git, path, match)
            report.dry_run = dry_run
            where = addresses(redis_url, database_url, namespace, self._database)
            ask = partial(ask_servers, self.root, what, report, path, where)
            ask(count=True)
            if dry_run:
                return report
            if not yes:
                words = f"would write {report.commits_rewritten} commits anew, for good"
                raise Refused(words, path=path or None, hint="Look at it with --dry-run, then say --yes.")
            # Before what is here: after a kill the next command finishes that, and knows of no server.
            ask()
            if report.paths or report.commits_rewritten:
                self._begin(git, found, what, self._entry(run, path, found, what, reason))
                self._finish(report)
            elif report.rows:
                self._forget_kept(what)
            ask(again=True)  # what was sent there meanwhile
            return report

    def _forget_kept(self, what: Forget) -> None:
        """Take it out of what bonsai keeps, where no note and no commit ever held it. Raises IoFailed."""
        self.close()
        self._traces().clear_kept(what)
        self._need_none(self._traces().left(what))

    def _need_one(self, path: str, match: str) -> None:
        """Raises Usage, NotFound, Refused for what names neither a text nor a note that can go whole."""
        from bonsai.passes import erase

        if bool(path) == bool(match):
            hint = "`bonsai erase PATH` or `bonsai erase --match TEXT`."
            raise Usage("name a note or a text, one of them", hint=hint)
        if match:
            return
        if fault := layout.path_fault(path):
            raise Refused(fault, path=path.replace("\0", "\\0"), hint="Name a path inside the workspace.")
        if layout.kind_of(path) is Kind.OUTSIDE:
            if not self._store.exists(path):
                raise NotFound("there is no such note", path=path, hint="`bonsai recall` finds notes.")
            raise Refused("is not part of the memory", path=path, hint="Name a note under memory/.")
        erase.need_erasable(path)

    # -- finding out -----------------------------------------------------------------------------------------

    def _git(self) -> _Git:
        from bonsai.adapters.git_erase import Eraser
        from bonsai.adapters.git_index import Index
        from bonsai.adapters.git_repo import Repository
        from bonsai.adapters.git_run import GitRun
        from bonsai.adapters.git_survey import Surveyor

        run = GitRun(self.root)
        place = Repository(self.root, run, Index(run)).layout()
        surveyor = Surveyor(run, place, self._history.blob_id)
        return _Git(run, place, surveyor, Eraser(run, place, surveyor.git_dirs()))

    def _traces(self) -> Traces:
        from bonsai.erasing import Traces

        return Traces(self._store, self._history.blob_id)

    def _survey(self, git: _Git, path: str, match: str) -> tuple[Survey, Forget, EraseReport]:
        """What there is to do. Raises NotFound, Refused."""

        from bonsai.erasing import SWAP
        from bonsai.notes import forget
        from bonsai.passes.erased import EraseReport

        tips = git.surveyor.tips()
        versions = git.surveyor.versions(tips)
        what, shared = (forget.of_text(match), 0) if match else self._note_to_forget(git, versions, path)
        foreign = git.surveyor.foreign(versions, what)
        if foreign and match:
            raise Refused(
                "holds it, and is no file of bonsai's",
                path=min(foreign.values()),
                hint="Erase it there with git-filter-repo first, or name more of the text.",
            )
        what = what.without(foreign)
        found = git.surveyor.survey(tips, versions, what)
        on_disk = self._traces().holding(what)
        for swap in on_disk:
            if swap.endswith(SWAP):
                raise Refused("an editor has it open", path=swap, hint="Close the editor, then try again.")
        found.paths |= set(on_disk)
        self._need_free(git, found, what)
        report = EraseReport(
            sorted(map(what.name, found.paths) if match else found.paths),
            len(found.affected),
            0,
            None,
            shared + len(foreign),
            list(found.refs),
            self._remotes(git, found),
            rows=self._traces().kept(what),
        )
        return found, what, report

    def _note_to_forget(self, git: _Git, versions: Sequence[Version], path: str) -> tuple[Forget, int]:
        """Every version of a note, under every name; and how many of its lines stay, as others hold them too."""

        from bonsai.notes import forget
        from bonsai.passes import erase

        names, older = erase.names_of(self._history, path, self._store.exists)
        oids = {item.oid: name for item in versions if (name := git.place.managed(item.path)) in names}
        oids |= {oid: name for name, oid in older}
        texts = [(oids[item.oid], item.data) for item in git.surveyor.bytes_of(oids)]
        texts += [(name, data) for name in names if (data := self._traces().read(name)) is not None]
        if not texts:
            hint = "`bonsai log` names them."
            raise NotFound("there is no such file, and git never had one", path=path, hint=hint)
        return forget.of_note(names, older, texts, self._traces().rest(names))

    @staticmethod
    def _need_free(git: _Git, found: Survey, what: Forget) -> None:
        """Raises Refused where a name cannot do without the text, or something in git stands in the way."""

        from bonsai.adapters.git_erase import require_plain_stash

        for path in sorted(found.paths):
            if what.text and layout.kind_of(what.name(path)) is not layout.kind_of(path):
                hint = "Name less of it, without the ending or the folder, or erase the file."
                raise Refused("holds it in its name, and would be no such file without it", path=path, hint=hint)
        git.surveyor.require_free(found, git.eraser.staged)
        require_plain_stash(git.place, found)

    def _remotes(self, git: _Git, found: Survey) -> list[Told]:
        """The remotes, with what the person has to run: bonsai itself pushes nothing by force."""

        from bonsai.adapters.git_objects import ask
        from bonsai.passes.erased import Told

        names = ask(git.run, "remote").decode("utf-8", "surrogateescape").split("\n")
        out = []
        for remote in filter(None, names):
            theirs = {ref.removeprefix(f"refs/remotes/{remote}/") for ref in found.tips.refs}
            refs = [ref for ref in found.refs if ref.startswith(("refs/heads/", "refs/tags/"))]
            moved = [ref.removeprefix("refs/heads/") for ref in refs]
            chosen = [ref for ref in moved if ref in theirs or ref.startswith("refs/tags/")] or moved[:1]
            if chosen:
                out.append(Told(remote, shlex.join(["git", "push", "--force", remote, *chosen])))
        return out

    # -- doing it ----------------------------------------------------------------------------------------------

    def _entry(self, run: Run, path: str, found: Survey, what: Forget, reason: str) -> dict[str, Any]:
        from bonsai.passes import erase

        reason = what.text_of(reason.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")  # may quote it
        graph = {sha for sha in found.erased if sha in found.affected}
        return erase.tombstone(run.id, run.now_iso, path or "a text", reason, found.erased - graph, graph)

    def _begin(self, git: _Git, found: Survey, what: Forget, entry: dict[str, Any]) -> None:
        """Write the new history beside the old one. From the moment that the job stands there, there is no way back."""
        self._clear_up()
        try:
            moves, stash = git.eraser.prepare(f"{self.root}/{ERASING}/mirror", found, what)
            job = {
                "moves": moves,
                "stash": stash,
                "forget": what.to_json(),
                "gone": sorted(found.erased),
                "entry": entry,
                "actor": self.actor,
                "time": time.time(),
                "names": {git.place.managed(old): git.place.managed(new) for old, new in found.names.items()},
            }
            self._store.create(JOB, json.dumps(job).encode(), 0o100600)  # durable, unlike what is generated
        except BaseException:
            self._clear_up()
            raise

    def _staged(self, git: _Git, what: Forget, names: Mapping[str, str]) -> list[tuple[str, int, bytes | None]]:
        """What in the person's index has to change: path, mode, the bytes (None: it goes)."""
        items = [(name, oid, mode) for full, oid, mode in git.eraser.staged("") if (name := git.place.managed(full))]
        data = {item.oid: item.data for item in git.surveyor.bytes_of(oid for _, oid, _ in items)}
        out: list[tuple[str, int, bytes | None]] = []
        for name, oid, mode in items:
            old = data.get(oid, b"")
            clear, new = what.scrub(name, old), names.get(name, name)
            if what.drops(name, oid):
                out.append((name, mode, None))
            elif clear != old or new != name:
                out += [(name, mode, None)] if new != name else []
                out.append((new, mode, clear))
        return out

    def _finish(self, report: EraseReport) -> EraseReport:
        """Carry a job through, from wherever it was left. Raises Busy (a ref moved), IoFailed (something is left)."""

        from bonsai.notes.forget import Forget
        from bonsai.passes import erase

        job = self._json(JOB)
        what, moves = Forget.from_json(job["forget"]), _moves(job)
        git = self._git()
        try:
            git.eraser.take_over(f"{self.root}/{ERASING}/mirror")
            git.eraser.switch(moves)
        except Busy:  # nothing has changed
            self._clear_up()
            raise
        self._refresh_staged(git, what, job["names"])
        self._traces().rewrite(what, job["names"])
        self.close()  # the cache goes, too
        self._traces().clear_kept(what)
        with super()._writing(actor=job["actor"]) as run:
            run.look()
            report.commit = run.carry_out(erase.plan(run.draft(), job["entry"]))
            run.save()
        git.eraser.sweep(job["stash"])
        left, report.objects_scanned = git.eraser.left(what, job["gone"])
        left += self._traces().left(what)
        self._clear_up()
        self._need_none(left)
        return report

    @staticmethod
    def _need_none(left: Sequence[str]) -> None:
        if left:
            hint = "Close what has it open, then run the same `bonsai erase` again."
            raise IoFailed(f"something is left in {len(left)} places", path=left[0], hint=hint)

    def _refresh_staged(self, git: _Git, what: Forget, names: Mapping[str, str]) -> None:
        """The person's index without what is erased; whatever else is staged there stays."""

        from bonsai.adapters.git_objects import ask
        from bonsai.ports.history import Blob

        blobs: dict[str, Blob | None] = {}
        for path, mode, data in self._staged(git, what, names):
            blobs[path] = None
            if data is not None:
                oid = ask(git.run, "hash-object", "-w", "--no-filters", "--stdin", data=data).decode().strip()
                blobs[path] = Blob(mode, oid)
        if blobs and self._history.refresh_index(blobs) is None:
            raise Busy(
                "the index is locked", path=self.root, hint="Run any bonsai command again when that git is done."
            )

    # -- a killed erasure --------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self, usable: bool = True, actor: str = "") -> Iterator[Run]:
        self._recover()
        with super()._writing(usable, actor) as run:
            yield run

    @contextmanager
    def _reading(self) -> Iterator[tuple[Run, bool]]:
        with suppress(BonsaiError):  # it goes on elsewhere, or nothing can be written: then it is only looked at
            self._recover(0)
        with super()._reading() as found:
            yield found

    def _recover(self, seconds: float | None = None) -> None:
        """Finish an erasure that was killed, or clear up after one that had not begun to change anything."""

        from bonsai.adapters import private_files
        from bonsai.passes.erased import EraseReport

        if not private_files.is_there(self.root, ERASING):
            return
        ensure_private(self.root)
        with self._outside.lock(seconds):
            if not private_files.is_there(self.root, ERASING):
                return
            job = self._json(JOB)
            if "moves" not in job:
                self._clear_up()
                return
            self._history.remove_stale_locks(float(job["time"]))
            self._git().eraser.unlock(_moves(job))
            self._store.sweep()  # first: it puts a file back that was about to be removed
            try:
                self._finish(EraseReport([], 0, 0, None))
            except Busy:
                if private_files.is_there(self.root, JOB):
                    raise
                # Somebody went on with the old history before anything was moved: it did not happen.

    def _clear_up(self) -> None:
        """Take mirror and job away; the job first: without its mirror it could not be finished."""

        from bonsai.adapters import private_files

        private_files.remove(self.root, JOB)
        private_files.remove(self.root, ERASING)


def _moves(job: Mapping[str, Any]) -> list[Move]:
    return [(str(name), str(old), str(new)) for name, old, new in job["moves"]]
