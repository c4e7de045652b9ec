"""The daemon under real editors, real git and real faults: what is saved gets into HEAD, and the log stays short.

By default each show runs on a small budget; with BONSAI_FAULTS=all in full.
"""

import fcntl
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import ALL, git, small_disk, sound
from watching import (
    EDITORS,
    HELPERS,
    PROMISE,
    as_vim,
    ask,
    behind,
    by_rename,
    codes,
    commits,
    daemon,
    history,
    in_place,
    named,
    run,
    until,
    workspace,
    write,
)

NOTE = "memory/domains/general/note-0.md"
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@pytest.fixture(scope="session")
def seed(folder: Path) -> Path:
    """A workspace with ten notes, for copies."""
    return workspace(folder / "seed", 10)


@pytest.fixture
def place(folder: Path) -> Path:
    """A folder of the test's own."""
    return Path(tempfile.mkdtemp(dir=folder))


@pytest.fixture
def space(seed: Path, place: Path) -> Path:
    """A workspace with ten notes."""
    found: Path = shutil.copytree(seed, place / "space", ignore=shutil.ignore_patterns(".bonsai"))
    return found


# -- editors -------------------------------------------------------------------------------------------------------


def test_every_way_of_saving_is_seen(space: Path) -> None:
    """Six editors save at once, each its own note, mostly in quick succession, now and then with time to think."""
    saves = 100 if ALL else 10
    texts: dict[Path, list[str]] = {}
    rested: dict[Path, list[str]] = {}

    def work(number: int, editor: Callable[[Path, str], None]) -> None:
        path, chance = space / f"memory/domains/general/note-{number}.md", random.Random(number)
        texts[path], rested[path] = [path.read_text()], []
        for count in range(saves):
            text = f"# {editor.__name__}\n\nSave {count}.\n" + "word " * chance.randint(1, 300) + "\n"
            editor(path, text)
            texts[path].append(text)
            if count % 5 == 4:
                rested[path].append(text)
                time.sleep(3.6)
            else:
                time.sleep(chance.uniform(0, 0.4))

    with daemon(space) as watch:
        threads = [threading.Thread(target=work, args=item) for item in enumerate(EDITORS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: not behind(space), PROMISE, lambda: behind(space))
        assert watch.end() == 0
        assert watch.talk == [f"watching {space}"]
    for path, saved in texts.items():
        found = history(space, str(path.relative_to(space)))
        assert path.read_text() == saved[-1] == found[-1]
        assert not set(found) - {*saved, ""}, f"{path.name}: the history holds what nobody saved"
        assert not set(rested[path]) - set(found), f"{path.name}: a save that rested is not in the history"
    assert not [path for path in named(space) if HELPERS.search(path)]
    (space / "memory/domains/general/note-2.md~").unlink()  # what by_backup leaves
    assert not sound(space)


# -- what it did not see -------------------------------------------------------------------------------------------


def edits_of_a_day(space: Path, count: int, made: dict[str, str]) -> None:
    """Everything that can happen to a note, in turn; `made` follows."""
    kinds = 8
    for number in range(count):
        old = f"memory/domains/general/old-{number}.md"
        new, path = old, space / old
        text: str | None = f"# Note {number}\n\nEdited {number}.\n"
        match number % kinds:
            case 0:
                path.write_text(text)
            case 1:
                new, text = f"memory/domains/moved/renamed-{number}.md", path.read_text()
                (space / new).parent.mkdir(exist_ok=True)
                path.rename(space / new)
            case 2:
                text = None
                path.unlink()
            case 3:
                new, text = f"memory/domains/general/Old-{number}.md", path.read_text()
                path.rename(space / new)
            case 4:  # nothing of it tells: same size, same time
                before = path.stat()
                text = path.read_text().replace("old", "new")
                path.write_text(text)
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
                assert path.stat().st_size == before.st_size
            case 5:
                new = f"memory/domains/fresh/deep-{number}/new.md"
                write(space / new, text)
                path.unlink()
            case 6:
                by_rename(path, text)
            case 7:
                as_vim(path, text)
        if new != old or text is None:
            made.pop(old)
        if text is not None:
            made[new] = text


def in_head(space: Path, made: dict[str, str]) -> int:
    """How many notes are in HEAD under their name and with their text."""
    tree = git(space, "ls-tree", "-r", "-z", "HEAD", "--", "memory/domains")
    oids = {path: info.split()[2] for line in tree.split("\0") if line for info, _, path in [line.partition("\t")]}
    names = "".join(f"{oids[path]}\n" for path in made if path in oids).encode()
    out = subprocess.run(["git", "cat-file", "--batch"], input=names, cwd=space, capture_output=True).stdout
    blobs, at = {}, 0
    while at < len(out):
        head, _, _ = out[at : at + 200].partition(b"\n")
        oid, _, size = head.decode().split()
        at += len(head) + 1
        blobs[oid] = out[at : at + int(size)]
        at += int(size) + 1
    gone = sum(1 for path in oids if path not in made and not path.endswith("_index.md"))
    return sum(blobs.get(oids.get(path, "")) == text.encode() for path, text in made.items()) - gone


def test_what_happened_while_it_was_down_is_found(place: Path) -> None:
    space, made = workspace(place / "space"), dict[str, str]()
    for number in range(400):
        path = f"memory/domains/general/old-{number}.md"
        made[path] = f"# Note {number}\n\nThe old text of {number}.\n"
        write(space / path, made[path])
    run(space, "commit")
    with daemon(space):
        pass  # so that the cache knows everything
    edits_of_a_day(space, 200, made)
    start = time.monotonic()
    with daemon(space, wait=False) as watch:
        until(lambda: in_head(space, made) == len(made), 10, lambda: f"{in_head(space, made)} of {len(made)}")
        print(f"caught up with 200 edits in {time.monotonic() - start:.1f} s")
        assert watch.end() == 0
    assert not sound(space)


def test_an_overflow_of_the_queue_loses_nothing(place: Path) -> None:
    """More is written than the kernel keeps events for, while the daemon is stopped."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    count = max(12_000 if ALL else 6_000, most // 3 + 500)  # a new file is three events
    space = workspace(place / "space", 10)
    made = {f"memory/domains/general/note-{number}.md": f"# Note {number}\n\nAs it was.\n" for number in range(10)}
    for domain in range(20):
        (space / f"memory/domains/d{domain}").mkdir()
    with daemon(space) as watch:
        watch.process.send_signal(signal.SIGSTOP)
        for number in range(count):
            path = f"memory/domains/d{number % 20}/w{number}.md"
            made[path] = f"# {number}\n\nWritten while it was stopped.\n"
            (space / path).write_text(made[path])
        watch.process.send_signal(signal.SIGCONT)
        took = until(lambda: in_head(space, made) == len(made), 30, watch.said)
        print(f"{count} writes in HEAD {took:.1f} s after the overflow; {watch.memory():.0f} MB")
        assert len(watch.talk) == 1
        until(lambda: watch.state().get("last_commit"), 5)
        last = commits(space)
        time.sleep(2)
        assert commits(space) == last
        write(space / NOTE, "after the overflow\n")
        until(lambda: not behind(space), PROMISE, watch.said)


# -- all at once ---------------------------------------------------------------------------------------------------


class Crowd:
    """Eight commands at a time, two editors and a person's git; what each was told is kept."""

    def __init__(self, space: Path, seconds: float) -> None:
        self.space, self.end = space, time.monotonic() + seconds
        self.said: list[str] = []  # what must be in the daily note at the end
        self.shas: list[str] = []  # of commands that said so
        self.codes: Counter[int] = Counter()
        self.broken: list[str] = []

    def work(self) -> None:
        acts: list[Callable[[int, int], None]] = [self.daily, self.commit] * 4 + [self.vim, self.in_place, self.git]
        threads = [threading.Thread(target=self._loop, args=item) for item in enumerate(acts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _loop(self, number: int, act: Callable[[int, int], None]) -> None:
        try:
            for count in itertools.count():
                if time.monotonic() > self.end:
                    return
                act(number, count)
        except BaseException as error:
            self.broken.append(f"{act.__name__} {number}: {error}")

    def _command(self, *words: str) -> bool:
        code, answer = ask(self.space, *words)
        self.codes[code] += 1
        if answer.get("commit"):
            self.shas.append(answer["commit"])
        return code == 0

    def daily(self, number: int, count: int) -> None:
        words = f"token-{number}-{count}"
        if self._command("daily", "add", words):
            self.said.append(words)

    def commit(self, number: int, count: int) -> None:
        path = f"memory/domains/cli/c{number}-{count % 7}.md"
        write(self.space / path, f"token-{number}-{count}\n")
        self._command("commit", path)

    def vim(self, number: int, count: int) -> None:
        as_vim(self.space / NOTE, f"token-{number}-{count}\n" * 20)
        time.sleep(0.05)

    def in_place(self, number: int, count: int) -> None:
        in_place(self.space / "memory/domains/general/note-1.md", f"token-{number}-{count}\n" * 20)
        time.sleep(0.05)

    def git(self, number: int, count: int) -> None:
        write(self.space / "code/main.py", f"line {count}\n")
        git(self.space, "status", "--porcelain")
        # The branch may move under a person's commit, as it may under any two; git says so, and they try again.
        git(self.space, "commit", "-qm", f"code {count}", "--", "code/main.py", check=False)
        time.sleep(0.3)


def test_writers_editors_and_a_person_with_git_at_once(space: Path) -> None:
    write(space / "code/main.py", "first\n")
    git(space, "add", "code/main.py")
    git(space, "commit", "-qm", "code")
    write(space / "code/staged.py", "staged, and to stay so\n")
    git(space, "add", "code/staged.py")
    with daemon(space) as watch:
        crowd = Crowd(space, 60 if ALL else 10)
        crowd.work()
        assert not crowd.broken
        assert set(crowd.codes) <= {0, 75}, crowd.codes
        until(lambda: not behind(space), 2 * PROMISE, lambda: f"{behind(space)}; {watch.said()}")
        assert watch.end() == 0
    reachable = set(git(space, "rev-list", "HEAD").split())
    print(f"commands ended {dict(crowd.codes)}: {len(crowd.shas)} commits by them of {len(reachable)}")
    assert len(crowd.said) > 3
    assert len(crowd.shas) == len(set(crowd.shas))
    assert not set(crowd.shas) - reachable
    daily = "".join(path.read_text() for path in (space / "memory/daily").iterdir())
    assert not [words for words in crowd.said if f"{words}\n" not in daily]
    assert git(space, "diff", "--cached", "--name-only").split() == ["code/staged.py"]
    assert git(space, "show", ":code/staged.py") == "staged, and to stay so\n"
    assert not [path for path in named(space) if HELPERS.search(path)]
    assert not sound(space)


# -- rest ----------------------------------------------------------------------------------------------------------


def picture(root: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of everything in the workspace but git's own."""
    found = {}
    for folder, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        for name in names:
            info = os.lstat(os.path.join(folder, name))
            found[os.path.join(folder, name)] = info.st_ino, info.st_mtime_ns
    return found


def test_it_stays_as_small_as_it_was_and_rests_when_nothing_happens(space: Path) -> None:
    rounds, seconds = (500, 60) if ALL else (15, 5)
    write(space / "bonsai.toml", "[watch]\ndebounce_seconds = 0.3\n")
    with daemon(space) as watch:

        def edits(count: int) -> None:
            for _ in range(count):
                before = git(space, "rev-parse", "HEAD")
                write(space / NOTE, f"{time.time()}\n")
                until(lambda before=before: git(space, "rev-parse", "HEAD") != before, PROMISE, watch.said)

        edits(5)
        files, memory = watch.files(), watch.memory()
        edits(rounds)
        time.sleep(1)
        print(f"{rounds} commits: {files} → {watch.files()} fds, {memory:.1f} → {watch.memory():.1f} MB")
        assert watch.files() <= files * 1.1
        assert watch.memory() <= memory * 1.1
        before, cpu, lines, count = picture(space), watch.cpu(), watch.lines, commits(space)
        time.sleep(seconds)
        print(f"{watch.cpu() - cpu:.2f} s of CPU in {seconds} quiet seconds")
        assert watch.cpu() - cpu <= 0.2
        assert (picture(space), watch.lines, commits(space)) == (before, lines, count)
        assert watch.end() == 0


# -- blocked, and back ----------------------------------------------------------------------------------------------


@contextmanager
def merge(space: Path) -> Iterator[None]:
    diverge(space)
    git(space, "merge", "other", check=False)
    yield
    git(space, "merge", "--abort")


@contextmanager
def rebase(space: Path) -> Iterator[None]:
    diverge(space)
    branch = git(space, "branch", "--show-current").strip()
    git(space, "rebase", "other", check=False)
    yield
    git(space, "checkout", "HEAD", "--", "code.py")
    git(space, "rebase", "--quit")  # `--abort` would take the person's edits of notes with it
    git(space, "checkout", branch)


@contextmanager
def cherry_pick(space: Path) -> Iterator[None]:
    diverge(space)
    git(space, "cherry-pick", "other", check=False)
    yield
    git(space, "cherry-pick", "--abort")


def diverge(space: Path) -> None:
    """A branch that cannot be merged, in files that bonsai does not look after; without a checkout."""
    write(space / "code.py", "one\n")
    git(space, "add", "code.py")
    git(space, "commit", "-qm", "one", "--", "code.py")
    blob = git(space, "hash-object", "-w", "--stdin", input=b"theirs\n").strip()
    lines = git(space, "ls-tree", "HEAD")
    lines = re.sub(r"[0-9a-f]{40}\tcode\.py", f"{blob}\tcode.py", lines)
    tree = git(space, "mktree", input=lines.encode()).strip()
    git(space, "branch", "-f", "other", git(space, "commit-tree", tree, "-p", "HEAD", "-m", "theirs").strip())
    write(space / "code.py", "ours\n")
    git(space, "commit", "-qm", "ours", "--", "code.py")


@contextmanager
def head_lock(space: Path) -> Iterator[None]:
    """Of somebody's git, which lives."""
    lock = space / ".git/HEAD.lock"
    with open(lock, "x") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield
    lock.unlink()


@contextmanager
def other_bonsai(space: Path) -> Iterator[None]:
    """A long run of another bonsai."""
    with open(space / ".bonsai/lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


BLOCKS = [merge, rebase, cherry_pick, head_lock, other_bonsai] if ALL else [rebase, head_lock, other_bonsai]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda item: item.__name__)
def test_while_git_is_in_the_middle_of_something_it_waits(space: Path, block: Callable[[Path], Iterator[None]]) -> None:
    with daemon(space) as watch:
        with block(space):
            time.sleep(1)  # what the preparation itself brought about
            before = git(space, "rev-parse", "HEAD")
            write(space / NOTE, "saved meanwhile\n")
            until(lambda: watch.state()["paused"], 15, watch.said)
            time.sleep(12 if ALL else 1.5)
            assert git(space, "rev-parse", "HEAD") == before
            assert block is other_bonsai or "git-blocked" in codes(space)
            assert [line for line in watch.talk if "paused" in line] == watch.talk[1:2]
        until(lambda: not (behind(space) or watch.state()["paused"]), 15, watch.said)
        until(lambda: watch.talk[2:], 5, watch.said)  # daemon.json is written before the line is
        assert watch.talk[2:] == ["going on"]
        assert watch.end() == 0
    assert not sound(space)


def test_a_lock_on_the_index_stops_no_commit(space: Path) -> None:
    """And when it is gone, the index does not claim that the person wants the commit undone."""
    lock = space / ".git/index.lock"
    with daemon(space) as watch:
        lock.touch()
        write(space / NOTE, "saved meanwhile\n")
        until(lambda: not behind(space), 15, watch.said)
        assert "git-lock" in codes(space)
        lock.unlink()
        until(lambda: not git(space, "status", "--porcelain", "--", NOTE), 15, watch.said)
        assert watch.end() == 0


def test_a_note_that_is_written_slowly_is_committed_once(space: Path) -> None:
    """The file is there, or emptied, a second before its text: no commit says that the note is empty."""
    new = "memory/domains/general/slow.md"
    with daemon(space) as watch:
        before = commits(space)
        with (space / new).open("w") as first, (space / NOTE).open("w") as second:
            time.sleep(1.2)
            first.write("slow\n")
            second.write("anew\n")
        until(lambda: not behind(space), PROMISE, lambda: behind(space))
        assert watch.end() == 0
    assert history(space, new) == ["slow\n"]
    assert "" not in history(space, NOTE)
    assert commits(space) == before + 1


# -- the disk ------------------------------------------------------------------------------------------------------


@contextmanager
def bound(real: Path, at: Path, how: str = "rw") -> Iterator[None]:
    """The same files at another place, perhaps for reading only."""
    subprocess.run(["mount", "--bind", "-o", how, str(real), str(at)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


@root_only
def test_a_full_disk_is_waited_for(place: Path) -> None:
    with small_disk(place / "disk", "3m") as disk, daemon(workspace(disk / "space", 1)) as watch:
        space, filler = watch.roots[0], disk / "filler"
        write(space / NOTE, "the last one that fits\n")
        fd = os.open(filler, os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError, match="No space"):
            while True:
                os.write(fd, b"x" * 4096)
        os.close(fd)
        until(lambda: any("paused" in line for line in watch.talk), 15, watch.said)
        time.sleep(6 if ALL else 2)
        assert len(watch.talk) <= 3, watch.talk
        assert watch.alive
        filler.unlink()
        write(space / NOTE, "there is room again\n")
        until(lambda: not behind(space), 15, watch.said)
        until(lambda: watch.state() and not watch.state()["paused"], 2, watch.said)
        assert watch.end() == 0
        assert not sound(space)


@root_only
def test_a_disk_that_is_read_only_for_a_while_is_waited_for(place: Path) -> None:
    real, other = workspace(place / "real", 1), place / "space"
    other.mkdir()
    with bound(real, other), daemon(other) as watch:
        with bound(real, other, "ro"):  # a remount would fail: the daemon's lock is open
            write(real / NOTE, "saved through another door\n")
            until(lambda: any("paused" in line for line in watch.talk), 15, watch.said)
            time.sleep(2)
            assert len(watch.talk) == 2, watch.talk
        until(lambda: not behind(real), 15, watch.said)
        with bound(real, other, "ro"):
            assert watch.end() == 0


# -- accidents -----------------------------------------------------------------------------------------------------


def test_a_mass_deletion_is_told_and_not_committed(space: Path) -> None:
    with daemon(space) as watch:
        before = git(space, "rev-parse", "HEAD")
        for number in range(6):
            (space / f"memory/domains/general/note-{number}.md").unlink()
        until(lambda: watch.state()["paused"], 15, watch.said)
        write(space / "memory/domains/general/note-8.md", "an edit that waits with them\n")
        time.sleep(7 if ALL else 3)
        assert git(space, "rev-parse", "HEAD") == before
        assert codes(space)["mass-deletion"] == "critical"
        assert ask(space, "status")[0] == 2
        assert len(watch.talk) == 2, watch.talk
        run(space, "commit", "--all-deletions")
        until(lambda: not watch.state()["paused"], 15, watch.said)
        assert not behind(space)
        assert watch.talk[2:] == ["going on"]
        assert watch.end() == 0


def test_memory_that_is_gone_and_comes_back(space: Path) -> None:
    with daemon(space) as watch:
        before = git(space, "rev-parse", "HEAD")
        (space / "memory").rename(space / "away")
        until(lambda: watch.state()["paused"], 15, watch.said)
        assert git(space, "rev-parse", "HEAD") == before
        (space / "away").rename(space / "memory")
        until(lambda: not watch.state()["paused"], 15, watch.said)
        write(space / NOTE, "after it came back\n")
        until(lambda: not behind(space), PROMISE, watch.said)
        assert watch.end() == 0


def test_a_workspace_that_is_renamed_and_comes_back(space: Path) -> None:
    away = space.with_name("away")
    with daemon(space) as watch:
        space.rename(away)
        write(away / NOTE, "saved elsewhere\n")
        until(lambda: any("paused" in line for line in watch.talk), 20, watch.said)
        assert not space.exists()
        away.rename(space)
        until(lambda: not behind(space), 15, watch.said)
        until(lambda: not watch.state()["paused"], 2, watch.said)
        assert watch.end() == 0


def test_a_workspace_that_is_replaced_is_watched_anew(space: Path) -> None:
    """Restored from a backup under its old name: the lock of the daemon lies in the folder that is gone."""
    shutil.copytree(space, space.with_name("backup"), ignore=shutil.ignore_patterns(".bonsai"))
    with daemon(space) as watch:
        space.rename(space.with_name("old"))
        space.with_name("backup").rename(space)
        until(lambda: watch.state().get("state") == "watching", 20, watch.said)
        assert ask(space, "status")[1]["daemon"] == {"running": True, "pid": watch.process.pid}
        write(space / NOTE, "in the new one\n")
        until(lambda: not behind(space), PROMISE, watch.said)
        assert watch.end() == 0


# -- processes -----------------------------------------------------------------------------------------------------


def test_a_killed_daemon_is_told_and_a_new_one_catches_up(space: Path) -> None:
    with daemon(space) as watch:
        watch.end(signal.SIGKILL)
        write(space / NOTE, "nobody looks\n")
        assert codes(space)["daemon-dead"] == "warning"
    with daemon(space) as watch:
        assert not behind(space)
        assert "daemon-dead" not in codes(space)


def test_the_second_daemon_is_turned_away(space: Path) -> None:
    with daemon(space) as watch, daemon(space, wait=False) as second:
        assert second.process.wait(10) == 75
        assert watch.alive
        assert watch.state()["state"] == "watching"
        write(space / NOTE, "still watched\n")
        until(lambda: not behind(space), PROMISE, watch.said)


@pytest.mark.parametrize("delay", [0, 0.5, 0.52, 0.55, 0.6, 0.7, 0.9] if ALL else [0.6])
def test_told_to_end_in_the_middle_of_a_commit_it_leaves_nothing_half_done(space: Path, delay: float) -> None:
    for round_ in range(5 if ALL else 2):
        with daemon(space) as watch:
            for number in range(300):
                write(space / f"memory/domains/many/n{number}.md", f"{round_} {number}\n")
            time.sleep(delay)
            assert watch.end() == 0
        assert not sound(space) or behind(space)
        assert not (space / ".bonsai/daemon.json").exists()
        assert not list((space / ".git").rglob("*.lock"))
        run(space, "commit")
        assert not behind(space)
        assert not sound(space)


def test_told_to_end_while_another_bonsai_is_at_work(space: Path) -> None:
    with daemon(space) as watch, other_bonsai(space):
        write(space / NOTE, "saved meanwhile\n")
        time.sleep(1)
        assert watch.end() == 0


def test_events_that_stop_coming_are_noticed(space: Path) -> None:
    """The thread that reads events is killed from outside, which Python itself cannot do."""
    script = """
import ctypes, sys, threading, time
def kill():
    time.sleep(2)
    for thread in threading.enumerate():
        if "notify" in type(thread).__name__.lower():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
            print("killed", file=sys.stderr, flush=True)
threading.Thread(target=kill, daemon=True).start()
from bonsai.watch import watch
sys.exit(watch([sys.argv[1]], log=lambda words: print(words, file=sys.stderr, flush=True)))
"""
    log = space.with_name("log")
    with open(log, "w") as stream:
        process = subprocess.Popen([sys.executable, "-P", "-c", script, str(space)], stderr=stream)
    try:
        until(lambda: "killed" in log.read_text(), 20, log.read_text)
        for count in range(3):
            write(space / NOTE, f"after its death {count}\n")
            until(lambda: not behind(space), 12, log.read_text)
    finally:
        process.terminate()
        assert process.wait(10) == 0


# -- settings ------------------------------------------------------------------------------------------------------


def test_new_settings_are_followed_and_broken_ones_are_not(space: Path) -> None:
    toml = space / "bonsai.toml"
    with daemon(space) as watch:
        for _ in range(2):
            toml.write_text("[watch]\nno such thing\n")
            until(lambda: any("bonsai.toml" in line and "TOML" in line for line in watch.talk), 10, watch.said)
            write(space / NOTE, f"{time.time()}\n")
            until(lambda: not behind(space), PROMISE, watch.said)
        assert len(watch.talk) == 2
        toml.write_text("[watch]\ndebounce_seconds = 1.5\n")
        until(lambda: len(watch.talk) == 3, 10, watch.said)
        assert watch.state()["debounce"] == 1.5
        start = time.monotonic()
        write(space / NOTE, "later than before\n")
        until(lambda: not behind(space), PROMISE, watch.said)
        assert time.monotonic() - start > 1.4
        toml.unlink()
        until(lambda: watch.state()["debounce"] == 0.5, 10, watch.said)
        assert watch.end() == 0


# -- several workspaces --------------------------------------------------------------------------------------------


def test_one_workspace_that_cannot_be_watched_does_not_stop_the_others(place: Path, space: Path) -> None:
    taken, absent = workspace(place / "taken", 1), place / "absent"
    with daemon(taken) as first, daemon(space, taken, absent, wait=False) as watch:
        until(lambda: watch.state(space).get("state") == "watching", 10, watch.said)
        until(lambda: len([line for line in watch.talk if "is not watched" in line]) == 2, 5, watch.said)
        write(space / NOTE, "the good one\n")
        until(lambda: not behind(space), PROMISE, watch.said)
        assert first.end() == 0
        until(lambda: watch.state(taken).get("state") == "watching", 40, watch.said)
        write(taken / NOTE, "taken over\n")
        until(lambda: not behind(taken), PROMISE, watch.said)
        taken.rename(place / "gone")
        write(space / NOTE, "and still the good one\n")
        until(lambda: not behind(space), PROMISE, watch.said)
        assert len([line for line in watch.talk if "is not watched" in line]) == 2
        assert watch.end() == 0


def test_when_none_can_be_watched_it_ends_and_says_why(place: Path) -> None:
    with daemon(place / "absent", place / "missing", wait=False) as watch:
        assert watch.process.wait(10) == 66


# -- agents --------------------------------------------------------------------------------------------------------


def test_the_notes_of_an_agent_are_indexed_in_its_own_tree(space: Path) -> None:
    note = "memory/agents/rex/domains/walks/park.md"
    with daemon(space) as watch:
        write(space / note, "# Park\n\nThe long way round the lake.\n")
        until(lambda: not behind(space), PROMISE, watch.said)
        write(space / note, "# Park\n\nThe short way.\n")
        until(lambda: not behind(space), PROMISE, watch.said)
        assert "short way" in git(space, "show", "HEAD:memory/agents/rex/domains/walks/_index.md")
        assert "Walks" in git(space, "show", "HEAD:memory/agents/rex/_index.md")
        assert "Walks" not in git(space, "show", "HEAD:memory/_index.md")
        assert watch.end() == 0
    assert not sound(space)
