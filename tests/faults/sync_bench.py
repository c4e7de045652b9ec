"""How long a sync takes: `python tests/faults/sync_bench.py [NOTES]`; ten notes edited on each of two devices."""

import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")

import harness

from bonsai.workspace import Workspace

EDITS = 10


def sync(root: Path, what: str) -> None:
    start = time.perf_counter()
    with Workspace.open(root) as workspace:
        report = workspace.sync()
    seconds = time.perf_counter() - start
    print(f"{what}: {seconds:.2f} s, {report.pulled} commits here, {report.pushed} there, {len(report.merged)} merged")


def main(notes: int) -> None:
    """Print the seconds of each step."""
    with harness.scratch() as folder:
        one, two, remote = folder / "one", folder / "two", folder / "remote.git"
        for number in range(notes):
            place = one / f"memory/domains/topic-{number % 20}/note-{number}.md"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"---\ntitle: Note {number}\n---\n\n- first {number}\n- second {number}\n\nSome text.\n")
        Workspace.init(one)
        subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
        harness.git(one, "remote", "add", "origin", str(remote))
        sync(one, "first push")
        subprocess.run(["git", "clone", "-q", str(remote), str(two)], check=True)
        sync(two, "after a clone")
        for root, word in ((one, "first"), (two, "second")):
            for number in range(EDITS):
                place = root / f"memory/domains/topic-{number % 20}/note-{number}.md"
                place.write_text(place.read_text().replace(word, word.upper()))
        sync(one, f"{EDITS} edits pushed")
        sync(two, f"{EDITS} edits merged with {EDITS}")
        sync(one, "the merge taken over")
        sync(one, "nothing to do")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
