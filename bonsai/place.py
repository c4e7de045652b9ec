"""The composition root: a workspace folder with its adapters and settings, and the two ways to run in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from bonsai import config
from bonsai.adapters import clock
from bonsai.adapters.files import Files, ensure_private
from bonsai.adapters.lock import WriterLock
from bonsai.errors import BonsaiError, Busy, IoFailed, NotFound, Refused
from bonsai.notes import layout
from bonsai.notes.layout import Tree


class Committed(Protocol):
    """A report that names the commit of its run."""

    commit: str | None


Report = TypeVar("Report", bound=Committed)
if TYPE_CHECKING:
    from datetime import datetime

    from bonsai.adapters.git_history import GitHistory
    from bonsai.adapters.sqlite_cache import SqliteCache
    from bonsai.commits import Outside
    from bonsai.notes.change import Plan
    from bonsai.notes.draft import Draft
    from bonsai.notes.view import View
    from bonsai.run import Run

STATE, COLD = ".bonsai/state.db", ".bonsai/cold.db"
Progress = Callable[[str, int, int], None]


class Place:
    """A folder with its adapters: finding it, naming files in it, running in it."""

    _database = ("", "")  # URL and token of the cold tier, where a caller named one

    def __init__(
        self, root: str, agent: str = "", actor: str = "", session: str = "", progress: Progress | None = None
    ) -> None:
        self.root = root
        self.agent = "" if agent in ("", Tree().owner) else _agent_id(agent)  # in a database the two are one
        self.tree = Tree(self.agent)
        self.actor = actor or (f"agent:{self.agent}" if self.agent else "human")
        self._session = session or os.environ.get("BONSAI_SESSION", "")
        self._bar = progress
        self._store = Files(root)
        self.settings = self._settings()
        self._private = f"{root}/.bonsai"

    # What recall can do without is built by the verb that first asks for it.

    @cached_property
    def _history(self) -> GitHistory:
        from bonsai.adapters.git_history import GitHistory

        return GitHistory(self.root)

    @cached_property
    def _cache(self) -> SqliteCache:
        from bonsai.adapters.sqlite_cache import SqliteCache

        return SqliteCache(f"{self._private}/cache/tree.db")

    @cached_property
    def _outside(self) -> Outside:
        from bonsai.adapters.journal import FileJournal
        from bonsai.commits import Outside
        from bonsai.ports.history import Author

        return Outside(
            store=self._store,
            cache=self._cache,
            history=self._history,
            journal=FileJournal(f"{self._private}/journal"),
            lock=WriterLock(f"{self._private}/lock", float(self.settings["commit", "lock_seconds"])),
            settings=self.settings,
            clock=clock.now,
            ignore_text=template("memory-gitignore"),
            actor=self.actor,
            session=self._session,
            author=Author(self.agent, f"{self.agent}@agents.invalid") if self.agent else Author(),
            progress=self._bar,
            accesses=self._accesses,
        )

    # -- finding ---------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        agent: str = "",
        actor: str = "",
        session: str = "",
        progress: Progress | None = None,
    ) -> Self:
        """Open the workspace at exactly this folder. Raises NotFound, Misconfigured (bonsai.toml)."""
        root = os.path.realpath(path)
        if not os.path.isdir(root):
            raise NotFound("there is no such folder", path=os.fspath(path), hint="Run `bonsai init DIR` to make one.")
        return cls(root, agent, actor, session, progress)

    @classmethod
    def find(cls, start: str | os.PathLike[str] = ".") -> str:
        """The nearest folder, from `start` upwards, that holds memory/ or MEMORY.md. Raises NotFound."""
        found = Files.find_workspace(os.path.realpath(start))
        if found is None:
            raise NotFound(
                "there is no workspace here or above",
                path=os.fspath(start),
                hint="Go into one, name one with -C DIR, or make one with `bonsai init`.",
            )
        return found

    def locate(self, name: str, cwd: str | None = None) -> str:
        """A FILE argument as a workspace-relative path: from `cwd` where it stands there, else from the workspace.

        The workspace itself is ".". Raises Refused for a path that leaves it.
        """
        candidates = []
        for base in ([os.path.realpath(cwd)] if cwd else []) + [self.root]:
            full = os.path.normpath(os.path.join(base, name))
            if full == self.root:
                return "."
            if not full.startswith(f"{self.root}/"):
                continue
            candidates.append(full[len(self.root) + 1 :])
        if not candidates:
            raise Refused("leaves the workspace", path=name, hint="Name a file inside the workspace.")
        return next((path for path in candidates if self._store.exists(path)), None) or self._spelled(candidates)

    def locate_file(self, name: str, cwd: str | None = None) -> str:
        """Like `locate`, for verbs that take no folder. Raises NotFound for one."""
        path = self.locate(name, cwd)
        if os.path.isdir(os.path.join(self.root, os.fsdecode(path.encode("utf-8", "surrogateescape")))):
            raise NotFound("is a folder", path=path, hint="Name a file in it.")
        return path

    def _spelled(self, candidates: list[str]) -> str:
        """The spelling on disk of a file or folder that is typed in another Unicode form, else the likeliest name."""
        import unicodedata

        if not all(map(str.isascii, candidates)):
            for entry in self._store.scan():
                parts = entry.path.split("/")
                for path in candidates:
                    found = "/".join(parts[: path.count("/") + 1])
                    if unicodedata.normalize("NFC", found) == unicodedata.normalize("NFC", path):
                        return found
        ours = [path for path in candidates if path.startswith(("memory/", "MEMORY"))]
        # `memory/x.md`, typed inside memory/, is the workspace's: nobody means memory/memory/x.md
        return min(ours, key=lambda path: path.startswith("memory/memory/"), default=candidates[0])

    def _settings(self) -> config.Settings:
        base, self.config_warnings = config.defaults(), list[str]()
        for folder in dict.fromkeys((f"{layout.MEMORY}/{self.tree.owner}", layout.MEMORY)):
            path = f"{folder}/config.json"
            with suppress(NotFound, Refused):  # of the tiered memory that bonsai took over; its own comes first
                base, self.config_warnings = config.original(self._store.read(path), path)
                break
        with suppress(NotFound):
            return config.parse(self._store.read(layout.CONFIG), base=base)
        return base

    def _boot(self) -> bytes:
        """The boot file; empty where there is none, or a symlink (a problem of its own)."""
        with suppress(NotFound, Refused):
            return self._store.read(self.tree.boot)
        return b""

    def now(self) -> datetime:
        """The time as this workspace sees it (`BONSAI_NOW` sets it), in UTC."""
        return clock.now()

    @property
    def now_iso(self) -> str:
        """The same as notes and indexes bear it."""
        from bonsai.notes import moment

        return moment.stamp(self.now())

    def need_standing(self) -> None:
        """Raises NotFound where the folder was moved, deleted or unmounted under us: that is not an empty memory."""
        if not os.path.isdir(self.root):
            raise NotFound("the workspace is gone", path=self.root, hint="Mount it, or move it back.")

    def close(self) -> None:
        """Release the files that are open."""
        if "_cache" in self.__dict__:
            self._cache.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the one way to change notes -------------------------------------------------------------------

    @contextmanager
    def _writing(self, usable: bool = True, actor: str = "") -> Iterator[Run]:
        """A run that holds the lock. See `Run.writing`."""
        from bonsai.run import Run

        self.need_standing()
        ensure_private(self.root)
        outside = replace(self._outside, actor=actor) if actor else self._outside
        with Run.writing(outside, usable) as run:
            yield run

    def _run(
        self,
        make: Callable[[Run, View, Draft], tuple[Plan, Report]],
        *,
        actor: str = "",
        forgive: bool = False,
        spare: str = "",
    ) -> Report:
        """Look, commit pending edits by themselves, plan, carry out: one commit, or nothing at all.

        `forgive`: many notes that are gone at once do not stop it, since it may bring them back; `spare`: what is gone
        at or below this path is not committed as deleted.
        """
        with self._writing(actor=actor) as run:
            run.look()
            run.commit_edits(forgive, spare)
            plan, report = make(run, run.view, run.draft())
            report.commit = run.carry_out(plan)
            run.save()
            return report

    @contextmanager
    def _reading(self) -> Iterator[tuple[Run, bool]]:
        """A look that changes nothing; what it learnt is kept when nobody else is at work."""
        from bonsai.run import Run

        self.need_standing()
        state = self._history.state()
        run = Run(self._outside)
        run.usable = state.exists and state.blocked not in ("unusable", "bare")
        run.calm = state.exists and state.blocked is None
        try:
            ensure_private(self.root)
            lock = self._outside.lock(0)
            lock.__enter__()
        except (Busy, IoFailed, OSError, Refused):  # IoFailed: a file system that is mounted for reading
            run.writer = False
            yield run, False
            return
        try:
            yield run, True
            run.save()
        finally:
            lock.__exit__(None, None, None)

    def _accesses(self) -> dict[str, int]:
        """How often recall gave each note to somebody."""
        if not self._store.exists(STATE):
            return {}
        from bonsai.adapters.sqlite_state import SqliteState

        state = SqliteState(f"{self.root}/{STATE}")
        try:
            return {path: count for path, (count, _) in state.uses().items()}
        finally:
            state.close()

    def _json(self, path: str) -> dict[str, Any]:
        """A state file of ours, empty where it is missing or damaged."""
        import json

        with suppress(BonsaiError, ValueError, RecursionError):
            found = json.loads(self._store.read(path))
            return found if isinstance(found, dict) else {}
        return {}


def _agent_id(name: str) -> str:
    from bonsai.notes import taxonomy

    return taxonomy.agent_id(name)


def template(name: str) -> str:
    """A text that comes with bonsai. Raises IoFailed."""
    from importlib import resources

    try:
        return (resources.files("bonsai_templates") / name).read_text("utf-8")
    except OSError as error:
        raise IoFailed(f"{error.strerror}", path=name, hint="If it stays so, install bonsai again.") from error
