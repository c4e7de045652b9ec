"""examples/after is what bonsai makes of examples/before; quickstart and the scripts of the original work."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from console import NOW, TOP

from bonsai.cli.main import run

BEFORE, AFTER = TOP / "examples/before", TOP / "examples/after"
STATE = {"_meta.json", "_stats.json"}  # not committed, so not shown
BIN = Path(sys.executable).parent


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] in ("MEMORY.md", "memory") and path.name not in STATE
    }


@pytest.fixture
def migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BONSAI_NOW", NOW)
    shutil.copytree(BEFORE, tmp_path / "ws")
    for words in (["init"], ["migrate"]):
        assert run(["-C", str(tmp_path / "ws"), *words]) == 0
    return tmp_path / "ws"


def test_after_is_what_migrate_makes_of_before(migrated: Path, update: bool) -> None:
    made = files(migrated)
    if update:
        shutil.rmtree(AFTER, ignore_errors=True)
        for name, data in made.items():
            (AFTER / name).parent.mkdir(parents=True, exist_ok=True)
            (AFTER / name).write_bytes(data)
    assert made == files(AFTER)


def test_every_line_of_before_stands_in_after() -> None:
    notes = b"\n".join(data for name, data in files(AFTER).items() if not name.endswith((".bak", "_index.md")))
    lost = [line for line in (BEFORE / "MEMORY.md").read_bytes().splitlines() if line not in notes]
    assert not lost
    assert (AFTER / "memory/MEMORY.md.bak").read_bytes() == (BEFORE / "MEMORY.md").read_bytes()


def script(name: str, *arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [TOP / "scripts" / name, *arguments],
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_scripts_of_the_original(migrated: Path) -> None:
    ws = str(migrated)
    code, words = script("bonsai-reindex.sh", ws)
    assert (code, bool(re.fullmatch(r"Reindexed \d+ files across \d+ domains \(\d+ tokens\)\n", words))) == (0, True)
    note = "memory/domains/general/reading-list.md"
    code, words = script("bonsai-migrate.sh", note, "identity", ws)
    assert code == 0, words
    assert "\nReindexed " in words
    assert (migrated / "memory/domains/identity/reading-list.md").exists()
    code, words = script("bonsai-status.sh", BONSAI_WORKSPACE=ws)
    assert code == 0, words
    assert words.startswith("🌿 Bonsai Status\n") and words.endswith("Status: HEALTHY\n")
    assert run(["-C", ws, "archive", "memory/domains/identity/reading-list.md"]) == 0
    assert script("bonsai-status.sh", ws)[0] == 1
    code, words = script("bonsai-purge.sh", ws)
    assert (code, words) == (
        0,
        "Skipping reading-list__DELETE.md — 180 days remaining\n\nPurged 0 files. 1 files still in grace period.\n",
    )
    code, words = script("bonsai-purge.sh", ws, BONSAI_NOW="2026-09-15T09:00:00Z")
    assert code == 0
    assert "Purged: reading-list__DELETE.md (184d old)\n\nPurge log updated: memory/_purge_log.json\n" in words
    code, words = script("bonsai-reflect.sh", HOME=str(migrated.parent), BONSAI_WORKSPACE=ws)
    assert code == 0
    assert "Reflection staged: " in words


def test_the_scripts_fall_back_to_workspace_in_the_home_folder(migrated: Path) -> None:
    migrated.rename(migrated.with_name("workspace"))
    assert script("bonsai-reindex.sh", HOME=str(migrated.parent))[0] == 0
    assert script("bonsai-migrate.sh", "only-one")[0] == 64
    assert script("bonsai-migrate.sh", "memory/domains/general/none.md", "x", HOME=str(migrated.parent))[0] == 66


def test_scripts_are_short() -> None:
    for path in TOP.glob("scripts/bonsai-*.sh"):
        code = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
        assert len(code) <= 10, path.name


def test_quickstart(tmp_path: Path) -> None:
    if not (TOP / ".venv/bonsai-setup").exists():
        pytest.skip("the checkout's .venv was not made by scripts/setup-venv, and a test installs nothing")
    code, words = script("quickstart", str(tmp_path / "new"))
    assert code == 0, words
    assert "<!-- bonsai:begin -->" in words and "Next:" in words
    code, words = script("quickstart", str(tmp_path / "new"))
    assert (code, "is there already" in words) == (73, True)
