"""`sync`: two clones of one memory come to the same tree, neither loses a word, and nothing is ever forced."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.errors import BadData, Busy, Misconfigured, NotFound, Refused, Unavailable
from bonsai.notes.merge_passages import MARK
from bonsai.notes.prose import conflicted
from bonsai.passes.plain import as_json
from verbs.sandbox import GENERAL, NOW, PERSON, Sandbox, outside_block, set_time

INBOX = f"{GENERAL}/inbox.md"
PRICING = "memory/domains/business/pricing.md"
LONG = "".join(f"Line {number} of a note that git can follow when it gets another name.\n\n" for number in range(12))


class Pair:
    """Two devices, `a` and `b`, and the bare repository between them."""

    def __init__(self, a: Sandbox, b: Sandbox, remote: Path) -> None:
        self.a, self.b, self.remote = a, b, remote

    def meet(self) -> None:
        """Sync in turn until both are at one commit, and see that both have the same and all of it is in order."""
        for number in range(6):
            (self.a, self.b)[number % 2].ws.sync()
            if number and self.a.head() == self.b.head():
                break
        there = subprocess.run(["git", "rev-parse", "--all"], cwd=self.remote, capture_output=True, text=True)
        assert self.a.head() == self.b.head() == there.stdout.strip()
        assert self.a.files() == self.b.files()
        for box in (self.a, self.b):
            box.assert_clean()
            assert box.ws.reindex(check=True).stale is False
            assert not [path for path, data in box.files().items() if conflicted(data.decode("utf-8", "replace"))]

    def close(self) -> None:
        self.a.close()
        self.b.close()


def bare_repository(path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
    return path


def clone(remote: Path, path: Path) -> Sandbox:
    subprocess.run(["git", "clone", "-q", str(remote), str(path)], check=True)
    return Sandbox(path)


@pytest.fixture(scope="session")
def seeds(seed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `a`, `b` and `remote.git`, made once."""
    folder = tmp_path_factory.mktemp("devices")
    shutil.copytree(seed, folder / "a", symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BONSAI_NOW", NOW)
        first = Sandbox(folder / "a")
        first.write(INBOX, f"# Inbox\n\n{LONG}")
        first.write(PRICING, "---\ntitle: Pricing\n---\n\nA dinner costs 895 kr.\n")
        first.write("memory/dates.md", "# Dates\n\n- 2026-05-01: the fair\n")
        first.git("remote", "add", "origin", str(bare_repository(folder / "remote.git")))
        first.ws.sync()
        clone(folder / "remote.git", folder / "b").ws.commit()
        first.close()
    return folder


@pytest.fixture
def pair(seeds: Path, tmp_path: Path) -> Iterator[Pair]:
    """Two devices with the same notes, and what is between them."""
    for name in ("a", "b", "remote.git"):
        shutil.copytree(seeds / name, tmp_path / name, symlinks=True)
    for name in ("a", "b"):
        config = tmp_path / name / ".git/config"
        config.write_text(config.read_text().replace(str(seeds), str(tmp_path)))
    found = Pair(Sandbox(tmp_path / "a"), Sandbox(tmp_path / "b"), tmp_path / "remote.git")
    yield found
    found.close()


def edit(box: Sandbox, path: str, old: str, new: str) -> None:
    box.write(path, box.read(path).decode().replace(old, new))


# -- what a sync does ----------------------------------------------------------------------------------------


def test_edits_go_over_and_come_back(pair: Pair) -> None:
    edit(pair.a, PRICING, "895", "995")
    report = pair.a.ws.sync()
    assert (report.remote, report.pulled, report.pushed, report.commit) == ("origin", 0, 1, None)
    report = pair.b.ws.sync()
    assert (report.pulled, report.pushed, report.merged, report.commit) == (1, 0, [], None)
    assert b"995" in pair.b.read(PRICING)
    assert pair.b.head() == pair.a.head(), "no commit of its own where there is nothing to join"
    pair.meet()


def test_both_edited_different_passages_of_one_note(pair: Pair) -> None:
    edit(pair.a, INBOX, "Line 2 ", "Second line ")
    edit(pair.b, INBOX, "Line 9 ", "Ninth line ")
    pair.a.ws.sync()
    report = pair.b.ws.sync()
    assert (report.merged, report.kept_both) == ([INBOX], [])
    assert report.commit == pair.b.head()
    assert len(pair.b.last()[0].parents) == 2 and pair.b.last()[0].op == "sync"
    pair.meet()
    assert b"Second line " in pair.a.read(INBOX) and b"Ninth line " in pair.a.read(INBOX)


def test_both_edited_one_passage(pair: Pair) -> None:
    edit(pair.a, PRICING, "895", "995")
    edit(pair.b, PRICING, "895", "1095")
    pair.a.ws.sync()
    set_time("2026-03-15T09:15:00Z")
    report = pair.b.ws.sync()
    assert report.kept_both == report.merged == [PRICING]
    text = pair.b.read(PRICING).decode()
    assert text.index("1095") < text.index(MARK.decode()) < text.index("995")
    pair.meet()


def test_both_set_one_key(pair: Pair) -> None:
    edit(pair.a, PRICING, "title: Pricing", "title: Prices")
    edit(pair.b, PRICING, "title: Pricing", "title: Costs")
    pair.a.ws.sync()
    set_time("2026-03-15T09:15:00Z")
    assert pair.b.ws.sync().kept_both == [PRICING]
    assert pair.b.read(PRICING).startswith(
        b"---\ntitle: Costs\n# bonsai: both kept, the other device has: title: Prices\n---\n"
    )
    pair.meet()


def test_both_devices_made_notes_and_daily_notes(pair: Pair) -> None:
    for number, box in enumerate((pair.a, pair.b)):
        box.write(f"{GENERAL}/new-{number}.md", f"# New {number}\n")
        box.ws.daily_add(f"entry {number}")
    pair.meet()
    daily = pair.a.read("memory/daily/2026-03-15.md").decode()
    assert "entry 0" in daily and "entry 1" in daily and daily.count("# 2026-03-15") == 1
    assert {f"{GENERAL}/new-{number}.md" for number in (0, 1)} <= set(pair.a.files())


def test_deleted_here_and_edited_there_stays(pair: Pair) -> None:
    os.remove(pair.a.root / INBOX)
    edit(pair.b, INBOX, "Line 3 ", "Third line ")
    pair.a.ws.sync()
    assert pair.b.ws.sync().kept_both == [INBOX]
    pair.meet()
    assert b"Third line " in pair.a.read(INBOX)


def test_deleted_here_and_untouched_there_goes(pair: Pair) -> None:
    os.remove(pair.a.root / INBOX)
    pair.b.write(f"{GENERAL}/other.md", "# Other\n")
    pair.meet()
    assert not pair.b.has(INBOX) and not pair.a.has(INBOX)


def test_renamed_here_and_edited_there(pair: Pair) -> None:
    pair.a.ws.move(INBOX, "projects")
    edit(pair.b, INBOX, "Line 3 ", "Third line ")
    pair.b.write("memory/dates.md", "# Dates\n\nSee [inbox](domains/general/inbox.md).\n")
    pair.meet()
    assert not pair.a.has(INBOX)
    assert b"Third line " in pair.a.read("memory/domains/projects/inbox.md")
    assert b"(domains/projects/inbox.md)" in pair.a.read("memory/dates.md"), "links follow"


def test_renamed_to_two_names(pair: Pair) -> None:
    pair.a.ws.move(INBOX, "projects")
    set_time("2026-03-15T09:15:00Z")
    pair.b.ws.move(INBOX, "later")
    pair.meet()
    assert pair.a.has("memory/domains/later/inbox.md")
    assert not pair.a.has(INBOX) and not pair.a.has("memory/domains/projects/inbox.md")


@pytest.mark.parametrize("first", ["a", "b"])
def test_archived_here_and_edited_there_comes_back(pair: Pair, first: str) -> None:
    pair.a.ws.archive(INBOX, PRICING)
    edit(pair.b, INBOX, "Line 3 ", "Third line ")
    getattr(pair, first).ws.sync()
    other = pair.b if first == "a" else pair.a
    assert other.ws.sync().kept_both == [INBOX]
    pair.meet()
    data = pair.a.read(INBOX)
    assert b"Third line " in data and b"archived" not in data
    assert pair.a.has("memory/domains/business/pricing__DELETE.md") and not pair.a.has(PRICING)


def test_memory_md_and_the_indexes(pair: Pair) -> None:
    pair.a.write("MEMORY.md", b"# Me\n\n- from a\n" + pair.a.read("MEMORY.md"))
    pair.a.write("memory/domains/x/a.md", "# A\n")
    pair.a.ws.commit()
    set_time("2026-03-15T09:15:00Z")
    pair.b.write("MEMORY.md", b"# Me\n\n- from b\n" + pair.b.read("MEMORY.md"))
    pair.b.write("memory/domains/y/b.md", "# B\n")
    pair.meet()
    hand = outside_block(pair.a.read("MEMORY.md"))
    assert hand.startswith(b"# Me\n\n- from a\n- from b\n") and b"bonsai:" not in hand
    assert b"### X" in pair.a.read("memory/_index.md") and b"### Y" in pair.a.read("memory/_index.md")


def test_files_that_are_no_text(pair: Pair) -> None:
    pair.a.write("memory/pic.png", b"\0a")
    pair.b.write("memory/pic.png", b"\0b")
    pair.a.ws.commit()
    set_time("2026-03-15T09:15:00Z")
    pair.meet()
    assert pair.a.read("memory/pic.png") == b"\0b"
    beside = [path for path in pair.a.files() if ".conflict-" in path]
    assert len(beside) == 1 and pair.a.read(beside[0]) == b"\0a"


def test_names_that_one_disk_cannot_tell_apart(pair: Pair) -> None:
    pair.a.write(f"{GENERAL}/Plan.md", "# From a\n")
    pair.a.ws.commit()
    set_time("2026-03-15T09:15:00Z")
    pair.b.write(f"{GENERAL}/plan.md", "# From b\n")
    pair.meet()
    names = sorted(path for path in pair.a.files() if path.lower().startswith(f"{GENERAL}/plan"))
    assert len(names) == 2 and names[1] == f"{GENERAL}/plan.md" and ".conflict-" in names[0]


def test_a_file_here_and_a_folder_there(pair: Pair) -> None:
    pair.a.write("memory/x", "a file\n")
    pair.b.write("memory/x/y.md", "# In a folder\n")
    pair.meet()
    assert pair.a.read("memory/x/y.md") == b"# In a folder\n"
    assert any(data == b"a file\n" for data in pair.a.files().values())


def test_purges_of_both_are_in_the_log(pair: Pair) -> None:
    entries = [{"file": f"{name}.md", "purged_at": f"2026-01-0{day}T00:00:00Z"} for day, name in enumerate("abc", 1)]
    pair.a.write("memory/_purge_log.json", json.dumps(entries[:2]))
    pair.b.write("memory/_purge_log.json", json.dumps(entries[2:]))
    pair.meet()
    assert json.loads(pair.a.read("memory/_purge_log.json")) == entries


def test_what_somebody_committed_with_markers_is_healed(pair: Pair) -> None:
    pair.a.write(INBOX, "a\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n")
    pair.a.git("add", "-A")
    pair.a.git("commit", "-qm", "oops")
    pair.a.git("push", "-q", "origin", "HEAD")
    pair.b.ws.sync()
    assert pair.b.read(INBOX) == b"a\none\n" + MARK + b"two\n"


def test_notes_that_a_plain_git_pushed(pair: Pair) -> None:
    pair.a.write("memory/domains/y/plain.md", "# Plain\n")
    pair.a.git("add", "memory/domains/y/plain.md")
    pair.a.git("commit", "-qm", "plain")
    pair.a.git("push", "-q", "origin", "HEAD")
    pair.b.ws.sync()
    assert b"plain.md" in pair.b.read("memory/domains/y/_index.md")
    pair.meet()


def test_an_undo_takes_a_merge_back(pair: Pair) -> None:
    edit(pair.a, PRICING, "895", "995")
    pair.a.ws.sync()
    edit(pair.b, INBOX, "Line 3 ", "Third line ")
    pair.b.ws.sync()
    assert pair.b.ws.undo().restored == [PRICING]
    assert b"895" in pair.b.read(PRICING) and b"Third line " in pair.b.read(INBOX)
    run = next(commit for commit in pair.b.ws.log().commits if commit.op == "sync").run
    assert pair.b.ws.undo(pair.b.last()[0].run).restored == [PRICING]
    assert pair.b.ws.undo(run).restored == [PRICING], "by its name as well"


def test_three_devices(pair: Pair, tmp_path: Path) -> None:
    third = clone(pair.remote, tmp_path / "c")
    boxes = (pair.a, pair.b, third)
    for number, box in enumerate(boxes):
        edit(box, INBOX, f"Line {number} ", f"line of device {number} ")
        edit(box, PRICING, "895", f"{number}00")
    for box in (*boxes, *boxes):
        box.ws.sync()
    assert pair.a.files() == pair.b.files() == third.files()
    text = pair.a.read(PRICING).decode()
    assert all(f"{number}00" in text for number in range(3))
    third.close()


def test_two_clones_without_anything_between_them(pair: Pair) -> None:
    edit(pair.a, INBOX, "Line 3 ", "Third line ")
    edit(pair.b, INBOX, "Line 9 ", "Ninth line ")
    report = pair.b.ws.sync(str(pair.a.root))
    assert "work tree" in report.waiting and (report.pulled, report.pushed) == (0, 0), "a has committed nothing yet"
    pair.a.ws.sync(str(pair.b.root))
    report = pair.b.ws.sync(str(pair.a.root))
    assert report.pulled and not report.waiting
    assert pair.a.files() == pair.b.files() and b"Third line " in pair.b.read(INBOX)


def test_both_merge_the_same_at_different_times(pair: Pair, tmp_path: Path) -> None:
    edit(pair.a, PRICING, "895", "995")
    pair.a.write("memory/domains/x/a.md", "# A\n")
    pair.a.ws.commit()
    set_time("2026-03-15T09:15:00Z")
    edit(pair.b, PRICING, "895", "1095")
    pair.b.write("memory/domains/y/b.md", "# B\n")
    pair.b.ws.commit()
    shutil.copytree(pair.a.root, tmp_path / "before", symlinks=True)
    set_time("2026-03-15T10:15:00Z")
    pair.a.ws.sync(str(pair.b.root))
    set_time("2026-03-15T11:15:00Z")
    pair.b.ws.sync(str(tmp_path / "before"))
    assert pair.a.git("rev-parse", "HEAD^{tree}") == pair.b.git("rev-parse", "HEAD^{tree}")


def test_another_branch_name_there(garden: Sandbox, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote.git")
    garden.git("remote", "add", "origin", str(remote))
    garden.ws.sync()
    other = clone(remote, tmp_path / "b")
    other.git("branch", "-m", "trunk")
    other.git("branch", "--unset-upstream")
    edit(other, PRICING, "895", "995")
    assert other.ws.sync().pushed == 1
    assert garden.ws.sync().pulled == 1
    other.git("switch", "-q", "-c", "side")
    edit(other, PRICING, "995", "1095")
    other.ws.sync()
    assert garden.ws.sync().pulled == 0, "one branch of several goes to no other"
    assert "refs/heads/side" in garden.git("ls-remote", "origin")
    other.close()


def test_a_remote_whose_head_names_a_branch_that_is_not_there(pair: Pair, tmp_path: Path) -> None:
    """`git clone` of it makes an empty folder on that branch: syncing it must not begin a second memory there."""
    subprocess.run(["git", "-C", str(pair.remote), "symbolic-ref", "HEAD", "refs/heads/trunk"], check=True)
    other = clone(pair.remote, tmp_path / "c")
    assert other.git("symbolic-ref", "HEAD").strip() == "refs/heads/trunk"
    other.write(INBOX, "# Inbox\n\nWritten before anybody noticed.\n")
    with pytest.raises(Refused, match="nothing in common"):
        other.ws.sync()
    other.ws.sync(adopt=True)
    pair.a.ws.sync()
    assert b"anybody noticed" in pair.a.read(INBOX)
    other.close()


def test_a_folder_in_a_larger_repository(tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote.git")
    Sandbox(tmp_path).git("init", "-q", "big")
    top = Sandbox(tmp_path / "big")
    top.write("code.py", "x\n")
    top.git("add", "-A")
    top.git("commit", "-qm", "code")
    top.git("remote", "add", "origin", str(remote))
    Workspace.init(tmp_path / "big/my notes")
    first = Sandbox(tmp_path / "big/my notes")
    first.ws.sync()
    clone(remote, tmp_path / "two")
    second = Sandbox(tmp_path / "two/my notes")
    for number, box in enumerate((first, second)):
        box.write(INBOX, f"# Inbox\n\n- from {number}\n")
    Pair(first, second, remote).meet()
    assert {b"- from 0", b"- from 1"} <= set(first.read(INBOX).split(b"\n"))
    assert "bonsai-generated" in top.git("check-attr", "merge", "my notes/memory/_index.md")
    assert top.git("check-attr", "merge", "my notes/MEMORY.md").endswith(" bonsai\n")
    first.close()
    second.close()


# -- when it cannot be done ----------------------------------------------------------------------------------


def test_no_remote_or_one_that_is_none(garden: Sandbox) -> None:
    with pytest.raises(Misconfigured, match="no remote"):
        garden.ws.sync()
    with pytest.raises(NotFound):
        garden.ws.sync("nosuch")


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("ext::sh -c touch% x", Refused),
        ("fd::17", Refused),
        ("git://host/x", Refused),
        ("http://host/x", Refused),
        ("ftp://host/x", Refused),
        ("--upload-pack=x", Refused),
        ("ssh://-oProxyCommand=x/y", Refused),
        ("https://", Refused),
        ("-oProxyCommand=x:y", Refused),
        ("a\nb", BadData),
        ("file://elsewhere/x", BadData),
    ],
)
def test_only_paths_ssh_and_https(garden: Sandbox, address: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        garden.ws.sync(address)
    garden.git("config", "remote.origin.url", address)
    with pytest.raises(error):
        garden.ws.sync()


def test_nobody_answers(pair: Pair) -> None:
    pair.remote.rename(pair.remote.with_name("away"))
    edit(pair.b, PRICING, "895", "995")
    before = pair.b.files()
    with pytest.raises(Unavailable) as caught:
        pair.b.ws.sync()
    assert caught.value.code == 69 and caught.value.hint
    assert pair.b.read(PRICING) == before[PRICING]
    assert b"995" in (pair.b.committed(PRICING) or b""), "what waited is committed, as the message says"
    pair.b.assert_clean()
    pair.remote.with_name("away").rename(pair.remote)
    pair.meet()
    assert b"995" in pair.a.read(PRICING)


def test_a_host_that_is_not_there(garden: Sandbox) -> None:
    with pytest.raises(Unavailable):
        garden.ws.sync("ssh://localhost:1/x")
    with pytest.raises(Unavailable):
        garden.ws.sync("https://localhost:1/x")


def test_a_merge_in_progress(pair: Pair) -> None:
    edit(pair.a, PRICING, "895", "995")
    pair.a.ws.sync()
    (pair.b.root / ".git/MERGE_HEAD").write_text(f"{pair.b.head()}\n")
    with pytest.raises(Busy):
        pair.b.ws.sync()


def test_a_rewritten_history(pair: Pair) -> None:
    edit(pair.a, PRICING, "895", "995")
    pair.a.ws.sync()
    pair.b.ws.sync()
    pair.a.git("commit", "-q", "--amend", "-m", "rewritten")
    pair.a.git("push", "-q", "--force", "origin", "HEAD")
    before = pair.b.head(), pair.b.files()
    with pytest.raises(Refused, match="rewritten") as caught:
        pair.b.ws.sync()
    assert "--adopt" in caught.value.hint
    assert (pair.b.head(), pair.b.files()) == before
    pair.b.ws.sync(adopt=True)
    pair.meet()


def test_two_memories_that_were_never_one(box: Sandbox, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "remote.git")
    Workspace.init(tmp_path / "b")
    other = Sandbox(tmp_path / "b")
    for number, item in enumerate((box, other)):
        item.write(INBOX, f"# Inbox\n\n- from {number}\n")
        item.git("remote", "add", "origin", str(remote))
    box.ws.sync()
    set_time("2026-03-15T09:15:00Z")
    with pytest.raises(Refused, match="nothing in common"):
        other.ws.sync()
    other.ws.sync(adopt=True)
    Pair(box, other, remote).meet()
    assert box.read(INBOX) == b"# Inbox\n\n- from 0\n- from 1\n"
    other.close()


def test_the_other_side_says_no(pair: Pair) -> None:
    hook = pair.remote / "hooks/pre-receive"
    pair.remote.joinpath("config").write_text("[core]\n\tbare = true\n[receive]\n\tdenyNonFastForwards = true\n")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
    hook.chmod(0o755)
    edit(pair.a, PRICING, "895", "995")
    assert pair.a.ws.sync().pushed == 1
    assert not (pair.remote / "ran").exists(), "no program of the repository at the other end of a path runs"


def test_files_that_are_not_of_the_memory(pair: Pair) -> None:
    pair.a.write("code.py", "x\n")
    pair.a.git("add", "code.py")
    pair.a.git("commit", "-qm", "code")
    pair.a.ws.sync()
    before = pair.b.head()
    with pytest.raises(Refused) as caught:
        pair.b.ws.sync()
    assert caught.value.path == "code.py" and "git pull" in caught.value.hint and pair.b.head() == before
    pair.b.git("pull", "-q", "--ff-only")
    pair.meet()


def test_a_note_that_is_held_back_here(pair: Pair) -> None:
    edit(pair.a, INBOX, "Line 3 ", "Third line ")
    pair.a.ws.sync()
    held = "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"
    pair.b.write(INBOX, held)
    with pytest.raises(Refused) as caught:
        pair.b.ws.sync()
    assert caught.value.path == INBOX and pair.b.read(INBOX) == held.encode()


def test_a_link_that_somebody_committed_is_passed_on_and_not_made(pair: Pair) -> None:
    (pair.a.root / "memory/link.md").symlink_to("/etc/passwd")
    pair.a.git("add", "memory/link.md")
    pair.a.git("commit", "-qm", "link")
    pair.a.git("push", "-q", "origin", "HEAD")
    edit(pair.b, PRICING, "895", "995")
    pair.b.ws.sync()
    assert not pair.b.has("memory/link.md")
    assert "120000" in pair.b.git("ls-tree", "HEAD", "memory/link.md")
    assert "120000" in pair.b.git("ls-files", "-s", "memory/link.md")


def test_most_notes_gone_at_once_on_the_other_side(pair: Pair) -> None:
    for number in range(12):
        pair.a.write(f"{GENERAL}/note-{number}.md", f"# Note {number}\n\n- of its own {number}\n")
    pair.a.ws.sync()
    pair.b.ws.sync()
    for number in range(12):
        os.remove(pair.a.root / f"{GENERAL}/note-{number}.md")
    pair.a.ws.commit(all_deletions=True)
    pair.a.ws.sync()
    before = pair.b.files()
    with pytest.raises(Refused, match="12 notes are gone") as caught:
        pair.b.ws.sync()
    assert "--all-deletions" in caught.value.hint and pair.b.files() == before
    pair.b.ws.sync(all_deletions=True)
    pair.meet()


def test_a_file_too_large_to_look_after(pair: Pair) -> None:
    large = b"\0" * (10 * 1024 * 1024 + 1)
    pair.a.write("memory/film.bin", large)
    pair.a.git("add", "memory/film.bin")
    pair.a.git("commit", "-qm", "film")
    pair.a.git("push", "-q", "origin", "HEAD")
    edit(pair.b, PRICING, "895", "995")
    pair.b.ws.sync()
    assert pair.b.read("memory/film.bin") == large == pair.b.committed("memory/film.bin")
    assert pair.b.ws.commit().commit is None, "it is not taken for deleted"


# -- git itself ----------------------------------------------------------------------------------------------


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """`bonsai` as a command, for the git that calls it."""
    place = Path(__file__).parents[2] / ".venv/bin"
    if not (place / "bonsai").exists():
        pytest.skip("bonsai is not installed beside this checkout")
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")


def test_git_pull_merges_as_sync_does(pair: Pair, on_path: None) -> None:
    pair.b.ws.sync()  # names the drivers in this clone
    edit(pair.a, PRICING, "895", "995")
    edit(pair.a, INBOX, "Line 3 ", "Third line ")
    pair.a.write("memory/domains/x/a.md", "# A\n")
    pair.a.ws.sync()
    set_time("2026-03-15T09:15:00Z")
    edit(pair.b, PRICING, "895", "1095")
    edit(pair.b, INBOX, "Line 4 ", "Fourth line ")
    pair.b.write("memory/domains/y/b.md", "# B\n")
    pair.b.write("MEMORY.md", b"# Me\n" + pair.b.read("MEMORY.md"))
    pair.b.ws.commit()
    pair.b.git("pull", "-q", "--no-rebase", "--no-edit")
    text = pair.b.read(PRICING).decode()
    assert text.index("1095") < text.index(MARK.decode()) < text.index("995")
    assert pair.b.git("diff", "--name-only", "--diff-filter=U") == ""
    pair.b.ws.commit()
    pair.meet()
    assert b"Third line" in pair.a.read(INBOX) and b"Fourth line" in pair.a.read(INBOX)


def test_git_without_bonsai_falls_back_to_its_own_merge(pair: Pair) -> None:
    pair.b.ws.sync()  # names the drivers in this clone
    edit(pair.a, PRICING, "895", "995")
    pair.a.ws.sync()
    edit(pair.b, PRICING, "895", "1095")
    pair.b.ws.commit()
    words = ["git", *PERSON, "pull", "-q", "--no-rebase", "--no-edit"]
    env = {**os.environ, "PATH": "/usr/bin:/bin"}
    subprocess.run(words, cwd=pair.b.root, env=env, capture_output=True)
    assert b"<<<<<<<" in pair.b.read(PRICING), "both versions are there, as git shows them"


def test_no_commit_touches_the_config(pair: Pair) -> None:
    before = (pair.b.root / ".git/config").read_bytes()
    edit(pair.b, PRICING, "895", "1095")
    pair.b.ws.commit()
    assert (pair.b.root / ".git/config").read_bytes() == before


def test_the_drivers_are_named_once(pair: Pair) -> None:
    assert "merge=bonsai" in pair.a.read("memory/.gitattributes").decode()
    for box in (pair.a, pair.b):
        box.ws.sync()
        box.write("memory/dates.md", "# Dates\n")
        box.ws.sync()
        assert "bonsai merge-driver" in box.git("config", "--local", "merge.bonsai.driver")
        assert (box.root / ".git/info/attributes").read_text().count("merge=bonsai") == 1
    first = (pair.a.root / ".git/config").read_bytes()
    Workspace.init(pair.a.root)
    assert (pair.a.root / ".git/config").read_bytes() == first
    attributes = subprocess.run(
        ["git", "check-attr", "merge", "MEMORY.md", PRICING, "memory/_index.md"],
        cwd=pair.a.root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert [line.rpartition(": ")[2] for line in attributes.splitlines()] == ["bonsai", "bonsai", "bonsai-generated"]


def test_rules_that_a_person_wrote_count_more(bare: Sandbox) -> None:
    bare.write("memory/.gitattributes", "*.md merge=union\n")
    Workspace.init(bare.root)
    assert bare.read("memory/.gitattributes").endswith(b"*.md merge=union\n")
    assert "union" in bare.git("check-attr", "merge", PRICING)


# -- trust ---------------------------------------------------------------------------------------------------


def test_a_config_that_runs_programs_has_to_be_trusted(pair: Pair) -> None:
    assert pair.b.ws.trust().keys == [] and pair.b.ws.trust().trusted
    pair.b.git("config", "core.sshCommand", "/bin/false")
    with pytest.raises(Refused, match=r"core\.sshcommand") as caught:
        pair.b.ws.sync()
    assert "bonsai trust" in caught.value.hint
    report = pair.b.ws.trust()
    assert (report.keys, report.trusted) == (["core.sshcommand"], False)
    assert pair.b.ws.trust(yes=True).trusted
    assert os.stat(pair.b.root / ".bonsai/trusted.json").st_mode & 0o777 == 0o600
    pair.b.ws.sync()
    pair.b.git("config", "core.sshCommand", "/bin/true")
    with pytest.raises(Refused):
        pair.b.ws.sync()


def test_trust_does_not_go_along_with_a_copy(pair: Pair, tmp_path: Path) -> None:
    pair.b.git("config", "alias.x", "!true")
    pair.b.ws.trust(yes=True)
    pair.b.close()
    subprocess.run(["cp", "-a", str(pair.b.root), str(tmp_path / "copy")], check=True)
    copy = Sandbox(tmp_path / "copy")
    assert not copy.ws.trust().trusted
    copy.close()


def test_a_trust_file_that_is_damaged(pair: Pair) -> None:
    pair.b.git("config", "alias.x", "!true")
    for text in ("", "{", "[1]", '"x"', "[" * 10_000):
        pair.b.write(".bonsai/trusted.json", text)
        assert not pair.b.ws.trust().trusted


def test_the_own_login_is_used_only_when_agreed(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "ran"
    own = tmp_path / "gitconfig"
    own.write_text(f"[core]\n\tsshCommand = touch {mark}; false\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    with pytest.raises(Unavailable):
        pair.b.ws.sync("ssh://localhost:1/x")
    assert not mark.exists()
    assert pair.b.ws.trust(helpers=True).helpers == ["core.sshcommand"]
    with pytest.raises(Unavailable):
        pair.b.ws.sync("ssh://nowhere.invalid/x")
    assert mark.exists()


# -- erased --------------------------------------------------------------------------------------------------


@pytest.fixture
def erased(pair: Pair) -> Pair:
    """`a` holds a note that is gone, and `b` says that it was erased."""
    pair.a.write(f"{GENERAL}/secret.md", "# Secret\n\nCANARY\n")
    pair.a.ws.commit()
    oid = pair.a.git("rev-parse", f"HEAD:{GENERAL}/secret.md").strip()
    os.remove(pair.a.root / f"{GENERAL}/secret.md")
    pair.a.ws.commit()
    entry = {"time": "2026-03-15T08:15:00Z", "path": "", "blobs": [oid], "commits": []}
    pair.b.write("memory/_erased.json", json.dumps([entry]))
    pair.b.ws.commit()
    return pair


def test_what_was_erased_here_does_not_come_back(erased: Pair) -> None:
    erased.a.ws.sync()
    before = erased.b.head()
    with pytest.raises(Refused, match="would bring back"):
        erased.b.ws.sync()
    with pytest.raises(Refused, match="would bring back"):
        erased.b.ws.sync(adopt=True)
    assert erased.b.head() == before
    objects = erased.b.git("cat-file", "--batch-all-objects", "--batch-check")
    assert not any("CANARY" in erased.b.git("cat-file", "-p", line.split()[0]) for line in objects.splitlines())
    erased.b.assert_clean()


def test_what_the_other_has_erased_is_not_sent_back(erased: Pair) -> None:
    erased.b.ws.sync()
    with pytest.raises(Refused, match="still holds"):
        erased.a.ws.sync()
    assert (
        "CANARY"
        not in subprocess.run(["git", "log", "-p", "--all"], cwd=erased.remote, capture_output=True, text=True).stdout
    )


def test_json(pair: Pair) -> None:
    assert set(as_json(pair.a.ws.sync())) >= {"pulled", "pushed", "merged", "kept_both", "commit"}


def test_each_commit_of_a_sync_is_a_run_of_its_own(pair: Pair) -> None:
    pair.b.write(INBOX, f"# Inbox\n\n{LONG}\nFrom b.\n")
    pair.b.ws.sync()
    pair.a.write(PRICING, "---\ntitle: Pricing\n---\n\nA dinner costs 995 kr.\n")  # committed by the sync that merges
    pair.a.ws.sync()
    commits = pair.a.ws.log(limit=3).commits
    mine = next(commit for commit in commits if commit.op == "edit" and PRICING in commit.paths)
    assert commits[0].op == "sync" and mine.run != commits[0].run
    assert pair.a.ws.verify().ok
    assert pair.a.ws.undo(mine.run).restored == [PRICING]
    assert "From b." in pair.a.read(INBOX).decode()
