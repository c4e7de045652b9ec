"""Every Cache keeps the same promises; then what can happen to the file of the one that has a file."""

import dataclasses
import os
import random
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bonsai.adapters.memory import MemoryCache
from bonsai.adapters.sqlite_cache import SCHEMA, SqliteCache
from bonsai.notes.change import Row, Stat
from bonsai.notes.problem import problem
from bonsai.notes.summary import Summary
from bonsai.ports.derived import Cache


def summary(title: str = "Roses", **changes: object) -> Summary:
    short = Summary(title, "How they grow.", 12, False, "2026-03-04", "", "fact", "", (), (), (), False)
    return dataclasses.replace(short, **changes)  # type: ignore[arg-type]


ROWS = [
    Row("memory/a.md", Stat(1, 2, 3, 4, 0o100644), "aa", "aa", 0o100644, summary()),
    Row("memory/b.md", Stat(1, -2, 2**64 - 1, 2**64 - 1, 0o100755), "bb", "", 0, summary(names=("B", "b"))),
    Row("memory/only-in-head.md", None, "", "cc", 0o100755, None),
    Row("memory/pic.png", Stat(0, 0, 0, 0, 0o100644), "", "dd", 0o100644, None),
    Row(
        "memory/\udcff\ud800\n日.md",
        Stat(9, 9, 9, 9, 0o100644),
        "ee",
        "ff",
        0o100644,
        summary(
            "\udcff\0\ud800😀",
            links=("x.md", "y z"),
            problems=(problem("not-utf8", "memory/x.md", "is no UTF-8: save it as UTF-8"),),
            blank=True,
            held=True,
        ),
    ),
]
AS_READ = {row.path: row for row in ROWS}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache/tree.db"


@pytest.fixture(params=["sqlite", "memory"])
def cache(request: pytest.FixtureRequest, path: Path) -> Iterator[Cache]:
    opened: Cache = SqliteCache(str(path)) if request.param == "sqlite" else MemoryCache()
    yield opened
    opened.close()


def filled(path: Path) -> None:
    opened = SqliteCache(str(path))
    opened.save(ROWS, meta={"head": "c0ffee"})
    opened.close()


def reread(path: Path) -> SqliteCache:
    opened = SqliteCache(str(path))
    opened.load()
    return opened


# -- the contract ------------------------------------------------------------------------------------------------


def test_a_new_cache_is_empty(cache: Cache) -> None:
    assert (cache.load().rows, cache.load().meta, cache.rebuilt) == ({}, {}, "")


def test_what_was_saved_is_loaded(cache: Cache) -> None:
    cache.save(iter(ROWS), meta={"head": "c0ffee", "odd\udcff": "\0\n日"})
    assert cache.load().rows == AS_READ
    assert cache.load().meta == {"head": "c0ffee", "odd\udcff": "\0\n日"}


def test_the_loaded_snapshot_follows_each_save(cache: Cache) -> None:
    cache.save(ROWS)
    snapshot = cache.load()
    cache.save([Row("memory/a.md", blob="new")], gone=["memory/b.md", "memory/none.md"], meta={"head": "2"})
    assert cache.load() is snapshot
    assert snapshot.rows["memory/a.md"] == Row("memory/a.md", blob="new")
    assert "memory/b.md" not in snapshot.rows and snapshot.meta == {"head": "2"}


def test_cleared_is_empty(cache: Cache) -> None:
    cache.save(ROWS, meta={"head": "1"})
    cache.clear()
    assert (cache.load().rows, cache.load().meta) == ({}, {})
    cache.save(ROWS[:1])
    assert list(cache.load().rows) == ["memory/a.md"]


# -- the file --------------------------------------------------------------------------------------------------------


def test_another_process_finds_what_was_saved(path: Path) -> None:
    filled(path)
    again = reread(path)
    assert again.load().rows == AS_READ and again.load().meta == {"head": "c0ffee"} and again.rebuilt == ""
    again.save([], gone=["memory/a.md"])
    again.close()
    again = reread(path)
    assert set(again.load().rows) == set(AS_READ) - {"memory/a.md"}
    again.clear()
    again.close()
    assert reread(path).load().rows == {}


def test_only_its_owner_can_read_it(path: Path) -> None:
    filled(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_another_process_saved_is_seen_and_wins(path: Path) -> None:
    ours, theirs = reread(path), reread(path)
    theirs.save(ROWS, meta={"head": "theirs"})
    ours.save([Row("memory/old.md")], meta={"head": "ours"})  # relative to a state that is no more
    assert ours.load().rows == AS_READ and ours.load().meta == {"head": "theirs"}
    ours.save([Row("memory/new.md")])
    assert set(theirs.load().rows) == {*AS_READ, "memory/new.md"}
    assert theirs.load() is theirs.load()


def test_the_file_may_be_deleted_while_it_is_open(path: Path) -> None:
    cache = reread(path)
    cache.save(ROWS, meta={"head": "1"})
    for name in os.listdir(path.parent):
        (path.parent / name).unlink()
    assert cache.load().rows == {} and cache.load().meta == {}
    cache.save(ROWS)
    assert reread(path).load().rows == AS_READ


def damaged(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how in DAMAGED_BYTES:
        path.write_bytes(DAMAGED_BYTES[how](data))
        assert path.read_bytes() != data
    elif how == "directory for the log":
        Path(f"{path}-wal").mkdir()
    elif how in {"old schema", "newer schema", "other tables"}:
        number = SCHEMA + {"old schema": -1, "newer schema": 1, "other tables": 0}[how]
        with sqlite3.connect(path) as db:
            db.execute(f"PRAGMA user_version={number}")
            db.execute("DROP TABLE rows")
            db.execute("CREATE TABLE rows (x)")
        db.close()
    elif how == "copied from elsewhere":
        (path.parent / "copy").write_bytes(data)
        os.replace(path.parent / "copy", path)
    else:
        path.unlink()
        if how == "directory":
            (path / "full").mkdir(parents=True)
        elif how == "pipe":
            os.mkfifo(path)
        elif how == "symlink":
            path.symlink_to("/etc/hostname")


DAMAGED_BYTES: dict[str, Callable[[bytes], bytes]] = {
    "zero": lambda data: b"",
    "garbage": lambda data: random.Random(7).randbytes(len(data)),
    "truncated": lambda data: data[: len(data) // 2 + 100],
    "cut short in a page": lambda data: data[:1000],
    "page": lambda data: data[:4096] + bytes(255 - byte for byte in data[4096:8192]) + data[8192:],
    "byte in a text": lambda data: data.replace(b"How they grow.", b"How they glow."),
}
DAMAGES = [
    *DAMAGED_BYTES,
    *("old schema", "newer schema", "other tables", "directory", "pipe", "symlink", "directory for the log"),
    "copied from elsewhere",
]


@pytest.mark.parametrize("first", ["load", "save", "clear"])
@pytest.mark.parametrize("how", DAMAGES)
def test_damage_is_set_aside_once_and_said(path: Path, how: str, first: str) -> None:
    filled(path)
    damaged(path, how)
    cache = SqliteCache(str(path))
    if first == "load":
        assert cache.load().rows == {} and cache.load().meta == {}
    elif first == "clear":
        cache.clear()
    cache.save(ROWS, meta={"head": "2"})
    assert cache.rebuilt
    cache.close()
    again = reread(path)
    assert again.load().rows == AS_READ and again.load().meta == {"head": "2"} and again.rebuilt == ""
    again.close()


def test_one_damaged_file_at_most_is_kept(path: Path) -> None:
    for how in ("garbage", "directory", "truncated", "garbage"):
        filled(path)
        damaged(path, how)
        reread(path).close()
    assert len([name for name in os.listdir(path.parent) if name.startswith("tree.db.broken-")]) == 1


def test_damage_while_it_is_open(path: Path) -> None:
    cache = reread(path)
    cache.save(ROWS, meta={"head": "1"})
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE rows")
    db.close()
    cache.save([Row("memory/new.md")], meta={"head": "2"})
    cache.load()
    cache.save([Row("memory/newer.md")], meta={"head": "3"})
    again = reread(path)
    assert again.load() == cache.load() and again.rebuilt == ""


def test_a_flipped_byte_anywhere_is_found_or_harmless(path: Path) -> None:
    many = [Row(f"memory/{n}.md", Stat(n, n, n, n, 0o100644), f"{n:040x}", "", 0, summary(f"{n}")) for n in range(200)]
    cache = SqliteCache(str(path))
    cache.save(many)
    cache.close()
    data, rng, found = path.read_bytes(), random.Random(11), 0
    for _ in range(400):
        at = rng.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :])
        cache = reread(path)
        if cache.rebuilt:
            found += 1
            assert cache.load().rows == {}
        else:
            assert cache.load().rows == {row.path: row for row in many}
        cache.close()
        for name in os.listdir(path.parent):
            (path.parent / name).unlink()
    assert found > 100


def test_a_locked_file_is_left_alone_and_the_run_goes_on_from_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bonsai.adapters.sqlite_file.PATIENCE", 0.01)
    filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    cache = reread(path)
    cache.save(ROWS[:1], meta={"head": "2"})
    assert cache.load().rows == {"memory/a.md": ROWS[0]} and cache.rebuilt == ""
    other.execute("ROLLBACK")
    other.close()
    assert cache.load().rows == AS_READ and cache.load().meta == {"head": "c0ffee"}
    cache.save([], meta={"head": "3"})
    assert reread(path).load().meta == {"head": "3"}


def test_what_could_not_be_saved_is_saved_with_the_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the file would hold the new HEAD beside the rows of the old one."""
    monkeypatch.setattr("bonsai.adapters.sqlite_file.PATIENCE", 0.01)
    filled(path)
    cache = reread(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    cache.save([Row("memory/missed.md")], gone=["memory/b.md"], meta={"head": "2"})
    other.execute("ROLLBACK")
    other.close()
    cache.save([Row("memory/next.md")], meta={"head": "3"})
    again = reread(path)
    assert set(again.load().rows) == set(AS_READ) - {"memory/b.md"} | {"memory/missed.md", "memory/next.md"}
    assert again.load().meta == {"head": "3"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_file_that_may_not_be_written_serves_what_it_can(path: Path, tmp_path: Path) -> None:
    filled(path)
    for folder in [path.parent, *path.parents][:-1]:
        os.chmod(folder, os.stat(folder).st_mode | 0o005)
    os.chmod(path, 0o444)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgid(65534)
            os.setuid(65534)
            cache = SqliteCache(str(path))
            cache.load()
            cache.save(ROWS, meta={"head": "2"})
            assert cache.load().rows == AS_READ and cache.rebuilt == ""
            nowhere = SqliteCache(str(path.parent / "no/rights/tree.db"))
            nowhere.save(ROWS)
            assert nowhere.load().rows == AS_READ
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert reread(path).load().meta == {"head": "c0ffee"}


def test_a_full_disk_is_no_reason_to_stop(path: Path) -> None:
    filled(path)
    cache = reread(path)
    with cache._file.using() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count={pages}")
    many = [Row(f"memory/{number}.md", blob="x" * 40) for number in range(2000)]
    cache.save(many)
    assert len(cache.load().rows) == 2000 + len(ROWS)
    cache.close()
    assert reread(path).load().rows == AS_READ
