"""Workspaces in the middle of a working day, and what each verb does to them."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
from harness import Outcome, git, managed

from bonsai.notes import boot
from bonsai.passes.remember import Wanted
from bonsai.workspace import Workspace

GENERAL, BUSINESS = "memory/domains/general", "memory/domains/business"
#: Each note holds one word that no other has: a word that is nowhere any more is a note that was lost.
NOTES = {
    "MEMORY.md": "# Memory\n\nPREAMBLE-WORD\n\n## Pricing plans\n\n"
    "PRICING-WORD, see [alpha](memory/domains/general/alpha.md)\n\n## Deploy notes\n\nDEPLOY-WORD\n",
    f"{GENERAL}/alpha.md": "---\ntitle: Alpha\ncreated: 2025-01-01\n---\n# Alpha\n\nALPHA-WORD\n\n"
    "See [beta](beta.md).\n\none\n\ntwo\n\nthree\n",
    f"{GENERAL}/beta.md": "# Beta\n\nBETA-WORD\n\nSee [alpha](alpha.md) and [[gamma]].\n",
    f"{GENERAL}/gamma.md": "---\ncreated: 2025-01-01\n---\n# Gamma\n\nGAMMA-WORD\n",
    f"{GENERAL}/delta.md": "---\ncreated: 2025-01-01\n---\n# Delta\n\nDELTA-WORD\n",
    f"{GENERAL}/parts.md": "---\ncreated: 2025-01-01\n---\n## One\n\nONE-WORD\n\n## Two\n\nTWO-WORD\n",
    f"{BUSINESS}/costs.md": "---\ndomain: business\n---\r\n# Costs\r\n\r\nCOSTS-WORD [alpha](../general/alpha.md)\r\n",
    f"{BUSINESS}/old.md": "# Old\n\nOLD-WORD\n",
    f"{BUSINESS}/older.md": "# Older\n\nOLDER-WORD\n",
    "memory/daily/2026-03-15.md": "# 2026-03-15\n\n- DAILY-WORD\n",
}
WORDS = sorted({word for text in NOTES.values() for word in text.replace(",", " ").split() if word.endswith("-WORD")})


@dataclass(frozen=True)
class Scene:
    """A verb; `start` prepares the workspace for it, `op` is the Bonsai-Op of its commit."""

    name: str
    act: Callable[[Workspace], Any]
    op: str
    start: Callable[[Path], None] = lambda root: None
    bare: bool = False  # the folder has notes, but no repository yet
    makes: frozenset[str] = frozenset()  # files that are there afterwards

    def call(self, root: Path) -> Callable[[], Any]:
        """The verb as a command would run it."""
        if self.bare:
            return lambda: Workspace.init(root) and None
        return harness.verb(root, self.act)

    def again(self, root: Path) -> Callable[[], Any]:
        """The next command, which has to succeed by itself."""
        return self.call(root) if self.bare else harness.verb(root, Workspace.commit)


DECISIONS: dict[str, Any] = {}  # on the notes of the scene `apply`, the same in every copy


def _decide(root: Path) -> None:
    """A reflection that waits, with every kind of decision."""
    harness.run(harness.verb(root, Workspace.reflect))
    staging = json.loads((root / "memory/_reflect_staging.json").read_bytes())
    chosen: dict[str, dict[str, Any]] = {
        f"{GENERAL}/alpha.md": {"decision": "merge", "into": f"{BUSINESS}/costs.md"},
        f"{GENERAL}/gamma.md": {"decision": "archive", "reason": "done"},
        f"{GENERAL}/delta.md": {"decision": "migrate", "domain": "tech"},
        f"{GENERAL}/parts.md": {"decision": "split", "parts": [{"name": "One"}, {"name": "Two"}]},
    }
    for item in staging["candidates"]:
        item.update(chosen.pop(item["file"], {"decision": "keep"}))
    assert not chosen, f"no candidates: {chosen}"
    DECISIONS.update(staging)


def _apply(workspace: Workspace) -> None:
    workspace.reflect_apply(DECISIONS)


def _to_undo(root: Path) -> None:
    """A run with several files, and an edit since in one of them."""
    harness.run(harness.verb(root, lambda workspace: workspace.move(f"{GENERAL}/alpha.md", "tech")))
    moved = root / "memory/domains/tech/alpha.md"
    moved.write_text(moved.read_text() + "\nAdded later.\n")


def _archive(workspace: Workspace) -> None:
    workspace.archive(f"{GENERAL}/gamma.md", f"{BUSINESS}/costs.md", reason="done")


def _restore_at(workspace: Workspace) -> None:
    workspace.restore(f"{GENERAL}/beta.md@HEAD~1")


def _old_facts(root: Path) -> None:
    """Facts that are worth little, in two folders."""
    old = [
        Wanted(f"Bought {what}.", where, importance=0.2, created="2020-01-01T08:00:00Z")
        for where in ("shop", "mill/daily")
        for what in ("milk", "bread", "salt")
    ]
    harness.run(harness.verb(root, lambda workspace: workspace.remember_all(old)))


def _many(root: Path) -> None:
    """So many new notes that what git is told of them need not go through a pipe at once."""
    for number in range(100):
        (root / GENERAL / f"{number}-{'long-name-' * 20}.md").write_text(f"# {number}\n")


DECIDED = frozenset(
    [f"{GENERAL}/{name}.md" for name in ("gamma__DELETE", "alpha__DELETE", "parts__DELETE", "one", "two")]
    + ["memory/domains/tech/delta.md"]
)
MANY = Scene("many", lambda workspace: workspace.commit(), "edit", _many)
SCENES = [
    Scene("migrate", lambda workspace: workspace.migrate(), "migrate"),
    Scene("move", lambda workspace: workspace.move(f"{GENERAL}/alpha.md", "tech"), "move"),
    Scene("archive", _archive, "archive"),
    Scene("purge", lambda workspace: workspace.purge(), "purge"),
    Scene("consolidate", lambda workspace: workspace.consolidate(), "consolidate", _old_facts),
    Scene("apply", _apply, "reflect", _decide, makes=DECIDED),
    Scene("undo", lambda workspace: workspace.undo(), "undo", _to_undo),
    Scene("restore", lambda workspace: workspace.restore(f"{BUSINESS}/old.md"), "restore"),
    Scene("restore-at", _restore_at, "restore"),
    Scene("commit", lambda workspace: workspace.commit(), "edit"),
    Scene("reindex", lambda workspace: workspace.reindex(), ""),
    Scene("daily", lambda workspace: workspace.daily_add("NEW-WORD"), "daily"),
    Scene("init", lambda workspace: None, "init", bare=True),
]


class Stage:
    """A scene with its workspace built once; `copy` gives one to break."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene, self._folder = scene, folder
        self.template = folder / f"{scene.name}-template"
        _build(self.template, scene)
        scene.start(self.template)
        self._count = 0
        self.before = managed(self.template)
        self.base = "" if scene.bare else git(self.template, "rev-parse", "HEAD").strip()
        self.elsewhere = "" if scene.bare else harness.staged_elsewhere(self.template)
        self.without = self._after(scene.again) if not scene.bare else self._after(scene.call)
        done = self.copy()
        counted = harness.run(scene.call(done))
        assert not counted.bug and not counted.code, str(counted)
        again = harness.run(scene.again(done))
        assert not again.bug and not again.code, str(again)
        self.whole = managed(done)
        assert not scene.op or self.happened(done), "the verb did nothing"
        assert scene.makes <= self.whole.keys(), f"not made: {scene.makes - self.whole.keys()}"
        assert not harness.sound(done), harness.sound(done)
        shutil.rmtree(done)
        self.steps = self._count_steps()

    def _after(self, act: Callable[[Path], Callable[[], Any]]) -> dict[str, bytes]:
        root = self.copy()
        found = harness.run(act(root))
        assert not found.bug and not found.code, str(found)
        found_files = managed(root)
        shutil.rmtree(root)
        return found_files

    def _count_steps(self) -> int:
        root = self.copy()
        steps = harness.run(self.scene.call(root)).steps
        shutil.rmtree(root)
        return steps

    def copy(self, source: Path | None = None) -> Path:
        """A copy of the workspace as it was at the start, or of another one."""
        self._count += 1
        root = self._folder / f"{self.scene.name}-{os.getpid()}-{self._count}"
        shutil.copytree(source or self.template, root, symlinks=True)
        return root

    # -- what may be found afterwards ------------------------------------------------------------------

    def torn(self, root: Path, exact: bool = True) -> list[str]:
        """What is wrong with what a person would see right after: whole files, old or new, and none missing.

        exact: also of the indexes, which know less while a note cannot be read.
        """
        wrong, now = [], harness.timeless(managed(root))
        known = [harness.timeless(files) for files in (self.before, self.without, self.whole)]
        for path, data in now.items():
            same = boot.strip if path == "MEMORY.md" else bytes  # its block may be a step ahead of its text
            good = same(data) in [same(files[path]) for files in known if path in files]
            if not good and (exact or not path.endswith("_index.md")):
                wrong.append(f"{path} is neither old nor new: {data!r}")
        must = [path for path in self.before if path in self.whole and (exact or not path.endswith("_index.md"))]
        wrong += [f"{path} is missing" for path in must if path not in now]
        wrong += [f"{word} is lost" for word in self._lost(now)]
        if not self.scene.bare:
            wrong += [f"{word} is not in HEAD any more" for word in self._lost(harness.in_head(root))]
        return wrong

    def _lost(self, now: dict[str, bytes]) -> list[str]:
        text, kept = (b"\n".join(files.values()) for files in (now, self.whole))
        return [word for word in WORDS if word.encode() in kept and word.encode() not in text]

    def happened(self, root: Path) -> bool:
        """Whether HEAD has the commit of the verb."""
        span = f"{self.base}..HEAD" if self.base else "HEAD"
        ops = git(root, "log", "--format=%(trailers:key=Bonsai-Op,valueonly,separator=%x20)", span, check=False)
        return self.scene.op in ops.split()

    def unsettled(self, root: Path, after: Outcome, exact: bool = True) -> list[str]:
        """What is wrong once the next command, which ended as `after`, ran.

        exact: the verb did all that it does, or nothing; a note that it could not read it may have left alone.
        """
        wrong = []
        if after.killed or after.bug or after.code:
            wrong.append(f"the next command: {after}")
        if after.seconds > 2:
            wrong.append(f"the next command took {after.seconds:.1f} s")
        now, happened = managed(root), self.happened(root)
        wanted = self.whole if happened else self.without
        wrong += [f"{word} is lost" for word in self._lost(now)]
        if exact and harness.timeless(now) != harness.timeless(wanted):
            differ = sorted(path for path in now.keys() | wanted.keys() if now.get(path) != wanted.get(path))
            wrong.append(f"{'happened' if happened else 'did not happen'}, but not {differ}")
        if harness.in_head(root) != now:
            wrong.append("disk and HEAD differ")
        if found := harness.sound(root):
            wrong.append(found)
        if self.elsewhere and harness.staged_elsewhere(root) != self.elsewhere:
            wrong.append(f"what was staged elsewhere: {harness.staged_elsewhere(root)}")
        return wrong + [f"left: {path}" for path in harness.leftovers(root)]


def _build(root: Path, scene: Scene) -> None:
    for name, text in NOTES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    if scene.bare:
        return
    git(root, "init", "-q", "-b", "main", "--template=")
    (root / ".gitignore").write_text(".bonsai/\n")
    (root / "other.txt").write_text("a person's other work\n")
    git(root, "add", ".gitignore", "other.txt")
    git(root, "commit", "-qm", "other work")
    for day, act in (
        ("2025-01-01", lambda: Workspace.init(root) and None),
        ("2025-01-02", harness.verb(root, lambda workspace: workspace.archive(f"{BUSINESS}/old.md"))),
        ("2026-03-01", harness.verb(root, lambda workspace: workspace.archive(f"{BUSINESS}/older.md"))),
    ):
        found = harness.run(act, env={"BONSAI_NOW": f"{day}T12:00:00Z"})
        assert not found.bug and not found.code, str(found)
    beta = root / f"{GENERAL}/beta.md"  # a hand edit that is not committed yet
    beta.write_text(beta.read_text() + "\nEDIT-WORD\n")
    (root / "other.txt").write_text("changed and staged\n")
    (root / "staged.txt").write_text("new and staged\n")
    git(root, "add", "other.txt", "staged.txt")
    (root / "other.txt").write_text("changed once more\n")
