"""Devices that all write, kills in the middle, and repositories with traps: all come to one tree, no word is lost."""

import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import harness
import pytest
from harness import ALL, git, managed
from test_hostile_repo import VECTORS

from bonsai.adapters.git_remote import GitRemote
from bonsai.errors import BonsaiError, Refused
from bonsai.notes.prose import conflicted
from bonsai.workspace import Workspace

NOTES = 8
START = "2026-03-15T08:00:00Z"
TOKEN = re.compile(r"token-\d+-end")


class Fleet:
    """Some devices around a bare repository; every word that one of them writes is written down."""

    def __init__(self, folder: Path, number: int) -> None:
        self.remote = folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", str(self.remote)], check=True)
        self.devices = [folder / f"device-{name}" for name in "abc"[:number]]
        self.written: set[str] = set()
        self.minutes = 0
        first = self.devices[0]
        for name in range(NOTES):
            lines = "".join(f"- bullet {number} of note {name}\n" for number in range(8))
            self.write(
                first, self.note(name), f"---\ntitle: Note {name}\nimportance: 0.5\n---\n# Note {name}\n\n{lines}"
            )
        Workspace.init(first)
        git(first, "remote", "add", "origin", str(self.remote))
        sync(first)
        for device in self.devices[1:]:
            subprocess.run(["git", "clone", "-q", str(self.remote), str(device)], check=True)

    @staticmethod
    def note(name: Any) -> str:
        return f"memory/domains/general/note-{name}.md"

    @staticmethod
    def write(root: Path, path: str, text: str) -> None:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())

    def token(self) -> str:
        found = f"token-{len(self.written)}-end"
        self.written.add(found)
        return found

    def work(self, root: Path, chance: random.Random) -> None:
        """Something that a person or an agent does: mostly edits, now and then another name for a note."""
        notes = sorted(path for path in root.glob("memory/domains/*/*.md") if path.name != "_index.md")
        live = [path for path in notes if "__DELETE" not in path.name and "conflict" not in path.name]
        place = chance.choice(live)
        rows = place.read_text().split("\n")
        bullets = [at for at, row in enumerate(rows) if row.startswith("- ")]
        do = chance.choice(["edit", "edit", "add", "key", "new", "daily", "boot", "move", "archive", "delete"])
        if do == "edit" and bullets:
            at = chance.choice(bullets)  # what stood there stays: an edit may take words away, and that is no loss
            rows[at] = f"{rows[at]} {self.token()}"
            place.write_text("\n".join(rows))
        elif do == "key" and rows[0] == "---":
            rows.insert(1, f"k{chance.randrange(3)}{len(self.written)}: {self.token()}")
            place.write_text("\n".join(rows))
        elif do == "new":
            self.write(root, self.note(self.token()), f"# New\n\n- {self.token()}\n")
        elif do == "daily":
            with Workspace.open(root) as workspace:
                workspace.daily_add(self.token())
        elif do == "boot":
            boot = root / "MEMORY.md"
            boot.write_text(f"- {self.token()}\n{boot.read_text()}")
        elif do in ("move", "archive", "delete") and len(live) > NOTES - 3 and not TOKEN.search(place.read_text()):
            path = str(place.relative_to(root))
            with Workspace.open(root) as workspace:
                if do == "move":
                    workspace.move(path, f"topic-{chance.randrange(3)}")
                elif do == "archive":
                    workspace.archive(path)
            if do == "delete":
                place.unlink()
        else:
            place.write_text("\n".join([*rows, f"- {self.token()}", ""]))

    def converge(self) -> None:
        """Sync in turn until all are at one commit; everybody has the same then, and all of it."""
        for _ in range(4):
            for device in self.devices:
                sync(device)
            if len({git(device, "rev-parse", "HEAD") for device in self.devices}) == 1:
                break
        trees = {git(device, "rev-parse", "HEAD^{tree}") for device in self.devices}
        assert len(trees) == 1, "they come to one tree"
        assert {git(device, "rev-parse", "HEAD") for device in self.devices} == {git(self.remote, "rev-parse", "--all")}
        files = managed(self.devices[0])
        for device in self.devices:
            assert managed(device) == files
            assert not harness.sound(device)
            assert not [path for path in harness.leftovers(device) if "/refs/bonsai/synced-" not in f"/{path}"]
            with Workspace.open(device) as workspace:
                assert not workspace.reindex(check=True).stale
        assert not [path for path, data in files.items() if conflicted(data.decode("utf-8", "replace"))]
        text = "".join(f"{path} {data.decode('utf-8', 'replace')}" for path, data in files.items())
        assert self.written - set(TOKEN.findall(text)) == set(), "no word is lost"


def sync(root: Path) -> None:
    with Workspace.open(root) as workspace:
        workspace.sync()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Each call is some seconds later; sometimes two devices write in one second."""
    seconds = [0]

    def tick() -> None:
        seconds[0] += random.choice([0, 1, 40])
        monkeypatch.setenv(
            "BONSAI_NOW", f"2026-03-15T{8 + seconds[0] // 3600:02}:{seconds[0] // 60 % 60:02}:{seconds[0] % 60:02}Z"
        )

    tick()
    return tick


@pytest.fixture
def place() -> Iterator[Path]:
    with harness.scratch() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 3])
def test_devices_that_all_write_come_to_one_tree(place: Path, clock: Callable[[], None], number: int) -> None:
    chance = random.Random(number)
    fleet = Fleet(place, number)
    for turn in range(50 if ALL else 3):
        for device in fleet.devices:
            for _ in range(3):
                clock()
                fleet.work(device, chance)
        for device in chance.sample(fleet.devices, chance.randint(1, number)):
            sync(device)
        if turn % 10 == 9:
            fleet.converge()
    fleet.converge()
    print(f"{number} devices, {len(fleet.written)} words")


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_sync_loses_nothing(place: Path, clock: Callable[[], None]) -> None:
    """Killed at a step, then the next command, whichever, puts it right, and both devices come to one tree."""
    chance = random.Random(7)
    fleet = Fleet(place, 2)
    one, two = fleet.devices
    for _ in range(6):
        fleet.work(one, chance)
        clock()
        fleet.work(two, chance)
    sync(one)
    for path in fleet.devices:  # caches and journals as they are in the middle of a day
        with Workspace.open(path) as workspace:
            workspace.status()
    steps = 0
    for kind in ("merge", "forward"):
        if kind == "forward":  # nothing new on this side
            sync(two)
            for _ in range(5):
                fleet.work(one, chance)
            sync(one)
        places = [*fleet.devices, fleet.remote]
        for root in places:
            shutil.copytree(root, root.with_name(f"{root.name}-{kind}"), symlinks=True)
        steps = harness.run(harness.verb(two, Workspace.sync)).steps
        for at in harness.spread(steps, 3, 60):
            for root in places:
                shutil.rmtree(root)
                shutil.copytree(root.with_name(f"{root.name}-{kind}"), root, symlinks=True)
            found = harness.run(harness.verb(two, Workspace.sync), kill_at=at)
            assert found.killed, f"{kind}, step {at}: {found}"
            time.sleep(0.05)  # a git that outlived it comes to its end
            settled = harness.run(harness.verb(two, Workspace.commit))
            assert not settled.code and not settled.bug, f"{kind}, {found.step}: {settled}"
            assert not harness.sound(two), f"{kind}, {found.step}"
            last = git(two, "log", "-1", "--format=%(trailers:key=Bonsai-Op,valueonly)").strip()
            assert (
                kind == "merge" or last != "edit" or git(two, "rev-parse", "HEAD") == git(one, "rev-parse", "HEAD")
            ), f"{kind}, {found.step}: what was pulled is no edit of this side"
            fleet.converge()
    assert steps > 40


@pytest.mark.parametrize("ends", ["killed", "interrupted"])
def test_an_end_right_after_head_moved_on(place: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    """What the files hold then is what HEAD has: to put the old bytes back would undo the other device's work."""
    fleet = Fleet(place, 2)
    one, two = fleet.devices
    sync(two)
    fleet.write(one, fleet.note(0), f"# Note\n\n{fleet.token()}\n")
    fleet.write(one, fleet.note("new"), f"# New\n\n{fleet.token()}\n")
    sync(one)
    forward = GitRemote.forward

    def moved(self: GitRemote, old: str, new: str) -> str:
        forward(self, old, new)
        if ends == "killed":
            os._exit(9)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(GitRemote, "forward", moved)
        child = os.fork()
        if not child:
            try:
                sync(two)
            finally:
                os._exit(8)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (9 if ends == "killed" else 8)
    with Workspace.open(two) as workspace:
        assert workspace.commit().commit is None
    assert git(two, "rev-parse", "HEAD") == git(one, "rev-parse", "HEAD")
    fleet.converge()


@pytest.mark.slow
def test_kills_while_all_go_on_writing(place: Path, clock: Callable[[], None]) -> None:
    chance = random.Random(3)
    fleet = Fleet(place, 2)
    for _ in range(30 if ALL else 4):
        for device in fleet.devices:
            clock()
            fleet.work(device, chance)
            harness.run(harness.verb(device, Workspace.sync), kill_at=chance.randint(1, 120))
    fleet.converge()


@pytest.mark.slow
def test_two_devices_that_sync_at_the_same_time(place: Path) -> None:
    fleet = Fleet(place, 2)
    chance = random.Random(1)
    for _ in range(8 if ALL else 1):
        for device in fleet.devices:
            fleet.work(device, chance)
        running = [
            subprocess.Popen(
                [sys.executable, "-c", f"from bonsai import Workspace; Workspace.open({str(device)!r}).sync()"]
            )
            for device in fleet.devices
        ]
        assert [process.wait() for process in running] == [0, 0]
    fleet.converge()


# -- traps ---------------------------------------------------------------------------------------------------


@pytest.fixture
def hostile(place: Path) -> tuple[Path, Path, str]:
    """(workspace with a remote that has something new, file that must not appear, program that makes it appear)."""
    fleet = Fleet(place, 2)
    fleet.write(fleet.devices[0], "memory/domains/general/new.md", "# New\n")
    sync(fleet.devices[0])
    mark, run = place / "CANARY", place / "bin/run"
    run.parent.mkdir()
    run.write_text(f'#!/bin/sh\necho "$0 $*" >>"{mark}"\nexit 0\n')
    run.chmod(0o755)
    return fleet.devices[1], mark, str(run)


QUIET = {"hooks", "auto maintenance", "core.fsmonitor", "receive and upload", "gpg.program"}


@pytest.mark.slow
def test_no_program_of_a_repository_runs_whatever_the_verb(hostile: tuple[Path, Path, str]) -> None:
    template, mark, run = hostile
    refused = []
    for number, (name, plant) in enumerate(VECTORS.items()):
        root = template.with_name(f"trap-{number}")
        shutil.copytree(template, root, symlinks=True)
        plant(root, run)
        mark.unlink(missing_ok=True)
        for verb in (Workspace.sync, Workspace.trust, Workspace.commit) if ALL else (Workspace.sync,):
            try:
                with Workspace.open(root) as workspace:
                    verb(workspace)
            except BonsaiError as error:
                if verb is Workspace.sync and isinstance(error, Refused):
                    refused.append(name)
        assert not mark.exists(), f"{name}: {mark.read_text()}"
        shutil.rmtree(root)
    assert len(set(refused)) > 18, refused


@pytest.mark.slow
def test_no_program_of_the_other_end_runs(hostile: tuple[Path, Path, str]) -> None:
    root, mark, run = hostile
    far = Path(git(root, "config", "remote.origin.url").strip())
    for key in ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.alternateRefsCommand"):
        git(far, "config", key, run)
    git(far, "config", "gc.recentObjectsHook", run)
    git(far, "config", "gc.auto", "1")
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"):
        (far / "hooks").mkdir(exist_ok=True)
        (far / "hooks" / name).symlink_to(run)
    (root / "memory/domains/general/mine.md").write_text("# Mine\n")
    sync(root)
    assert not mark.exists(), mark.read_text()
    assert git(far, "rev-parse", "--all") == git(root, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    "path",
    ["memory/../../out.md", "memory/.git/config", ".git/hooks/post-checkout", "memory/.GIT/x.md", "memory//x.md"],
)
def test_a_tree_with_names_that_lead_out(hostile: tuple[Path, Path, str], path: str) -> None:
    root, _, _ = hostile
    far = Path(git(root, "config", "remote.origin.url").strip())
    blob = git(far, "hash-object", "-w", "--stdin", input=b"# Bad\n").strip()
    lines = git(far, "ls-tree", "HEAD").rstrip("\n")
    branch = git(far, "symbolic-ref", "HEAD").strip()
    names = path.split("/")
    tree = blob
    for depth, name in enumerate(reversed(names)):
        entry = f"{'040000 tree' if depth else '100644 blob'} {tree}\t{name}".encode()
        above = f"{lines}\n".encode() if depth == len(names) - 1 else b""
        kept = b"".join(row + b"\n" for row in above.split(b"\n") if row and not row.endswith(f"\t{name}".encode()))
        tree = _tree(far, kept + entry + b"\n")
    commit = git(far, "commit-tree", "-p", "HEAD", "-m", "bad", tree).strip()
    git(far, "update-ref", branch, commit)
    before, head = managed(root), git(root, "rev-parse", "HEAD")
    with pytest.raises(BonsaiError) as caught:
        sync(root)
    assert caught.value.code in (69, 77)
    assert (managed(root), git(root, "rev-parse", "HEAD")) == (before, head)
    assert not (root.parent / "out.md").exists()


def _tree(far: Path, rows: bytes) -> str:
    """A tree object with any names: mktree refuses bad ones, so it is written by hand."""
    entries = []
    for row in rows.split(b"\n"):
        if row:
            info, _, name = row.partition(b"\t")
            mode, _, oid = info.split(b" ")
            entries.append(
                (name + (b"/" if mode == b"040000" else b""), mode.lstrip(b"0"), name, bytes.fromhex(oid.decode()))
            )
    data = b"".join(mode + b" " + name + b"\0" + oid for _, mode, name, oid in sorted(entries))
    return git(far, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", input=data).strip()
