"""The disk is full, fails, or may not be written, at every step of every verb: an error with a path, nothing lost."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import harness
import pytest
from harness import ERRNOS, Fault, Outcome
from scenes import SCENES, Scene

POINTS = 14  # of each verb in the default run
WHOLE = 401  # of about two thousand with BONSAI_FAULTS=all, which would take hours
CODES = {69, 73, 74, 75, 77, 78}
READING = ("open to read", "os.listdir", "os.scandir")
FULL = {errno.ENOSPC, errno.EDQUOT}


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_an_error_of_the_system_is_told_with_its_path_and_loses_nothing(scene: Scene, stage_of):
    stage = stage_of(scene)
    faults = []
    for number in ERRNOS:
        root = stage.copy()
        steps = harness.run(scene.call(root), fault=Fault(number, 0, False)).steps
        faults += [Fault(number, at, lasting) for at in range(1, steps + 1) for lasting in (False, True)]
    chosen = [faults[at - 1] for at in harness.spread(len(faults), POINTS, WHOLE)]

    def fail(fault: Fault) -> str:
        root = stage.copy()
        found = harness.run(scene.call(root), fault=fault)
        exact = not found.step.startswith(READING)
        wrong = told(found) + stage.torn(root, exact)
        if fault.number in FULL:  # else it may be the clearing up that failed, and the next command does it
            wrong += [f"left: {path}" for path in harness.leftovers(root)]
        if exact and scene.op not in {"", "edit"} and stage.happened(root) == bool(found.code):
            wrong.append(f"exit code {found.code}, but the commit says otherwise")
        wrong += stage.unsettled(root, harness.run(scene.again(root)), exact)
        if wrong:
            name = errno.errorcode[fault.number]
            return f"{name} {fault.at}{'+' if fault.lasting else ''} {found.step} ({found}): {'; '.join(wrong)}"
        shutil.rmtree(root)
        return ""

    failed = harness.in_parallel(chosen, fail)
    assert not failed, "\n".join([f"{len(failed)} of {len(chosen)}", *failed[:8]])


def told(found: Outcome) -> list[str]:
    """What is wrong with how an error was told."""
    if found.bug or found.killed:
        return ["no BonsaiError"]
    if found.code and (found.code not in CODES or not found.path):
        return [f"code {found.code}, path {found.path}: {found.words}"]
    return []


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    with harness.small_disk(folder / "disk", "4m") as disk:
        yield disk


FILLED = ("migrate", "archive", "apply", "undo", "commit", "daily")


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 4096, 8192, 16384])
@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene.name in FILLED], ids=lambda scene: scene.name)
def test_a_disk_that_is_really_full_loses_nothing(scene: Scene, left: int, stage_of, small_disk: Path):
    stage = stage_of(scene)
    root = small_disk / "ws"
    shutil.copytree(stage.template, root, symlinks=True)
    filler = small_disk / "filler"
    _fill(filler, left)
    found = harness.run(scene.call(root))
    wrong = told(found) + stage.torn(root)
    assert not wrong, f"{found}: {wrong}"
    filler.unlink()
    wrong = stage.unsettled(root, harness.run(scene.again(root)))
    assert not wrong, f"{found}: {wrong}"


def _fill(filler: Path, left: int) -> None:
    with open(filler, "wb", buffering=0) as file:
        with suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        file.truncate(file.tell() - left)
    free = os.statvfs(filler)
    assert free.f_bavail * free.f_frsize == left
