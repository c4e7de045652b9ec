"""Recall while notes are edited: it never fails, finds every save that ended before it began, and shows nothing older.

A sample by default; BONSAI_FAULTS=all asks ten thousand times.
"""

import mmap
import os
import random
import re
import struct
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import harness
import pytest
from watching import daemon

from bonsai.errors import BonsaiError, Busy
from bonsai.workspace import Workspace

NOTES = 60
RECALLS = 2500 if harness.ALL else 75  # of each of two readers, alone and beside a daemon
WORD = re.compile(r"state(\d+)of(\d+)\b")


class Board:
    """What the editor has begun and ended, for the readers in other processes: for each note a number of both."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8 * NOTES + 8)

    def get(self, number: int) -> tuple[int, int]:
        """(the state that is being written, the state that is written)."""
        begun, ended = struct.unpack_from("ii", self._shared, 8 * number)
        return begun, ended

    def set(self, number: int, begun: int, ended: int) -> None:
        """Tell of a note."""
        struct.pack_into("ii", self._shared, 8 * number, begun, ended)

    @property
    def is_over(self) -> bool:
        """Whether the readers are done."""
        return self._shared[-8:] != bytes(8)

    def end(self) -> None:
        """The readers are done."""
        self._shared[-8:] = b"\1" * 8


def path_of(number: int) -> str:
    return f"memory/domains/d{number % 7}/note-{number}.md"


def text_of(number: int, state: int) -> str:
    return (
        f"# Note {number}\n\nIt is state{number}of{state}, subject{number}, {word(number, state)}.\n\n- one more line\n"
    )


def word(number: int, state: int) -> str:
    """A word that no other state shares a part with: an index that is behind finds nothing for it."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number}{state:06}") + "zq"


def edit(root: Path, board: Board) -> int:
    """Save notes until the readers are done: by a rename, in place, away and back. How many saves."""
    rng, saves = random.Random(1), 0
    while not board.is_over:
        number = rng.randrange(NOTES)
        state = board.get(number)[1] + 1
        board.set(number, state, state - 1)
        path = root / path_of(number)
        kind = rng.random()
        if kind < 0.3:
            path.write_text(text_of(number, state))
        else:
            if kind > 0.9:
                path.unlink()
            temp = path.with_suffix(".tmp")
            temp.write_text(text_of(number, state))
            temp.rename(path)
        board.set(number, state, state)
        saves += 1
        time.sleep(0.002)
    return saves


def commit(root: Path, board: Board) -> int:
    """Commit, as a person or an agent would, until the readers are done."""
    count = 0
    while not board.is_over:
        with suppress(Busy), Workspace.open(root) as workspace:  # the daemon is at it
            workspace.commit()
            count += 1
        time.sleep(0.1)
    return count


def ask(root: Path, board: Board, seed: int) -> list[str]:
    """What is wrong with so many answers."""
    rng, wrong = random.Random(seed), []
    with Workspace.open(root) as workspace:
        for turn in range(RECALLS):
            number = rng.randrange(NOTES)
            before = [board.get(other) for other in range(NOTES)]
            try:
                report = workspace.recall(_question(turn, number, before[number][1]), limit=3)
            except BonsaiError as error:
                wrong.append(f"{type(error).__name__}: {error}")
                continue
            after = board.get(number)
            shown = {int(of): int(state) for hit in report.hits for of, state in WORD.findall(hit.text)}
            wrong += [
                f"{of}: {state} is older than {before[of][1]}" for of, state in shown.items() if state < before[of][1]
            ]
            if number not in shown and before[number] == after and after[0] == after[1]:  # nobody was at it
                wrong.append(f"{number} was not found")
            wrong += report.warnings
    return wrong


def _question(turn: int, number: int, state: int) -> str:
    """For a note: by a word that stays, which an index that is behind knows too, or by one that came with its state."""
    return f"subject{number}" if turn % 2 else word(number, state)


@contextmanager
def beside(*jobs: Callable[[], object]):  # type: ignore[no-untyped-def]
    """Jobs in processes of their own, waited for at the end; each must end well."""
    children = []
    for job in jobs:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                job()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    yield
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * len(children)


@pytest.mark.parametrize("watched", [False, True], ids=["alone", "daemon"])
def test_recalls_during_edits_are_right_and_never_fail(watched: bool, folder: Path) -> None:
    root, board = folder / f"read-{watched}", Board()
    Workspace.init(root)
    for number in range(NOTES):
        path = root / path_of(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(number, 0))
    with Workspace.open(root) as workspace:
        workspace.commit()
    with daemon(root) if watched else nullcontext(), beside(lambda: edit(root, board), lambda: commit(root, board)):
        try:
            wrong = harness.in_parallel([1, 2], lambda seed: "\n".join(ask(root, board, seed)))
        finally:
            board.end()
    assert not wrong
