"""kill -9 at every step of every verb: nothing is lost or torn, and the next command puts everything right."""

import shutil
import time
from pathlib import Path

import harness
import pytest
from scenes import MANY, SCENES, Scene

POINTS = 20  # of each verb in the default run
NEARLY = 0.95  # of the steps: a run takes some more or less, as it waits for git or not, and may be done by the last
TWICE = ("migrate", "move", "apply", "undo", "init")  # whose recovery is killed too


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_kill_at_any_step_loses_nothing_and_the_next_command_puts_it_right(scene: Scene, stage_of):
    stage = stage_of(scene)
    assert stage.steps > 20

    def kill(at: int) -> str:
        root = stage.copy()
        found = harness.run(scene.call(root), kill_at=at)
        if not found.killed and (found.code or at < stage.steps * NEARLY):
            return f"step {at}: {found}"
        wrong = stage.torn(root)
        wrong += stage.unsettled(root, harness.run(scene.again(root)))
        if wrong:
            return f"step {at}, {found.step}: {'; '.join(wrong)}"
        shutil.rmtree(root)
        return ""

    failed = harness.in_parallel(harness.spread(stage.steps, POINTS), kill)
    assert not failed, "\n".join([f"{len(failed)} of {stage.steps}", *failed[:8]])


@pytest.mark.slow
@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene.name in TWICE], ids=lambda scene: scene.name)
def test_a_kill_of_the_recovery_loses_nothing_either(scene: Scene, stage_of):
    stage = stage_of(scene)
    points = []
    for part in (0.6, 0.75, 0.9):  # of the way, where most has changed already
        broken = stage.copy()
        at = int(stage.steps * part)
        assert harness.run(scene.call(broken), kill_at=at).killed
        time.sleep(0.1)  # a git that outlived the kill comes to its end
        steps = harness.run(scene.again(stage.copy(broken))).steps
        points += [(broken, at, second) for second in harness.spread(steps, 4)]

    def kill(point: tuple[Path, int, int]) -> str:
        broken, at, second = point
        root = stage.copy(broken)
        found = harness.run(scene.again(root), kill_at=second)
        if not found.killed:
            return f"steps {at}, {second}: {found}"
        wrong = stage.torn(root)
        wrong += stage.unsettled(root, harness.run(scene.again(root)))
        if wrong:
            return f"steps {at}, {second} {found.step}: {'; '.join(wrong)}"
        shutil.rmtree(root)
        return ""

    failed = harness.in_parallel(points, kill)
    assert not failed, "\n".join([f"{len(failed)} of {len(points)}", *failed[:8]])


@pytest.mark.slow
def test_a_kill_while_git_is_told_of_many_files_stages_no_half_a_name(stage_of):
    stage = stage_of(MANY)
    for at in range(1, 100):
        root = stage.copy()
        if not harness.run(MANY.call(root), kill_at=at, only="torn").killed:
            break
        time.sleep(0.05)  # git comes to its end
        staged = harness.git(root, "ls-files", "memory").splitlines()
        assert all(path.endswith((".md", ".bak", ".gitignore", ".gitattributes")) for path in staged), at
        shutil.rmtree(root)
    assert 5 < at < 99
