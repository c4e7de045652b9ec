"""Each test of a verb has a workspace under git of its own, at a fixed time."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bonsai import Workspace
from verbs.sandbox import GENERAL, NOW, Sandbox, set_time


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BONSAI_NOW", NOW)


@pytest.fixture(scope="session")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty workspace, made once: to copy it is much faster than to make one for each test."""
    root = tmp_path_factory.mktemp("seed") / "ws"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BONSAI_NOW", NOW)
        Workspace.init(root)
    shutil.rmtree(root / ".git/hooks", ignore_errors=True)
    return root


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Sandbox]:
    """A folder with nothing in it."""
    (tmp_path / "ws").mkdir()
    box = Sandbox(tmp_path / "ws")
    yield box
    box.close()


@pytest.fixture
def box(tmp_path: Path, seed: Path) -> Iterator[Sandbox]:
    """An empty workspace."""
    shutil.copytree(seed, tmp_path / "ws", symlinks=True)
    box = Sandbox(tmp_path / "ws")
    yield box
    box.close()


@pytest.fixture
def garden(box: Sandbox) -> Sandbox:
    """A workspace with a few notes, all committed."""
    box.write(f"{GENERAL}/inbox.md", "# Inbox\n\nSort me.\n")
    box.write("memory/domains/business/pricing.md", "---\ntitle: Pricing\n---\n\nA dinner costs 895 kr.\n")
    box.write("memory/domains/business/seo/words.md", "# Words\n\nSee [the price](../pricing.md).\n")
    box.write("memory/dates.md", "# Dates\n\n- 2026-05-01: the fair\n")
    box.ws.commit()
    return box


@pytest.fixture
def at() -> Callable[[str], None]:
    """Set the time: `at("2026-05-01T08:00:00Z")`."""
    return set_time
