"""The verbs between devices: sync, trust. Two clones of one memory come to the same tree, and neither loses a word."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from bonsai.adapters.files import ensure_private
from bonsai.errors import BonsaiError, Busy, NotFound, Refused
from bonsai.notes import layout
from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.adapters.git_remote import GitRemote, Remote
    from bonsai.passes.synced import SyncReport, TrustReport
    from bonsai.run import Run

TRIES = 8  # of a push, when other devices push at the same time


class Devices(Place):
    """A workspace and its other copies."""

    def sync(
        self, remote: str = "", *, adopt: bool = False, all_deletions: bool = False, cwd: str | None = None
    ) -> SyncReport:
        """Fetch, merge note by note, push; again when another device was faster.

        Args:
            remote: a name or an address; "": that of the branch, else origin.
            adopt: merge also a history that has nothing in common with ours, or that was rewritten.
            all_deletions: accept that most of the notes are gone on the other side.
            cwd: where a relative path counts from.

        Raises Misconfigured (no remote), Unavailable (nobody answers), Refused (not trusted, an unrelated or rewritten
        history, erased content), Busy. What was committed here stays, whatever happens.
        """

        from bonsai.joining import Encounter
        from bonsai.passes.synced import SyncReport

        far = self._far()
        where = far.find(remote, cwd or self.root)
        report = SyncReport(where.name or where.fetch.shown)
        for attempt in range(TRIES):
            try:
                where, theirs = far.fetch(where)
            except BonsaiError:  # offline, as a rule: the edits that wait are committed all the same
                with suppress(BonsaiError), self._writing() as run:
                    Encounter(far, run, "", report, all_deletions=False).settle()
                    run.save()
                raise
            with self._writing() as run:
                self._name_drivers(run)
                encounter = Encounter(far, run, theirs, report, all_deletions=all_deletions)
                encounter.require_forgotten()
                encounter.settle()
                if not adopt:
                    encounter.require_related(far.synced(where))
                encounter.meet()
                run.save()
            try:
                self._hand_over(far, where, theirs, report)
                return report
            except Busy:
                if attempt == TRIES - 1:
                    raise
                import random

                time.sleep(random.uniform(0.05, 0.3) * (attempt + 1))
        return report

    def trust(self, *, yes: bool = False, helpers: bool = False) -> TrustReport:
        """What in the repository's own config can make git run a program; `yes`: let `sync` go on all the same.

        `helpers`: let it log in as the person's own git config says (credential.helper, core.sshCommand).
        """

        from bonsai.adapters import git_trust
        from bonsai.adapters.git_remote import GitRemote
        from bonsai.passes.synced import TrustReport

        far = GitRemote(self.root)
        items, own = git_trust.programs(far.run), git_trust.helpers(far.run)
        known = set(git_trust.agreed(self.root))
        wanted = {git_trust.fingerprint(items, far.layout)} if yes and items else set()
        wanted |= {git_trust.fingerprint(own, far.layout)} if helpers and own else set()
        if wanted - known:
            ensure_private(self.root)
            with self._outside.lock():
                git_trust.agree(self.root, sorted(known | wanted))
            known |= wanted
        trusted = not items or git_trust.fingerprint(items, far.layout) in known
        allowed = [item.key for item in own] if own and git_trust.fingerprint(own, far.layout) in known else []
        return TrustReport([item.key for item in items], trusted, allowed)

    # -- inside ----------------------------------------------------------------------------------------

    def _far(self) -> GitRemote:
        """The remotes, once it is sure that talking to them runs nothing that the repository names."""
        from bonsai.adapters import git_trust
        from bonsai.adapters.git_remote import GitRemote

        far = GitRemote(self.root)
        known = git_trust.agreed(self.root)
        items = git_trust.programs(far.run)
        if items and git_trust.fingerprint(items, far.layout) not in known:
            names = ", ".join(sorted({layout.printable(item.key) for item in items}))
            raise Refused(
                f"the repository's own config can make git run programs ({names}), so nothing is sent or fetched",
                path=self.root,
                hint="Look at them with `git config --local --list`; `bonsai trust --yes` if they are yours.",
            )
        own = git_trust.helpers(far.run)
        return GitRemote(self.root, own if git_trust.fingerprint(own, far.layout) in known else ())

    def _name_drivers(self, run: Run) -> None:
        """Let a plain `git pull` here merge notes as `sync` does. `init` and `sync` do it, no commit."""
        from bonsai.adapters import git_drivers
        from bonsai.adapters.git_join import Histories

        here = Histories(self.root)
        if git_drivers.is_installed(here.layout):
            return
        run.note_intent("drivers")  # a kill here leaves git's config.lock, which the next run takes away
        git_drivers.install(here.run, here.layout)
        self._outside.journal.done()

    def _write_attributes(self, run: Run) -> None:
        """Have memory/.gitattributes name the merge drivers for the notes, beside what a person wrote there."""
        from bonsai.adapters import git_drivers

        self._name_drivers(run)
        old = None
        with suppress(NotFound):
            old = self._store.read(git_drivers.ATTRIBUTES)
        new = git_drivers.attributes(old)
        if old is None:
            self._store.create(git_drivers.ATTRIBUTES, new)
        elif new != old:
            self._store.replace(git_drivers.ATTRIBUTES, new, old)
        run.see([git_drivers.ATTRIBUTES])

    def _hand_over(self, far: GitRemote, where: Remote, theirs: str, report: SyncReport) -> None:
        """Push what they lack. Raises Busy when others were faster."""
        head = self._history.head()
        if head and not (theirs and far.holds(theirs, head)):
            report.waiting = far.push(where, head)
            report.pushed = 0 if report.waiting else far.count(theirs, head)
        far.remember(where, theirs if report.waiting or not report.pushed else head)
