"""How fast the past is told: `python tests/faults/past_bench.py [COMMITS]` prints one line a question.

Also gives the tests a long history, made by one fast-import.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bonsai.workspace import Workspace

START = 1_700_000_000  # Unix seconds of the first commit
WORDS = ("anchor", "barley", "cedar", "dapple", "ember", "fallow", "garnet", "hazel", "juniper", "kettle", "lantern")


def long_history(root: Path, commits: int, notes: int = 400, seed: int = 5) -> None:
    """A workspace whose notes were edited, moved and put together in so many commits; its clock jumped now and then."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    stream = b"".join(_stream(commits, notes, random.Random(seed)))
    subprocess.run(["git", "-C", str(root), "fast-import", "--quiet"], input=stream, check=True)
    subprocess.run(["git", "-C", str(root), "reset", "-q", "--hard"], check=True)


def _stream(commits: int, notes: int, dice: random.Random) -> Iterator[bytes]:
    texts: dict[str, list[str]] = {}
    for number in range(commits):
        when = START + number * 600 - (90_000_000 if number % 997 == 996 else 0)
        op, changes = _change(number, texts, notes, dice)
        message = f"{op}: change {number}\n\nBonsai-Op: {op}\nBonsai-Actor: human\nBonsai-Run: {number:012x}\n".encode()
        yield b"commit refs/heads/main\ncommitter Pat <pat@example.com> %d +0000\n" % when
        yield b"data %d\n%s" % (len(message), message)
        for path, lines in changes.items():
            if lines is None:
                yield f"D {path}\n".encode()
            else:
                data = "".join(f"{line}\n" for line in lines).encode()
                yield f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def _change(
    number: int, texts: dict[str, list[str]], notes: int, dice: random.Random
) -> tuple[str, dict[str, list[str] | None]]:
    def line() -> str:
        return f"- {' '.join(dice.choices(WORDS, k=7))} {number} {dice.randrange(1000)}"

    if len(texts) < notes:
        path = f"memory/domains/d{number % 20}/note-{number}.md"
        texts[path] = [f"# Note {number}", "", *(line() for _ in range(dice.randrange(8, 40)))]
        return "edit", {path: texts[path]}
    path = dice.choice(list(texts))
    kind = dice.random()
    if kind < 0.02:
        new = f"memory/domains/d{dice.randrange(20)}/note-{number}m.md"
        texts[new] = texts.pop(path)
        return "move", {path: None, new: texts[new]}
    if kind < 0.03 and len(texts[path]) > 12:  # a piece moves into another note
        other = dice.choice([name for name in texts if name != path])
        texts[other] += texts[path][-5:]
        del texts[path][-5:]
        return "reflect", {path: texts[path], other: texts[other]}
    at = dice.randrange(2, max(3, len(texts[path])))
    texts[path][at : at + dice.randrange(2)] = [line()]
    return "edit", {path: texts[path]}


def seconds(call: Callable[[], Any], times: int = 3) -> float:
    """The best of a few."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def main(commits: int) -> None:
    """Print what each question takes."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "ws"
        long_history(root, commits)
        note = max((root / "memory").rglob("*m.md"), key=lambda path: path.stat().st_size)
        path = note.relative_to(root).as_posix()
        word = note.read_text().split("\n")[-2][2:20]
        with Workspace.open(root) as space:
            space.status()
            questions: dict[str, Callable[[], Any]] = {
                "log limit=20": lambda: space.log(limit=20),
                "log op=move limit=20": lambda: space.log(limit=20, op="move"),
                "log": space.log,
                "log PATH": lambda: space.log(path),
                "log PATH limit=5": lambda: space.log(path, limit=5),
                "log FOLDER limit=20": lambda: space.log("memory/domains/d3", limit=20),
                "why PATH": lambda: space.why(path),
                "why PATH:7": lambda: space.why(f"{path}:7"),
                "why TEXT": lambda: space.why(word),
                "why TEXT, 20 hits": lambda: space.why("kettle", limit=20),
            }
            for name, call in questions.items():
                print(f"{name:24} {seconds(call) * 1000:8.1f} ms", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_GLOBAL", "/dev/null")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
