"""What a recall and its index cost at 10,000 notes. Not a test: it measures, prints a table and judges nothing.

    python tests/faults/recall_bench.py TREE [SIZE …]

TREE is a script `TREE N FOLDER` that writes N notes below FOLDER (`tree.py` of the perf bench). Times are of the
processor, so that a busy machine tells about the same; what is compared takes turns.
"""

import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from harness import git, scratch
from watching import BONSAI, daemon

from bonsai.notes.passage import passages
from bonsai.passes import search
from bonsai.workspace import Workspace

ROUNDS = 30
WORD = re.compile(r"[a-z]{5,}")


def main(script: str, *sizes: str) -> None:
    """Measure each size in a folder in memory."""
    os.environ.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null", BONSAI_NOW="2025-07-01T12:00:00Z")
    with scratch() as folder:
        for size in sizes or ("10000",):
            root = folder / size
            subprocess.run([sys.executable, script, size, str(root)], check=True, stdout=subprocess.DEVNULL)
            git(root, "init", "-q")
            subprocess.run([*BONSAI, "init", str(root)], check=True, capture_output=True)
            notes = sorted(path for path in root.glob("memory/**/*.md") if path.name[0] != "_")
            print(f"{size} notes")
            of_the_index(root, notes)
            of_a_recall(root, notes)


def of_the_index(root: Path, notes: list[Path]) -> None:
    """Building it, one note of it, its size."""
    reading, building, updating = list[float](), list[float](), list[float]()
    for _ in range(5):
        reading.append(cpu(lambda: [passages("memory/x.md", path.read_bytes()) for path in notes]))
        building.append(cpu(lambda: built(root)))
    text, index = sum(path.stat().st_size for path in notes), (root / ".bonsai/cache/search.db").stat().st_size
    with Workspace.open(root) as workspace:
        source, found = workspace._source(), workspace._index()
        assert found is not None
        for path in notes[: 37 * ROUNDS : 37]:
            with path.open("a", encoding="utf-8") as note:
                note.write("\nOne more line.\n")
            updating.append(cpu(partial(search.update, found, source, [str(path.relative_to(root))])))
    say("build of the index, over reading and parsing every note", building, reading)
    say("one note of it, over the build", updating, building)
    print(f"  {index / text:6.2f}  size of the index, over the text")


def built(root: Path) -> None:
    """The index, made anew."""
    for suffix in ("", "-wal", "-shm"):
        (root / f".bonsai/cache/search.db{suffix}").unlink(missing_ok=True)
    with Workspace.open(root) as workspace:
        workspace._source()
        search.catch_up(workspace._index(), workspace._source(), lambda: 1 / 0)  # type: ignore[arg-type,return-value]


def of_a_recall(root: Path, notes: list[Path]) -> None:
    """In this process and in one of its own, alone and beside a daemon."""
    rng, memory = random.Random(7), str(root / "memory")
    alone, watched, grepped, walked, python, whole = ([] for _ in range(6))
    with Workspace.open(root) as workspace:
        for times in (alone, watched):
            with daemon(root) if times is watched else scratch():
                workspace.recall("warm up")
                for path in rng.choices(notes, k=ROUNDS):
                    words = [rng.choice(WORD.findall(path.read_text("utf-8").lower()) or ["note"])]
                    grepped.append(outside("grep", "-ril", "-e", words[0], memory))
                    walked.append(cpu(lambda: walk(memory)))
                    times.append(cpu(lambda words=words: workspace.recall(" ".join(words))))
    for _ in range(ROUNDS // 3):
        python.append(outside(sys.executable, "-c", "pass"))
        whole.append(outside(*BONSAI, "-C", str(root), "recall", "plan of the server", "--json"))
    say("recall in process beside a daemon, over grep -ril", watched, grepped)
    least = [a + 0.5 * b for a, b in zip(walked, grepped, strict=True)]
    say("recall in process alone, over a walk and half of grep -ril", alone, least)
    more = [time - statistics.median(walked) for time in whole]
    say("recall as a whole process less a walk, over a bare interpreter", more, python)


def walk(folder: str) -> None:
    """A stat of every note."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                walk(entry.path)
            elif entry.name.endswith(".md"):
                entry.stat()


def cpu(act: Callable[[], Any]) -> float:
    """Seconds of the processor in this process."""
    start = time.process_time()
    act()
    return time.process_time() - start


def outside(*command: str) -> float:
    """Seconds of the processor in a process of its own."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return usage.ru_utime + usage.ru_stime


def say(what: str, times: list[float], base: list[float]) -> None:
    """One row: the ratio of the medians, and these."""
    one, two = statistics.median(times), statistics.median(base)
    print(f"  {one / two:6.3f}  {what} ({1000 * one:.1f} over {1000 * two:.1f} ms)")


if __name__ == "__main__":
    main(*sys.argv[1:])
