"""The verbs that look back: log, why, show, diff. They change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from bonsai.errors import BonsaiError, NotFound, Refused, Usage
from bonsai.notes import layout
from bonsai.notes.layout import Kind
from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.notes.view import View
    from bonsai.passes.reports import DiffReport, LogReport, ShowReport, WhyReport
    from bonsai.passes.why import Target, Version
    from bonsai.ports.history import Commit

_RUN = re.compile(r"[0-9a-f]{4,40}")
_MORE = 8  # commits that are looked at first for each that is wanted; where that is not enough, all are
LIMIT = 10  # lines that hold a text: each costs a look into history


class Story(Place):
    """A workspace and its past."""

    def log(
        self,
        path: str | None = None,
        *,
        limit: int = 0,
        since: str = "",
        until: str = "",
        actor: str = "",
        op: str = "",
        run: str = "",
        session: str = "",
    ) -> LogReport:
        """The commits of the memory, or of one path through its names, newest first. Raises NotFound, BadData.

        Args:
            path: a file or a folder.
            limit: so many commits, 0 for all.
            since: a day (from its start) or an ISO 8601 time; `until` likewise (to the end of the day).
            actor: human, import, daemon, agent:ID or ID.
            op: archive, edit, migrate, …
            run: the id of a run, or how it begins.
            session: the id of a session.
        """

        from bonsai.passes.reports import LogReport

        tests = [*_between(since, until), *_equal(actor, op, run, session)]
        saying = [f"Bonsai-{key}: {value}" for key, value in (("Op", op), ("Run", run), ("Session", session)) if value]
        # git's own --since ends at the first commit that is older, which hides what a clock that went back dated so.
        for most in (limit * _MORE, 0) if tests and limit else (limit,):
            commits = self._history.log([path] if path else [], most, follow=bool(path), saying=saying)
            found = [commit for commit in commits if all(test(commit) for test in tests)]
            if limit and len(found) >= limit:
                break
        if path and not commits and not self._store.exists(path):
            raise NotFound("there is no such file, and git never had one", path=path, hint="`bonsai log` names them.")
        return LogReport(found[:limit] if limit else found)

    def why(self, target: str, *, cwd: str | None = None, text: bool = False, limit: int = LIMIT) -> WhyReport:
        """Who wrote each line of `PATH`, or line `PATH:12` or `PATH:12-15`, when, in which run, instead of what.

        A target that names no file is a text: the lines of the notes that hold it, at most `limit`. Raises NotFound,
        Refused (a path that leaves the workspace), BadData (a file that is no text), Usage (nothing to look for).
        """

        from bonsai.passes import why
        from bonsai.passes.reports import WhyReport

        if not target.strip():
            raise Usage("there is nothing to look for", hint="Name a note, PATH:LINE, or a text.")
        aim = None if text else self._aim(target, cwd)
        if aim is None:
            return self._why_text(target, limit)
        version = self._version(aim.path)
        return WhyReport(why.explain(self._history, [why.Asked(version, why.numbers(aim, version))]))

    def show(self, path: str, *, at: str = "") -> ShowReport:
        """A file as it stands (where it is gone: as it was last), or as it was `at` a revision, run, day or time.

        Then under the name that it had. Raises NotFound, Refused, BadData (a day that does not exist).
        """

        from bonsai.passes.reports import ShowReport

        self._need_ours(path)
        if at:
            return self._shown(path, self._point(at))
        with suppress(NotFound):
            return ShowReport(path, None, None, _text(self._store.read(path)))
        return self._shown(path, self._version(path).commit)

    def diff(self, point: str = "HEAD", path: str | None = None) -> DiffReport:
        """What differs between a revision, run, day or time and the memory as it stands, or in one file or folder.

        Raises NotFound, Refused (a path that is not part of the memory), BadData (a day that does not exist).
        """

        from bonsai.passes import diff
        from bonsai.passes.reports import DiffReport

        only = [path.rstrip("/")] if path else []
        for name in only:
            self._need_ours(name)
        commit = self._history.head() if point == "HEAD" else self._point(point)
        with self._reading() as (run, _):
            changes = diff.diff(run.look(), self._history, self._store.read, commit, only)
        time = self._history.commits([commit])[commit].time if commit else None
        return DiffReport(commit or None, time, changes)

    def is_point(self, text: str) -> bool:
        """Whether a text names a time or a revision rather than a file."""

        from bonsai.notes import moment
        from bonsai.passes import why

        if self._store.exists(text):
            return False
        with suppress(NotFound):
            return moment.is_date(text) or bool(self._point(text))
        return not why.is_pathlike(text)

    # -- inside ----------------------------------------------------------------------------------------

    def _point(self, text: str) -> str:
        """The commit of a day (its end), a time, a revision or a run. Raises NotFound, BadData."""

        from bonsai.adapters import clock
        from bonsai.notes import moment

        if moment.is_date(text):
            commit = self._history.at(moment.parse(text, clock.aware, end=True))
            if not commit:
                raise NotFound("is before the first commit", path=text, hint="`bonsai log` tells when that was.")
            return commit
        try:
            return self._history.resolve(text)
        except NotFound:
            commit = self._history.contains_run(text, "") if _RUN.fullmatch(text) else ""
            if not commit:
                raise
            return commit

    def _aim(self, target: str, cwd: str | None) -> Target | None:
        """The path, or lines of it, that is asked about; None where the target is a text."""

        from bonsai.passes import why

        pathlike = why.is_pathlike(target)
        found = None
        for aim in why.targets(target):
            try:
                found = aim._replace(path=self.locate_file(aim.path, cwd))
                if self._store.exists(found.path):
                    return found
            except BonsaiError:
                if pathlike:
                    raise
        return found if pathlike else None

    def _version(self, path: str) -> Version:
        """A file as it stands, or as it was last where it is gone. Raises NotFound, Refused."""

        from bonsai.passes import why
        from bonsai.passes.why import Version

        self._need_ours(path)
        head = self._history.head()
        with suppress(NotFound):
            return Version(path, self._store.read(path), head)
        commit = why.last_version(self._history, path) if head else ""
        if not commit:
            raise NotFound("there is no such file, and git never had one", path=path, hint="`bonsai log` names them.")
        return Version(path, self._history.read(commit, path), commit)

    def _why_text(self, text: str, limit: int) -> WhyReport:
        from bonsai.passes import why
        from bonsai.passes.reports import WhyReport
        from bonsai.passes.why import Version

        with self._reading() as (run, _):
            found = list(self._holding(run.look(), text))
        head, left, more, asked = self._history.head(), limit, 0, list[why.Asked]()
        for path, data, numbers in found:
            if numbers[:left]:
                asked.append(why.Asked(Version(path, data, head), numbers[:left]))
            more += len(numbers[left:])
            left -= len(numbers[:left])
        return WhyReport(why.explain(self._history, asked), more)

    def _holding(self, view: View, text: str) -> Iterator[tuple[str, bytes, list[int]]]:
        """The notes, archives last, that have lines with a text."""

        from bonsai.passes import why

        rows = [*view.notes(self.tree), *view.notes(self.tree, archived=True)]
        for path in [self.tree.boot, *(row.path for row in rows)]:
            with suppress(BonsaiError):  # one that cannot be read is a problem of status, not of all others
                data = view.fresh.get(path) or self._store.read(path)
                if numbers := why.containing(path, data, text):
                    yield path, data, numbers

    def _shown(self, path: str, commit: str) -> ShowReport:
        """A file of a commit, under the name that it had then."""

        from bonsai.notes.rename import came_from
        from bonsai.passes.reports import ShowReport

        name = path
        if self._history.read_many([(commit, path)])[0] is None:
            changes = self._history.changes(commit, self._history.head())
            name = came_from((item[:2] for item in changes), path) or path
        data = self._history.read(commit, name)
        return ShowReport(name, commit, self._history.commits([commit])[commit].time, _text(data))

    def _need_ours(self, path: str) -> None:
        if fault := layout.path_fault(path):
            raise Refused(fault, path=path.replace("\0", "\\0"), hint="Name a path inside the workspace.")
        if layout.kind_of(path) is not Kind.OUTSIDE or path == layout.MEMORY:
            return
        if not self._store.exists(path):  # a note by its bare name, most often
            raise NotFound("there is no such note", path=path, hint="`bonsai recall` finds notes.")
        raise Refused("is not part of the memory", path=path, hint="Name a path under memory/, or MEMORY.md.")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def by_actor(commits: Sequence[Commit], pending: Collection[str], actor: str) -> set[str]:
    """The paths whose last change was an actor's; `commits` are the newest first, `pending` is in none of them yet."""
    last = dict.fromkeys(pending, "human")
    for commit in commits:
        for path in commit.paths:
            last.setdefault(path, commit.actor or "human")
    return {path for path, who in last.items() if actor in (who, who.removeprefix("agent:"))}


Test = Callable[["Commit"], bool]


def _between(since: str, until: str) -> Iterator[Test]:
    """Tests of the time of a commit. Raises BadData."""

    from bonsai.adapters import clock
    from bonsai.notes import moment

    if since:
        first = moment.parse(since, clock.aware, end=False)
        yield lambda commit: datetime.fromisoformat(commit.time) >= first
    if until:
        last = moment.parse(until, clock.aware, end=True)
        yield lambda commit: datetime.fromisoformat(commit.time) <= last


def _equal(actor: str, op: str, run: str, session: str) -> Iterator[Test]:
    if actor:  # a commit that somebody made with git has no trailers
        yield lambda commit: actor in (commit.actor or "human", commit.actor.removeprefix("agent:"))
    if op:
        yield lambda commit: commit.op == op
    if run:
        yield lambda commit: commit.run.startswith(run)
    if session:
        yield lambda commit: commit.session == session
