"""Our own state files, damaged in every way: every verb goes on, and no note is lost."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bonsai.errors import BonsaiError
from bonsai.workspace import Workspace

NOTE = "memory/domains/general/inbox.md"
OLD = "memory/domains/general/old__DELETE.md"
STATE = (
    ".bonsai/cache/tree.db",
    "memory/_meta.json",
    "memory/_stats.json",
    "memory/_purge_log.json",
    "memory/_reflect_staging.json",
)
DAMAGES = ("zero", "garbage", "truncated", "flip", "old schema", "newer schema", "directory", "locked", "read-only")


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that has each state file."""
    root = tmp_path_factory.mktemp("state") / "ws"
    root.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BONSAI_NOW", "2026-03-15T08:15:00Z")
        Workspace.init(root)
        (root / NOTE).parent.mkdir(parents=True)
        (root / NOTE).write_text("# Inbox\n\n" + "A line of some length, to be sure.\n" * 90)
        (root / OLD).write_text("# Old\n")
        with Workspace.open(root) as space:
            space.commit()
        patch.setenv("BONSAI_NOW", "2026-12-15T08:15:00Z")
        with Workspace.open(root) as space:
            space.purge()
            space.reflect()
            space.reindex()
    shutil.rmtree(root / ".git/hooks", ignore_errors=True)
    return root


@pytest.fixture
def root(seed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BONSAI_NOW", "2026-12-15T09:15:00Z")
    shutil.copytree(seed, tmp_path / "ws")
    with Workspace.open(tmp_path / "ws") as space:
        space.status()
    return tmp_path / "ws"


def break_bytes(path: Path, how: str) -> None:
    data = path.read_bytes()
    middle = len(data) // 2
    changed: dict[str, bytes] = {
        "zero": b"",
        "garbage": b"\xff\x00 nonsense {[\n" * 300,
        "truncated": data[:middle],
        "flip": data[:middle] + bytes(byte ^ 0xFF for byte in data[middle : middle + 64]) + data[middle + 64 :],
    }
    path.write_bytes(changed[how])


def another_schema(path: Path, how: str) -> None:
    if path.suffix == ".db":
        with sqlite3.connect(path) as database:
            [number] = database.execute("PRAGMA user_version").fetchone()
            database.execute(f"PRAGMA user_version = {number + (1 if how == 'newer schema' else -1)}")
        database.close()
        return
    other: Any = {"version": 99, "entries": {"x": [1]}} if how == "newer schema" else [["x"], 7, None]
    path.write_text(json.dumps(other))


@contextmanager
def damage(path: Path, how: str) -> Iterator[None]:
    if how in ("old schema", "newer schema"):
        another_schema(path, how)
    elif how == "directory":
        path.unlink()
        (path / "x").mkdir(parents=True)
    elif how == "read-only":
        path.chmod(0o444)
    elif how == "locked" and path.suffix == ".db":
        database = sqlite3.connect(path)
        database.execute("BEGIN EXCLUSIVE")
        yield
        database.close()
        return
    elif how == "locked":
        import fcntl

        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        return
    else:
        break_bytes(path, how)
    yield


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", STATE)
def test_every_verb_goes_on(root: Path, name: str, how: str) -> None:
    assert (root / name).is_file()
    before = (root / NOTE).read_bytes()
    with damage(root / name, how):
        (root / "memory/dates.md").write_text("# Dates\n\n- the fair\n")

        def ask(verb: Callable[[Workspace], Any]) -> Any:
            with Workspace.open(root) as space:
                return verb(space)

        assert ask(lambda space: space.status()).notes == 1
        assert ask(lambda space: space.recall("fair")).hits
        ask(lambda space: space.commit())
        ask(lambda space: space.reindex())
        assert ask(lambda space: space.status()).uncommitted <= 1, "a log that is a folder cannot be committed"
        ask(lambda space: space.archive("memory/dates.md"))
        ask(lambda space: space.undo())
        try:
            ask(lambda space: space.reflect_show())
            ask(lambda space: space.reflect())
        except BonsaiError as error:
            assert name.endswith("staging.json") and error.hint, error
        ask(lambda space: space.doctor(fix=True))
    assert (root / NOTE).read_bytes() == before
    assert (root / "memory/dates.md").read_text() == "# Dates\n\n- the fair\n"
    with Workspace.open(root) as space:
        assert space.log(limit=1).commits[0].op == "undo"
        assert space.doctor().checks[0].ok


@pytest.mark.parametrize("how", ["garbage", "truncated", "flip", "newer schema"])
def test_a_damaged_purge_log_is_kept_beside_the_new_one(root: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / "memory/_purge_log.json"
    with damage(path, how):
        kept = path.read_bytes()
    (root / OLD).write_text("# Old\n")
    with Workspace.open(root) as space:
        space.commit()
    monkeypatch.setenv("BONSAI_NOW", "2027-12-15T09:15:00Z")
    with Workspace.open(root) as space:
        assert space.purge().commit
    assert [item["file"] for item in json.loads(path.read_bytes())][-1] == OLD
    assert kept in [other.read_bytes() for other in root.glob("memory/_purge_log*")]
    assert os.listdir(root / "memory")
