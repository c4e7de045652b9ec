"""kill -9 at every step of every verb: nothing is lost or torn, and the next command puts everything right."""

import shutil
from pathlib import Path

import harness
import pytest
from harness import Outcome, git, in_head, managed
from scenes import SCENES, WORDS, Scene, Stage

from bonsai.notes import boot

POINTS = 22  # of each verb, in the default run


@pytest.fixture(scope="module")
def folder():
    with harness.scratch() as found:
        yield found


def torn(stage: Stage, root: Path) -> list[str]:
    """What a person would see right after the kill: whole files, old or new, and none missing."""
    wrong, now = [], harness.timeless(managed(root))
    known = [harness.timeless(files) for files in (stage.before, stage.without, stage.whole)]
    for path, data in now.items():
        versions = [files[path] for files in known if path in files]
        if path.startswith("MEMORY") and path.endswith(".md"):  # its block may be a step ahead of its text
            data, versions = boot.strip(data), [boot.strip(item) for item in versions]
        if data not in versions:
            wrong.append(f"{path} is neither old nor new: {data!r}")
    wrong += [f"{path} is missing" for path in stage.before if path in stage.whole and path not in now]
    text = b"\n".join(now.values())
    kept = b"\n".join(stage.whole.values())
    wrong += [f"{word} is lost" for word in WORDS if word.encode() in kept and word.encode() not in text]
    return wrong


def settled(stage: Stage, root: Path, after: Outcome) -> list[str]:
    """What is wrong once the next command ran."""
    wrong = []
    if after.killed or after.bug or after.code:
        wrong.append(f"the next command: {after}")
    if after.seconds > 2:
        wrong.append(f"the next command took {after.seconds:.1f} s")
    now = managed(root)
    happened = stage.scene.op in _ops(root, stage)
    wanted = stage.whole if happened else stage.without
    if harness.timeless(now) != harness.timeless(wanted):
        differ = sorted(path for path in now.keys() | wanted.keys() if now.get(path) != wanted.get(path))
        wrong.append(f"{'happened' if happened else 'did not happen'}, but not {differ}")
    if in_head(root) != now:
        wrong.append("disk and HEAD differ")
    if sound := harness.sound(root):
        wrong.append(sound)
    if stage.elsewhere and harness.staged_elsewhere(root) != stage.elsewhere:
        wrong.append(f"what was staged elsewhere: {harness.staged_elsewhere(root)}")
    return wrong + [f"left: {path}" for path in harness.leftovers(root)]


def _ops(root: Path, stage: Stage) -> list[str]:
    span = [f"{stage.base}..HEAD"] if stage.base else ["HEAD"]
    return git(root, "log", "--format=%(trailers:key=Bonsai-Op,valueonly,separator=%x20)", *span).split()


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_kill_at_any_step_loses_nothing_and_the_next_command_puts_it_right(scene: Scene, folder: Path):
    stage = Stage(scene, folder)
    assert stage.steps > 20

    def kill(at: int) -> str:
        root = stage.copy()
        found = harness.run(scene.call(root), kill_at=at)
        if not found.killed:
            return f"step {at}: {found}"
        wrong = torn(stage, root)
        wrong += settled(stage, root, harness.run(scene.again(root)))
        if wrong:
            return f"step {at}, {found.step}: {'; '.join(wrong)}"
        shutil.rmtree(root)
        return ""

    failed = harness.in_parallel(harness.spread(stage.steps, POINTS), kill)
    assert not failed, "\n".join([f"{len(failed)} of {stage.steps}", *failed[:8]])
