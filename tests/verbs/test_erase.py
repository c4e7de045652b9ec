"""Erase: what is to be forgotten is nowhere afterwards, and everything else is as it was."""

import json
import os
import shutil
import signal
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.adapters.git_erase import Eraser
from bonsai.adapters.git_join import Histories
from bonsai.errors import NotFound, Refused, Unavailable, Usage
from bonsai.passes.erase import erased_ids
from verbs.sandbox import GENERAL, NOW, PERSON, Sandbox

pytest.importorskip("git_filter_repo")
CANARY = "canary-kraken-7731"
LINE = f"- the door code is {CANARY}, tell nobody"
NOTE = f"{GENERAL}/door.md"


def everywhere(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every byte there is, found in the plainest way: files as they are, objects of git decompressed."""
    for path in sorted(root.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield str(path), data
            if path.parent.parent.name == "objects" and len(path.parent.name) == 2:
                yield f"{path} (loose)", zlib.decompress(data)
    git = ["git", "-C", str(root), "cat-file", "--batch-all-objects", "--batch"]
    yield "all objects", subprocess.run(git, capture_output=True, check=True).stdout


def places(root: Path, *texts: str) -> list[str]:
    return [f"{text}: {where}" for where, data in everywhere(root) for text in texts if text.encode() in data]


def filled(box: Sandbox) -> Sandbox:
    """A canary in a note and its history, indexes, MEMORY.md, its backup, a reflection, caches, messages, objects."""
    box.write("MEMORY.md", f"# Mine\n\n## Door\n\n{LINE}\n\n## Garden\n\n- roses want water in the morning\n")
    box.ws.migrate()
    box.write(NOTE, f"# Door\n\n{LINE}\n")
    box.ws.commit()
    box.write(NOTE, f"# Door\n\n{LINE}\n- the key hangs beside the blue barn\n")
    box.ws.commit()
    box.ws.recall("door code")
    box.ws.status()
    box.write("memory/_reflect_staging.json", json.dumps({"candidates": [{"file": NOTE, "lead": LINE}]}))
    box.git("tag", "-a", "v1", "-m", f"remember: {LINE}")
    box.git("commit", "-q", "--allow-empty", "-m", f"wip\n\n{LINE}")
    box.git("gc", "-q")
    box.write("loose.txt", f"{LINE}\n")
    box.git("hash-object", "-w", "loose.txt")
    (box.root / "loose.txt").unlink()
    assert len(places(box.root, CANARY)) > 5
    return box


@pytest.fixture(scope="session")
def full_seed(seed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `filled` makes, made once."""
    root = tmp_path_factory.mktemp("full") / "ws"
    shutil.copytree(seed, root, symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BONSAI_NOW", NOW)
        filled(Sandbox(root)).close()
    return root


@pytest.fixture
def full(tmp_path: Path, full_seed: Path) -> Iterator[Sandbox]:
    """A workspace with the canary everywhere."""
    shutil.copytree(full_seed, tmp_path / "ws", symlinks=True)
    box = Sandbox(tmp_path / "ws")
    yield box
    box.close()


# -- the proof -------------------------------------------------------------------------------------------------


def test_an_erased_note_is_nowhere(full: Sandbox) -> None:
    others = {path: data for path, data in full.files().items() if CANARY.encode() not in data and b"_Last" not in data}
    report = full.ws.erase(NOTE, yes=True, reason="asked for")
    assert places(full.root, CANARY, "blue barn") == []
    assert report.found == [] and report.objects_scanned > 10
    assert NOTE in report.paths and "memory/MEMORY.md.bak" in report.paths
    assert not full.has(NOTE)
    assert {path: full.read(path) for path in others if path != NOTE} == {k: v for k, v in others.items() if k != NOTE}
    full.assert_clean()
    assert full.git("fsck", "--full") == ""
    assert full.ws.reindex(check=True).changed == []


def test_an_erased_text_is_nowhere(full: Sandbox) -> None:
    report = full.ws.erase(match=CANARY, yes=True)
    assert places(full.root, CANARY) == []
    assert (
        full.read(NOTE) == b"# Door\n\n- the door code is [erased], tell nobody\n- the key hangs beside the blue barn\n"
    )
    assert NOTE in report.paths
    assert "remember: - the door code is [erased]" in full.git("tag", "-n9")
    full.assert_clean()
    assert full.ws.reindex(check=True).changed == []


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (".* (a+)+$ [x]", "see .* (a+)+$ [x] there"),
        ("literal:secret==>public", "so literal:secret==>public it is"),
        ("first line\nsecond line", "- first line\r\nsecond line"),
        ("Zürich Süd 9", "in Zu\u0308rich Su\u0308d 9"),
        ('with "quotes" in it', 'say with "quotes" in it'),
    ],
    ids=["regex", "filter-repo", "lines", "nfd", "quotes"],
)
def test_a_text_is_taken_as_it_is_in_each_form(box: Sandbox, text: str, held: str) -> None:
    box.write(NOTE, f"# Door\n\n{held}\n")
    box.ws.commit()
    box.ws.erase(match=text, yes=True)
    assert b"[erased]" in box.read(NOTE)
    assert places(box.root, text, held) == []


def test_a_text_in_a_name_is_erased_too(box: Sandbox) -> None:
    box.write(f"{GENERAL}/{CANARY}.md", "# One\n\nabout it\n")
    box.ws.commit()
    box.ws.erase(match=CANARY, yes=True)
    assert box.read(f"{GENERAL}/erased.md") == b"# One\n\nabout it\n"
    assert places(box.root, CANARY) == []
    box.assert_clean()


def test_what_an_index_cut_off_goes_too(box: Sandbox) -> None:
    box.write(NOTE, f"# Door\n\n{'word ' * 48}{CANARY} and more\n")
    box.ws.commit()
    assert any("canary…" in line or "canary-" in line for line in box.read(f"{GENERAL}/_index.md").decode().split("\n"))
    box.ws.erase(match=CANARY, yes=True)
    assert places(box.root, CANARY[:6]) == []


def test_a_short_lead_leaves_the_indexes_of_the_past(box: Sandbox) -> None:
    box.write(NOTE, "PIN 4711\n")
    box.ws.commit()
    box.ws.erase(NOTE, yes=True)
    assert places(box.root, "PIN 4711") == []


def test_a_note_is_erased_under_all_its_names(box: Sandbox) -> None:
    box.write(NOTE, f"# Door\n\n{LINE}\n- one more line of it all\n")
    box.ws.commit()
    box.ws.move(NOTE, "home")
    box.ws.archive("memory/domains/home/door.md")
    report = box.ws.erase("memory/domains/home/door__DELETE.md", yes=True)
    assert {NOTE, "memory/domains/home/door.md", "memory/domains/home/door__DELETE.md"} <= set(report.paths)
    assert places(box.root, CANARY) == []


def test_a_former_name_that_another_note_has_now_is_left_to_it(box: Sandbox) -> None:
    box.write(NOTE, f"# Door\n\n{LINE}\n- one more line of it all\n")
    box.ws.commit()
    box.ws.move(NOTE, "home")
    box.write(NOTE, "# A new door\n\nquite another text\n")
    box.ws.commit()
    box.ws.erase("memory/domains/home/door.md", yes=True)
    assert places(box.root, CANARY) == []
    assert box.read(NOTE) == box.committed(NOTE) == b"# A new door\n\nquite another text\n"


def test_a_note_that_is_gone_can_still_be_erased(box: Sandbox) -> None:
    box.write(NOTE, f"{LINE}\n")
    box.ws.commit()
    (box.root / NOTE).unlink()
    box.ws.commit()
    box.ws.erase(NOTE, yes=True)
    assert places(box.root, CANARY) == []


def test_a_note_that_was_never_committed_is_erased(box: Sandbox) -> None:
    box.write(NOTE, "token: ghp_16C7e42F292c6912E7710c838347Ae178B4a\n")
    box.ws.erase(NOTE, yes=True)
    assert not box.has(NOTE)
    assert places(box.root, "ghp_16C7e42F292c6912E7710c838347Ae178B4a") == []


def test_lines_that_others_hold_stay(box: Sandbox) -> None:
    shared = "The fair is on the first of May."
    box.write(f"{GENERAL}/other.md", f"# Other\n\n{shared}\n")
    box.write(NOTE, f"# Door\n\n{shared}\n{LINE}\n")
    box.ws.commit()
    report = box.ws.erase(NOTE, yes=True)
    assert report.shared == 1
    assert shared.encode() in box.read(f"{GENERAL}/other.md")
    assert places(box.root, CANARY) == []


# -- what stays -------------------------------------------------------------------------------------------------


@pytest.fixture
def larger(tmp_path: Path) -> Iterator[Sandbox]:
    """A workspace in a folder of a larger repository, with a remote, branches, tags, a stash and staged changes."""
    top = tmp_path / "repo"
    (top / "src").mkdir(parents=True)
    (top / "ws").mkdir()
    outer = Sandbox(top)
    outer.git("init", "-q", "-b", "main")
    outer.write("src/code.py", "print('code')\n")
    outer.git("add", "src")
    outer.git("commit", "-q", "-m", "code")
    outer.git("tag", "before")
    Workspace.init(top / "ws")
    box = Sandbox(top / "ws")
    box.write(NOTE, f"# Door\n\n{LINE}\n")
    box.write(f"{GENERAL}/other.md", "# Other\n\nsomething else\n")
    box.ws.commit()
    outer.git("branch", "side")
    outer.git("tag", "after")
    outer.write("src/code.py", "print('stashed')\n")
    outer.git("stash", "-q")
    outer.write("src/code.py", "print('stashed twice')\n")
    outer.git("stash", "-q")
    outer.write("src/code.py", "print('staged')\n")
    outer.git("add", "src/code.py")
    outer.write("src/code.py", "print('not staged')\n")
    yield box
    box.close()


def test_the_rest_of_a_larger_repository_is_as_it_was(larger: Sandbox) -> None:
    box, before = larger, larger.git("rev-parse", "before")
    box.git("remote", "add", "origin", "https://example.invalid/x.git")
    box.git("update-ref", "refs/remotes/origin/main", "HEAD")
    report = box.ws.erase(NOTE, yes=True)
    assert places(box.root.parent, CANARY) == []
    assert box.git("rev-parse", "before") == before
    assert box.git("merge-base", "before", "HEAD") == before
    assert box.git("show", ":src/code.py") == "print('staged')\n"
    assert (box.root.parent / "src/code.py").read_text() == "print('not staged')\n"
    assert box.git("show", "stash@{0}:src/code.py") == "print('stashed twice')\n"
    assert box.git("show", "stash@{1}:src/code.py") == "print('stashed')\n"
    assert box.git("show", "side:src/code.py") == box.git("show", "after:src/code.py") == "print('code')\n"
    assert box.git("show", f"side:ws/{GENERAL}/other.md") == "# Other\n\nsomething else\n"
    assert [told.command for told in report.remotes] == ["git push --force origin main refs/tags/after"]
    assert box.git("diff", "--cached", "--name-only") == "src/code.py\n"
    box.assert_clean()


def test_a_text_in_files_of_others_is_refused(larger: Sandbox) -> None:
    before = larger.head()
    with pytest.raises(Refused, match=r"src/code\.py"):
        larger.ws.erase(match="print('code", yes=True)
    assert larger.head() == before


def test_a_worktree_that_has_it_checked_out_is_refused_and_named(larger: Sandbox, tmp_path: Path) -> None:
    larger.git("worktree", "add", "-q", str(tmp_path / "tree"), "side")
    before = larger.git("for-each-ref")
    with pytest.raises(Refused, match="tree"):
        larger.ws.erase(NOTE, yes=True)
    assert larger.git("for-each-ref") == before
    larger.git("worktree", "remove", str(tmp_path / "tree"))
    larger.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "before")
    larger.ws.erase(NOTE, yes=True)
    assert places(larger.root.parent, CANARY) == []


def test_what_is_staged_of_the_note_goes_and_what_is_staged_of_others_stays(box: Sandbox) -> None:
    box.write(NOTE, f"{LINE}\n")
    box.ws.commit()
    box.write(NOTE, f"{LINE}\nstaged: {CANARY} again\n")
    box.write("work.txt", "mine\n")
    box.git("add", NOTE, "work.txt")
    box.ws.erase(NOTE, yes=True)
    assert places(box.root, CANARY) == []
    assert box.git("diff", "--cached", "--name-only") == "work.txt\n"


def test_pending_edits_are_committed_first(garden: Sandbox) -> None:
    garden.write("memory/dates.md", "# Dates\n\n- 2026-06-01: another day\n")
    garden.ws.erase("memory/domains/business/pricing.md", yes=True)
    assert garden.committed("memory/dates.md") == b"# Dates\n\n- 2026-06-01: another day\n"
    assert [commit.op for commit in garden.last(2)] == ["erase", "edit"]


# -- what is said -----------------------------------------------------------------------------------------------


def test_what_tells_of_the_erasure_keeps_the_name_and_none_of_the_words(box: Sandbox) -> None:
    box.write(NOTE, f"# {NOTE}\n\nsee {GENERAL}/door.md and general/door\n\n{LINE}\n")
    box.ws.commit()
    box.ws.erase(NOTE, yes=True, reason=f"nobody needs {LINE}")
    assert places(box.root, CANARY) == []
    entry = json.loads(box.read("memory/_erased.json"))[-1]
    assert (entry["what"], entry["reason"]) == (NOTE, "nobody needs [erased]")


def test_the_tombstone_says_what_and_why_but_no_word_of_it(full: Sandbox) -> None:
    blob = full.git("rev-parse", f"HEAD:{NOTE}").strip()
    report = full.ws.erase(NOTE, yes=True, reason="they asked")
    commit = full.last()[0]
    assert (commit.op, commit.subject, commit.sha) == ("erase", "erase: general/door", report.commit)
    assert "Bonsai-Reason: they asked" in full.message()
    entry = json.loads(full.read("memory/_erased.json"))[0]
    assert entry["what"] == NOTE and entry["reason"] == "they asked" and blob in entry["blobs"]
    assert blob in erased_ids(full.read("memory/_erased.json"))


def test_the_old_history_is_known_again(full: Sandbox, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", "--mirror", str(full.root), str(tmp_path / "old")], check=True)
    full.ws.erase(match=CANARY, yes=True)
    ids = erased_ids(full.read("memory/_erased.json"))
    assert ids.isdisjoint(full.git("rev-list", "--objects", "--no-object-names", "HEAD").split())
    full.git("fetch", "-q", str(tmp_path / "old"), "HEAD:refs/old")
    old = full.git("rev-parse", "refs/old").strip()
    assert not ids.isdisjoint(Histories(str(full.root)).new_objects(old, full.head()))  # as sync asks it


def test_nothing_is_done_without_yes_or_in_a_dry_run(full: Sandbox) -> None:
    before, refs = full.files(), full.git("for-each-ref")
    with pytest.raises(Refused, match="for good"):
        full.ws.erase(NOTE)
    report = full.ws.erase(NOTE, dry_run=True)
    assert report.dry_run and report.commits_rewritten > 3 and NOTE in report.paths and report.commit is None
    assert full.files() == before and full.git("for-each-ref") == refs


@pytest.mark.parametrize("path", ["MEMORY.md", "bonsai.toml", "memory/_index.md", "memory/_erased.json"])
def test_what_cannot_be_erased_whole_is_said(box: Sandbox, path: str) -> None:
    with pytest.raises(Usage, match="cannot be erased whole"):
        box.ws.erase(path, yes=True)


def test_what_is_not_there_is_said(garden: Sandbox) -> None:
    before = garden.head()
    with pytest.raises(NotFound):
        garden.ws.erase(f"{GENERAL}/nowhere.md", yes=True)
    with pytest.raises(NotFound):
        garden.ws.erase(match="no such words", yes=True)
    with pytest.raises(Usage, match="too short"):
        garden.ws.erase(match="abc", yes=True)
    with pytest.raises(Usage, match="one of them"):
        garden.ws.erase()
    assert garden.head() == before


def test_without_git_filter_repo_the_extra_is_named(garden: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bonsai.adapters.git_rewrite.find_spec", lambda name: None)
    with pytest.raises(Unavailable) as caught:
        garden.ws.erase("memory/dates.md", yes=True)
    assert caught.value.code == 69 and "-m pip install 'bonsai-memory[erase]'" in caught.value.hint


# -- afterwards -------------------------------------------------------------------------------------------------


def test_undo_brings_nothing_back_and_looking_back_works(full: Sandbox) -> None:
    runs = [commit.run for commit in full.ws.log().commits if commit.run]
    full.ws.erase(NOTE, yes=True)
    known = [commit.run for commit in full.ws.log().commits]
    assert set(known) & set(runs)
    for run in known[1:]:
        full.ws.undo(run) if run else None
        assert not full.has(NOTE) and places(full.root, CANARY) == []
    with pytest.raises(Usage, match="erasure"):
        full.ws.undo(known[0])
    assert full.ws.why("MEMORY.md").lines
    assert full.ws.log("memory/_index.md").commits


# -- killed -----------------------------------------------------------------------------------------------------


def killed(box: Sandbox, owner: type, name: str, *, after: bool) -> None:
    """Erase in a process that is killed (-9) before or after a step."""
    box.close()
    pid = os.fork()
    if not pid:
        try:
            step: Callable[..., object] = getattr(owner, name)

            def deadly(*args: object, **named: object) -> object:
                found = step(*args, **named) if after else None
                os.kill(os.getpid(), signal.SIGKILL)
                return found

            setattr(owner, name, deadly)
            box.ws.erase(NOTE, yes=True)
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


@pytest.mark.parametrize(
    ("owner", "step", "after"),
    [
        (Eraser, "prepare", True),
        (Eraser, "switch", False),
        (Eraser, "switch", True),
        (Eraser, "sweep", True),
    ],
    ids=lambda item: getattr(item, "__name__", str(item)),
)
def test_a_killed_erasure_has_not_begun_or_is_finished_by_the_next_command(
    full: Sandbox, owner: type, step: str, after: bool
) -> None:
    killed(full, owner, step, after=after)
    full.ws.status()
    assert not full.has(".bonsai/erasing")
    if step == "prepare":
        assert full.has(NOTE) and full.committed(NOTE)
        full.ws.erase(NOTE, yes=True)
    assert places(full.root, CANARY, "blue barn") == []
    assert [commit.op for commit in full.ws.log().commits].count("erase") == 1
    full.assert_clean()
    assert subprocess.run(["git", *PERSON, "fsck"], cwd=full.root, capture_output=True).returncode == 0


@pytest.mark.parametrize("text", ["memory", "Bonsai-Run", "_index", "HUMAN", "memory index", "bonsai"])
def test_what_bonsai_writes_itself_is_no_text_to_erase(box: Sandbox, text: str) -> None:
    """It would be there again at once, the log would have lost its trailers, and `memory/` its name."""
    box.write(NOTE, f"# Door\n\n{LINE}\n")
    box.ws.commit()
    head = box.head()
    with pytest.raises(Usage, match="bonsai itself writes"):
        box.ws.erase(match=text, yes=True)
    assert box.head() == head


def test_a_name_that_would_be_no_note_any_more_is_refused(box: Sandbox) -> None:
    path = "memory/domains/business/kraken.md"
    box.write(path, f"# K\n\n{LINE}\n")
    box.ws.commit()
    head = box.head()
    with pytest.raises(Refused, match="in its name") as caught:
        box.ws.erase(match="kraken.md", yes=True)
    assert caught.value.path == path
    assert box.head() == head and path in box.files()
