"""kill -9 at every step of an erasure: it has not begun, or the next command finishes it, and nothing else is lost."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import harness
import pytest

from bonsai.workspace import Workspace

pytest.importorskip("git_filter_repo")
SECRET = "canary-kraken-7731"
NOTE, OTHER = "memory/domains/general/door.md", "memory/domains/general/other.md"
POINTS = 8  # in the default run


def build(root: Path) -> None:
    """A workspace with the canary in a note, its history, the indexes, a branch and the stash."""
    root.mkdir()
    harness.git(root, "init", "-q", "-b", "main")
    (root / "MEMORY.md").write_text("# Mine\n\n## Next\n\n- water the roses at noon\n")
    (root / NOTE).parent.mkdir(parents=True)
    (root / OTHER).write_text("# Other\n\nOTHER-WORD\n")
    with Workspace.init(root) and Workspace.open(root) as space:
        for text in ("one", "two"):
            (root / NOTE).write_text(f"# Door\n\n- the code is {SECRET} {text}\n")
            space.commit()
    harness.git(root, "branch", "side")


def erase(root: Path) -> None:
    with Workspace.open(root) as space:
        space.erase(NOTE, yes=True)


def wrong_after(root: Path) -> str:
    """What is wrong after the next command, "" where nothing is."""
    outcome = harness.run(harness.verb(root, Workspace.commit))
    if outcome.code or outcome.bug:
        return f"the next command: {outcome}"
    if (root / ".bonsai/erasing").exists():
        return "the job is still there"
    objects = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"], cwd=root, capture_output=True, check=True
    ).stdout
    begun = not (root / NOTE).exists()
    files = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    if begun and (SECRET.encode() in objects or SECRET.encode() in files):
        return "something is left"
    if not begun and SECRET not in harness.git(root, "show", f"HEAD:{NOTE}"):
        return "half done"
    if (root / OTHER).read_text() != "# Other\n\nOTHER-WORD\n" or "OTHER-WORD" not in harness.git(
        root, "show", f"side:{OTHER}"
    ):
        return "another note was lost"
    return harness.git(root, "status", "--porcelain", "memory", "MEMORY.md") or harness.sound(root)


@pytest.mark.slow
def test_a_kill_at_any_step_of_an_erasure_is_cleared_up_by_the_next_command(folder: Path) -> None:
    seed = folder / "erase-seed"
    build(seed)

    def copy() -> Path:
        root = Path(tempfile.mkdtemp(dir=folder)) / "ws"
        shutil.copytree(seed, root, symlinks=True)
        return root

    whole = copy()
    steps = harness.run(lambda: erase(whole)).steps
    assert steps > 50 and not wrong_after(whole)

    def kill(at: int) -> str:
        root = copy()
        found = harness.run(lambda: erase(root), kill_at=at)
        if not found.killed:
            return f"step {at}: {found}"
        wrong = wrong_after(root)
        shutil.rmtree(root)
        return f"step {at}, {found.step}: {wrong}" if wrong else ""

    failed = harness.in_parallel(harness.spread(steps, POINTS), kill)
    assert not failed, "\n".join([f"{len(failed)} of {steps}", *failed[:8]])
