"""A daemon vouches for what stands on disk only where it has seen everything up to the question."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bonsai.adapters import vouch
from bonsai.adapters.glance import glance
from bonsai.adapters.lock import WriterLock
from bonsai.adapters.vouch import Cookies
from bonsai.adapters.watcher import DiskWatcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only inotify tells things in their order")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory/domains/a").mkdir(parents=True)
    (tmp_path / ".bonsai").mkdir(mode=0o700)
    return tmp_path.resolve()


@pytest.fixture
def daemon(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskWatcher]:
    monkeypatch.setattr(vouch, "WAIT", 10.0)  # on a busy machine a tenth of a second is nothing
    watcher = DiskWatcher(str(root))
    with WriterLock(f"{root}/.bonsai/daemon.lock")():
        watcher.start()
        yield watcher
        watcher.stop()


def test_nobody_is_asked_without_a_daemon(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vouch, "WAIT", 10.0)
    start = time.monotonic()
    assert Cookies(str(root)).ask("") == ("", None)
    assert time.monotonic() - start < vouch.WAIT / 2
    assert not (root / ".bonsai/cookies").exists()


def test_the_first_question_gets_a_mark_and_the_next_what_happened_since(root: Path, daemon: DiskWatcher) -> None:
    asking = Cookies(str(root))
    mark, paths = asking.ask("")
    assert mark and paths is None
    assert asking.ask(mark) == (mark, [])
    for number in range(50):  # at once after the save: no event may be overtaken
        (root / f"memory/domains/a/n{number}.md").write_text("x")
        later, paths = asking.ask(mark)
        assert f"memory/domains/a/n{number}.md" in (paths or [])
        assert asking.ask(later) == (later, [])
        mark = later
    os.remove(root / "memory/domains/a/n1.md")
    os.rename(root / "memory/domains/a/n2.md", root / "memory/domains/a/m2.md")
    _, paths = asking.ask(mark)
    assert set(paths or []) == {f"memory/domains/a/{name}.md" for name in ("n1", "n2", "m2")}


def test_a_new_folder_is_named_with_what_was_made_in_it_before_it_was_watched(root: Path, daemon: DiskWatcher) -> None:
    asking = Cookies(str(root))
    mark, _ = asking.ask("")
    (root / "memory/domains/b/c").mkdir(parents=True)
    (root / "memory/domains/b/c/n.md").write_text("x")
    _, paths = asking.ask(mark)
    assert any("memory/domains/b/c/n.md".startswith(path) for path in paths or [])


def test_nobody_vouches_across_a_break(root: Path, daemon: DiskWatcher) -> None:
    asking = Cookies(str(root))
    mark, _ = asking.ask("")
    daemon._fail("overflow")
    assert asking.ask(mark) == ("", None)
    daemon.wait(0)  # sets the watches up anew
    later, paths = asking.ask(mark)
    assert later and later != mark and paths is None
    assert asking.ask(later) == (later, [])


def test_a_mark_from_too_long_ago_is_no_mark(root: Path, daemon: DiskWatcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vouch, "MOST", 3)
    asking = Cookies(str(root))
    mark, _ = asking.ask("")
    for number in range(5):
        (root / f"memory/n{number}.md").write_text("x")
    later, paths = asking.ask(mark)
    assert paths is None and asking.ask(later) == (later, [])


def test_a_daemon_that_does_not_answer_is_left_alone_for_a_while(root: Path) -> None:
    (root / ".bonsai/cookies").mkdir()
    asking = Cookies(str(root))
    with WriterLock(f"{root}/.bonsai/daemon.lock")():
        start = time.monotonic()
        assert asking.ask("") == ("", None)
        waited = time.monotonic() - start
        assert waited >= vouch.WAIT
        start = time.monotonic()
        assert asking.ask("") == ("", None)
        assert time.monotonic() - start < waited
    assert os.listdir(root / ".bonsai/cookies") == []


@pytest.mark.parametrize("mark", ["x", "1.2", "../..", "ff.99999999999", "é", "a-b"])
def test_no_mark_is_trusted(root: Path, daemon: DiskWatcher, mark: str) -> None:
    assert Cookies(str(root)).ask(mark)[1] is None


def test_cookies_of_a_killed_recall_are_cleared_up(root: Path) -> None:
    (root / ".bonsai/cookies").mkdir()
    (root / ".bonsai/cookies/old-").write_text("")
    watcher = DiskWatcher(str(root))
    watcher.start()
    watcher.stop()
    assert os.listdir(root / ".bonsai/cookies") == []


def test_cookies_wake_no_daemon(root: Path, daemon: DiskWatcher) -> None:
    for _ in range(3):
        Cookies(str(root)).ask("")
    seen = daemon.wait(0.3)
    assert not seen.paths and not seen.lost


# -- without a daemon ------------------------------------------------------------------------------------------------


def test_a_glance_tells_of_every_change(root: Path) -> None:
    note, boot = root / "memory/domains/a/n.md", root / "MEMORY.md"
    (root / "memory/odd.md").mkdir()

    def replace() -> None:
        (root / "memory/new").write_text("another")
        os.utime(root / "memory/new", ns=(1, 1))
        os.replace(root / "memory/new", note)

    def same_times() -> None:
        note.write_text("Another")
        os.utime(note, ns=(1, 1))

    last = glance(str(root))
    steps = [
        *(lambda: note.write_text("one"), replace, same_times, lambda: note.rename(note.with_name("m.md"))),
        *(lambda: boot.write_text("x"), lambda: boot.write_text("y"), boot.unlink),
        *(lambda: (root / "memory/odd.md/n.md").write_text("x"), (root / "memory/domains/a/m.md").unlink),
    ]
    for step in steps:
        step()
        found = glance(str(root))
        assert found != last and found == glance(str(root))
        last = found
        time.sleep(0.01)  # coarse clocks
