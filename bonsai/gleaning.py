"""The verbs that get facts out of texts: distill, ingest-daily, validate, extract-metadata, search-url, retrieve."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from bonsai.adapters import clock
from bonsai.errors import BadData, BonsaiError, NotFound, Unavailable, Usage
from bonsai.notes import layout
from bonsai.remembering import Remembering

if TYPE_CHECKING:
    from bonsai.facts.distill import Distilled
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.notes.view import View
    from bonsai.passes.adopt import Adopted
    from bonsai.passes.remember import Wanted
    from bonsai.passes.tiered import (
        AdoptReport,
        DistillReport,
        ExtractReport,
        IngestReport,
        RememberReport,
        Retrieved,
        UrlHit,
        UrlReport,
        ValidateReport,
    )
    from bonsai.ports.llm import Llm
    from bonsai.run import Run

TURNS = ".bonsai/turns.jsonl"  # conversations that wait to be distilled
ADOPTED = ".bonsai/adopted.json"  # files of the original that were taken over: path → size, time
BATCH = 20  # turns in one prompt
FAST_MODEL = "BONSAI_LLM_FAST_MODEL"


class Gleaning(Remembering):
    """A workspace that facts are brought into."""

    # -- distil ----------------------------------------------------------------------------------------

    def distill(self, text: str, *, llm: str = "", core_summary: bool = False) -> DistillReport:
        """One turn of a conversation as a structured fact: by rules, or by the language model at the endpoint `llm`.

        A short turn is done by rules all the same (`distill.short_chars`), and so is one that the model cannot be asked
        about: `warnings` says why. A credential in the text never gets to the model.
        """

        from bonsai.facts import distill
        from bonsai.facts.extract import extract
        from bonsai.passes.tiered import DistillReport

        if not text.strip():
            raise Usage("there is nothing to distil", hint='Give --text "User: … Agent: …", or --file.')
        most, mode, warnings = int(self.settings["distill", "max_bytes"]), "rule", list[str]()
        found = distill.distill(text, most)
        if llm and len(text) > self.settings["distill", "short_chars"]:
            try:
                found, mode = self._by_model([text], llm, most)[0], "llm"
            except (Unavailable, BadData) as error:
                warnings.append(f"{error}; it was distilled by rules")
        short = distill.summary(found, int(self.settings["distill", "summary_bytes"])) if core_summary else None
        size = len(text.encode("utf-8", "replace"))
        return DistillReport(found, mode, size, distill.size(found), extract(text), short, warnings)

    def distill_later(self, text: str, *, domain: str = "") -> int:
        """Put a turn into the queue; says how many wait. Raises BadData where it looks like a credential."""

        from bonsai.notes import secrets

        if secrets.find(text):
            raise BadData("holds what looks like a credential, so it is not kept", hint="Take that out.")
        waiting = [*self._waiting(), {"text": text, "domain": domain}]
        self._keep_waiting_turns(waiting)
        return len(waiting)

    def distill_waiting(self, *, llm: str = "") -> list[RememberReport]:
        """Distil all that waits in the queue, many turns in one prompt, and remember the facts in one run."""

        from bonsai.facts import distill
        from bonsai.passes.remember import Wanted

        waiting = self._waiting()
        if not waiting:
            return []
        most = int(self.settings["distill", "max_bytes"])
        by_rules = [distill.distill(item["text"], most) for item in waiting]
        long = [at for at, item in enumerate(waiting) if len(item["text"]) > self.settings["distill", "short_chars"]]
        for start in range(0, len(long) if llm else 0, BATCH):
            part = long[start : start + BATCH]
            with suppress(Unavailable, BadData):  # then the rules' facts stay
                for at, found in zip(
                    part, self._by_model([waiting[at]["text"] for at in part], llm, most), strict=True
                ):
                    by_rules[at] = found
        wanted = [
            Wanted(found.fact, item["domain"] or "conversations", importance=importance(found))
            for found, item in zip(by_rules, waiting, strict=True)
        ]
        reports = self.remember_all(wanted)
        self._keep_waiting_turns(self._waiting()[len(waiting) :])
        return reports

    def _by_model(self, texts: Sequence[str], endpoint: str, most: int) -> list[Distilled]:
        from bonsai.facts import distill
        from bonsai.notes import secrets

        shown = [secrets.without(text.encode("utf-8", "replace"))[0].decode("utf-8", "replace") for text in texts]
        return distill.answered(
            self._model(endpoint, os.environ.get(FAST_MODEL, "") or self.settings.text("llm", "fast_model")).complete(
                distill.prompt(shown, most)
            ),
            texts,
            most,
        )

    def _model(self, endpoint: str, model: str) -> Llm:
        from bonsai.adapters.llm import HttpLlm

        return HttpLlm(endpoint, model)

    def _waiting(self) -> list[dict[str, str]]:
        with suppress(NotFound, ValueError, RecursionError):
            rows = [json.loads(row) for row in self._store.read(TURNS).decode("utf-8", "replace").split("\n") if row]
            return [{"text": str(row["text"]), "domain": str(row.get("domain", ""))} for row in rows if "text" in row]
        return []

    def _keep_waiting_turns(self, waiting: Sequence[dict[str, str]]) -> None:
        if waiting:
            text = "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in waiting)
            self._store.generate(TURNS, text.encode("utf-8", "replace"))
        elif self._store.exists(TURNS):
            self._store.discard(TURNS)

    # -- daily notes -----------------------------------------------------------------------------------

    def ingest_daily(self, day: str = "", *, days: int = 0, dry_run: bool = False) -> IngestReport:
        """Remember the facts in the daily notes; what was taken in before stays one note.

        Args:
            day: only of this day (`YYYY-MM-DD`). `days`: only of the last so many days, today among them.
            dry_run: only say which facts are new.
        """
        from bonsai.passes import daily
        from bonsai.passes.tiered import Ingested, IngestReport

        with self._reading() as (run, _):
            view = run.look()
            held = {row.path for row in view.rows.values() if view.is_held(row)}
            paths = sorted(row.path for row in view.notes(self.tree) if layout.is_daily(row.path))
        if day:
            when = daily.parse_day(day).isoformat()
            paths = [path for path in paths if layout.name_of(path).startswith(when)]
        if days:
            first = f"{clock.local(self.now()).date() - timedelta(days=days - 1)}"
            paths = [path for path in paths if layout.name_of(path)[:10] >= first]
        read = [path for path in paths if path not in held]
        wanted = [item for path in read for item in self._said_on(path)]
        reports = (self._foreseen(wanted) if dry_run else self.remember_all(wanted)) if wanted else []
        told = {report.path: (report, item) for report, item in zip(reports, wanted, strict=True) if report.new}
        facts = [
            Ingested(report.id, item.text, report.category, item.importance or 0.0, report.metadata)
            for report, item in told.values()
        ]
        sha = next((report.commit for report in reports if report.commit), None)
        lacking = [f"{path}: {warning}" for path in read for warning in self.validate(path).warnings]
        return IngestReport(read, list(told), sha, facts, len(wanted) - len(facts), dry_run, lacking)

    def _said_on(self, path: str) -> list[Wanted]:
        """The facts in a daily note, dated as it is; without what looks like a credential."""
        from bonsai.facts import check
        from bonsai.notes import secrets
        from bonsai.passes.remember import Wanted

        day = layout.name_of(path)[:10]
        created = f"{day}T12:00:00Z" if _is_day(day) else ""
        entries = check.entries(self._store.read(path).decode("utf-8", "replace"))
        return [
            Wanted(item.text, importance=item.importance, metadata=item.metadata, created=created)
            for item in entries
            if not secrets.find(item.text)
        ]

    def validate(self, file: str = "") -> ValidateReport:
        """What a note lacks: tools without a URL, actions without a command, decisions without a next step.

        A relative date comes with what to write instead. `file`: "" is today's daily note. Raises NotFound.
        """

        from bonsai.facts import check
        from bonsai.notes import dates, lifecycle
        from bonsai.notes.summary import summarise
        from bonsai.passes.tiered import ValidateReport

        today = clock.local(self.now()).date()
        path = file
        if not path:
            loose, usual = self.tree.at(f"{today.isoformat()}.md"), f"{self.tree.daily}/{today.isoformat()}.md"
            path = loose if self._store.exists(loose) else usual
        data = self._store.read(path)
        text, said = data.decode("utf-8", "replace"), summarise(path, data, len(data)).dated
        found, named = check.check(text), lifecycle.moment(layout.name_of(path)[:10]) or lifecycle.moment(said)
        dated = dates.find(text, named.date() if named else dates.stamped(text) or today)
        edits = [f"line {item.line}: write {item.absolute} for {item.text!r}" for item in dated]
        status = "warning" if found.warnings else "ok"
        return ValidateReport(status, len(found.warnings), found.warnings, [*found.suggestions, *edits], path)

    def extract_metadata(self, file: str) -> ExtractReport:
        """The URLs, commands and paths that stand in a file of the memory. Raises NotFound."""

        from bonsai.facts.extract import extract
        from bonsai.passes.tiered import ExtractReport

        found = extract(self._store.read(file).decode("utf-8", "replace"))
        counts = {f"{name}_count": len(getattr(found, name)) for name in ("urls", "commands", "paths")}
        return ExtractReport(file, found, counts)

    # -- the original's files --------------------------------------------------------------------------

    def adopt(self) -> AdoptReport:
        """Take over what an original workspace has as JSON: facts, categories, hot state, counters; one run.

        Its files stay as they are; what was taken over before is passed over.
        """

        from bonsai.facts import fact as facts
        from bonsai.facts.score import Rules
        from bonsai.passes import adopt, remember
        from bonsai.passes.tiered import AdoptReport

        rules, counters = Rules.of(self.settings), dict[str, dict[str, int]]()
        accesses: dict[str, int] = {}

        def plan(run: Run, view: View, draft: Draft) -> tuple[Plan, AdoptReport]:
            report, every = AdoptReport([], [], None), list[adopt.Adopted]()
            for folder, tree in adopt.folders(view, self.tree):
                known = {facts.read(path, self._store.read(path)).id for path in self._fact_notes(view, tree)}
                found = adopt.adopt(draft, folder, tree, known | self._known_cold(tree), run.now)
                made = remember.remember(view, draft, tree, _wanted(found), run.now_iso, rules)[1]
                report.created += [item.path for item in made if item.new]
                by_text = {item.id: item.accesses for item in found.facts}
                accesses.update({item.path: by_text.get(item.id, 0) for item in made})
                for path, about in found.nodes.items():
                    self._bring_node(draft, path, {"desc": about}, run.now_iso, tree)
                report.skipped += found.skipped
                counters[tree.owner] = found.counters
                every.append(found)
            return draft.plan("migrate", "migrate: what the original kept as JSON", adopt.told(every)), report

        report = self._run(plan, actor="import" if self.actor == "human" else "")
        if report.commit:
            self._bring_counters({path: count for path, count in accesses.items() if count})
            for agent, values in counters.items():
                self._noted_for(agent, values)
        return report

    def adopt_new(self) -> AdoptReport | None:
        """Take over what the original has as JSON where that is new or has changed since; None where it has not."""
        from bonsai.facts import original

        folders = dict.fromkeys((layout.MEMORY, f"{layout.MEMORY}/{self.tree.owner}"))
        found = (self._store.stat(f"{folder}/{name}") for folder in folders for name in original.FILES)
        seen = {entry.path: [entry.stat.size, entry.stat.mtime_ns] for entry in found if entry}
        known = self._json(ADOPTED)
        if all(known.get(path) == stamp for path, stamp in seen.items()):
            return None
        report = self.adopt()
        self._store.generate(ADOPTED, json.dumps({**known, **seen}).encode())
        return report

    def _fact_notes(self, view: View, tree: layout.Tree) -> list[str]:
        from bonsai.facts import fact as facts

        return [row.path for row in view.notes(tree) if row.summary and row.summary.type == facts.TYPE]

    def _known_cold(self, tree: layout.Tree) -> set[str]:
        return self._in_passing(lambda archive: archive.known(tree.owner), set[str]())

    # -- finding facts ---------------------------------------------------------------------------------

    def search_url(self, fragment: str = "", *, limit: int = 5) -> UrlReport:
        """The facts with a URL that holds a fragment, ignoring case; without one every URL."""

        from bonsai.facts import fact as facts
        from bonsai.facts.extract import extract
        from bonsai.notes import secrets
        from bonsai.passes.tiered import UrlHit, UrlReport

        found: list[UrlHit] = []
        urls: dict[str, None] = {}
        wanted = fragment.casefold()
        with self._reading() as (run, _):
            paths = sorted(row.path for row in run.look().notes(self.tree) if row.summary)
        for path in paths:
            with suppress(BonsaiError):
                data = self._store.read(path)
                if b"://" not in data:
                    continue
                shown = secrets.without(data)[0]
                fact = facts.read(path, shown)
                metadata = fact.metadata.joined(extract(fact.text))
                hit = [url for url in metadata.urls if wanted in url.casefold()]
                urls.update(dict.fromkeys(hit))
                if hit:
                    found.append(UrlHit(fact.id, fact.text, fact.category, metadata, path))
        return UrlReport(fragment, len(found[:limit]), found[:limit], list(urls))

    def retrieve(self, query: str, *, limit: int = 5, llm: str = "") -> list[Retrieved]:
        """What recall finds, as facts; `llm`: the endpoint of a model that names the branches to look in."""

        from bonsai.facts import fact as facts
        from bonsai.facts.extract import extract
        from bonsai.facts.score import Rules
        from bonsai.passes.tiered import Retrieved

        report = self.recall(query, limit=limit, mode="llm" if llm else "lexical", llm=llm)
        accesses, rules, now = self._accesses(), Rules.of(self.settings), self.now().timestamp()
        found = []
        for hit in report.hits:
            data = b""
            with suppress(BonsaiError):
                data = self._cold_note(hit.path) if hit.tier == "cold" else self._store.read(hit.path)
            fact = facts.read(hit.path, data)
            fact = replace(fact, metadata=fact.metadata.joined(extract(hit.text)))
            found.append(Retrieved.of(hit, fact, accesses.get(hit.path, 0), rules, now))
        return found


def importance(found: Distilled) -> float:
    """Of a distilled turn: a decision counts for more than talk."""
    return 0.7 if found.fact.casefold().startswith("decided") or "decided" in found.fact.casefold() else 0.5


def _wanted(found: Adopted) -> list[Wanted]:
    """The facts of the original, to be remembered; without what looks like a credential."""
    from bonsai.notes import secrets
    from bonsai.passes.remember import Wanted

    return [
        Wanted(
            item.text,
            item.domain,
            importance=item.importance,
            metadata=item.metadata,
            created=item.created,
            id=item.id,
        )
        for item in found.facts
        if not secrets.find(item.text)
    ]


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
