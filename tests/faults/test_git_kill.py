"""Kills inside git: before, after and in the middle of each git process that a verb starts, with bonsai or alone."""

import os
import random
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import pytest
from harness import Outcome
from scenes import SCENES, Scene, Stage

POINTS = 7  # of each verb and kind in the default run
CODES = {0, 69, 74, 75, 78}  # what a verb may answer when a git of its own was killed
#: A git that counts how often it is started, and the one time kills itself (and who started it).
SHIM = """#!/bin/sh
read n <"$SHIM/count"
n=$((n + 1))
echo $n >"$SHIM/count"
[ $n = "$SHIM_AT" ] || exec "$SHIM_GIT" "$@"
case $SHIM_HOW in
before) ;;
after) "$SHIM_GIT" "$@" ;;
*)
    exec 3<&0
    "$SHIM_GIT" "$@" <&3 3<&- &
    sleep "$SHIM_HOW"
    kill -9 $! ;;
esac
[ -z "$SHIM_BOTH" ] || kill -9 $PPID
kill -9 $$
"""


@dataclass(frozen=True)
class Kill:
    """The `at`-th git process dies before or after its work, or after so many seconds; `both`: bonsai too."""

    at: int
    how: str
    both: bool


def run(act: Callable[[], Any], shim: Path, kill: Kill) -> tuple[Outcome, int]:
    """How it ended, and how many git processes were started."""
    (shim / "count").write_text("0\n")
    env = {"PATH": f"{shim}:{os.environ['PATH']}", "SHIM": str(shim), "SHIM_GIT": str(shutil.which("git"))}
    env |= {"SHIM_AT": str(kill.at), "SHIM_HOW": kill.how, "SHIM_BOTH": "yes" if kill.both else ""}
    found = harness.run(act, env=env)
    return found, int((shim / "count").read_text())


def make_shim(folder: Path) -> Path:
    folder.mkdir()
    (folder / "git").write_text(SHIM)
    (folder / "git").chmod(0o755)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("both", [True, False], ids=["with-bonsai", "alone"])
@pytest.mark.parametrize(
    "scene", [scene for scene in SCENES if scene.name != "restore-at"], ids=lambda scene: scene.name
)
def test_a_git_that_is_killed_leaves_nothing_half_done(scene: Scene, both: bool, stage_of, folder: Path):
    stage = stage_of(scene)
    _, count = run(scene.call(stage.copy()), make_shim(folder / f"{scene.name}-{both}"), Kill(0, "before", both))
    dice = random.Random(scene.name)
    kills = [
        Kill(at, how, both)
        for at in range(1, count + 1)
        for how in ("before", f"{dice.uniform(0, 0.005):.4f}", "after", f"{dice.uniform(0, 0.02):.4f}")
    ]
    chosen = [kills[at - 1] for at in harness.spread(len(kills), POINTS)]

    def strike(kill: Kill) -> str:
        root = stage.copy()
        found, _ = run(scene.call(root), make_shim(folder / f"{root.name}-shim"), kill)
        wrong = stage.torn(root)
        if found.killed is not kill.both:
            wrong.append("was not killed" if both else "was killed")
        if not both:
            wrong += answered(stage, root, found)
        wrong += stage.unsettled(root, harness.run(scene.again(root)))
        if wrong:
            return f"{kill} ({found}): {'; '.join(wrong)}"
        shutil.rmtree(root)
        return ""

    failed = harness.in_parallel(chosen, strike)
    assert not failed, "\n".join([f"{len(failed)} of {len(chosen)}", *failed[:8]])


def answered(stage: Stage, root: Path, found: Outcome) -> list[str]:
    """What is wrong with how a verb ended whose git was killed."""
    wrong = []
    if found.bug or found.code not in CODES or (found.code and not found.path):
        wrong.append("no error with a path")
    if stage.scene.op not in {"", "edit"} and stage.happened(root) == bool(found.code):
        wrong.append(f"exit code {found.code}, but the commit says otherwise")
    return wrong + [f"left: {path}" for path in harness.leftovers(root)]


#: A git that takes its time before it makes a commit, and so outlives a bonsai that was killed meanwhile.
SLOW = """#!/bin/sh
case " $* " in *" fast-import "*) sleep 0.3 ;; esac
exec "$SHIM_GIT" "$@"
"""


@pytest.mark.slow
def test_the_next_command_waits_for_a_git_that_outlived_its_bonsai(stage_of, folder: Path):
    scene = next(scene for scene in SCENES if scene.name == "archive")
    stage, shim, outlived = stage_of(scene), make_shim(folder / "slow"), 0
    (shim / "git").write_text(SLOW)
    env = {"PATH": f"{shim}:{os.environ['PATH']}", "SHIM_GIT": str(shutil.which("git"))}
    for at in range(1, 100):
        root = stage.copy()
        harness.run(scene.again(root))  # so that there is nothing to commit but what the verb does
        if not harness.run(scene.call(root), kill_at=at, only="os.write", env=env).killed:
            break
        if _is_at_work(root):
            outlived += 1
            wrong = stage.torn(root)
            after = harness.run(scene.again(root))
            while _is_at_work(root):
                time.sleep(0.01)
            wrong += stage.unsettled(root, after)
            assert not wrong, f"step {at}: {wrong}"
        shutil.rmtree(root)
    assert 0 < outlived < at < 99


def _is_at_work(root: Path) -> bool:
    """Whether a process has its current folder in the workspace."""
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            if place.readlink() == root:
                return True
    return False
