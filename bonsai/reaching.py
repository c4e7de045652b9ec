"""The cold tier within reach: which database it is, whether that answers now, and what waits to be sent there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from bonsai.counting import Counting
from bonsai.errors import BonsaiError, NotFound, Unavailable
from bonsai.place import COLD
from bonsai.servers import cold_address

if TYPE_CHECKING:
    from bonsai.adapters.cold_tables import ColdTables
    from bonsai.facts.archive import Archive, ColdRow
    from bonsai.passes.tiered import ConsolidateReport

T = TypeVar("T")
QUEUE = ".bonsai/unsent.json"  # notes whose rows the database does not have yet
AWAY = ".bonsai/cache/cold-away.json"  # a server that does not answer: which, and until when it is left alone
PAGE = 500  # rows that are fetched at once
HASTE = 5.0  # seconds that a server may take to answer what can do without it
COSTLY = 2.0  # seconds of waiting in vain, after which a server is left alone for a while
OUTAGE = 300.0  # seconds of that while


class Reaching(Counting):
    """A workspace with a cold tier."""

    _archive: ColdTables | None = None
    _hasty: ColdTables | None = None  # the server, asked once and not for long
    _untold: tuple[str, ...] = ()

    def connect(self, url: str = "", token: str = "") -> None:
        """Use a libSQL database as the cold tier; without a URL that of the environment, else a file in .bonsai/."""
        self._disconnect()
        self._database = (url, token)

    @property
    def is_remote(self) -> bool:
        """Whether a database outside of this device is set."""
        return bool(cold_address(self._database)[0])

    def cold_warnings(self) -> list[str]:
        """Why the cold tier was not asked, where a verb did without it; each is told once."""
        told, self._untold = list(dict.fromkeys(self._untold)), ()
        return told

    # -- asking it -------------------------------------------------------------------------------------

    def _cold(self, make: bool = False, patient: bool = True) -> Archive | None:
        """The cold tier; None where there is none yet. `patient`: a server is tried again and again."""
        from bonsai.adapters.files import ensure_private

        if self.is_remote:
            if patient:
                retries, wait = int(self.settings["cold", "retries"]), float(self.settings["cold", "retry_seconds"])
                self._archive = self._archive or self._server(retries=retries, wait=wait)
                return self._archive
            self._hasty = self._hasty or self._server(retries=0, seconds=HASTE)
            return self._hasty
        if self._archive is None and (make or self._store.exists(COLD)):
            from bonsai.adapters.sqlite_cold import sqlite_archive

            ensure_private(self.root)
            self._archive = sqlite_archive(f"{self.root}/{COLD}")
        return self._archive

    def _server(self, **how: Any) -> ColdTables:
        from bonsai.adapters.known_servers import remember
        from bonsai.adapters.libsql import libsql_archive, server_name

        url, token = cold_address(self._database)
        made = libsql_archive(url, token, **how)
        remember(self.root, server_name(url))
        return made

    def _need_cold(self, make: bool, patient: bool = True) -> Archive:
        archive = self._cold(make, patient)
        assert archive is not None
        return archive

    def _in_passing(self, ask: Callable[[Archive], T], otherwise: T) -> T:
        """What the cold tier says to a verb that can do without; `otherwise` where there is none, or it fails.

        It is asked once and not for long, and not at all while it is known not to answer. A failure is a warning.
        """
        start = time.monotonic()
        try:
            archive = None if self._is_away() else self._cold(patient=False)
            return ask(archive) if archive else otherwise
        except BonsaiError as error:
            why = f"{error}"
            if isinstance(error, Unavailable) and time.monotonic() - start > COSTLY and self._leave_alone():
                why += f", and is left alone for {OUTAGE / 60:.0f} minutes: `bonsai cold --query` asks it all the same"
            elif error.hint:
                why += f" ({error.hint})"
            self._untold = (*self._untold, why)
            return otherwise

    def _is_away(self) -> bool:
        """Whether the server kept somebody waiting in vain a short while ago."""
        known = self._json(AWAY)
        until = known.get("until")
        left = until - self.now().timestamp() if isinstance(until, int | float) else 0.0
        return self.is_remote and known.get("server") == self._mark() and 0 < left <= OUTAGE

    def _leave_alone(self) -> bool:
        """Have nobody wait for the server for a while; whether that could be written down."""
        with suppress(BonsaiError):
            said = {"server": self._mark(), "until": self.now().timestamp() + OUTAGE}
            self._store.generate(AWAY, json.dumps(said).encode())
            return True
        return False

    def _answers(self) -> None:
        """It was asked all the same, and did answer."""
        with suppress(BonsaiError):
            if self._store.exists(AWAY):
                self._store.discard(AWAY)

    def _mark(self) -> str:
        """Tells one server from another, and nobody its address."""
        from hashlib import sha256

        return sha256(cold_address(self._database)[0].encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def _cold_counts(self) -> dict[str, int]:
        """Rows of the cold tier by category; none where it cannot be asked now."""
        return self._in_passing(lambda archive: dict(archive.counts(self._me)), {})

    def _sure_counts(self) -> dict[str, int]:
        """The same, for who takes away what holds nothing. Raises what the cold tier raises."""
        archive = self._cold(patient=False)
        return dict(archive.counts(self._me)) if archive else {}

    def _rows(self, archive: Archive) -> Iterator[ColdRow]:
        """Every row of this agent."""
        after = ""
        while page := archive.page(self._me, after, PAGE):
            yield from page
            after = page[-1].id

    # -- sending ---------------------------------------------------------------------------------------

    def _send(self, archive: Archive, rows: Sequence[ColdRow]) -> None:
        size = int(self.settings["cold", "batch"]) if archive.remote else len(rows)  # of one request
        for start in range(0, len(rows), size or 1):
            archive.put(rows[start : start + size])

    def _store_cold(self, paths: Sequence[str]) -> bool:
        """Send the rows of notes that have just been written; what cannot be sent now waits for the next time."""
        if not self.is_remote:
            return False
        waiting = list(dict.fromkeys([*self._unsent(), *paths]))

        def send(archive: Archive) -> bool:
            self._send(archive, self._rows_of(waiting))
            return True

        sent = self._in_passing(send, False)
        self._keep_unsent([] if sent else waiting)
        return sent

    def _catch_up_cold(self, report: ConsolidateReport) -> None:
        from bonsai.passes import consolidate

        waiting = self._unsent()
        if waiting and self.is_remote:
            try:
                rows = self._rows_of(waiting)
                self._send(self._need_cold(False), rows)
                report.cold_synced = len(rows)
                self._keep_unsent([])
            except BonsaiError as error:
                report.warnings.append(consolidate.reason(error))

    def _rows_of(self, paths: Sequence[str]) -> list[ColdRow]:
        """The rows of notes as they stand; without those that are gone, or that hold what looks like a credential."""

        from bonsai.facts import archive as archives
        from bonsai.facts import fact as facts
        from bonsai.notes.secrets import find_in

        found = []
        for path in paths:
            with suppress(NotFound):
                data = self._store.read(path)
                if not find_in(data):
                    fact = facts.read(path, data, int(self.now().timestamp()))
                    found.append(archives.row_of(fact, self.agent, data))
        return found

    def _unsent(self) -> list[str]:
        return [path for path in self._json(QUEUE).get("paths", []) if isinstance(path, str)]

    def _keep_unsent(self, paths: Sequence[str]) -> None:
        with suppress(BonsaiError):
            if paths:
                self._store.generate(QUEUE, json.dumps({"paths": list(paths)}).encode())
            elif self._store.exists(QUEUE):
                self._store.discard(QUEUE)

    # -- letting go ------------------------------------------------------------------------------------

    def _disconnect(self) -> None:
        for archive in (self._archive, self._hasty):
            if archive is not None:
                archive.close()
        self._archive = self._hasty = None

    def close(self) -> None:
        """Release the files that are open."""
        self._disconnect()
        super().close()
