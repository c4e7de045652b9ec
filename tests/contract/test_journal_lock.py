"""Journals, locks and the clock: what each promises, and what becomes of files that are not as they should be."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bonsai.adapters import clock, journal
from bonsai.adapters.journal import FileJournal
from bonsai.adapters.lock import WriterLock
from bonsai.adapters.memory import MemoryJournal, MemoryLock
from bonsai.errors import Busy, IoFailed, Misconfigured, Refused
from bonsai.ports.disk import Journal, Lock

INTENT = {"run": "1f2e", "op": "move", "paths": ["memory/\udcff日\n.md"], "puts": [["a", "", "b"]], "time": 1.5}


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture(params=["file", "memory"])
def log(request: pytest.FixtureRequest, at: Path) -> Journal:
    return FileJournal(str(at)) if request.param == "file" else MemoryJournal()


# -- journal -----------------------------------------------------------------------------------------------------


def test_an_intent_is_pending_until_it_is_done(log: Journal) -> None:
    assert log.pending() is None
    log.begin(INTENT, durable=True)
    assert log.pending() == INTENT
    log.done({"taken_back": "1f2e"})
    assert log.pending() is None
    log.begin({"run": "2"})
    log.begin({"run": "3"})
    assert log.pending() == {"run": "3"}
    log.done()
    log.done()
    assert log.pending() is None


def test_another_process_finds_the_intent(at: Path) -> None:
    FileJournal(str(at)).begin(INTENT)
    assert FileJournal(str(at)).pending() == INTENT
    assert stat.S_IMODE(at.stat().st_mode) == 0o600


def test_a_line_cut_short_anywhere_counts_as_not_written(at: Path) -> None:
    log = FileJournal(str(at))
    log.begin({"run": "1"})
    log.done()
    whole = at.read_bytes()
    log.begin({"run": "2"})
    line = at.read_bytes()[len(whole) :]
    for cut in range(len(line) - 1):
        at.write_bytes(whole + line[:cut])
        assert log.pending() is None
        log.begin({"run": "3"})
        assert log.pending() == {"run": "3"}
    at.write_bytes(whole + line)
    log.done()
    at.write_bytes(at.read_bytes()[:-3])
    assert log.pending() == {"run": "2"}


@pytest.mark.parametrize("text", [b"", b"\0" * 4096, b"\xff\xfe{}\n", b"[1]\n7\n", b'{"begin":[]}\n', b"[" * 100_000])
def test_garbage_is_no_intent_and_does_not_hide_one(at: Path, text: bytes) -> None:
    at.write_bytes(text)
    log = FileJournal(str(at))
    assert log.pending() is None
    log.begin(INTENT)
    assert log.pending() == INTENT
    log.done()
    with at.open("ab") as file:
        file.write(text)
    assert log.pending() is None


def test_the_log_stays_small_and_keeps_what_is_pending(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LIMIT", 1000)
    log = FileJournal(str(at))
    for number in range(200):
        log.begin({"run": str(number)})
        assert log.pending() == {"run": str(number)}
        log.done()
    assert at.stat().st_size < 1100 and Path(f"{at}.1").stat().st_size < 1100
    assert sorted(os.listdir(at.parent)) == ["journal", "journal.1"]


@pytest.mark.parametrize("what", ["folder", "symlink"])
def test_what_is_no_file_is_moved_out_of_the_way(at: Path, what: str) -> None:
    elsewhere = at.parent / "elsewhere"
    elsewhere.write_bytes(b'{"begin":{"run":"evil"}}\n')
    if what == "folder":
        at.mkdir()
    else:
        at.symlink_to(elsewhere)
    log = FileJournal(str(at))
    assert log.pending() is None
    log.begin(INTENT)
    assert log.pending() == INTENT
    assert elsewhere.read_bytes() == b'{"begin":{"run":"evil"}}\n'


def test_a_full_disk_leaves_no_half_line(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, real = FileJournal(str(at)), os.write
    log.begin({"run": "1"})
    before = at.read_bytes()
    room = [5]

    def write(fd: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        done = real(fd, data[: room[0]])
        room[0] -= done
        return done

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(IoFailed, match="No space") as caught:
        log.done()
    assert caught.value.path == ".bonsai/journal"
    assert at.read_bytes() == before and log.pending() == {"run": "1"}


def test_every_line_is_json(at: Path) -> None:
    log = FileJournal(str(at))
    log.begin(INTENT)
    log.done({"staged": {"memory/\udcff.md": "00"}})
    assert [list(json.loads(line)) for line in at.read_text("ascii").splitlines()] == [["begin"], ["done"]]


# -- lock --------------------------------------------------------------------------------------------------------

HOLD = (
    "import sys; from bonsai.adapters.lock import WriterLock\n"
    "with WriterLock(sys.argv[1])(): print('held', flush=True); sys.stdin.read()"
)


@pytest.fixture(params=["file", "memory"])
def lock(request: pytest.FixtureRequest, tmp_path: Path) -> Lock:
    return WriterLock(str(tmp_path / "lock"), 5) if request.param == "file" else MemoryLock(5)


def test_the_thread_that_holds_a_lock_may_take_it_again(lock: Lock) -> None:
    for _ in range(2):
        with lock(), lock(), lock(0):
            pass


def test_an_error_inside_gives_the_lock_back(lock: Lock) -> None:
    with pytest.raises(KeyError), lock(), lock():
        raise KeyError
    took = []
    thread = threading.Thread(target=lambda: took.append(lock(0).__enter__()))
    thread.start()
    thread.join()
    assert took == [None]


def test_threads_take_turns(lock: Lock) -> None:
    inside, most, late = 0, 0, []

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with lock():
                inside += 1
                most = max(most, inside)
                time.sleep(0.0002)
                inside -= 1

    def try_once() -> None:
        with pytest.raises(Busy) as caught, lock(0.05):
            pass
        late.append(caught.value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    with lock():
        thread = threading.Thread(target=try_once)
        thread.start()
        thread.join()
    assert late and late[0].hint and late[0].code == 75


def test_two_workspaces_of_one_process_share_the_lock(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "ws").symlink_to("real")
    with WriterLock(str(tmp_path / "real/lock"))(), WriterLock(str(tmp_path / "ws/lock"), 0)():
        pass


def test_another_process_is_waited_for_and_its_death_gives_the_lock_back(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=os.getcwd()
    ) as other:
        assert other.stdout and other.stdout.readline() == b"held\n"
        start = time.monotonic()
        with pytest.raises(Busy, match="at work") as caught, WriterLock(path, 0.2)():
            pass
        assert 0.15 < time.monotonic() - start < 3 and caught.value.hint == "Try again."
        other.kill()
        other.wait()
        with WriterLock(path, 5)():
            pass
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_symlink_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"text")
    (tmp_path / "lock").symlink_to("precious")
    with pytest.raises(Refused), WriterLock(str(tmp_path / "lock"), 0)():
        pass
    assert (tmp_path / "precious").read_bytes() == b"text"


def test_a_lock_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(IoFailed), WriterLock(str(tmp_path / "file/lock"), 0)():
        pass
    (tmp_path / "lock").mkdir()
    with pytest.raises(IoFailed), WriterLock(str(tmp_path / "lock"), 0)():
        pass


# -- clock -------------------------------------------------------------------------------------------------------


def test_the_time_can_be_set_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = datetime(2026, 3, 15, 12, tzinfo=UTC)
    for text in ("2026-03-15T12:00:00Z", "2026-03-15T14:00:00+02:00", " 2026-03-15T12:00:00", "2026-03-15 12:00Z"):
        monkeypatch.setenv("BONSAI_NOW", text)
        assert clock.now() == wanted and clock.now().tzinfo is UTC
    monkeypatch.setenv("BONSAI_NOW", "2026-03-15")
    assert clock.now() == datetime(2026, 3, 15, tzinfo=UTC)
    monkeypatch.setenv("BONSAI_NOW", "")
    assert abs(clock.now().timestamp() - time.time()) < 5


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "12", "9999-12-31T23:59:59-12:00", "\udcff"])
def test_a_time_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("BONSAI_NOW", text)
    with pytest.raises(Misconfigured, match="BONSAI_NOW"):
        clock.now()


def test_the_day_is_the_local_one(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime(2026, 4, 11, 19, 53, tzinfo=UTC)
    for zone, day in (("Asia/Shanghai", 12), ("America/New_York", 11), ("UTC", 11), ("XYZ-9", 12)):
        monkeypatch.setenv("TZ", zone)
        assert clock.local(moment) == moment
        assert clock.local(moment).day == day
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    last = datetime.max.replace(tzinfo=UTC)
    assert clock.local(last) == last
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
