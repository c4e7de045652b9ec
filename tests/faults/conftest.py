"""What the suites of faults share."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import harness
import pytest
from scenes import Scene, Stage


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A scratch folder for the workspaces that are broken."""
    with harness.scratch() as found:
        yield found


@pytest.fixture(scope="session")
def stage_of(folder: Path) -> Callable[[Scene], Stage]:
    """The stage of a scene, built once."""
    return cache(lambda scene: Stage(scene, folder))


@pytest.fixture
def canary(tmp_path: Path) -> tuple[Path, str]:
    """(file that must not appear, program that makes it appear)."""
    mark, run = tmp_path / "CANARY", tmp_path / "bin" / "run"
    run.parent.mkdir()
    run.write_text(f'#!/bin/sh\necho "$0 $*" >>"{mark}"\nexit 0\n')
    run.chmod(0o755)
    return mark, str(run)
