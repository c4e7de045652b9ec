"""Every NoteStore keeps the same promises; then what only a real file system can do to us."""

import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bonsai.adapters.displaced import exchange
from bonsai.adapters.files import Files, ensure_private
from bonsai.adapters.memory import MemoryStore
from bonsai.errors import Busy, CannotCreate, IoFailed, NotFound, Refused
from bonsai.notes.change import Row
from bonsai.ports.disk import NoteStore

NOTE = "memory/domains/garden/roses.md"
ROOT = os.geteuid() == 0
OUTSIDE_PATHS = [
    "",
    "/",
    "/etc/passwd",
    "..",
    "../x.md",
    "memory/../../x.md",
    "memory/domains/../../../x.md",
    "memory/./x.md",
    "memory//x.md",
    "memory/x.md/",
    "memory/x\0.md",
    "memory/.git/hooks/pre-commit",
    ".git/config",
    "memory/.GIT/config",
    "memory/\ud800.md",
]


@pytest.fixture(params=["files", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> NoteStore:
    if request.param == "memory":
        return MemoryStore()
    (tmp_path / "ws").mkdir()
    return Files(str(tmp_path / "ws"))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "ws").mkdir()
    return Files(str(tmp_path / "ws"))


def listed(store: NoteStore, top: str = "") -> dict[str, str]:
    return {entry.path: entry.kind for entry in store.scan(top)}


# -- the contract ------------------------------------------------------------------------------------------------


def test_a_new_note_is_there_with_its_bytes_and_its_folders(store: NoteStore) -> None:
    store.create(NOTE, b"# Roses\r\n\xff")
    assert store.read(NOTE) == b"# Roses\r\n\xff"
    assert store.exists(NOTE) and store.exists("memory/domains/garden")
    assert not store.exists("memory/domains/other")
    entry = store.stat(NOTE)
    assert entry and (entry.path, entry.kind, entry.stat.size, entry.stat.mode) == (NOTE, "file", 10, 0o100644)
    assert store.stat("memory/domains/garden") is None
    assert store.stat("memory/domains/garden/none.md") is None


def rows_of(store: NoteStore) -> dict[str, Row]:
    return {entry.path: Row(entry.path, entry.stat) for entry in store.scan() if entry.kind == "file"}


def test_differing_tells_what_is_not_as_the_rows_say(store: NoteStore) -> None:
    names = ["memory/a.md", "memory/b.md", "memory/domains/x/c.md", "memory/domains/x/d.md", "memory/日記.md"]
    for name in names:
        store.create(name, b"one")
    rows, folders = rows_of(store), dict[str, Any]()
    for _ in range(2):  # the second time from what it noted about the folders
        assert store.differing(rows, folders) == ([], set(names))
    store.replace("memory/a.md", b"two", b"one")
    store.remove("memory/domains/x/c.md", b"one")
    store.create("memory/domains/x/e.md", b"new")
    for _ in range(2):
        found, same = store.differing(rows, folders)
        assert {entry.path for entry in found} == {"memory/a.md", "memory/domains/x/e.md"}
        assert same == set(names) - {"memory/a.md", "memory/domains/x/c.md"}


def test_differing_sees_every_change_of_a_folder_that_it_knows(files: Files) -> None:
    path, root = "memory/domains/x/a.md", Path(files.root)

    def times(name: str, moved: int) -> None:
        os.utime(root / name, ns=(10**18, 10**18 + moved))

    def changed(act: Callable[[], object]) -> bool:
        rows, folders = rows_of(files), dict[str, Any]()
        assert files.differing(rows, folders)[0] == []
        act()
        found, same = files.differing(rows, folders)
        return bool(found) or same != set(rows)

    for name in (path, "memory/domains/x/b.md", "memory/domains/y/c.md"):
        files.create(name, b"text")
        times(name, 0)
    assert changed(lambda: (root / path).write_bytes(b"TEXT"))
    assert changed(lambda: times(path, 1))
    assert changed(lambda: (root / path).chmod(0o755))
    assert changed(lambda: (root / path).rename(root / "memory/domains/x/z.md"))
    assert changed((root / "memory/domains/x/z.md").unlink)
    assert changed(lambda: (root / "memory/domains/x/b.md").replace(root / "memory/domains/x/c.md"))
    assert changed(lambda: (root / "memory/domains/x/b.md").symlink_to("c.md"))
    (root / "memory/domains/x/b.md").unlink()
    assert changed(lambda: shutil.rmtree(root / "memory/domains/y"))
    assert not changed(lambda: None)


def test_create_never_lands_on_a_file_or_a_folder(store: NoteStore) -> None:
    store.create(NOTE, b"first")
    for path in (NOTE, "memory/domains/garden", f"{NOTE}/below.md"):
        with pytest.raises(CannotCreate) as caught:
            store.create(path, b"second")
        assert caught.value.path == path
    assert store.read(NOTE) == b"first"
    assert listed(store) == {NOTE: "file"}


def test_many_files_of_a_folder_are_settled_once(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    files.create(NOTE, b"the folders on the way are settled at once")
    synced.clear()
    for number in range(20):
        files.create(f"memory/domains/garden/n{number}.md", b"each is whole at once", settle=False)
    assert synced == [False] * 20
    files.settle("memory/domains/garden")
    assert synced[20:] == [True]


def test_an_executable_note_stays_one(store: NoteStore) -> None:
    store.create(NOTE, b"old", mode=0o100755)
    store.replace(NOTE, b"new", b"old")
    entry = store.stat(NOTE)
    assert entry and entry.stat.mode == 0o100755
    assert store.read(NOTE) == b"new"


def test_replace_and_remove_leave_what_somebody_else_saved(store: NoteStore) -> None:
    store.create(NOTE, b"theirs")
    with pytest.raises(Busy) as caught:
        store.replace(NOTE, b"ours", b"what we had read")
    assert caught.value.path == NOTE
    with pytest.raises(Busy):
        store.remove(NOTE, b"what we had read")
    assert store.read(NOTE) == b"theirs"
    assert listed(store) == {NOTE: "file"}


def test_removed_is_gone(store: NoteStore) -> None:
    store.create(NOTE, b"x")
    store.remove(NOTE, b"x")
    assert not store.exists(NOTE) and listed(store) == {}


def test_many_are_removed_and_what_somebody_else_saved_stays(store: NoteStore) -> None:
    names = ["MEMORY.md", "memory/a.md", NOTE, "memory/domains/garden/b.md"]
    for name in names:
        store.create(name, name.encode())
    store.replace("memory/domains/garden/b.md", b"theirs", b"memory/domains/garden/b.md")
    with pytest.raises(Busy) as caught:
        store.remove_all({name: name.encode() for name in names})
    assert caught.value.path == "memory/domains/garden/b.md"
    assert store.read("memory/domains/garden/b.md") == b"theirs"
    left = {name: name.encode() for name in names[:3] if store.exists(name)}
    store.remove_all({**left, "memory/domains/garden/b.md": b"theirs"})
    assert listed(store) == {}


def test_many_files_of_a_folder_go_with_two_syncs(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"memory/domains/garden/n{number}.md" for number in range(20)]
    for name in names:
        files.create(name, b"x")
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    files.remove_all(dict.fromkeys(names, b"x"))
    assert synced == [True, True]
    assert listed(files) == {}


def test_what_is_not_there_is_not_found(store: NoteStore) -> None:
    for act in (
        lambda: store.read(NOTE),
        lambda: store.read_stat(NOTE),
        lambda: store.replace(NOTE, b"", b""),
        lambda: store.remove(NOTE, b""),
    ):
        with pytest.raises(NotFound) as caught:
            act()
        assert caught.value.path == NOTE
    store.create(NOTE, b"x")
    with pytest.raises(NotFound):
        store.read("memory/domains/garden")
    with pytest.raises(NotFound):
        store.read(f"{NOTE}/below.md")
    assert store.stat(f"{NOTE}/below.md") is None and not store.exists(f"{NOTE}/below.md")


def test_read_can_be_limited(store: NoteStore) -> None:
    store.create(NOTE, b"0123456789")
    assert [store.read(NOTE, n) for n in (0, 3, 10, 99, -1)] == [b"", b"012", *[b"0123456789"] * 3]
    data, info = store.read_stat(NOTE, 3)
    entry = store.stat(NOTE)
    assert data == b"012" and entry and info == entry.stat and info.size == 10


def test_a_generated_file_lands_on_whatever_stood_there(store: NoteStore) -> None:
    store.generate("memory/_index.md", b"one")
    info = store.generate("memory/_index.md", b"three")
    entry = store.stat("memory/_index.md")
    assert store.read("memory/_index.md") == b"three"
    assert entry and entry.stat == info
    store.create(NOTE, b"x")
    with pytest.raises(Refused):
        store.generate("memory/domains/garden", b"not over a folder")


def test_discard_takes_a_file_and_nothing_else(store: NoteStore) -> None:
    store.generate("memory/_index.md", b"x")
    store.create(NOTE, b"x")
    for path in ("memory/_index.md", "memory/_index.md", "memory/none/_index.md", "memory/domains/garden"):
        store.discard(path)
    assert listed(store) == {NOTE: "file"}


def test_a_save_changes_the_stat(store: NoteStore) -> None:
    store.create(NOTE, b"aaaa")
    before = store.stat(NOTE)
    store.replace(NOTE, b"bbbb", b"aaaa")
    assert store.stat(NOTE) != before


def test_scan_finds_notes_boot_files_and_settings_and_no_more(store: NoteStore) -> None:
    for path in (
        NOTE,
        "memory/daily/2026-03-15.md",
        "memory/pic.png",
        "memory/.hidden.md",
        "memory/.obsidian/app.md",
        "MEMORY.md",
        "MEMORY-kim.md",
        "memory.md",
        "bonsai.toml",
        "README.md",
        "src/x.md",
    ):
        store.generate(path, b"x")
    below = {NOTE, "memory/daily/2026-03-15.md", "memory/pic.png", "memory/.hidden.md"}
    assert set(listed(store)) == below | {"MEMORY.md", "MEMORY-kim.md", "memory.md", "bonsai.toml"}
    assert set(listed(store, "memory")) == below
    assert set(listed(store, "memory/domains")) == {NOTE}
    assert set(listed(store, NOTE)) == {NOTE}
    assert listed(store, "memory/none") == {}


def test_odd_names_come_back_as_they_are(store: NoteStore) -> None:
    names = ["ü.md", "u\u0308.md", "日記.md", "a b\n.md", "-x.md", "\udcff.md", "'\"\\.md", "😀.md"]
    for name in names:
        store.create(f"memory/{name}", name.encode("utf-8", "surrogateescape"))
    assert {entry.path for entry in store.scan()} == {f"memory/{name}" for name in names}
    assert all(store.read(f"memory/{name}") == name.encode("utf-8", "surrogateescape") for name in names)


@pytest.mark.parametrize("path", OUTSIDE_PATHS)
def test_no_path_leads_outside(store: NoteStore, path: str) -> None:
    acts = (
        lambda: store.stat(path),
        lambda: store.exists(path),
        lambda: store.read(path),
        lambda: store.create(path, b"x"),
        lambda: store.replace(path, b"x", b""),
        lambda: store.remove(path, b""),
        lambda: store.generate(path, b"x"),
        lambda: store.discard(path),
    )
    for act in acts:
        with pytest.raises(Refused):
            act()


# -- a real file system --------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace that nothing may read or touch."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "key.md").write_bytes(b"secret")
    return folder


def write_to(files: Files, path: str) -> list[Exception]:
    """Try everything that writes or reads; the errors, one each."""
    errors: list[Exception] = []
    for act in (
        lambda: files.read(path),
        lambda: files.create(path, b"x"),
        lambda: files.replace(path, b"x", b"secret"),
        lambda: files.remove(path, b"secret"),
        lambda: files.generate(path, b"x"),
    ):
        try:
            act()
        except Exception as error:
            errors.append(error)
    return errors


@pytest.mark.parametrize("link", ["folder", "file", "chain", "dangling"])
def test_a_symlink_is_listed_and_never_followed(files: Files, outside: Path, link: str) -> None:
    memory = Path(files.root, "memory")
    memory.mkdir()
    target = {"folder": outside, "file": outside / "key.md", "chain": memory / "hop", "dangling": outside / "no"}[link]
    (memory / "hop").symlink_to(outside)
    (memory / "way").symlink_to(target)
    assert listed(files) == {"memory/hop": "symlink", "memory/way": "symlink"}
    assert files.stat("memory/way") and files.exists("memory/way")
    for path in ("memory/way", "memory/way/key.md", "memory/way/new/deep.md"):
        if path == "memory/way" or link not in {"file", "dangling"}:
            assert {type(error) for error in write_to(files, path)} <= {Refused, CannotCreate}
        assert len(write_to(files, path)) == 5
    files.discard("memory/way")
    assert sorted(os.listdir(outside)) == ["key.md"]
    assert (outside / "key.md").read_bytes() == b"secret"
    assert (memory / "way").is_symlink()


def test_a_symlinked_memory_is_refused(files: Files, outside: Path) -> None:
    Path(files.root, "memory").symlink_to(outside)
    for act in (files.scan, lambda: files.read("memory/key.md"), lambda: files.create("memory/new.md", b"")):
        with pytest.raises(Refused, match="symlink"):
            act()
    assert sorted(os.listdir(outside)) == ["key.md"]


def test_a_workspace_that_is_reached_by_a_symlink_is_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "ws").symlink_to("real")
    store = Files(str(tmp_path / "ws"))
    store.create(NOTE, b"x")
    assert store.root == str(tmp_path / "real") and listed(store) == {NOTE: "file"}


def test_a_workspace_that_was_replaced_is_seen_and_a_symlink_in_its_place_refused(
    files: Files, outside: Path, tmp_path: Path
) -> None:
    files.create("memory/a.md", b"")
    os.rename(files.root, tmp_path / "old")
    with pytest.raises(NotFound):
        files.read("memory/a.md")
    os.mkdir(files.root)
    files.create("memory/b.md", b"")
    assert listed(files) == {"memory/b.md": "file"}
    os.rename(files.root, tmp_path / "older")
    os.symlink(outside, files.root)
    with pytest.raises(Refused):
        files.create("memory/c.md", b"")
    assert os.listdir(outside) == ["key.md"]


def test_a_folder_swapped_for_a_symlink_between_check_and_use_lets_nothing_out(files: Files, outside: Path) -> None:
    files.create("memory/dir/key.md", b"inside")
    memory = os.open(f"{files.root}/memory", os.O_RDONLY)
    os.symlink(outside, "link", dir_fd=memory)
    if not exchange(memory, b"dir", memory, b"link"):
        pytest.skip("this file system cannot exchange two names")
    swaps, stop = 0, threading.Event()

    def swap() -> None:
        nonlocal swaps
        while not stop.is_set():
            exchange(memory, b"dir", memory, b"link")
            swaps += 1
            time.sleep(0)

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes] = set()
    refused = 0

    def look() -> None:
        seen.update(files.read(entry.path) for entry in files.scan() if entry.path.endswith("dir/key.md"))

    try:
        while swaps < 1000 or not seen:
            for act in (
                look,
                lambda: seen.add(files.read("memory/dir/key.md")),
                lambda: files.generate("memory/dir/_index.md", b"x"),
                lambda: files.discard("memory/dir/_index.md"),
                lambda: files.create("memory/dir/new.md", b"x"),
                lambda: files.replace("memory/dir/new.md", b"y", b"x"),
                lambda: files.remove("memory/dir/new.md", b"y"),
            ):
                try:
                    act()
                except (NotFound, Refused, CannotCreate, Busy):
                    refused += 1
    finally:
        stop.set()
        thread.join()
        os.close(memory)
    assert seen == {b"inside"} and refused
    assert os.listdir(outside) == ["key.md"] and (outside / "key.md").read_bytes() == b"secret"


def test_pipes_and_sockets_are_listed_and_nothing_waits_for_them(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Path(files.root, "memory")
    (memory / "folder.md").mkdir(parents=True)
    (memory / "folder.md/x.md").write_bytes(b"x")
    os.mkfifo(memory / "pipe.md")
    monkeypatch.chdir(memory)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        assert listed(files) == {
            "memory/pipe.md": "special",
            "memory/socket.md": "special",
            "memory/folder.md/x.md": "file",
        }
        for path in ("memory/pipe.md", "memory/socket.md"):
            with pytest.raises(Refused):
                files.read(path)
            with pytest.raises(Refused):
                files.generate(path, b"x")


def test_too_deep_a_tree_is_reported_not_followed(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files.root)  # for the way back
    os.mkdir("memory")
    os.chdir("memory")
    for _ in range(400):  # in all longer than any path the system takes
        os.mkdir("a-long-name")
        os.chdir("a-long-name")
    Path("x.md").write_bytes(b"x")
    assert [entry.kind for entry in files.scan()] == ["unreadable"]


@pytest.mark.skipif(ROOT, reason="root may read everything")
def test_what_may_not_be_read_is_reported(files: Files) -> None:
    check_unreadable(files)


@pytest.mark.skipif(not ROOT, reason="only root can become somebody else")
def test_what_may_not_be_read_is_reported_to_somebody_else(files: Files, tmp_path: Path) -> None:
    for folder in (files.root, *map(str, [tmp_path, *tmp_path.parents][:-1])):
        os.chmod(folder, os.stat(folder).st_mode | 0o005)
    os.chown(files.root, 65534, 65534)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgid(65534)
            os.setuid(65534)
            check_unreadable(files)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def check_unreadable(files: Files) -> None:
    files.create("memory/open.md", b"x")
    files.create("memory/closed.md", b"x")
    files.create("memory/shut/x.md", b"x")
    os.chmod(f"{files.root}/memory/closed.md", 0)
    os.chmod(f"{files.root}/memory/shut", 0)
    assert listed(files) == {"memory/open.md": "file", "memory/closed.md": "file", "memory/shut": "unreadable"}
    with pytest.raises(IoFailed, match="EACCES") as caught:
        files.read("memory/closed.md")
    assert caught.value.path == "memory/closed.md" and caught.value.hint
    os.chmod(f"{files.root}/memory", 0o555)
    for act in (lambda: files.create("memory/new.md", b"x"), lambda: files.remove("memory/open.md", b"x")):
        with pytest.raises(IoFailed, match="EACCES"):
            act()
    os.chmod(f"{files.root}/memory/shut", 0o700)
    os.chmod(f"{files.root}/memory", 0o755)


def test_a_name_that_is_too_long_is_no_name(files: Files) -> None:
    path = f"memory/{'x' * 300}.md"
    with pytest.raises(CannotCreate) as caught:
        files.create(path, b"x")
    assert "shorter" in caught.value.hint
    with pytest.raises(NotFound):
        files.read(path)
    longest = f"memory/{'x' * 252}.md"
    files.create(longest, b"a")
    files.replace(longest, b"b", b"a")
    files.remove(longest, b"b")
    assert listed(files) == {}


def test_new_notes_follow_the_umask_and_old_ones_keep_mode_and_owner(files: Files) -> None:
    before = os.umask(0o027)
    try:
        files.create("memory/new.md", b"x")
        files.generate("memory/_index.md", b"x")
    finally:
        os.umask(before)
    at = Path(files.root, "memory/new.md")
    assert stat.S_IMODE(at.stat().st_mode) == 0o640
    assert stat.S_IMODE(Path(files.root, "memory/_index.md").stat().st_mode) == 0o640
    at.chmod(0o464)
    if ROOT:
        os.chown(at, 1234, 2345)
    owner = (at.stat().st_uid, at.stat().st_gid)
    files.replace("memory/new.md", b"y", b"x")
    assert (at.read_bytes(), stat.S_IMODE(at.stat().st_mode)) == (b"y", 0o464)
    assert (at.stat().st_uid, at.stat().st_gid) == owner


def test_empty_folders_go_and_the_domains_stay(files: Files) -> None:
    for path in ("memory/domains/a/b/c/x.md", "memory/agents/kim/domains/z/x.md", "memory/daily/2026-01-01.md"):
        files.create(path, b"")
        files.remove(path, b"")
        files.prune(path.rpartition("/")[0])
    files.prune("memory/domains/none")
    files.prune("")
    files.create("memory/domains/kept/x.md", b"")
    files.prune("memory/domains/kept")
    folders = {str(path.relative_to(files.root)) for path in Path(files.root).rglob("*") if path.is_dir()}
    assert folders == {
        *("memory", "memory/domains", "memory/domains/kept"),
        *("memory/agents", "memory/agents/kim", "memory/agents/kim/domains"),
    }


def test_sweep_takes_our_leftovers_and_nothing_else(files: Files) -> None:
    files.create("memory/domains/a/x.md", b"x")
    kept = [".bonsai-notes.tmp", ".bonsai-0123456789abcdef.md", "x.tmp", ".bonsai-0123456789ABCDEF.tmp"]
    for folder in ("memory/domains/a", "memory", "."):
        for name in [*kept, ".bonsai-0123456789abcdef.tmp"]:
            Path(files.root, folder, name).write_bytes(b"")
    assert "memory/.bonsai-0123456789abcdef.tmp" in listed(files) and ".bonsai-0123456789abcdef.tmp" in listed(files)
    files.sweep()
    files.sweep()
    for folder in ("memory/domains/a", "memory", "."):
        assert set(kept) <= set(os.listdir(Path(files.root, folder)))
        assert ".bonsai-0123456789abcdef.tmp" not in os.listdir(Path(files.root, folder))


def test_an_ascii_locale_makes_no_difference(files: Files) -> None:
    code = (
        "import sys; from bonsai.adapters.files import Files; s = Files(sys.argv[1])\n"
        "p = 'memory/\\u65e5\\u8a18/\\xfc.md'\n"
        "s.create(p, b'x'); s.replace(p, b'y', b'x'); s.generate('memory/\\u65e5\\u8a18/_index.md', b'')\n"
        "assert {e.path for e in s.scan()} == {p, 'memory/\\u65e5\\u8a18/_index.md'}, s.scan()\n"
        "assert s.read(p) == b'y'; s.sweep()"
    )
    odd = Path(files.root, "日")
    odd.mkdir()
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code, str(odd)], env=env, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert (odd / "memory/日記/ü.md").read_bytes() == b"y"


def test_a_file_that_changes_while_it_is_read_is_read_again(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.create(NOTE, b"old!")
    at, reads, real = Path(files.root, NOTE), 0, os.read

    def read(fd: int, size: int) -> bytes:
        nonlocal reads
        reads += 1
        data = real(fd, size)
        if reads == 1:
            at.write_bytes(b"newer")
        return data

    monkeypatch.setattr(os, "read", read)
    data, info = files.read_stat(NOTE)
    assert (data, info.size, reads) == (b"newer", 5, 2)


# -- the private folder and the way to the workspace ----------------------------------------------------------------


def test_the_private_folder_is_private_and_ignored(tmp_path: Path) -> None:
    for _ in range(2):
        assert ensure_private(str(tmp_path)) == str(tmp_path / ".bonsai")
    assert stat.S_IMODE((tmp_path / ".bonsai").stat().st_mode) == 0o700
    assert (tmp_path / ".bonsai/.gitignore").read_bytes() == b"*\n"
    (tmp_path / ".bonsai/.gitignore").write_bytes(b"")
    ensure_private(str(tmp_path))
    assert (tmp_path / ".bonsai/.gitignore").read_bytes() == b"*\n"
    assert os.listdir(tmp_path / ".bonsai") == [".gitignore"]


def test_a_private_folder_that_others_can_write_in_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".bonsai").symlink_to("a")
    with pytest.raises(Refused):
        ensure_private(str(tmp_path))
    (tmp_path / ".bonsai").unlink()
    (tmp_path / ".bonsai").mkdir()
    (tmp_path / ".bonsai").chmod(0o777)
    with pytest.raises(Refused, match="anybody"):
        ensure_private(str(tmp_path))


def test_a_private_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_private(str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(Refused, match="another user"):
        ensure_private(str(tmp_path))


def test_the_workspace_is_the_nearest_folder_with_a_memory(tmp_path: Path) -> None:
    assert Files.find_workspace(str(tmp_path)) is None
    (tmp_path / "ws/memory/domains/memory/x").mkdir(parents=True)
    (tmp_path / "ws/src/deep").mkdir(parents=True)
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat/MEMORY.md").write_bytes(b"")
    ws = str(tmp_path / "ws")
    for start in ("", "/src/deep", "/memory/domains", "/memory/domains/memory/x"):
        assert Files.find_workspace(ws + start) == ws
    assert Files.find_workspace(str(tmp_path / "flat")) == str(tmp_path / "flat")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/memory").symlink_to("/nowhere")  # found, so that it can be refused with a reason
    assert Files.find_workspace(str(tmp_path / "linked")) == str(tmp_path / "linked")
