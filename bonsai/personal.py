"""A workspace with a folder for each user: what they told, and what of the memory is for their eyes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from bonsai.cloud import Cloud
from bonsai.errors import BonsaiError
from bonsai.notes import layout

if TYPE_CHECKING:
    from bonsai.conversation.fact import Fact, Told
    from bonsai.notes.change import Plan, Row
    from bonsai.notes.draft import Draft
    from bonsai.notes.view import View
    from bonsai.passes.found import Hit
    from bonsai.run import Run

SOURCE = "conversation"


class _Done:
    """The report of a run that only says its commit."""

    commit: str | None = None


class Personal(Cloud):
    """The facts of users as notes. `user` "" is the owner of the memory, whose facts are for everybody."""

    _known: dict[str, tuple[str, Fact | None]] | None = None  # path → id of the bytes, and what they say

    def tell(self, user: str, facts: Sequence[Told], *, turn: str = "", since: str | None = None) -> list[Fact]:
        """Tell facts in one run; see `FactStore.put`. Raises Refused (a credential), BadData (a broken note)."""

        from bonsai.passes import told

        result: list[Fact] = []

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, _Done]:
            now = run.now.isoformat()
            made, held = told.tell(
                view,
                draft,
                self.tree,
                user,
                facts,
                turn=turn,
                since=since,
                now_iso=now,
                source=SOURCE,
                today=_day(datetime.fromisoformat(since) if since else run.now),
            )
            result.extend(held)
            return made, _Done()

        self._run(plan)
        return result

    def note_down(self, user: str, text: str, *, turn: str, importance: float) -> None:
        """Write a note about a turn into the folder of a user; once, even when it is written twice."""

        from bonsai.passes import told

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, _Done]:
            now = run.now
            return told.note_down(draft, self.tree, user, text, turn, importance, now.isoformat(), _day(now)), _Done()

        self._run(plan)

    def told(self, user: str, limit: int, text: str = "") -> list[Fact]:
        """The facts of a user that hold a text, newest first."""

        from bonsai.conversation.fact import folded
        from bonsai.passes import told

        with self._reading() as (run, _):
            view = run.look()
            rows = sorted(
                told.rows(view, self.tree, user).values(),
                key=lambda row: row.summary.dated if row.summary else "",
                reverse=True,
            )
            if not text and len(rows) > limit > 0:  # the day of a note is in the picture: read only what may be wanted
                least = rows[limit - 1].summary
                rows = [row for row in rows if row.summary and least and row.summary.dated >= least.dated]
            found = [fact for row in rows if (fact := self._fact(row, user))]
        held = [fact for fact in found if text.casefold() in folded(fact.key, fact.value)] if text else found
        held.sort(key=lambda fact: fact.key)
        return sorted(held, key=lambda fact: fact.updated, reverse=True)[: max(limit, 0)]

    def fact(self, user: str, key: str) -> Fact | None:
        """A fact as it stands."""

        from bonsai.passes import told

        with self._reading() as (run, _):
            row = told.rows(run.look(), self.tree, user).get(key)
            return self._fact(row, user) if row else None

    def versions(self, user: str, key: str) -> list[Fact]:
        """A fact as it stood in every commit, and as it stands, newest first."""

        from bonsai.passes import told

        with self._reading() as (run, _):
            row = told.rows(run.look(), self.tree, user).get(key)
            now = self._fact(row, user) if row else None
        if now is None:
            return []
        found = [now]
        commits = self._history.log([now.source], follow=True)
        for data in self._history.read_many([(commit.sha, now.source) for commit in commits]):
            fact = told.read(now.source, data, user) if data is not None else None
            if fact is not None and fact.key == key and fact != found[-1]:
                found.append(fact)
        return found

    def recall_for(self, user: str, query: str, *, limit: int, tokens: int) -> list[Hit]:
        """The passages that answer, of what everybody may know and of what this user told."""

        from bonsai.adapters import clock
        from bonsai.passes import recall, told
        from bonsai.passes.recall import Scope

        recall.need_query(query, limit, tokens)
        own = f"{told.folder(self.tree, user)}/"

        def is_visible(path: str) -> bool:
            # Every note is asked for; nearly all are of this user, or their paths show that they are of none.
            return (bool(user) and path.startswith(own)) or "/users/" not in path or not layout.is_of_user(path)

        ranked = self._find(query, limit, Scope(below=is_visible))
        hits = recall.hits(ranked, tokens, clock.local(self.now()).date())
        self._count([hit.path for hit in hits])
        return hits

    def _fact(self, row: Row, user: str) -> Fact | None:
        """What a note says; read again only when its bytes are others."""

        from bonsai.passes import told

        if self._known is None:
            self._known = {}
        blob, fact = self._known.get(row.path, ("", None))
        if not blob or blob != row.blob or (fact is not None and fact.user != user):
            try:
                fact = told.read(row.path, self._store.read(row.path), user)
            except BonsaiError:  # gone in this moment, or not to be read: a problem of status
                return None
            self._known[row.path] = (row.blob, fact)
        return fact


def _day(now: datetime) -> date:
    """The day where this is read: people say `yesterday` by their own calendar."""
    from bonsai.adapters import clock

    return clock.local(now).date()
