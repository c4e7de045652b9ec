"""The verbs that tell other agents of the memory: connect, and the boot file as an agent would load it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bonsai.adapters.files import ensure_private
from bonsai.errors import BonsaiError, NotFound, Refused, Usage
from bonsai.notes.layout import path_fault
from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.passes.edited import ConnectReport, FileDiff

if TYPE_CHECKING:  # what is needed for these two verbs alone is imported by them
    from bonsai.connect.agents import Site
    from bonsai.connect.edits import Edit, Own
    from bonsai.notes.boot_limits import Loaded

RECORD = ".bonsai/connected.json"  # what files of others were, where taking our part out does not give that back
LETTA, LLMS = "letta", "llms-txt"
NAMES = ("claude-code", "openclaw", "codex", "gemini", "cursor", "obsidian", LETTA, LLMS)
MANIFEST = ".bonsai-export"  # in an export: the files that are ours


class _Change(NamedTuple):
    path: str
    old: bytes | None
    new: bytes | None


class Connecting(Place):
    """A memory that other agents know of."""

    def boot(self, agent: str = "bonsai") -> Loaded:
        """The boot file as an agent loads it, with the notice that it gives where that is not all. Raises Usage."""
        from bonsai.notes import boot_limits

        if agent not in boot_limits.LOADERS:
            raise Usage(f"nobody knows what {agent} loads", hint=f"There are {', '.join(boot_limits.LOADERS)}.")
        text = ""
        with suppress(NotFound):
            text = self._store.read(self.tree.boot).decode("utf-8", "replace")
        return boot_limits.LOADERS[agent](text)

    def connect_agent(
        self,
        agent: str,
        *,
        home: str,
        program: str = "bonsai",
        project: str = "",
        directory: bool = False,
        remove: bool = False,
        dry_run: bool = False,
    ) -> ConnectReport:
        """Tell an agent of this memory in its own files, or take that back.

        Args:
            agent: one of NAMES.
            home: the home folder, in which agents keep their settings.
            program: how to call bonsai.
            project: a folder of code that is told instead; of letta the folder to export to.
            directory: of claude-code: it keeps its own files right in the memory.
            remove: take back what an earlier call did; what others wrote meanwhile stays.
            dry_run: only say what would change.

        Raises Usage, Refused (a file is somebody else's), BadData (it cannot be read), IoFailed.
        """

        from bonsai.connect.agents import Site
        from bonsai.notes.boot_limits import LOADERS
        from bonsai.passes.edited import ConnectReport

        if agent not in NAMES:
            raise Usage(f"there is no agent {agent!r}", hint=f"There are {', '.join(NAMES)}.")
        if agent == LETTA:
            changes, record = self._letta(project, remove), self._json(RECORD)
        else:
            site = Site(
                self.root, home, program, self.tree.boot, self.tree.memory, self.agent, project, directory=directory
            )
            puts, takes = ([self._llms(project)], []) if agent == LLMS else self._sorted(agent, site)
            changes, record = self._planned([], [*puts, *takes]) if remove else self._planned(puts, takes)
        notice = self.boot(agent).notice if agent in LOADERS else ""
        report = ConnectReport(agent, [_shown(change) for change in changes], notice, dry_run, remove)
        if not dry_run:
            _carry_out(changes, project or (self.root if agent in (LLMS, "obsidian") else home))
            if record != self._json(RECORD):
                ensure_private(self.root)
                self._store.generate(RECORD, json.dumps(record).encode("utf-8", "replace"))
        return report

    def _sorted(self, agent: str, site: Site) -> tuple[list[Edit], list[Edit]]:
        """What is to stand in the files that an agent reads, and what of ours is not to stand there any more.

        Codex reads an AGENTS.override.md instead of the AGENTS.md beside it. In the workspace itself the block of
        AGENTS.md is the one that `init` wrote, which tells of the memory already. Claude Code is connected in one way.
        """

        from dataclasses import replace

        from bonsai.adapters import agent_files
        from bonsai.connect.agents import AGENTS, claude_code_otherwise
        from bonsai.connect.edits import Block
        from bonsai.notes import boot

        record = self._json(RECORD)
        puts: list[Edit] = []
        takes = claude_code_otherwise(site) if agent == "claude-code" else []
        for edit in AGENTS[agent](site):
            if agent == "codex" and isinstance(edit, Block):
                instead = replace(edit, path=edit.path.replace("/AGENTS.md", "/AGENTS.override.md"))
                both = [instead, edit] if (agent_files.read(instead.path) or b"").strip() else [edit, instead]
                puts, takes = [*puts, both[0]], [*takes, both[1]]
            else:
                puts.append(edit)
        rules = agent_files.real(f"{self.root}/AGENTS.md")
        if boot.current(agent_files.read(rules) or b"") is None:
            return puts, takes

        def ours(edit: Edit) -> bool:
            return edit.path in record or agent_files.real(edit.path) != rules  # CLAUDE.md is a link to it, at times

        return list(filter(ours, puts)), list(filter(ours, takes))

    def _planned(self, puts: Sequence[Edit], takes: Sequence[Edit]) -> tuple[list[_Change], dict[str, Any]]:
        """What each file would hold with some edits and without others, and the record then.

        A file that still is as we left it, and that is to have nothing of ours, gets back the very bytes that it had.
        """

        from bonsai.adapters import agent_files

        record, changes = self._json(RECORD), list[_Change]()
        for path in dict.fromkeys(edit.path for edit in (*puts, *takes)):
            theirs = [edit for edit in (*puts, *takes) if edit.path == path]
            ours = [edit for edit in puts if edit.path == path]
            old = agent_files.read(path)
            bare, new = _taken(theirs, old), _taken([edit for edit in takes if edit.path == path], old)
            for edit in ours:
                new = edit.put(new)
            kept = record.pop(path, None)
            kept = kept if isinstance(kept, dict) and kept.get("new") == _hash(old) else None
            if kept and not ours:
                new = _bytes(kept.get("old"))
            elif ours and (kept or _taken(theirs, new) != bare):
                record[path] = {"old": kept.get("old") if kept else _text(bare), "new": _hash(new)}
            changes.append(_Change(path, old, new))
        return [change for change in changes if change.old != change.new], record

    def _llms(self, folder: str) -> Own:
        from bonsai.connect import exports
        from bonsai.connect.edits import Own

        with self._reading() as (run, _):
            rows = list(run.look().notes(self.tree))
        notes = [(row.path, row.summary) for row in sorted(rows, key=lambda row: row.path) if row.summary]
        text = exports.llms_txt(self.root.rpartition("/")[2], self.tree, notes)
        return Own(f"{folder or self.root}/llms.txt", text)

    def _letta(self, folder: str, remove: bool) -> list[_Change]:
        from bonsai.adapters import agent_files
        from bonsai.connect.edits import OURS

        if not folder:
            raise Usage("letta needs a folder to export to", hint="Name it: bonsai connect letta --project DIR")
        manifest = f"{folder}/{MANIFEST}"
        listed = agent_files.read(manifest)
        ours = [name for name in (listed or b"").decode("utf-8", "replace").split("\n")[1:] if not path_fault(name)]
        files = {} if remove else self._letta_files()
        changes: list[_Change] = []
        for name in sorted({*files, *ours}):
            old = agent_files.read(f"{folder}/{name}")
            if old is not None and name not in ours:
                raise Refused("was not written by bonsai", path=f"{folder}/{name}", hint="Export to an empty folder.")
            changes.append(_Change(f"{folder}/{name}", old, files.get(name)))
        changes.append(_Change(manifest, listed, "\n".join([OURS, *sorted(files)]).encode() if files else None))
        return [change for change in changes if change.old != change.new]

    def _letta_files(self) -> dict[str, bytes]:
        from bonsai.connect import exports
        from bonsai.notes.note import parse

        with self._reading() as (run, _):
            rows = sorted(run.look().notes(self.tree), key=lambda row: row.path)
        notes = []
        for row in rows:
            with suppress(BonsaiError):
                data = self._store.read(row.path)
                if row.summary and not row.secrets:
                    notes.append((row.path, row.summary, data[parse(data).body_start :]))
        return exports.letta(self.tree, self._store.read(self.tree.boot), notes)


def _carry_out(changes: Sequence[_Change], top: str) -> None:
    """Write them all; where one fails, those before it get back what they had."""

    from bonsai.adapters import agent_files

    done: list[_Change] = []
    try:
        for change in changes:
            agent_files.write(change.path, change.new, top)
            done.append(change)
    except BonsaiError:
        for change in done:
            with suppress(BonsaiError):
                agent_files.write(change.path, change.old, top)
        raise


def _taken(edits: Sequence[Edit], data: bytes | None) -> bytes | None:
    for edit in edits:
        data = edit.take(data)
    return data


def _hash(data: bytes | None) -> str:
    from hashlib import sha256

    return sha256(data or b"").hexdigest()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(text: object) -> bytes | None:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else None


def _shown(change: _Change) -> FileDiff:
    from bonsai.notes import compare
    from bonsai.passes.edited import FileDiff

    kind: Literal["added", "edited", "deleted"]
    kind = "added" if change.old is None else "deleted" if change.new is None else "edited"
    name = change.path.lstrip("/")
    old, new = (name if data is not None else "" for data in (change.old, change.new))
    return FileDiff(change.path, kind, compare.unified(change.old or b"", change.new or b"", old, new))
