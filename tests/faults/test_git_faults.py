"""git killed at any moment, and a disk that is full: HEAD is the old commit or the new one, and the next try works."""

import os
import random
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bonsai.adapters.git_history import GitHistory
from bonsai.errors import BonsaiError, IoFailed
from bonsai.ports.history import Author, Blob, FileChange

NOW = datetime(2026, 3, 4, tzinfo=UTC)
NOTE = "memory/domains/a.md"

#: A git that, while the file CALM is absent, lets the real one run for DELAY seconds and then kills it.
SHIM = """#!{python}
import os, subprocess, sys, time
if os.path.exists({calm!r}) or not {word!r} in sys.argv:
    os.execv({git!r}, ["git", *sys.argv[1:]])
child = subprocess.Popen([{git!r}, *sys.argv[1:]])
time.sleep({delay})
if {children}:
    os.kill(0, 9)
child.kill()
child.wait()
os.kill(os.getpid(), 9)
"""


def repository(folder: Path) -> GitHistory:
    folder.mkdir(exist_ok=True)
    history = GitHistory(str(folder))
    history.create()
    history.commit([FileChange(NOTE, b"0")], "m", "", Author(), NOW)
    history.refresh_index({NOTE: Blob(0o100644, history.blob_id(b"0"))})
    return history


@pytest.mark.parametrize("word", ["fast-import", "update-index"])
def test_git_is_killed_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    real = shutil.which("git")
    assert real
    root, calm = tmp_path / "ws", tmp_path / "calm"
    history = repository(root)
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    dice = random.Random(7)
    outcomes = set()
    for turn in range(25):
        values = {"delay": round(dice.uniform(0, 0.02), 4), "children": turn % 2 == 0}
        shim.write_text(SHIM.format(python=sys.executable, git=real, calm=str(calm), word=word, **values))
        shim.chmod(0o755)
        head, since, data = history.head(), time.time(), b"%d" % turn
        try:
            history.commit([FileChange(NOTE, data)], f"m {turn}", head, Author(), NOW)
            history.refresh_index({NOTE: Blob(0o100644, history.blob_id(data))})
        except BonsaiError:
            pass
        calm.touch()
        fresh = GitHistory(str(root))  # the next run
        fresh.remove_stale_locks(since)
        outcomes.add(fresh.head() == head)
        assert fresh.state() == (True, None, "", False)
        assert fresh.read(fresh.head(), NOTE) == (history.read(head, NOTE) if fresh.head() == head else data)
        fresh.commit([FileChange(NOTE, b"after %d" % turn)], "after", fresh.head(), Author(), NOW)
        assert fresh.refresh_index({NOTE: Blob(0o100644, fresh.blob_id(b"after %d" % turn))}) is not None
        assert fresh.check() == [] and fresh.locks() == []
        assert not list((root / ".git").glob("fast_import_crash_*"))
        assert not list((root / ".git/objects").rglob("tmp_*"))
        calm.unlink()
    assert outcomes, "no kill landed"


def test_a_full_disk_is_said_and_the_next_try_works(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        history = repository(place / "ws")
        head = history.head()
        for left in (0, 4096, 16384, 65536):
            filler = place / "filler"
            filler.write_bytes(b"")
            free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
            filler.write_bytes(b"x" * max(0, free - left))
            with pytest.raises(IoFailed) as caught:
                history.commit([FileChange("memory/big.md", os.urandom(200_000))], "m", head, Author(), NOW)
            assert (
                "space" in caught.value.cause
                and "Make room" in caught.value.hint
                and caught.value.path == str(place / "ws")
            )
            assert history.head() == head and history.locks() == []
            filler.unlink()
            history.remove_stale_locks(0)
        history.commit([FileChange(NOTE, b"1")], "m", head, Author(), NOW)
        assert history.check() == []
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_folder_that_may_not_be_written_is_said(tmp_path: Path) -> None:
    if not os.geteuid():
        pytest.skip("root may write everywhere")
    history = repository(tmp_path / "ws")
    objects = tmp_path / "ws/.git/objects"
    try:
        for folder in [objects, *objects.rglob("*")]:
            folder.chmod(0o555)
        with pytest.raises(IoFailed):
            history.commit([FileChange(NOTE, b"1")], "m", history.head(), Author(), NOW)
    finally:
        for folder in [objects, *objects.rglob("*")]:
            folder.chmod(0o755)


@pytest.mark.parametrize("damage", ["zero", "garbage", "missing"])
@pytest.mark.parametrize("what", ["blob", "tree", "commit"])
def test_damage_is_found_and_told_from_absence(tmp_path: Path, what: str, damage: str) -> None:
    root = tmp_path / "ws"
    history = repository(root)
    for pack in [*(root / ".git/objects/pack").glob("*.pack")]:  # one file an object, so that one can be damaged alone
        data = pack.read_bytes()
        for part in root.glob(f".git/objects/pack/{pack.stem}.*"):
            part.unlink()
        subprocess.run(["git", "-C", str(root), "unpack-objects", "-q"], input=data, check=True)
    rev = {"blob": f"HEAD:{NOTE}", "tree": "HEAD^{tree}", "commit": "HEAD"}[what]
    done = subprocess.run(["git", "-C", str(root), "rev-parse", rev], capture_output=True, text=True, check=True)
    oid = done.stdout.strip()
    path = root / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "zero" else b"garbage")
    assert history.check()
    with pytest.raises(BonsaiError) as caught:
        history.read("HEAD", NOTE)
    assert "Traceback" not in str(caught.value)
    if damage != "missing":
        assert isinstance(caught.value, IoFailed)
