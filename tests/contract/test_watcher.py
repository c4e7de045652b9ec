"""What a watcher tells: every way of saving a note, nothing for reading, and honest words where events are missing."""

import gc
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bonsai.adapters import watcher
from bonsai.adapters.watcher import DiskWatcher
from bonsai.ports.disk import Watcher

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the watches of Linux")
NOTE = "memory/domains/general/a.md"
SOON = 5.0  # seconds that an event may take on a busy machine
QUIET = 0.4  # seconds after which nothing more is to be expected


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one note."""
    root = tmp_path / "ws"
    (root / NOTE).parent.mkdir(parents=True)
    (root / NOTE).write_text("old\n")
    (root / "MEMORY.md").write_text("boot\n")
    return root


@pytest.fixture
def watch(root: Path) -> Iterator[DiskWatcher]:
    """A started watcher of it."""
    found = DiskWatcher(str(root))
    found.start()
    assert found.mode == "events"
    yield found
    found.stop()


@pytest.fixture
def observed(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskWatcher]:
    """The same through a generic observer, as on systems without inotify."""
    from watchdog.observers.inotify import InotifyObserver

    from bonsai.adapters.watch_observer import Observed

    monkeypatch.setattr(watcher, "_source", lambda root, saw, fail: Observed(root, saw, InotifyObserver))
    found = DiskWatcher(str(root))
    found.start()
    assert found.mode == "events"
    yield found
    found.stop()


def until(watch: Watcher, met: Callable[[set[str], set[str]], bool]) -> tuple[set[str], set[str]]:
    """All paths and reasons told until `met` holds for them."""
    paths: set[str] = set()
    lost: set[str] = set()
    end = time.monotonic() + SOON
    while not met(paths, lost):
        left = end - time.monotonic()
        assert left > 0, f"not told in time; told were {sorted(paths)[:20]} {lost}"
        seen = watch.wait(left)
        paths |= seen.paths
        lost |= {seen.lost} - {""}
    return paths, lost


def must_see(watch: Watcher, path: str) -> set[str]:
    """All paths told until `path` is; fails where it is not told in time, or something is lost."""
    paths, lost = until(watch, lambda paths, lost: path in paths or bool(lost))
    assert not lost
    return paths


def rest(watch: Watcher) -> set[str]:
    """All paths told until it is quiet."""
    paths: set[str] = set()
    while seen := watch.wait(QUIET).paths:
        paths |= seen
    return paths


# -- saving ------------------------------------------------------------------------------------------------------


def in_place(note: Path) -> None:
    with note.open("r+") as file:
        file.write("new\n")


def truncated_without_opening(note: Path) -> None:
    os.truncate(note, 1)


def renamed_over(note: Path) -> None:
    temp = note.with_name(".a.md.tmp.8123")
    temp.write_text("new\n")
    temp.rename(note)


def like_gedit(note: Path) -> None:
    temp = note.with_name(".goutputstream-RK1X")
    temp.write_text("new\n")
    temp.rename(note)


def from_elsewhere(note: Path) -> None:
    temp = note.parents[4] / "draft"
    temp.write_text("new\n")
    temp.rename(note)


def backup_then_new(note: Path) -> None:
    note.rename(note.with_name("a.md~"))
    note.write_text("new\n")


def like_vim(note: Path) -> None:
    note.with_name(".a.md.swp").write_bytes(b"swap")
    note.with_name("4913").touch()
    note.with_name("4913").unlink()
    note.rename(note.with_name("a.md~"))
    note.write_text("new\n")
    note.with_name("a.md~").unlink()
    note.with_name(".a.md.swp").unlink()


def deleted_and_created(note: Path) -> None:
    note.unlink()
    note.write_text("new\n")


def hard_link(note: Path) -> None:
    temp = note.with_name(".new")
    temp.write_text("new\n")
    note.unlink()
    os.link(temp, note)
    temp.unlink()


def with_sed(note: Path) -> None:
    subprocess.run(["sed", "-i", "s/old/new/", str(note)], check=True)


def new_mode(note: Path) -> None:
    note.chmod(0o755)


def deleted(note: Path) -> None:
    note.unlink()


SAVES = [
    in_place,
    truncated_without_opening,
    renamed_over,
    like_gedit,
    from_elsewhere,
    backup_then_new,
    like_vim,
    deleted_and_created,
    hard_link,
    with_sed,
    new_mode,
    deleted,
]
#: sed's own temporary file bears a name that nothing marks as one.
STRANGE = {with_sed}


@pytest.mark.parametrize("save", SAVES)
def test_every_way_of_saving_is_told_as_the_note(watch: DiskWatcher, root: Path, save: Callable[[Path], None]) -> None:
    save(root / NOTE)
    paths = must_see(watch, NOTE) | rest(watch)
    assert paths == {NOTE} or save in STRANGE


@pytest.mark.parametrize("save", SAVES)
def test_a_generic_observer_tells_it_too(observed: DiskWatcher, root: Path, save: Callable[[Path], None]) -> None:
    save(root / NOTE)
    must_see(observed, NOTE)


def test_a_write_to_a_file_that_stays_open_is_told(watch: DiskWatcher, root: Path) -> None:
    with (root / NOTE).open("a") as file:
        file.write("appended\n")
        file.flush()
        must_see(watch, NOTE)


@pytest.mark.parametrize("name", ["MEMORY.md", "MEMORY-ada.md", "memory.md", "bonsai.toml"])
def test_boot_files_and_settings_are_told(watch: DiskWatcher, root: Path, name: str) -> None:
    (root / name).write_text("new\n")
    assert must_see(watch, name) | rest(watch) == {name}


def test_a_rename_tells_both_names(watch: DiskWatcher, root: Path) -> None:
    (root / NOTE).rename(root / "memory/b.md")
    assert must_see(watch, "memory/b.md") | rest(watch) == {NOTE, "memory/b.md"}


def test_every_name_comes_as_the_listing_spells_it(watch: DiskWatcher, root: Path) -> None:
    names = [b"caf\xe9.md", "日本.md".encode(), b"new\nline.md", "e\u0301.md".encode(), b"x" * 252 + b".md"]
    for name in names:
        with open(os.path.join(os.fsencode(root), b"memory", name), "wb"):
            pass
    wanted = {f"memory/{name.decode('utf-8', 'surrogateescape')}" for name in names}
    until(watch, lambda paths, lost: wanted <= paths)


def test_an_ascii_locale_makes_no_difference(root: Path) -> None:
    script = (
        "import sys, os; from bonsai.adapters.watcher import DiskWatcher\n"
        "watch = DiskWatcher(sys.argv[1]); watch.start()\n"
        "open(os.path.join(os.fsencode(sys.argv[1]), b'memory', '\\u65e5.md'.encode()), 'w').close()\n"
        "print(ascii(sorted(watch.wait(5).paths)), watch.mode); watch.stop()\n"
    )
    place = root / "é"
    (place / "memory").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", script, str(place)],
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        timeout=60,
    )
    assert done.stdout.decode() == "['memory/\\u65e5.md'] events\n", done.stderr.decode()


def test_the_workspace_folder_may_be_a_symlink(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    watch = DiskWatcher(str(tmp_path / "link"))
    watch.start()
    try:
        (root / NOTE).write_text("new\n")
        must_see(watch, NOTE)
    finally:
        watch.stop()


# -- what tells nothing ------------------------------------------------------------------------------------------


def test_reading_tells_nothing(watch: DiskWatcher, root: Path) -> None:
    for _ in range(50):
        (root / NOTE).read_bytes()
        list(os.walk(root))
        os.stat(root / NOTE)
    assert not rest(watch)


def test_git_tells_nothing(root: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=P", "-c", "user.email=p@x", *words], cwd=root, check=True)

    git("init", "-q")
    watch = DiskWatcher(str(root))
    watch.start()
    try:
        git("add", "-A")
        git("commit", "-q", "-m", "seed")
        git("status", "-s")
        (root / ".git/index").touch()
        assert not rest(watch)
    finally:
        watch.stop()


def test_helper_and_state_files_tell_nothing(watch: DiskWatcher, root: Path) -> None:
    (root / ".bonsai").mkdir()
    (root / ".bonsai/journal").write_text("x")
    (root / ".obsidian").mkdir()
    (root / "README.md").write_text("x")
    (root / "memory/.obsidian").mkdir()
    (root / "memory/.obsidian/workspace.md").write_text("x")
    (root / "memory/_meta.json").write_text("{}")
    for name in [".a.md.swp", "4913", "#a.md#", ".#a.md", "a.md~", "a.md.bak", ".DS_Store", "a.tmp", ".bonsai-123"]:
        (root / NOTE).with_name(name).write_text("junk")
    assert not rest(watch)


def test_a_generic_observer_is_as_quiet(observed: DiskWatcher, root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git/index").write_text("x")
    (root / "memory/.obsidian/deep").mkdir(parents=True)
    (root / "memory/.obsidian/deep/workspace.md").write_text("x")
    (root / NOTE).with_name(".a.md.swp").write_text("x")
    (root / NOTE).read_bytes()
    assert not rest(observed)


# -- folders -----------------------------------------------------------------------------------------------------


def in_sight(paths: set[str], wanted: str) -> bool:
    """Whether a caller who looks at the paths, and into those that are folders, finds `wanted`."""
    return any(wanted == path or wanted.startswith(f"{path}/") for path in paths)


def test_a_note_in_a_folder_that_is_just_being_made_is_in_sight(watch: DiskWatcher, root: Path) -> None:
    for at in range(30):
        note = root / f"memory/domains/garden{at}/beds/2026/plan.md"
        note.parent.mkdir(parents=True)
        note.write_text("tulips\n")
        wanted = str(note.relative_to(root))
        until(watch, lambda paths, lost, wanted=wanted: in_sight(paths, wanted) or bool(lost))
    rest(watch)
    for at in range(30):
        note = root / f"memory/domains/garden{at}/beds/2026/plan.md"
        note.write_text("roses\n")
        must_see(watch, str(note.relative_to(root)))


def test_what_is_written_while_folders_are_made_is_never_missed(watch: DiskWatcher, root: Path) -> None:
    """The caller looks where it is told to, as fast as it can; in the end it must have seen every last byte."""
    script = (
        "for i in $(seq 60); do mkdir -p t$i/a/b/c; echo 1 >t$i/a/x.md; echo 1 >t$i/a/b/c/y.md; "
        "mv t$i/a/b t$i/q; echo 2 >t$i/q/c/y.md; mv t$i u$i; echo 3 >u$i/q/c/y.md; echo 3 >u$i/a/x.md; done"
    )
    writer = subprocess.Popen(["sh", "-c", script], cwd=root / "memory/domains")
    found: dict[str, str] = {}

    def remember(path: Path) -> None:
        with suppress(FileNotFoundError, IsADirectoryError, NotADirectoryError):  # moved on meanwhile
            found[str(path)] = path.read_text()

    quiet = 0
    while writer.poll() is None or quiet < 2:
        seen = watch.wait(QUIET)
        assert not seen.lost
        quiet = 0 if seen.paths or writer.poll() is None else quiet + 1
        for path in seen.paths:
            for folder, _, names in os.walk(root / path):
                for name in names:
                    remember(Path(folder, name))
            remember(root / path)
    assert writer.returncode == 0
    there = {str(path): path.read_text() for path in (root / "memory/domains").glob("u*/**/*.md")}
    assert len(there) == 120
    assert {path: text for path, text in there.items() if found.get(path) != text} == {}


def test_a_folder_moved_in_is_told_and_watched(watch: DiskWatcher, root: Path, tmp_path: Path) -> None:
    (tmp_path / "out/sub").mkdir(parents=True)
    (tmp_path / "out/sub/n.md").write_text("n\n")
    (tmp_path / "out").rename(root / "memory/in")
    must_see(watch, "memory/in")
    (root / "memory/in/sub/n.md").write_text("new\n")
    must_see(watch, "memory/in/sub/n.md")


def test_a_folder_moved_out_is_told_and_left_alone(watch: DiskWatcher, root: Path, tmp_path: Path) -> None:
    (root / "memory/domains/general").rename(tmp_path / "out")
    must_see(watch, "memory/domains/general")
    (tmp_path / "out/a.md").write_text("no longer ours\n")
    assert not rest(watch)
    (tmp_path / "out").rename(root / "memory/domains/back")
    must_see(watch, "memory/domains/back")
    (root / "memory/domains/back/a.md").write_text("ours again\n")
    must_see(watch, "memory/domains/back/a.md")


def test_a_folder_moved_into_one_that_is_just_being_made_stays_watched(watch: DiskWatcher, root: Path) -> None:
    """It is found under its new name before the event says that it left the old one."""
    with watch._source._lock:  # the reader waits
        (root / "memory/new").mkdir()
        (root / "memory/domains/general").rename(root / "memory/new/general")
    until(watch, lambda paths, lost: {"memory/new", "memory/domains/general"} <= paths)
    rest(watch)
    (root / "memory/new/general/a.md").write_text("new\n")
    assert must_see(watch, "memory/new/general/a.md") | rest(watch) == {"memory/new/general/a.md"}


def test_a_renamed_folder_is_told_under_both_names(watch: DiskWatcher, root: Path) -> None:
    for old, new in [("general", "special"), ("special", "general"), ("general", "other")]:
        (root / "memory/domains" / old).rename(root / "memory/domains" / new)
        paths, _ = until(watch, lambda paths, lost, new=new: f"memory/domains/{new}" in paths)
        assert f"memory/domains/{old}" in paths | rest(watch)
        (root / f"memory/domains/{new}/a.md").write_text("new\n")
        must_see(watch, f"memory/domains/{new}/a.md")


def test_a_deleted_folder_is_told(watch: DiskWatcher, root: Path) -> None:
    shutil.rmtree(root / "memory/domains")
    assert {NOTE, "memory/domains"} <= must_see(watch, "memory/domains") | rest(watch)
    (root / NOTE).parent.mkdir(parents=True)
    must_see(watch, "memory/domains")
    rest(watch)
    (root / NOTE).write_text("again\n")
    must_see(watch, NOTE)


def test_a_folder_that_was_hidden_is_watched_once_it_shows(watch: DiskWatcher, root: Path) -> None:
    (root / "memory/.draft").mkdir()
    (root / "memory/.draft").rename(root / "memory/shown")
    must_see(watch, "memory/shown")
    (root / "memory/shown/n.md").write_text("n\n")
    must_see(watch, "memory/shown/n.md")
    rest(watch)
    (root / "memory/shown").rename(root / "memory/.draft")
    assert must_see(watch, "memory/shown") | rest(watch) == {"memory/shown"}
    (root / "memory/.draft/n.md").write_text("hidden\n")
    assert not rest(watch)


def test_a_folder_that_could_not_be_entered_is_watched_once_it_can() -> None:
    """In another process: root may enter every folder."""
    script = """if True:
        import os, sys
        import bonsai.adapters.watch_inotify
        from bonsai.adapters.watcher import DiskWatcher
        if os.geteuid() == 0:
            os.setgid(65534), os.setuid(65534)
        os.chdir(sys.argv[1])
        os.makedirs("memory/locked/in"), os.makedirs("memory/locked2"), os.makedirs("memory/open")
        os.chmod("memory/locked", 0), os.chmod("memory/locked2", 0)
        watch = DiskWatcher("."); watch.start()
        open("memory/open/a.md", "w").close()
        print(watch.mode, sorted(watch.wait(5).paths), end="|")
        watch.wait(0.4)
        assert -1 not in watch._source._watches
        os.chmod("memory/locked", 0o755)
        print(sorted(watch.wait(5).paths), end="|")
        watch.wait(0.4)
        open("memory/locked/in/b.md", "w").close()
        print(sorted(watch.wait(5).paths))
        watch.stop()
    """
    env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as place:  # pytest keeps its own folders from other users
        os.chmod(place, 0o777)
        done = subprocess.run([sys.executable, "-c", script, place], env=env, capture_output=True, text=True)
    assert done.stdout == "events ['memory/open/a.md']|['memory/locked']|['memory/locked/in/b.md']\n", done.stderr


# -- lost, and found again ---------------------------------------------------------------------------------------


def lost(watch: Watcher) -> set[str]:
    return until(watch, lambda _, lost: bool(lost))[1]


def edit_is_told(watch: Watcher, root: Path, path: str = NOTE) -> None:
    """Events come again (once what the change itself brought about is over)."""
    while seen := watch.wait(QUIET):
        if seen == (frozenset(), ""):
            break
    with (root / path).open("a") as file:
        file.write("after\n")
    must_see(watch, path)


@pytest.mark.parametrize("kind", ["watch", "observed"])
def test_memory_swapped_for_a_copy_is_watched_again(
    kind: str, request: pytest.FixtureRequest, root: Path, tmp_path: Path
) -> None:
    watch: DiskWatcher = request.getfixturevalue(kind)
    (root / "memory").rename(tmp_path / "old")
    shutil.copytree(tmp_path / "old", root / "memory")
    shutil.rmtree(tmp_path / "old")
    assert "replaced" in lost(watch).pop()
    edit_is_told(watch, root)
    assert watch.mode == "events"


def test_memory_deleted_and_made_again_is_watched_again(watch: DiskWatcher, root: Path) -> None:
    shutil.rmtree(root / "memory")
    until(watch, lambda _, lost: watch.mode == "there is no folder memory/")
    assert not watch.wait(0).lost
    (root / NOTE).parent.mkdir(parents=True)
    (root / NOTE).touch()
    lost(watch)
    edit_is_told(watch, root)
    assert watch.mode == "events"


def test_boot_files_are_told_without_memory(root: Path) -> None:
    shutil.rmtree(root / "memory")
    watch = DiskWatcher(str(root))
    watch.start()
    try:
        assert watch.mode == "there is no folder memory/"
        (root / "MEMORY.md").write_text("new\n")
        must_see(watch, "MEMORY.md")
    finally:
        watch.stop()


def test_the_workspace_moved_away_and_back(
    watch: DiskWatcher, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "CHECK", 60.0)
    threading.Timer(0.2, root.rename, [tmp_path / "away"]).start()  # while somebody waits
    assert "moved" in watch.wait(SOON).lost
    assert watch.mode != "events"
    monkeypatch.setattr(watcher, "CHECK", 0.1)
    (tmp_path / "away").rename(root)
    lost(watch)
    assert watch.mode == "events"
    edit_is_told(watch, root)


def test_a_folder_above_that_is_replaced_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "CHECK", 0.1)
    (tmp_path / "up/ws/memory").mkdir(parents=True)
    watch = DiskWatcher(str(tmp_path / "up/ws"))
    watch.start()
    try:
        (tmp_path / "up").rename(tmp_path / "old")
        (tmp_path / "up/ws/memory").mkdir(parents=True)
        lost(watch)
        (tmp_path / "up/ws/memory/n.md").touch()
        must_see(watch, "memory/n.md")
    finally:
        watch.stop()


def test_a_workspace_that_is_swapped_for_a_symlink_is_not_followed(
    watch: DiskWatcher, root: Path, tmp_path: Path
) -> None:
    root.rename(tmp_path / "away")
    root.symlink_to(tmp_path / "away")
    lost(watch)
    assert watch.mode != "events"


def test_events_that_the_kernel_dropped_are_said(watch: DiskWatcher, root: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 50_000:
        pytest.skip(f"it takes more than {most:,} events to overflow the queue here")
    inotify = watch._source
    with inotify._lock:  # the reader waits, with one buffer of some thousand events taken from the queue at most
        for at in range(most * 2 // 3):  # each makes three events
            (root / f"memory/n{at}.md").write_text("n\n")
    assert lost(watch) == {"overflow"}
    edit_is_told(watch, root)
    assert watch.mode == "events"


def test_dropped_events_print_nothing(root: Path) -> None:
    script = """if True:
        import sys
        from bonsai.adapters.watcher import DiskWatcher
        watch = DiskWatcher(sys.argv[1]); watch.start()
        from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent
        watch._source._reader.handle_event(InotifyEvent(-1, InotifyConstants.IN_Q_OVERFLOW, 0, b""))
        print(watch.wait(5).lost)
        watch.stop()
    """
    done = subprocess.run([sys.executable, "-W", "error", "-c", script, str(root)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("overflow\n", "")


def test_a_folder_made_while_events_were_dropped_is_watched(watch: DiskWatcher, root: Path) -> None:
    inotify = watch._source
    with inotify._lock:
        (root / "memory/domains/missed").mkdir()
        (root / "memory/domains/missed/m.md").touch()
        inotify._watches.clear()  # as if the event had not come
    inotify.on_queue_overflow()
    assert lost(watch) == {"overflow"}
    edit_is_told(watch, root, "memory/domains/missed/m.md")


def test_too_many_changes_are_not_kept(watch: DiskWatcher, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "MOST", 50)
    for at in range(200):
        (root / f"memory/n{at}.md").touch()
    time.sleep(QUIET)
    assert watch._bell.qsize() == 1
    assert watch.wait(SOON) == (frozenset(), "too many changes")
    edit_is_told(watch, root)


@pytest.mark.parametrize("kind", ["watch", "observed"])
def test_a_dead_thread_is_noticed_and_replaced(
    kind: str, request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch: DiskWatcher = request.getfixturevalue(kind)
    monkeypatch.setattr(watcher, "CHECK", 0.1)
    source = watch._source
    thread = source._reader if kind == "watch" else source._observer
    thread.stop()
    thread.join()
    assert lost(watch)
    assert watch._source is not source
    edit_is_told(watch, root)


def test_a_reader_that_dies_of_an_error_leaves_no_descriptors(
    watch: DiskWatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "CHECK", 0.1)
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    before = descriptors()
    reader = watch._source._reader
    monkeypatch.setattr(reader, "_check_inotify_fd", lambda: 1 / 0, raising=True)
    os.close(os.open(Path(watch.root, NOTE), os.O_WRONLY))  # the next event kills it
    assert "the thread that reads events died" in lost(watch)
    assert descriptors() == before


# -- no events at all --------------------------------------------------------------------------------------------


LIMITED = """if True:
    import sys, time
    from pathlib import Path
    from bonsai.adapters import watcher
    root = Path(sys.argv[1])
    watch = watcher.DiskWatcher(str(root))
    watch.start()
    print(watch.mode)
    (root / "memory/new").mkdir()
    late = [watch.wait(2).lost for _ in range(2)]
    print(late, watch.mode)
    Path(sys.argv[2]).write_text("5000")
    watch._retry_at = 0
    print(watch.wait(2).lost, watch.mode)
    (root / "memory/new/n.md").touch()
    print(sorted(watch.wait(2).paths))
    watch.stop()
"""


def limited(knob: str, value: int, root: Path) -> list[str]:
    """The lines that LIMITED prints where `knob` of the system stands at `value`."""
    path = f"/proc/sys/user/{knob}"
    shell = 'echo "$1" > "$2" && shift 2 && exec "$@"'
    enter = ["unshare", "-Ur", "sh", "-c", shell, "sh", str(value), path]
    if shutil.which("unshare") is None or subprocess.run([*enter, "true"], capture_output=True).returncode:
        pytest.skip("needs a user namespace with inotify limits of its own")
    done = subprocess.run(
        [*enter, sys.executable, "-c", LIMITED, str(root), path], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_folders_beyond_the_watch_limit_count_as_no_events_until_it_is_raised(root: Path) -> None:
    for at in range(40):
        (root / f"memory/domains/d{at}").mkdir()
    assert limited("max_inotify_watches", 20, root) == [
        "inotify watch limit reached",
        "['', ''] inotify watch limit reached",
        "events come again events",
        "['memory/new/n.md']",
    ]


def test_the_watch_limit_reached_by_a_new_folder_is_said(root: Path) -> None:
    assert limited("max_inotify_watches", 4, root) == [  # the workspace, memory, domains, general
        "events",
        "['inotify watch limit reached', ''] inotify watch limit reached",
        "events come again events",
        "['memory/new/n.md']",
    ]


def test_no_inotify_instance_left_is_said(root: Path) -> None:
    assert limited("max_inotify_instances", 0, root)[0] == "inotify instance limit reached"


def test_no_inotify_at_all_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bonsai.adapters.watch_inotify", None)
    watch = DiskWatcher(str(root))
    watch.start()
    assert "inotify" in watch.mode
    assert watch.wait(0.05) == (frozenset(), "")
    watch.stop()


def test_no_workspace_folder_is_said_and_its_coming_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "CHECK", 0.1)
    watch = DiskWatcher(str(tmp_path / "ws"))
    watch.start()
    try:
        assert watch.mode == "the workspace folder cannot be watched"
        (tmp_path / "ws/memory").mkdir(parents=True)
        lost(watch)
        until(watch, lambda _, lost: watch.mode == "events")
    finally:
        watch.stop()


def test_no_thread_to_be_had_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = descriptors()

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    watch = DiskWatcher(str(root))
    watch.start()
    assert watch.mode == "can't start new thread"
    assert descriptors() == before
    watch.stop()


# -- waiting -----------------------------------------------------------------------------------------------------


def test_a_wait_ends_when_woken(watch: DiskWatcher) -> None:
    began = time.monotonic()
    threading.Timer(0.1, watch.wake).start()
    assert watch.wait(30) == (frozenset(), "")
    assert time.monotonic() - began < SOON


def test_a_wake_before_the_wait_counts(watch: DiskWatcher) -> None:
    watch.wake()
    began = time.monotonic()
    watch.wait(30)
    assert time.monotonic() - began < SOON
    began = time.monotonic()
    watch.wait(0.2)
    assert time.monotonic() - began >= 0.2


def test_a_signal_handler_may_wake_at_any_moment(root: Path) -> None:
    script = """if True:
        import signal, sys
        from bonsai.adapters.watcher import DiskWatcher
        watch = DiskWatcher(sys.argv[1]); watch.start()
        rung = 0
        def ring(*_):
            global rung
            rung += 1
            watch.wake()
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
        while rung < 3000:
            watch.wait(30)
        signal.setitimer(signal.ITIMER_REAL, 0)
        watch.stop()
    """
    subprocess.run([sys.executable, "-c", script, str(root)], check=True, timeout=60)


def test_waiting_costs_nothing(watch: DiskWatcher) -> None:
    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    assert watch.wait(2) == (frozenset(), "")
    assert spent() - before < 0.2  # polling without a pause takes all of the two seconds


def test_a_wait_on_a_watcher_that_is_not_started_or_stopped_only_waits(root: Path) -> None:
    watch = DiskWatcher(str(root))
    assert watch.mode == "not started"
    assert watch.wait(0.01) == (frozenset(), "")
    watch.start()
    watch.stop()
    watch.stop()
    assert watch.mode == "stopped"
    (root / NOTE).write_text("new\n")
    assert watch.wait(0.01) == (frozenset(), "")
    watch.start()
    (root / NOTE).write_text("newer\n")
    must_see(watch, NOTE)
    watch.stop()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_start_and_stop_leave_no_descriptor_and_no_thread(root: Path) -> None:
    gc.collect()
    before = descriptors(), threading.active_count()
    for _ in range(100):
        watch = DiskWatcher(str(root))
        watch.start()
        (root / NOTE).touch()
        watch.stop()
    assert (descriptors(), threading.active_count()) == before


def test_two_workspaces_in_one_process_are_kept_apart(watch: DiskWatcher, root: Path, tmp_path: Path) -> None:
    (tmp_path / "two/memory").mkdir(parents=True)
    other = DiskWatcher(str(tmp_path / "two"))
    other.start()
    try:
        (root / NOTE).write_text("new\n")
        must_see(watch, NOTE)
        assert not rest(other)
    finally:
        other.stop()
