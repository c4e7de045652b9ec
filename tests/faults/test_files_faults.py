"""What the system can do to a write: fail at any call, be killed at any call, be full, be faster than us.

After each fault a note is as it was or as it should be, and nothing of ours lies about once `sweep` has run.
"""

import errno
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import harness
import pytest

from bonsai.adapters import displaced
from bonsai.adapters import files as files_module
from bonsai.adapters.files import Files
from bonsai.errors import BonsaiError, Busy, IoFailed, NotFound

NOTE = "memory/domains/garden/roses.md"
OLD, NEW, HUMAN = b"old " * 1000, b"new " * 1500, b"a person's " * 900
CALLS = (
    *("open", "write", "fsync", "link", "unlink", "mkdir", "rmdir", "rename", "read", "fstat", "stat", "listdir"),
    "exchange",
)
GROWING = ("write", "fsync", "link", "mkdir", "rename")  # what needs room
ERRNOS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT, errno.EMFILE)

Act = Callable[[Files], object]
ACTS: dict[str, Act] = {
    "create": lambda files: files.create(NOTE, NEW),
    "create in a new folder": lambda files: files.create(NOTE, NEW),
    "replace": lambda files: files.replace(NOTE, NEW, OLD),
    "remove": lambda files: files.remove(NOTE, OLD),
    "generate": lambda files: files.generate(NOTE, NEW),
    "generate a new one": lambda files: files.generate(NOTE, NEW),
    "discard": lambda files: files.discard(NOTE),
}
FRESH = {"create", "create in a new folder", "generate a new one"}  # nothing stands there before
GONE = {"remove", "discard"}  # nothing stands there after


def prepared(root: Path, name: str) -> Files:
    folder = root / "memory/domains/garden"
    if name == "create in a new folder":
        (root / "memory").mkdir(parents=True)
    else:
        folder.mkdir(parents=True)
        (folder / "other.md").write_bytes(b"other")
    if name not in FRESH:
        (root / NOTE).write_bytes(OLD)
    return Files(str(root))


def at(root: Path) -> bytes | None:
    try:
        return (root / NOTE).read_bytes()
    except FileNotFoundError:
        return None


def before(name: str) -> bytes | None:
    return None if name in FRESH else OLD


def after(name: str) -> bytes | None:
    return None if name in GONE else NEW


def leftovers(root: Path) -> list[str]:
    return [str(path) for path in root.rglob(".bonsai-*")]


class Faults:
    """Counts the calls into the system while armed, and does something instead of those from the k-th on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, calls: tuple[str, ...] = CALLS) -> None:
        self.count, self.at, self.last, self.armed = 0, 0, 0, False
        self.fault: Callable[[], None] = lambda: None
        for name in calls:
            module = displaced if name == "exchange" else os
            monkeypatch.setattr(module, name, self._wrapped(getattr(module, name)))

    def _wrapped(self, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            if self.armed:
                self.count += 1
                if self.at <= self.count <= self.last:
                    self.fault()
            return real(*args, **kwargs)

        return call

    @contextmanager
    def __call__(self, first: int, last: int, fault: Callable[[], None]) -> Iterator[None]:
        self.count, self.at, self.last, self.fault, self.armed = 0, first, last, fault, True
        try:
            yield
        finally:
            self.armed = False


def failing(number: int) -> Callable[[], None]:
    def fault() -> None:
        raise OSError(number, os.strerror(number))

    return fault


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(faults: Faults, k: int, act: Callable[[], object]) -> bool:
    """Run in a forked child that is killed at its k-th call into the system; whether it came that far."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with faults(k, k, kill), suppress(BonsaiError):
                act()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


# -- errors of the system ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("name", ACTS)
def test_an_error_at_any_call_leaves_the_note_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, lasting: bool
) -> None:
    faults, points = Faults(monkeypatch), 0
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for number in ERRNOS:
        for k in range(1, 200):
            root = tmp_path / f"{number}-{k}"
            files, error = prepared(root, name), None
            with faults(k, 999 if lasting else k, failing(number)):
                try:
                    ACTS[name](files)
                except BonsaiError as caught:
                    error = caught
            if error is None:
                assert at(root) == after(name)
            else:
                points += 1
                assert isinstance(error, IoFailed) and errno.errorcode[number] in error.cause
                assert error.path in {NOTE, files.root}
                assert error.hint
                files.sweep()  # with a lasting error our own file could not be deleted, nor the note be put back
                known = lasting or name.startswith("generate")  # a generated file that is new already may stay
                assert at(root) in ({before(name), after(name)} if known else {before(name)})
            files.sweep()
            assert leftovers(root) == []
            if faults.count < k:
                break
        else:
            raise AssertionError("it never ended")
    assert points >= 6 * 4
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("name", [name for name in ACTS if name != "discard"])
def test_a_full_disk_leaves_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    faults = Faults(monkeypatch, GROWING)
    for k in range(1, 50):
        root = tmp_path / f"{k}"
        files = prepared(root, name)
        with faults(k, k if name == "remove" else 999, failing(number)), suppress(IoFailed):
            ACTS[name](files)
        assert leftovers(root) == []
        assert at(root) in {before(name), after(name)}
        if faults.count < k:
            return
    raise AssertionError("it never ended")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with harness.small_disk(tmp_path / "disk", "1m") as disk:
        yield disk


@pytest.mark.parametrize("left", [0, 4, 8, 16])
def test_a_disk_that_is_really_full(small_disk: Path, left: int) -> None:
    files = prepared(small_disk, "replace")
    big = b"x" * 40_000
    with open(small_disk / "ballast", "wb", buffering=0) as ballast:
        with suppress(OSError):
            while ballast.write(b"x" * 4096):
                pass
        with suppress(OSError):
            os.ftruncate(ballast.fileno(), (os.fstat(ballast.fileno()).st_size // 4096) * 4096 - left * 1024)
    for act in (
        lambda: files.create("memory/new/x.md", big),
        lambda: files.replace(NOTE, big, OLD),
        lambda: files.generate(NOTE, big),
    ):
        with pytest.raises(IoFailed, match="ENOSPC") as caught:
            act()
        assert "room" in caught.value.hint
        assert at(small_disk) == OLD and leftovers(small_disk) == []
    (small_disk / "ballast").unlink()
    files.replace(NOTE, big, OLD)
    files.create("memory/new/x.md", big)
    assert at(small_disk) == big


# -- kill -9 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "rename"])
@pytest.mark.parametrize("name", ACTS)
def test_a_kill_at_any_call_leaves_the_note_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(displaced, "exchange", lambda *args: False)
    faults = Faults(monkeypatch)
    for k in range(1, 200):
        root = tmp_path / f"{k}"
        files = prepared(root, name)

        died = killed_at(faults, k, lambda: ACTS[name](files))  # noqa: B023
        files.sweep()
        assert at(root) in {before(name), after(name)}
        assert leftovers(root) == []
        if not died:
            assert at(root) == after(name)
            assert k > 4
            return
    raise AssertionError("it never ended")


def test_a_kill_at_any_call_leaves_each_of_many_whole_or_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults, notes = Faults(monkeypatch), [NOTE, "memory/domains/garden/beans.md", "memory/domains/shed/rake.md"]
    for k in range(1, 200):
        root = tmp_path / f"{k}"
        files = prepared(root, "remove")
        for note in notes:
            (root / note).parent.mkdir(exist_ok=True)
            (root / note).write_bytes(OLD)
        died = killed_at(faults, k, lambda: files.remove_all(dict.fromkeys(notes, OLD)))  # noqa: B023
        files.sweep()
        assert {(root / note).read_bytes() for note in notes if (root / note).exists()} <= {OLD}
        assert leftovers(root) == []
        assert (root / "memory/domains/garden/other.md").read_bytes() == b"other"
        if not died:
            assert not any((root / note).exists() for note in notes)
            assert k > 30
            return
    raise AssertionError("it never ended")


def test_an_error_among_many_deletes_nothing_that_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails, each note has its bytes or is gone: who asked knows both, and gives back those that are gone."""
    faults, notes = Faults(monkeypatch), [NOTE, "memory/domains/garden/beans.md", "memory/domains/garden/peas.md"]
    for k in range(1, 200):
        root, error = tmp_path / f"{k}", None
        files = prepared(root, "remove")
        for note in notes:
            (root / note).write_bytes(OLD)
        with faults(k, k, failing(errno.EIO)):
            try:
                files.remove_all(dict.fromkeys(notes, OLD))
            except BonsaiError as caught:
                error = caught
        files.sweep()
        left = [note for note in notes if (root / note).exists()]
        assert all((root / note).read_bytes() == OLD for note in left)
        assert error is not None or not left
        assert leftovers(root) == []
        if faults.count < k:
            return
    raise AssertionError("it never ended")


@pytest.mark.parametrize("name", ["replace", "remove"])
def test_a_kill_while_a_persons_save_is_displaced_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A person saves between our look and our swap; we are killed at any call, and the sweep after that, too."""
    faults, look = Faults(monkeypatch), files_module.expect
    root = tmp_path

    def look_and_be_late(*args: Any) -> os.stat_result:
        info = look(*args)
        faults.armed = False
        (root / "saved").write_bytes(HUMAN)
        os.replace(root / "saved", root / NOTE)
        faults.armed = True
        return info

    monkeypatch.setattr(files_module, "expect", look_and_be_late)
    displacements = 0
    for k in range(1, 200):
        for again in (0, *range(1, 40, 3)):
            root = tmp_path / f"{k}-{again}"
            files = prepared(root, name)
            died = killed_at(faults, k, lambda: ACTS[name](files))  # noqa: B023
            saved = at(root) != OLD
            displacements += at(root) not in {OLD, HUMAN}
            if again:
                killed_at(faults, again, files.sweep)
            files.sweep()
            assert at(root) == (HUMAN if saved else OLD)
            assert leftovers(root) == []
        if not died:
            assert displacements > 10
            return
    raise AssertionError("it never ended")


# -- faster than us ------------------------------------------------------------------------------------------------


def rename_over(note: Path, data: bytes) -> None:
    (note.parent / "roses.md.part").write_bytes(data)
    os.replace(note.parent / "roses.md.part", note)


def in_place(note: Path, data: bytes) -> None:
    note.write_bytes(data)


def backup_first(note: Path, data: bytes) -> None:
    os.rename(note, note.parent / "roses.md~")
    note.write_bytes(data)


@pytest.mark.parametrize("act", ["replace", "remove"])
@pytest.mark.parametrize("save", [rename_over, in_place, backup_first])
def test_a_save_at_the_worst_moment_is_never_lost(
    tmp_path: Path, save: Callable[[Path, bytes], None], act: str
) -> None:
    root = tmp_path
    files, note = prepared(root, "replace"), root / NOTE
    go, ready = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go[1])
        rng = random.Random(5)
        while number := os.read(go[0], 1):
            wait = time.perf_counter() + rng.random() * 0.0015
            while time.perf_counter() < wait:
                pass
            with suppress(FileNotFoundError):  # backup_first: we had removed it
                save(note, HUMAN + number)
            os.write(ready[1], b".")
        os._exit(0)
    os.close(go[0])
    ours = theirs = 0
    try:
        for number in range(300):
            note.write_bytes(OLD)
            mark = bytes([number % 256])
            os.write(go[1], mark)
            try:
                ACTS[act](files)
                ours += 1
            except (Busy, NotFound):
                theirs += 1
            os.read(ready[0], 1)
            if save is backup_first and act == "remove" and not note.exists():
                continue  # there was nothing left to save over
            files.sweep()  # where the note was away for a moment, what we had displaced waits for this
            assert note.read_bytes() == HUMAN + mark
            assert leftovers(root) == []
    finally:
        os.close(go[1])
        os.waitpid(pid, 0)
        for fd in (*ready,):
            os.close(fd)
    assert ours and theirs
