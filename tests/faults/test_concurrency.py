"""Many at work at once: every edit reaches HEAD, every commit that is named is there, and a person's save wins."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import pytest
from harness import git, managed

from bonsai.errors import BonsaiError
from bonsai.workspace import Workspace

WRITERS, EDITS = 6, 15
SECONDS = 60.0 if harness.ALL else 10.0
FINE = {64, 66, 73, 75}  # what may be answered when somebody else was faster: gone, taken, busy


@pytest.fixture
def root(folder: Path, request: pytest.FixtureRequest) -> Path:
    """A repository with other files than the memory, some of them staged."""
    root = folder / f"busy-{request.node.name}"
    (root / "code").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main", "--template=")
    (root / "code/x.txt").write_text("0\n")
    git(root, "add", "code")
    git(root, "commit", "-qm", "code")
    (root / "code/staged.txt").write_text("staged, and not to be committed\n")
    git(root, "add", "code/staged.txt")
    Workspace.init(root)
    return root


def together(jobs: list[Callable[[], Any]]) -> list[Any]:
    """The answers of jobs that run at once, each in a process of its own."""
    pipes = []
    for job in jobs:
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(reading)
            try:
                found = harness.run(job)
                with os.fdopen(writing, "w") as pipe:
                    json.dump([found.answer, str(found) if found.bug or found.code else ""], pipe)
            finally:
                os._exit(0)
        os.close(writing)
        pipes.append(reading)
    answers = []
    for reading in pipes:
        with os.fdopen(reading) as pipe:
            answer, wrong = json.load(pipe)
        assert not wrong, wrong
        answers.append(answer)
    for _ in pipes:
        os.wait()
    return answers


def by_command(root: Path, path: str) -> str | None:
    """`bonsai commit PATH`: the commit."""
    command = [sys.executable, "-m", "bonsai", "-C", str(root), "commit", path, "--json"]
    done = subprocess.run(command, cwd=root, env={**os.environ, "BONSAI_DEBUG": "1"}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)["commit"]


def by_call(root: Path, path: str) -> str | None:
    """The same through the API."""
    with Workspace.open(root) as workspace:
        return workspace.commit(path).commit


@pytest.mark.slow
@pytest.mark.parametrize("commit", [by_command, by_call])
def test_no_edit_of_six_writers_is_lost(commit: Callable[[Path, str], str | None], root: Path):
    def write(number: int) -> list[str | None]:
        path, shas = f"memory/domains/general/own-{number}.md", []
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        for edit in range(EDITS):
            with open(root / path, "a") as file:
                file.write(f"- EDIT-{number}-{edit}.\n")
            shas.append(commit(root, path))
        return shas

    before = int(git(root, "rev-list", "--count", "HEAD"))
    named = [sha for shas in together([lambda n=n: write(n) for n in range(WRITERS)]) for sha in shas]
    reachable = git(root, "rev-list", "HEAD").split()
    assert None not in named and len(set(named)) == WRITERS * EDITS
    assert set(named) <= set(reachable) and len(reachable) - before == WRITERS * EDITS
    told = git(root, "log", "-p", "--format=", "--", "memory")
    assert all(f"+- EDIT-{n}-{edit}.\n" in told for n in range(WRITERS) for edit in range(EDITS))
    with Workspace.open(root) as workspace:
        workspace.commit()
    assert harness.in_head(root) == managed(root) and not harness.sound(root)
    assert git(root, "diff", "--cached", "--name-only").split() == ["code/staged.txt"]


MOVABLE = [f"note-{number}" for number in range(8)]
DOMAINS = ("general", "business", "tech")


def _agent(root: Path, number: int, until: float) -> list[str]:
    """One of those that tidy up: any verb, on any note; the words that it has put into the daily note."""
    dice, said = random.Random(number), []
    while time.monotonic() < until:
        notes = sorted(path for path in (root / "memory/domains").rglob("note-*.md"))
        note = str(dice.choice(notes).relative_to(root)) if notes else ""
        word = f"DAY-{number}-{len(said)}."
        try:
            with Workspace.open(root) as workspace:
                match dice.randrange(6):
                    case 0 | 1:
                        workspace.move(note, dice.choice(DOMAINS))
                    case 2:
                        workspace.archive(note)
                    case 3:
                        workspace.restore(note)
                    case 4:
                        workspace.daily_add(word)
                        said.append(word)
                    case _:
                        workspace.commit()
        except BonsaiError as error:
            if error.code not in FINE:
                raise
    return said


def _editor(root: Path, name: str, until: float, renames: bool) -> list[str]:
    """A person with an open editor, who saves all of the text each time: in place, or as vim does."""
    path, text, said = root / "memory/domains/general" / f"{name}.md", _links(name), []
    while time.monotonic() < until:
        said.append(f"SAVED-{name}-{len(said)}.")
        text += f"\n{said[-1]}\n"
        if renames:
            aside = path.with_name(f".{name}.swp")
            aside.write_text(text)
            os.replace(aside, path)
        else:
            path.write_text(text)
        time.sleep(0.01)
    return said


def _person(root: Path, until: float) -> list[str]:
    """Somebody who commits other files of the same repository, and tries again when git is busy."""
    shas = []
    while time.monotonic() < until:
        (root / "code/x.txt").write_text(f"{time.monotonic_ns()}\n")
        if not git(root, "commit", "-qm", "other work", "--", "code/x.txt", check=False):
            shas.append(git(root, "log", "-1", "--format=%H", "--", "code/x.txt").strip())
        time.sleep(0.03)
    return shas


def _links(name: str) -> str:
    return f"# {name}\n\n" + "".join(f"- [{note}]({note}.md)\n" for note in MOVABLE)


@pytest.mark.slow
def test_no_word_is_lost_among_agents_editors_and_another_git(root: Path):
    general = root / "memory/domains/general"
    general.mkdir(parents=True)
    for note in MOVABLE:
        (general / f"{note}.md").write_text(f"# {note}\n\nTEXT-{note}.\n")
    for name in ("inplace", "vim"):
        (general / f"{name}.md").write_text(_links(name))
    with Workspace.open(root) as workspace:
        workspace.commit()
    until = time.monotonic() + SECONDS
    jobs: list[Callable[[], Any]] = [lambda n=n: _agent(root, n, until) for n in range(4)]
    jobs += [lambda: _editor(root, "inplace", until, False), lambda: _editor(root, "vim", until, True)]
    *words, committed = together([*jobs, lambda: _person(root, until)])
    for _ in range(2):  # the second finds nothing to do
        with Workspace.open(root) as workspace:
            last = workspace.commit()
    assert last.commit is None and not last.held
    now = managed(root)
    text = b"\n".join(now.values()).decode()
    missing = [word for said in words for word in said if word not in text]
    assert not missing, f"{len(missing)} words are lost: {missing[:5]}"
    assert all(f"TEXT-{note}." in text for note in MOVABLE)
    assert harness.in_head(root) == now and not harness.sound(root) and not harness.leftovers(root)
    assert git(root, "diff", "--cached", "--name-only").split() == ["code/staged.txt"]
    assert set(committed) <= set(git(root, "rev-list", "HEAD").split()) and len(committed) > 5
    assert git(root, "log", "--format=", "--name-only", "--", "code/staged.txt") == ""
    assert sum(map(len, words)) > 100, "too little happened to prove anything"
