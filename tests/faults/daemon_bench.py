"""What a daemon costs, and how fast it is, at some sizes. Not a test: it measures, prints a table and judges nothing.

    python tests/faults/daemon_bench.py TREE [SIZE …]

TREE is a script `TREE N FOLDER` that writes N notes below FOLDER (`tree.py` of the perf bench).
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from harness import git, scratch
from watching import Daemon, behind, daemon, run, until, write

EDITS = 15
QUIET = 10  # seconds


def main(script: str, *sizes: str) -> None:
    """Measure each size in a folder in memory."""
    os.environ.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
    with scratch() as folder:
        for size in sizes or ("100", "10000"):
            root = folder / size
            subprocess.run([sys.executable, script, size, str(root)], check=True, stdout=subprocess.DEVNULL)
            git(root, "init", "-q")
            print(f"{size} notes")
            measure(root)
            shutil.rmtree(root)


def measure(root: Path) -> None:
    """One tree, first unknown to git, then known, then known to git alone."""
    with daemon(root, wait=False) as watch:
        took = until(lambda: watch.state().get("state") == "watching", 300, watch.said)
        report("first start, every note new", watch, f"{took:.1f} s")
    with daemon(root, wait=False) as watch:
        took = until(lambda: watch.state().get("state") == "watching", 60, watch.said)
        report("start, nothing new", watch, f"{took:.2f} s")
        delays = [edit(root, watch, number) for number in range(EDITS)]
        report("edit to commit, with its debounce", watch, f"{statistics.median(delays):.2f} s")
        before = watch.cpu()
        time.sleep(QUIET)
        report("at rest", watch, f"{1000 * (watch.cpu() - before) / QUIET:.1f} ms of CPU a second")
    shutil.rmtree(root / ".bonsai/cache")
    with daemon(root, wait=False) as watch:
        took = until(lambda: watch.state().get("state") == "watching", 60, watch.said)
        edit(root, watch, EDITS)
        report("start without the cache", watch, f"{took:.1f} s")
        run(root, "commit")
        assert not behind(root)


def edit(root: Path, watch: Daemon, number: int) -> float:
    """Write a note; seconds until HEAD has it."""
    branch = root / ".git" / (root / ".git/HEAD").read_text().removeprefix("ref: ").strip()
    before = branch.read_text()
    write(root / "memory/domains/general/bench.md", f"# Bench\n\nNumber {number}, {time.time()}.\n")
    return until(lambda: branch.read_text() != before, 15, watch.said)


def report(what: str, watch: Daemon, words: str) -> None:
    """One line of the table."""
    memory = f"{watch.memory():5.1f} MB (at most {watch.memory('VmHWM'):5.1f})"
    print(f"  {what:<36}{words:>24}   {memory}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
