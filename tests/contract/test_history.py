"""What every repository that a person may have must do for bonsai, and what bonsai must leave alone in it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from bonsai.adapters.git_history import GitHistory
from bonsai.errors import Busy, Misconfigured, NotFound, Refused, Unavailable
from bonsai.ports.history import Author, Blob, FileChange, Rename

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone(timedelta(hours=2)))
NOTE = "memory/domains/a.md"
ODD = [
    'memory/q"uote.md',
    "memory/back\\slash.md",
    "memory/new\nline.md",
    "memory/-x.md",
    "memory/tab\t é 記憶 🌿.md",
    "memory/bytes\udcff.md",
    "memory/:(top)magic*.md",
    "memory/ space .md",
]


def git(folder: Path | str, *args: str, data: bytes | None = None) -> str:
    """What git says, as a person would run it."""
    done = subprocess.run(["git", "-C", str(folder), *args], input=data, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip("\n")


def identify(folder: Path) -> None:
    git(folder, "config", "user.name", "Pat Doe")
    git(folder, "config", "user.email", "pat@example.com")


def init(folder: Path, *args: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main", *args)
    identify(folder)
    return folder


def write(root: Path, path: str, data: bytes) -> None:
    place = root / os.fsdecode(path.encode("utf-8", "surrogateescape"))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


def seed(folder: Path, path: str = "memory/seed.md") -> None:
    write(folder, path, b"seed\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "seed")


def own(tmp: Path) -> Path:
    folder = init(tmp / "ws")
    seed(folder)
    return folder


def unborn(tmp: Path) -> Path:
    return init(tmp / "ws")


def nested(tmp: Path) -> Path:
    top = init(tmp / "top")
    seed(top, "src/[app] *.py")
    folder = top / "deep [x]" / "ws"
    folder.mkdir(parents=True)
    return folder


def worktree(tmp: Path) -> Path:
    git(own(tmp), "worktree", "add", "-q", str(tmp / "tree"), "-b", "side")
    return tmp / "tree"


def submodule(tmp: Path) -> Path:
    inner, outer = own(tmp), init(tmp / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    identify(outer / "sub")
    return outer / "sub"


def shallow(tmp: Path) -> Path:
    folder = own(tmp)
    seed(folder, "memory/more.md")
    git(tmp, "clone", "-q", "--depth", "1", f"file://{folder}", "shallow")
    identify(tmp / "shallow")
    return tmp / "shallow"


def sha256(tmp: Path) -> Path:
    folder = init(tmp / "ws", "--object-format=sha256")
    seed(folder)
    return folder


def packed(tmp: Path) -> Path:
    folder = own(tmp)
    git(folder, "pack-refs", "--all")
    git(folder, "gc", "-q")
    return folder


def branch_in_folders(tmp: Path) -> Path:
    folder = own(tmp)
    git(folder, "switch", "-q", "-c", "topic/ä/x")
    return folder


KINDS = [own, unborn, nested, worktree, submodule, shallow, sha256, packed, branch_in_folders]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return request.param(tmp_path)


def save(root: Path, history: GitHistory, files: dict[str, bytes | None], message: str = "edit\n") -> str:
    """Write files, commit them, and bring the index in line: what a run does."""
    for path, data in files.items():
        if data is None:
            (root / path).unlink()
        else:
            write(root, path, data)
    changes = [FileChange(path, data) for path, data in files.items()]
    sha = history.commit(changes, message, history.head(), Author(), NOW)
    assert history.refresh_index(blobs(history, files)) == {}
    return sha


def blobs(history: GitHistory, files: dict[str, bytes | None]) -> dict[str, Blob | None]:
    return {path: None if data is None else Blob(0o100644, history.blob_id(data)) for path, data in files.items()}


# --- one suite for every kind of repository ---------------------------------------------------------------------------


def test_a_commit_is_in_head_and_everything_is_clean(root: Path) -> None:
    history = GitHistory(str(root))
    assert history.state() == (True, None, "", False)
    before = history.head()
    files = {path: f"text of {path!r}\n".encode() for path in [*ODD, NOTE, "MEMORY.md", "MEMORY-bot.md", "bonsai.toml"]}
    sha = save(root, history, dict(files))
    assert history.head() == sha == git(root, "rev-parse", "HEAD")
    tree = history.tree(sha)
    for path, data in files.items():
        assert tree[path] == Blob(0o100644, history.blob_id(data))
        assert history.read(sha, path) == history.blob(tree[path].oid) == data
    assert git(root, "status", "--porcelain", ".") == ""
    assert history.check() == []
    assert git(root, "log", "-1", "--format=%P") == before
    changed = history.tree_changes(before, sha)
    assert changed == (blobs(history, dict(files)) if before else None)


def test_the_log_tells_what_was_done(root: Path) -> None:
    history = GitHistory(str(root))
    first = save(
        root, history, {NOTE: b"one\ntwo\nthree\n", ODD[2]: b"x"}, "# add: a\n\nmore\n\nBonsai-Op: edit\nBonsai-Run: r1"
    )
    moved = {NOTE: None, "memory/domains/b.md": b"one\ntwo\nthree\nfour\n"}
    second = save(
        root, history, moved, "move: a\n\nBonsai-Op: move\nBonsai-Run: r2\nBonsai-Actor: agent:x\nBonsai-Undoes: r1"
    )
    newest, older = history.log(limit=2)
    assert (newest.sha, newest.op, newest.run, newest.actor, newest.undoes) == (second, "move", "r2", "agent:x", "r1")
    assert newest.paths == (NOTE, "memory/domains/b.md") and newest.parents == (first,)
    assert (older.sha, older.message, older.author, older.time) == (
        first,
        "# add: a",
        "Pat Doe",
        "2026-03-04T05:06:07+02:00",
    )
    assert older.body.startswith("more") and set(older.paths) == {NOTE, ODD[2]}
    assert [item.sha for item in history.log(["memory/domains/b.md"])] == [second]
    assert [item.sha for item in history.log(["memory/domains/b.md"], follow=True)] == [second, first]
    assert [item.sha for item in history.log(["memory/domains/"], limit=1, rev=first)] == [first]
    assert history.changes(first, second) == [
        Rename(
            NOTE,
            "memory/domains/b.md",
            history.blob_id(b"one\ntwo\nthree\n"),
            history.blob_id(moved["memory/domains/b.md"] or b""),
        )
    ]
    assert {item.new or item.old for item in history.changes(first, second, renames=False)} == set(moved)
    assert NOTE in {item.new for item in history.changes("", first)}
    assert history.contains_run("r2", first) == second and history.contains_run("r1", first) == ""
    assert history.contains_run("r1", "") == first and history.contains_run("r", "") == ""
    assert history.resolve("HEAD~1") == first


def test_times_are_those_of_the_commits(root: Path) -> None:
    history = GitHistory(str(root))
    when = []
    for number, files in enumerate([{NOTE: b"1"}, {NOTE: b"2"}, {NOTE: None, "memory/domains/b.md": b"2"}]):
        when.append(int((NOW + timedelta(days=number)).timestamp()))
        changes = [FileChange(path, data) for path, data in files.items()]
        history.commit(changes, "edit", history.head(), Author(), NOW + timedelta(days=number))
    full = history.path_times({}, "")
    assert full["memory/domains/b.md"] == (when[2], when[2]) and NOTE not in full
    before = history.resolve("HEAD~1")
    early = history.path_times({}, "") if before == history.head() else GitHistory(str(root)).path_times({}, "")
    assert early == full
    git(root, "reset", "-q", "--soft", "HEAD~1")
    known = history.path_times({}, "")
    assert known[NOTE] == (when[1], when[0])
    history.commit([FileChange(NOTE, b"3")], "edit", history.head(), Author(), NOW + timedelta(days=9))
    again = history.path_times(known, before)
    assert again[NOTE] == (when[0] + 9 * 86400, when[0]) and again == history.path_times({}, "")
    assert history.path_times(known, "1" * len(before)) == again, "an unknown base means everything"


def test_the_rest_of_the_repository_is_left_alone(root: Path) -> None:
    top = Path(git(root, "rev-parse", "--show-toplevel"))
    write(top, "staged.py", b"staged\n")
    write(top, "later.py", b"later\n")
    git(top, "add", "staged.py")
    git(top, "add", "-N", "later.py")
    write(root, "memory/mine.md", b"half done\n")
    git(root, "add", "memory/mine.md")
    before = git(top, "ls-files", "--stage"), git(top, "diff", "--name-only")
    save(root, GitHistory(str(root)), {NOTE: b"note\n"})
    name = git(root, "ls-files", "--full-name", NOTE)
    after = [line for line in git(top, "ls-files", "--stage").split("\n") if not line.endswith(name)]
    assert ("\n".join(after), git(top, "diff", "--name-only")) == before
    assert git(top, "show", "--format=", "--name-only", "HEAD") == name.strip('"')
    assert set(GitHistory(str(root)).tree("HEAD")) >= {NOTE}
    assert all(path.startswith("memory/") for path in GitHistory(str(root)).tree("HEAD"))


# --- commits ----------------------------------------------------------------------------------------------------------


def test_nothing_but_managed_files_is_committed(tmp_path: Path) -> None:
    history = GitHistory(str(own(tmp_path)))
    for path in (
        "src/x.py",
        "memory",
        "../x.md",
        "memory/../x",
        "memory//x",
        "/etc/passwd",
        "memory/.git/config",
        "memory/x\0",
    ):
        with pytest.raises(Refused):
            history.commit([FileChange(path, b"x")], "m", history.head(), Author(), NOW)
    assert len(history.log()) == 1


@pytest.mark.parametrize("move", ["commit", "reset", "branch"])
def test_a_head_that_moved_is_busy(tmp_path: Path, move: str) -> None:
    root = own(tmp_path)
    seed(root, "memory/second.md")
    history = GitHistory(str(root))
    parent = history.head()
    if move == "commit":
        git(root, "commit", "-q", "--allow-empty", "-m", "theirs")
    elif move == "reset":
        git(root, "reset", "-q", "--hard", "HEAD~1")
    else:
        git(root, "switch", "-q", "-c", "old", "HEAD~1")
    theirs = git(root, "rev-parse", "HEAD")
    with pytest.raises(Busy):
        history.commit([FileChange(NOTE, b"x")], "m", parent, Author(), NOW)
    assert git(root, "rev-parse", "HEAD") == theirs


@pytest.mark.parametrize("kind", [own, unborn])
def test_a_head_that_moves_under_fast_import_is_busy(
    tmp_path: Path, kind: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = kind(tmp_path)
    history = GitHistory(str(root))
    parent = history.head()
    git(root, "commit", "-q", "--allow-empty", "-m", "theirs")
    monkeypatch.setattr(history._repo, "head", lambda: parent)
    with pytest.raises(Busy):
        history.commit([FileChange(NOTE, b"x")], "m", parent, Author(), NOW)
    assert git(root, "log", "-1", "--format=%s") == "theirs"


@pytest.mark.parametrize("lock", ["HEAD.lock", "refs/heads/main.lock"])
def test_a_held_ref_is_busy_and_said(tmp_path: Path, lock: str) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    (root / ".git" / lock).touch()
    state = history.state()
    assert state.blocked == "locked" and lock in state.detail
    with pytest.raises(Busy):
        history.commit([FileChange(NOTE, b"x")], "m", history.head(), Author(), NOW)
    (root / ".git" / lock).unlink()
    assert history.state().blocked is None
    history.commit([FileChange(NOTE, b"x")], "m", history.head(), Author(), NOW)
    assert not list((root / ".git").glob("fast_import_crash_*"))


def test_a_parent_that_is_gone_leaves_no_crash_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    monkeypatch.setattr(history._repo, "head", lambda: "1" * 40)
    with pytest.raises(Exception, match="1111"):
        history.commit([FileChange(NOTE, b"x")], "m", "1" * 40, Author(), NOW)
    assert not list((root / ".git").glob("fast_import_crash_*"))


def test_any_text_is_a_message(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    text = "# no comment 🌿\n\ndata 5\nM 100644 inline x\n\0EOF\n--\n\nBonsai-Op: edit\n\n\n"
    history.commit([FileChange(NOTE, b"x")], text, history.head(), Author(), NOW)
    assert git(root, "log", "-1", "--format=%B").rstrip() == text.replace("\0", "").rstrip()
    assert history.log(limit=1)[0].op == "edit"
    history.commit([FileChange(NOTE, b"y")], "", history.head(), Author(), NOW)
    assert history.log(limit=1)[0].subject == ""


def test_a_file_may_become_a_folder_and_back(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    for files in (
        {"memory/x": b"1"},
        {"memory/x/y.md": b"2", "memory/x": None},
        {"memory/x": b"3", "memory/x/y.md": None},
    ):
        changes = [FileChange(path, data) for path, data in files.items()]
        sha = history.commit(changes, "m", history.head(), Author(), NOW)
        history.refresh_index(blobs(history, dict(files)))
        there = {path for path in history.tree(sha) if path.startswith("memory/x")}
        assert there == {path for path, data in files.items() if data is not None}
        assert git(root, "diff", "--cached", "--name-only") == ""


def test_modes_and_many_files_survive(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    changes = [FileChange(f"memory/{number}.md", b"%d" % number, 0o100755) for number in range(250)]
    sha = history.commit(changes, "many", history.head(), Author(), NOW)
    tree = history.tree(sha)
    assert all(tree[item.path] == Blob(0o100755, history.blob_id(item.data or b"")) for item in changes)
    assert history.refresh_index({item.path: tree[item.path] for item in changes}) == {}
    assert git(root, "diff", "--cached", "--name-only") == ""


def test_the_author_is_the_given_one_else_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = own(tmp_path)
    shape = "--format=%an|%ae|%cn|%ce|%ad|%ai"

    def commit(author: Author) -> list[str]:
        history = GitHistory(str(root))
        history.commit([FileChange(NOTE, os.urandom(8))], "m", history.head(), author, NOW)
        return git(root, "log", "-1", shape).split("|")

    assert commit(Author())[:4] == ["Pat Doe", "pat@example.com", "Pat Doe", "pat@example.com"]
    assert commit(Author())[5] == "2026-03-04 05:06:07 +0200"
    assert commit(Author("Bot <x>\n", "b@x"))[:4] == ["Bot x", "b@x", "Pat Doe", "pat@example.com"]
    assert commit(Author("Bot"))[:2] == ["Bot", "bonsai@localhost"]
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Env")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "env@x")
    assert commit(Author())[:4] == ["Env", "pat@example.com", "Pat Doe", "env@x"]


def test_no_identity_is_needed(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    history = GitHistory(str(root))
    history.create()
    git(root, "config", "user.useConfigOnly", "true")
    before = (root / ".git/config").read_bytes()
    history.commit([FileChange(NOTE, b"x")], "m", "", Author(), NOW)
    assert git(root, "log", "-1", "--format=%an <%ae> %cn") == "bonsai <bonsai@localhost> bonsai"
    assert (root / ".git/config").read_bytes() == before


def test_dates_before_1970_and_odd_zones(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    for now in (
        datetime(1960, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(2026, 1, 1),
    ):
        history.commit([FileChange(NOTE, os.urandom(4))], "m", history.head(), Author(), now)
    assert history.check() == []


# --- signing ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's global config."""
    path = tmp_path / "gitconfig"
    path.write_text("[commit]\n\tgpgsign = true\n[user]\n\tsigningkey = KEY\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    return path


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


SIGNS = """cat >/dev/null; printf '\\n[GNUPG:] SIG_CREATED \\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'"""


@pytest.mark.parametrize("kind", [own, unborn, worktree])
def test_the_persons_own_signing_is_honoured(tmp_path: Path, home: Path, kind: Callable[[Path], Path]) -> None:
    gpg = program(tmp_path / "gpg", SIGNS)
    git(tmp_path, "config", "--global", "gpg.program", str(gpg))
    git(tmp_path, "config", "--global", "commit.gpgsign", "false")
    root = kind(tmp_path)
    git(tmp_path, "config", "--global", "commit.gpgsign", "true")
    history = GitHistory(str(root))
    parent = history.head()
    sha = history.commit([FileChange(NOTE, b"x")], "m 🌿\n\nbody", parent, Author("Bot", "b@x"), NOW)
    raw = git(root, "cat-file", "commit", sha)
    assert "BEGIN PGP SIGNATURE" in raw and history.unsigned == ""
    assert "author Bot <b@x> 1772593567 +0200" in raw and raw.endswith("m 🌿\n\nbody")
    assert history.head() == sha and history.read(sha, NOTE) == b"x"
    assert git(root, "log", "-1", "--format=%P") == parent
    assert git(root, "for-each-ref", "refs/bonsai") == ""


def test_a_signing_program_that_hangs_is_given_up(tmp_path: Path, home: Path) -> None:
    gpg = program(tmp_path / "gpg", f"echo $$ >{tmp_path}/pid\nsleep 300 & echo $! >>{tmp_path}/pid\nwait")
    root = init(tmp_path / "ws")
    git(tmp_path, "config", "--global", "gpg.program", str(gpg))
    history = GitHistory(str(root))
    start = time.monotonic()
    sha = history.commit([FileChange(NOTE, b"x")], "m", "", Author(), NOW)
    assert time.monotonic() - start < 30
    assert history.head() == sha and "3 s" in history.unsigned
    for pid in (tmp_path / "pid").read_text().split():
        assert not alive(int(pid)), "the signing program lives on"
    before = (tmp_path / "pid").read_text()
    history.commit([FileChange(NOTE, b"y")], "m", sha, Author(), NOW)
    assert (tmp_path / "pid").read_text() == before, "one wait is enough"
    assert git(root, "for-each-ref", "refs/bonsai") == ""


def test_a_signing_program_that_fails_is_said(tmp_path: Path, home: Path) -> None:
    root = init(tmp_path / "ws")
    git(tmp_path, "config", "--global", "gpg.program", str(program(tmp_path / "gpg", "echo no key >&2; exit 1")))
    history = GitHistory(str(root))
    sha = history.commit([FileChange(NOTE, b"x")], "m", "", Author(), NOW)
    assert history.head() == sha and "failed" in history.unsigned
    assert history.check() == []


def test_a_signed_commit_that_lost_the_race_is_busy(tmp_path: Path, home: Path) -> None:
    root = init(tmp_path / "ws")
    theirs = f"env -u GIT_DIR git -C '{root}' -c commit.gpgsign=false commit -q --allow-empty -m theirs"
    git(tmp_path, "config", "--global", "gpg.program", str(program(tmp_path / "gpg", f"{theirs}\n{SIGNS}")))
    history = GitHistory(str(root))
    with pytest.raises(Busy):
        history.commit([FileChange(NOTE, b"x")], "m", "", Author(), NOW)
    assert git(root, "log", "--format=%s") == "theirs"
    assert git(root, "for-each-ref", "refs/bonsai") == ""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


# --- the person's index -----------------------------------------------------------------------------------------------


def test_a_staged_version_of_the_path_is_named(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    save(root, history, {NOTE: b"one\n", "memory/other.md": b"one\n", "memory/same.md": b"one\n"})
    staged = {NOTE: b"staged\n", "memory/same.md": b"two\n"}
    for path, data in staged.items():
        write(root, path, data)
    git(root, "add", *staged)
    files = {"memory/other.md": b"two\n"}  # our next write must not forget what was staged before it
    history.commit([FileChange(path, data) for path, data in files.items()], "m", history.head(), Author(), NOW)
    assert history.refresh_index(blobs(history, dict(files))) == {}
    files = {NOTE: b"two\n", "memory/same.md": b"two\n"}
    history.commit([FileChange(path, data) for path, data in files.items()], "m", history.head(), Author(), NOW)
    assert history.refresh_index(blobs(history, dict(files))) == {NOTE: history.blob_id(b"staged\n")}
    assert history.blob(history.blob_id(b"staged\n")) == b"staged\n"
    assert git(root, "diff", "--cached", "--name-only") == ""


def test_a_new_instance_sees_what_was_staged(tmp_path: Path) -> None:
    root = own(tmp_path)
    save(root, GitHistory(str(root)), {NOTE: b"one\n"})
    write(root, NOTE, b"staged\n")
    git(root, "add", NOTE)
    first = GitHistory(str(root))
    first.commit([FileChange(NOTE, b"two\n")], "m", first.head(), Author(), NOW)
    second = GitHistory(str(root))  # the next run, after the first one was killed
    assert second.refresh_index(blobs(second, {NOTE: b"two\n"})) == {NOTE: second.blob_id(b"staged\n")}


def test_what_was_staged_before_the_first_commit_is_named(tmp_path: Path) -> None:
    root = unborn(tmp_path)
    write(root, NOTE, b"staged\n")
    git(root, "add", NOTE)
    history = GitHistory(str(root))
    history.commit([FileChange(NOTE, b"two\n")], "m", "", Author(), NOW)
    assert history.refresh_index(blobs(history, {NOTE: b"two\n"})) == {NOTE: history.blob_id(b"staged\n")}


def test_a_locked_index_is_left_for_later(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    lock = root / ".git/index.lock"
    lock.touch()
    before = (root / ".git/index").read_bytes()
    assert history.state() == (True, None, "", True)
    write(root, NOTE, b"x")
    history.commit([FileChange(NOTE, b"x")], "m", history.head(), Author(), NOW)
    assert history.refresh_index(blobs(history, {NOTE: b"x"})) is None
    assert lock.exists() and (root / ".git/index").read_bytes() == before
    lock.unlink()
    assert history.refresh_index(blobs(history, {NOTE: b"x"})) == {}
    assert git(root, "status", "--porcelain") == ""


def test_a_rename_of_case_alone_arrives(tmp_path: Path) -> None:
    root = own(tmp_path)
    git(root, "config", "core.ignorecase", "true")
    history = GitHistory(str(root))
    save(root, history, {"memory/Note.md": b"x"})
    save(root, history, {"memory/Note.md": None, "memory/note.md": b"x"})
    assert "memory/note.md" in history.tree(history.head()) and "memory/Note.md" not in history.tree(history.head())
    git(root, "config", "core.ignorecase", "false")
    assert git(root, "status", "--porcelain") == ""


def test_flags_of_other_entries_survive(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    save(root, history, {"memory/skip.md": b"x", "memory/assume.md": b"x"})
    git(root, "update-index", "--skip-worktree", "memory/skip.md")
    git(root, "update-index", "--assume-unchanged", "memory/assume.md")
    (root / "memory/skip.md").unlink()
    save(root, history, {NOTE: b"x"})
    flags = dict(reversed(line.split(" ", 1)) for line in git(root, "ls-files", "-v").split("\n"))  # type: ignore[misc]
    assert flags["memory/skip.md"] == "S" and flags["memory/assume.md"] == "h"
    assert git(root, "status", "--porcelain") == ""


def test_an_index_that_nobody_else_touched_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    save(root, history, {NOTE: b"1"})
    history.state()
    commands: list[str] = []
    start = type(history._run)._start
    monkeypatch.setattr(
        type(history._run),
        "_start",
        lambda self, argv, env, source: commands.append(argv) or start(self, argv, env, source),
    )
    history.state()
    save(root, history, {NOTE: b"2"})
    history.state()
    assert len(commands) == 2, commands


# --- states -----------------------------------------------------------------------------------------------------------


def test_no_repository(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    history = GitHistory(str(root))
    assert history.state() == (False, None, "", False)
    assert history.blob_id(b"a\n") == "78981922613b2afb6025042ff6bd878ac1994e85"
    for call in (history.head, history.log, history.check, history.locks, lambda: history.tree("HEAD")):
        with pytest.raises(Misconfigured) as caught:
            call()
        assert "bonsai init" in caught.value.hint
    history.create()
    assert history.state() == (True, None, "", False) and history.head() == "" and history.log() == []
    assert history.tree("") == {} and history.path_times({}, "") == {} and history.contains_run("r", "") == ""


def conflict(root: Path, *command: str) -> None:
    """Two branches that disagree on the seed, and a command that stops because of it."""
    git(root, "switch", "-q", "-c", "theirs")
    write(root, "memory/seed.md", b"theirs\n")
    git(root, "commit", "-q", "-a", "-m", "theirs")
    git(root, "switch", "-q", "-")
    write(root, "memory/seed.md", b"ours\n")
    git(root, "commit", "-q", "-a", "-m", "ours")
    subprocess.run(["git", "-C", str(root), *command], capture_output=True)


@pytest.mark.parametrize("kind", [own, worktree])
@pytest.mark.parametrize(
    ("reason", "command", "way_out"),
    [
        ("merge", ["merge", "theirs"], ["merge", "--abort"]),
        ("rebase", ["rebase", "theirs"], ["rebase", "--abort"]),
        ("rebase", ["rebase", "--apply", "theirs"], ["rebase", "--abort"]),
        ("cherry-pick", ["cherry-pick", "theirs"], ["cherry-pick", "--abort"]),
        ("revert", ["revert", "--no-edit", "HEAD~1"], ["revert", "--abort"]),
        ("bisect", ["bisect", "start", "HEAD", "HEAD~1"], ["bisect", "reset"]),
        ("detached", ["checkout", "-q", "--detach"], ["switch", "-q", "-"]),
        ("unmerged", ["stash", "apply"], ["reset", "-q", "--hard"]),
    ],
)
def test_an_operation_in_progress_blocks_until_it_ends(
    tmp_path: Path, kind: Callable[[Path], Path], reason: str, command: list[str], way_out: list[str]
) -> None:
    root = kind(tmp_path)
    history = GitHistory(str(root))
    assert history.state().blocked is None
    if reason == "unmerged":
        write(root, "memory/seed.md", b"stashed\n")
        git(root, "stash", "-q")
    conflict(root, *command)
    state = history.state()
    assert state.exists and state.blocked == reason and state.detail
    before = git(root, "rev-parse", "HEAD").strip()
    with pytest.raises(Busy):  # begun after the caller had looked
        save(root, history, {"memory/a.md": b"a"})
    assert git(root, "rev-parse", "HEAD").strip() == before
    (root / "memory/a.md").unlink()
    git(root, *way_out)
    assert history.state() == (True, None, "", False)


def test_a_sequence_between_two_picks_blocks(tmp_path: Path) -> None:
    root = own(tmp_path)
    (root / ".git/sequencer").mkdir()
    for word, reason in (("pick", "cherry-pick"), ("revert", "revert")):
        (root / ".git/sequencer/todo").write_text(f"{word} abc x\n")
        assert GitHistory(str(root)).state().blocked == reason


def test_bare(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "x.git")
    history = GitHistory(str(tmp_path / "x.git"))
    assert history.state().blocked == "bare"
    with pytest.raises(Misconfigured):
        history.commit([FileChange(NOTE, b"x")], "m", "", Author(), NOW)


@pytest.mark.parametrize("damage", ["empty HEAD", "odd HEAD", "empty .git", "no target", "config", "branch", "index"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_damaged_repository_is_unusable_and_not_passed_over(tmp_path: Path, damage: str, inside: bool) -> None:
    if inside:
        seed(init(tmp_path))
    root = own(tmp_path)
    history = GitHistory(str(root))
    assert history.state().blocked is None
    dot = root / ".git"
    if damage == "empty .git":
        dot.rename(tmp_path / "away")
        dot.mkdir()
    elif damage == "no target":
        dot.rename(tmp_path / "away")
        dot.write_text("gitdir: /nowhere/at/all\n")
    else:
        name = {"config": "config", "branch": "refs/heads/main", "index": "index"}.get(damage, "HEAD")
        (dot / name).write_text("" if damage in ("empty HEAD", "branch") else "[garbage\n")
    state = history.state()
    assert state.exists and state.blocked == "unusable" and str(root) in state.detail


def test_a_repository_of_somebody_else_is_unusable(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    root = own(tmp_path)
    for path in [root, *root.rglob("*")]:
        os.chown(path, 12345, 12345)
    history = GitHistory(str(root))
    state = history.state()
    assert state.blocked == "unusable" and str(root) in state.detail and "safe.directory" in state.detail
    with pytest.raises(Misconfigured, match="another user") as caught:
        history.commit([FileChange(NOTE, b"x")], "m", "", Author(), NOW)
    assert caught.value.path == str(root)


def test_a_repository_that_comes_goes_and_moves_is_noticed(tmp_path: Path) -> None:
    root = nested(tmp_path)
    history = GitHistory(str(root))
    save(root, history, {NOTE: b"x"})
    assert list(history.tree(history.head())) == [NOTE]
    init(root)
    assert history.head() == "" and history.state().blocked is None
    (root / ".git").rename(tmp_path / "away")
    assert list(history.tree(history.head())) == [NOTE]


def test_a_symlinked_workspace_is_the_folder_behind_it(tmp_path: Path) -> None:
    root = nested(tmp_path)
    (tmp_path / "link").symlink_to(root)
    history = GitHistory(str(tmp_path / "link"))
    save(root, history, {NOTE: b"x"})
    assert git(root, "show", "--format=", "--name-only", "HEAD") == "deep [x]/ws/" + NOTE


def test_without_git_there_is_a_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = own(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    history = GitHistory(str(root))
    state = history.state()
    assert state.blocked == "unusable" and "Install git" in state.detail
    with pytest.raises(Unavailable):
        history.resolve("HEAD")


def test_variables_of_a_person_lead_git_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, other = own(tmp_path), init(tmp_path / "other")
    for name, value in {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
        "GIT_NAMESPACE": "x",
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_EXTERNAL_DIFF": "/bin/false",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
    }.items():
        monkeypatch.setenv(name, value)
    history = GitHistory(str(root))
    history.commit([FileChange(NOTE, b"x")], "m", history.head(), Author(), NOW)
    assert history.refresh_index(blobs(history, {NOTE: b"x"})) == {}
    monkeypatch.undo()
    assert git(root, "log", "-1", "--format=%s") == "m"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "ws"]


def test_the_current_folder_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, gone = own(tmp_path), tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert GitHistory(str(root)).log()
    other = init(tmp_path / "other")
    monkeypatch.chdir(other)
    history = GitHistory(str(tmp_path / "nothing"))
    assert history.state().blocked == "unusable" or not history.state().exists


# --- what is asked for and is not there -------------------------------------------------------------------------------


def test_a_revision_is_never_an_option(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    for rev in ("--upload-pack=touch x", "-x", "--output=x", "", "HEAD~9", "a..b", "x\0y", "HEAD:memory", ":/no", "-"):
        with pytest.raises(NotFound):
            history.resolve(rev)
        if "\0" not in rev and rev not in ("HEAD:memory", "a..b"):
            for call in (
                history.tree,
                lambda rev: history.read(rev, NOTE),
                lambda rev: history.log(rev=rev),
                history.blob,
            ):
                if (rev, call) != ("", history.tree):
                    with pytest.raises(NotFound):
                        call(rev)
    for path in ("--output=x", "-x", ":(top)*", "memory/*.md"):
        assert history.log([path]) == [] and history.log([path], follow=True) == []
    assert sorted(path.name for path in root.iterdir()) == [".git", "memory"]


def test_missing_files_and_objects(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    for path in ("memory/none.md", "memory", "memory/seed.md/x"):
        with pytest.raises(NotFound):
            history.read("HEAD", path)
    with pytest.raises(Refused):
        history.read("HEAD", "../x")
    with pytest.raises(NotFound):
        history.blob("1" * 40)
    assert history.tree_changes("1" * 40, history.head()) is None and history.tree_changes("", history.head()) is None
    with pytest.raises(NotFound):
        history.changes("1" * 40, history.head())


def test_links_and_submodules_are_no_files(tmp_path: Path) -> None:
    root, inner = own(tmp_path), init(tmp_path / "inner")
    seed(inner)
    first = git(root, "rev-parse", "HEAD")
    (root / "memory/link.md").symlink_to("seed.md")
    (root / "MEMORY.md").symlink_to("memory/seed.md")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "memory/sub")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "links")
    history = GitHistory(str(root))
    assert list(history.tree("HEAD")) == ["memory/seed.md"]
    assert history.tree_changes(first, history.head()) == {} and history.changes(first, history.head()) == []


# --- merged histories -------------------------------------------------------------------------------------------------


def test_a_merge_is_told_as_what_it_brought(tmp_path: Path) -> None:
    root = own(tmp_path)
    write(root, "memory/both.md", b"1\n2\n3\n4\n5\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "both", "--date=@1000 +0000")
    git(root, "switch", "-q", "-c", "side")
    write(root, "memory/side.md", b"side\n")
    write(root, "memory/both.md", b"1\n2\n3\n4\nside\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "side")
    git(root, "switch", "-q", "main")
    write(root, "memory/main.md", b"main\n")
    write(root, "memory/both.md", b"main\n2\n3\n4\n5\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "main")
    git(root, "merge", "-q", "--no-edit", "side")
    history = GitHistory(str(root))
    merge = history.log(limit=1)[0]
    assert len(merge.parents) == 2 and set(merge.paths) == {"memory/side.md", "memory/both.md"}
    assert [item.subject for item in history.log()][-2:] == ["both", "seed"]
    times = history.path_times({}, "")
    assert set(times) == set(history.tree("HEAD"))
    assert times["memory/both.md"].changed == int(git(root, "log", "-1", "--format=%ct"))


def test_history_of_other_files_is_left_out(tmp_path: Path) -> None:
    root = nested(tmp_path)
    history = GitHistory(str(root))
    save(root, history, {NOTE: b"1", "MEMORY-old.md": b"1"}, "notes")
    seed(tmp_path / "top", "src/more.py")
    seed(tmp_path / "top", "memory/elsewhere.md")
    save(root, history, {"MEMORY-old.md": None}, "gone")
    assert [item.subject for item in history.log()] == ["gone", "notes"]
    assert history.changes("", history.head()) == [Rename("", NOTE, "", history.blob_id(b"1"))]
    assert set(history.path_times({}, "")) == {NOTE}


# --- rules ------------------------------------------------------------------------------------------------------------


def test_ignored(root: Path) -> None:
    top = Path(git(root, "rev-parse", "--show-toplevel"))
    write(top, ".gitignore", b"*.secret.md\n")
    write(root, "memory/.gitignore", b"/drafts/\n!/drafts/keep.md\n:*\n")
    (root / "memory/link").symlink_to("/")
    history = GitHistory(str(root))
    save(root, history, {"memory/tracked.secret.md": b"x"})
    yes = {"memory/tracked.secret.md", "memory/drafts/a.md", "memory/drafts/keep.md", "memory/:(top)x.md"}
    no = {NOTE, *ODD[:6], "MEMORY.md", "memory/link/x.secret.md", "memory/*.md"}
    assert history.ignored(sorted(yes | no)) == yes
    assert history.ignored([]) == set()


def test_filtered(root: Path) -> None:
    history = GitHistory(str(root))
    paths = [NOTE, ODD[2], "memory/private/a.md", "MEMORY.md"]
    assert history.filtered(paths) == set()
    write(root, "memory/.gitattributes", b"private/** filter=git-crypt diff=git-crypt\n*.md text eol=lf\n")
    assert history.filtered(paths) == {"memory/private/a.md"}
    write(Path(git(root, "rev-parse", "--show-toplevel")), ".gitattributes", b"*.md filter=x\n")
    write(root, "memory/domains/.gitattributes", b"a.md -filter\n")
    assert history.filtered(paths) == set(paths) - {NOTE}


def test_attributes_of_the_git_folder_count(tmp_path: Path) -> None:
    root = own(tmp_path)
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("*.md filter=x\n")
    assert GitHistory(str(root)).filtered([NOTE]) == {NOTE}


def test_line_ends_are_never_converted(tmp_path: Path) -> None:
    root = own(tmp_path)
    git(root, "config", "core.autocrlf", "true")
    write(root, ".gitattributes", b"* text=auto eol=lf working-tree-encoding=UTF-16 ident\n")
    history = GitHistory(str(root))
    sha = history.commit([FileChange(NOTE, b"a\r\nb\r\n$Id$")], "m", history.head(), Author(), NOW)
    assert history.read(sha, NOTE) == b"a\r\nb\r\n$Id$"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        (b"1\n2\n3\n4\n5\n", b"0\n2\n3\n4\n5\n", b"1\n2\n3\n4\n6\n", (b"0\n2\n3\n4\n6\n", True)),
        (
            b"1\r\n2\r\n3\r\n4\r\n5",
            b"0\r\n2\r\n3\r\n4\r\n5",
            b"1\r\n2\r\n3\r\n4\r\n6",
            (b"0\r\n2\r\n3\r\n4\r\n6", True),
        ),
        (b"", b"", b"", (b"", True)),
        (b"\xff\n", b"\xff\n", b"\xfe\n", (b"\xfe\n", True)),
        (b"1\n", b"2\n", b"3\n", (b"<<<<<<< now\n2\n=======\n3\n>>>>>>> wanted\n", False)),
        (b"\0", b"\0a", b"\0b", (b"\0a", False)),
    ],
)
def test_merge(tmp_path: Path, base: bytes, ours: bytes, theirs: bytes, result: tuple[bytes, bool]) -> None:
    root = own(tmp_path)
    git(root, "config", "merge.conflictStyle", "diff3")
    history = GitHistory(str(root))
    assert history.merge(base, ours, theirs) == result
    assert not list(root.glob(".bonsai-*"))


# --- leftovers of killed processes ------------------------------------------------------------------------------------


LOCKS = ["index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock", "config.lock"]
DEBRIS = ["fast_import_crash_1", "objects/aa/tmp_obj_x", "objects/pack/tmp_pack_x", "refs/bonsai/unsigned-x"]


def plant(root: Path, names: list[str], age: float) -> None:
    for name in names:
        path = root / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (time.time() - age,) * 2)


def test_leftovers_of_our_run_go_and_older_ones_stay(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    plant(root, [*LOCKS, *DEBRIS, "shallow.lock"], age=100)
    assert sorted(history.locks()) == sorted(str(root / ".git" / name) for name in LOCKS)
    assert history.remove_stale_locks(time.time() - 50) == []
    assert len(history.locks()) == len(LOCKS)
    removed = history.remove_stale_locks(time.time() - 150)
    assert sorted(removed) == sorted(str(root / ".git" / name) for name in [*LOCKS, *DEBRIS])
    assert history.locks() == [] and (root / ".git/shallow.lock").exists()
    assert history.state() == (True, None, "", False)


def test_locks_of_others_go_only_when_asked(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    plant(root, LOCKS, age=100)
    assert history.remove_stale_locks(time.time(), foreign_older_than=900) == []
    assert len(history.remove_stale_locks(time.time(), foreign_older_than=60)) == len(LOCKS)


def test_a_git_that_lives_keeps_its_lock(tmp_path: Path) -> None:
    root = own(tmp_path)
    history = GitHistory(str(root))
    plant(root, LOCKS, age=0)
    with subprocess.Popen(
        ["git", "-C", str(root), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdin.write(b"HEAD\n")  # type: ignore[union-attr]
        other.stdin.flush()  # type: ignore[union-attr]
        other.stdout.readline()  # type: ignore[union-attr]
        assert history.remove_stale_locks(time.time() - 60, foreign_older_than=0) == []
        other.communicate()
    assert len(history.remove_stale_locks(time.time() - 60)) == len(LOCKS)


def test_the_locks_of_a_worktree_are_in_its_own_folder(tmp_path: Path) -> None:
    root = worktree(tmp_path)
    own_dir = Path(git(root, "rev-parse", "--absolute-git-dir"))
    (own_dir / "index.lock").touch()
    (tmp_path / "ws/.git/index.lock").touch()
    history = GitHistory(str(root))
    assert history.remove_stale_locks(time.time() - 60) == [str(own_dir / "index.lock")]
    assert (tmp_path / "ws/.git/index.lock").exists()


# --- many at once -----------------------------------------------------------------------------------------------------


WORKER = """
import sys, time
from datetime import UTC, datetime
from bonsai.adapters.git_history import GitHistory
from bonsai.errors import Busy
from bonsai.ports.history import Author, FileChange

root, number = sys.argv[1], int(sys.argv[2])
history = GitHistory(root)
for turn in range(15):
    changes = [FileChange(f"memory/{number}-{turn}.md", b"x")]
    while True:
        try:
            history.commit(changes, f"{number} {turn}", history.head(), Author(), datetime.now(UTC))
            break
        except Busy:
            time.sleep(0.01 * (number + 1))
"""


def test_six_processes_lose_nothing(tmp_path: Path) -> None:
    root = own(tmp_path)
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(root), str(number)]) for number in range(6)]
    assert [worker.wait() for worker in workers] == [0] * 6
    history = GitHistory(str(root))
    assert len(history.tree(history.head())) == 1 + 6 * 15
    assert len(history.log()) == 1 + 6 * 15 and history.check() == []
