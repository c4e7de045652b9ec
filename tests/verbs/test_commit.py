"""`commit`: what was edited by hand and its indexes, as one commit, byte for byte, and nothing else."""

import os
import re
import shutil
import unicodedata

import pytest

from bonsai import Workspace
from bonsai.errors import Busy, Misconfigured, NotFound, Refused
from verbs.sandbox import GENERAL, Sandbox

ODD = {
    "crlf": b"one\r\ntwo\r\n",
    "bom": b"\xef\xbb\xbftext\n",
    "no-end": b"text",
    "latin": b"caf\xe9\n",
    "nul": b"a\0b\n",
    "empty": b"",
    "cr": b"a\rb\r",
    "utf16": "text\n".encode("utf-16"),
    "marks": b"---\nbroken: [\n---\ntext\n",
}


def test_an_edit_and_its_indexes_are_one_commit(box: Sandbox) -> None:
    before = box.count()
    box.write("memory/domains/business/a.md", "# A\n\nA dinner costs 895 kr.\n")
    report = box.ws.commit()
    assert box.count() == before + 1
    assert report.commit == box.head()
    assert set(report.paths) == {
        "MEMORY.md",
        "memory/_index.md",
        "memory/domains/business/_index.md",
        "memory/domains/business/a.md",
    }
    assert report.held == []
    box.assert_clean()


def test_nothing_to_do_is_no_commit(garden: Sandbox) -> None:
    before = garden.head()
    report = garden.ws.commit()
    assert (report.commit, report.paths, report.held) == (None, [], [])
    assert garden.head() == before


@pytest.mark.parametrize("name", ODD)
def test_bytes_are_kept(box: Sandbox, name: str) -> None:
    path = f"{GENERAL}/{name}.md"
    box.write(path, ODD[name])
    box.write(".gitattributes", "* text=auto eol=crlf\n")
    box.ws.commit()
    assert box.committed(path) == ODD[name]
    assert box.read(path) == ODD[name]
    assert box.ws.commit().commit is None


def test_message_and_trailers(box: Sandbox) -> None:
    box.write("memory/domains/business/pricing.md", "x\n")
    box.ws.commit()
    subject, body, trailers = box.message().strip().split("\n\n")
    assert subject == "edit: business/pricing"
    assert body == "add memory/domains/business/pricing.md"
    assert re.fullmatch(r"Bonsai-Op: edit\nBonsai-Actor: human\nBonsai-Run: [0-9a-f]{12}", trailers)


def test_session_and_actor_are_named(box: Sandbox) -> None:
    box.write(f"{GENERAL}/a.md", "x\n")
    box.opened(actor="daemon", session="s-17\nBonsai-Op: forged").commit()
    commit = box.last()[0]
    assert (commit.op, commit.actor, commit.session) == ("edit", "daemon", "s-17 Bonsai-Op: forged")


def test_a_name_cannot_forge_a_trailer(box: Sandbox) -> None:
    box.write(f"{GENERAL}/a\n\nBonsai-Actor: daemon\n.md", "x\n")
    box.ws.commit()
    assert box.last()[0].actor == "human"


def test_the_author_is_the_person_of_the_repository(box: Sandbox) -> None:
    box.git("config", "user.name", "Kim Ek")
    box.git("config", "user.email", "kim@example.com")
    box.write(f"{GENERAL}/a.md", "x\n")
    box.ws.commit()
    assert box.git("log", "-1", "--format=%an <%ae> %cn").strip() == "Kim Ek <kim@example.com> Kim Ek"
    box.write(f"{GENERAL}/b.md", "x\n")
    box.opened(agent="wren").commit()
    assert box.git("log", "-1", "--format=%an").strip() == "wren"
    assert box.last()[0].actor == "agent:wren"


def test_the_time_of_the_commit_is_the_given_one(box: Sandbox, at) -> None:
    at("2031-01-02T03:04:05+02:00")
    box.write(f"{GENERAL}/a.md", "x\n")
    box.ws.commit()
    assert box.git("log", "-1", "--format=%at %ct").split() == ["1925082245", "1925082245"]


def test_only_the_named_paths(box: Sandbox) -> None:
    for name in ("a", "b"):
        box.write(f"memory/domains/{name}/{name}.md", "x\n")
    report = box.ws.commit("memory/domains/a/a.md")
    assert "memory/domains/a/a.md" in report.paths
    assert box.committed("memory/domains/b/b.md") is None
    box.ws.commit()
    box.assert_clean()


def test_a_folder_takes_what_is_below(box: Sandbox) -> None:
    box.write("memory/domains/a/b/c.md", "x\n")
    box.write("memory/domains/ab/c.md", "x\n")
    report = box.ws.commit("memory/domains/a/")
    assert "memory/domains/a/b/c.md" in report.paths
    assert "memory/domains/ab/c.md" not in report.paths


def test_a_folder_that_was_removed_by_its_name(garden: Sandbox) -> None:
    shutil.rmtree(garden.root / "memory/domains/business")
    garden.write(f"{GENERAL}/inbox.md", "pending\n")
    paths = garden.ws.commit("memory/domains/business").paths
    assert {"memory/domains/business/pricing.md", "memory/domains/business/seo/words.md"} <= set(paths)
    assert not [path for path in garden.tree() if "business" in path]
    assert f"{GENERAL}/inbox.md" not in paths


def test_a_deleted_note_by_its_name(garden: Sandbox) -> None:
    os.remove(garden.root / GENERAL / "inbox.md")
    assert f"{GENERAL}/inbox.md" in garden.ws.commit(f"{GENERAL}/inbox.md").paths
    assert garden.committed(f"{GENERAL}/inbox.md") is None


def test_a_path_that_never_was_or_is_not_ours(box: Sandbox) -> None:
    with pytest.raises(NotFound):
        box.ws.commit("memory/domains/x/nothing.md")
    box.write("src/code.py", "x\n")
    for path in ("src/code.py", "../elsewhere.md", "memory/../src/code.py", ".git/config", "/etc/passwd"):
        with pytest.raises(Refused):
            box.ws.commit(path)


def test_only_managed_files_are_ever_committed(box: Sandbox) -> None:
    for path in ("README.md", "src/a.md", "notes.md", ".env", "memory.txt"):
        box.write(path, "x\n")
    box.write("bonsai.toml", "[purge]\ngrace_days = 200\n")
    box.write(f"{GENERAL}/a.md", "x\n")
    box.write(f"{GENERAL}/pic.png", bytes(range(256)))
    box.write("memory/.gitattributes", "*.png -text\n")
    box.ws.commit()
    assert {"bonsai.toml", f"{GENERAL}/a.md", f"{GENERAL}/pic.png", "memory/.gitattributes"} <= box.tree()
    assert not {path for path in box.tree() if not path.startswith(("memory/", "MEMORY", "bonsai.toml"))}


@pytest.mark.parametrize(
    "name",
    ["a.md~", "a.md.bak", "a.tmp", "a.part", "a.crdownload", ".a.md.swp", "#a.md#", "4913", "Thumbs.db", ".hidden.md"],
)
def test_helper_files_are_left_alone(garden: Sandbox, name: str) -> None:
    garden.write(f"{GENERAL}/{name}", "x\n")
    assert garden.ws.commit().commit is None
    assert garden.ws.status().uncommitted == 0


def test_an_asset_over_ten_megabytes_stays_out(box: Sandbox) -> None:
    box.write(f"{GENERAL}/film.bin", bytes(10 * 1024 * 1024 + 1))
    box.write(f"{GENERAL}/small.bin", bytes(1024))
    box.ws.commit()
    assert f"{GENERAL}/film.bin" not in box.tree()
    assert f"{GENERAL}/small.bin" in box.tree()
    assert [item.path for item in box.problems("too-large")] == [f"{GENERAL}/film.bin"]


def test_the_mode_of_a_file_is_kept(box: Sandbox) -> None:
    box.write(f"{GENERAL}/run.sh", "#!/bin/sh\n")
    (box.root / GENERAL / "run.sh").chmod(0o755)
    box.ws.commit()
    assert box.git("ls-tree", "HEAD", f"{GENERAL}/run.sh").startswith("100755")


def test_what_is_staged_elsewhere_stays_so(garden: Sandbox) -> None:
    garden.write("code.py", "x = 1\n")
    garden.git("add", "code.py")
    garden.write(f"{GENERAL}/inbox.md", "new\n")
    garden.git("add", f"{GENERAL}/inbox.md")
    garden.write(f"{GENERAL}/inbox.md", "newer\n")
    garden.ws.commit()
    assert garden.git("diff", "--cached", "--name-only").split() == ["code.py"]
    assert garden.committed(f"{GENERAL}/inbox.md") == b"newer\n"
    assert garden.git("log", "-1", "--name-only", "--format=").split() != []
    garden.assert_clean()


def test_a_note_with_conflict_markers_is_held_alone(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/inbox.md", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    garden.write(f"{GENERAL}/other.md", "fine\n")
    report = garden.ws.commit()
    assert report.held == [f"{GENERAL}/inbox.md"]
    assert garden.committed(f"{GENERAL}/other.md") == b"fine\n"
    assert garden.committed(f"{GENERAL}/inbox.md") == b"# Inbox\n\nSort me.\n"
    assert garden.ws.status().uncommitted == 1
    garden.write(f"{GENERAL}/inbox.md", "a\nb\n")
    assert garden.ws.commit().held == []
    garden.assert_clean()


def test_markers_in_a_fence_or_a_lone_ruler_are_no_conflict(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/a.md", "```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n```\n")
    garden.write(f"{GENERAL}/b.md", "Title\n=======\n\ntext\n")
    assert garden.ws.commit().held == []
    garden.assert_clean()


def test_an_ignored_note_is_a_problem_and_the_others_go_on(box: Sandbox) -> None:
    box.write(".gitignore", "secret*.md\n")
    box.write(f"{GENERAL}/secret.md", "x\n")
    box.write(f"{GENERAL}/a.md", "x\n")
    report = box.ws.commit()
    assert f"{GENERAL}/a.md" in report.paths
    assert f"{GENERAL}/secret.md" not in box.tree()
    assert [item.path for item in report.problems if item.code == "ignored"] == [f"{GENERAL}/secret.md"]
    assert [item.path for item in box.problems("ignored")] == [f"{GENERAL}/secret.md"]
    assert box.ws.commit().commit is None


def test_an_index_in_an_ignored_folder_is_not_committed_either(box: Sandbox) -> None:
    box.write(".gitignore", "memory/domains/private/\n")
    box.write(f"{GENERAL}/a.md", "x\n")
    for act in (lambda: box.ws.archive(f"{GENERAL}/a.md"), box.ws.commit, lambda: box.ws.daily_add("x"), box.ws.undo):
        box.write("memory/domains/private/diary.md", f"Nobody may read this {box.count()}.\n")
        act()
        assert not [path for path in box.tree() if "private" in path]
    assert [item.path for item in box.problems("ignored")] == ["memory/domains/private/diary.md"]
    assert Workspace.init(box.root).created == []
    assert not [path for path in box.tree() if "private" in path]


@pytest.mark.parametrize("rule", ["ignored", "filtered", "filtered in its folder"])
def test_no_commit_quotes_a_private_note(garden: Sandbox, rule: str) -> None:
    if rule == "ignored":
        garden.write(".gitignore", "diary*.md\n")
    else:
        folder = "memory/domains/private/" if "folder" in rule else ""
        garden.write(f"{folder}.gitattributes", "diary*.md filter=git-crypt\n")
    acts = [
        lambda: garden.ws.commit("memory/domains/private"),
        lambda: garden.ws.commit("memory"),
        lambda: garden.ws.commit("memory/domains/private/diary2.md", "memory/dates.md"),
        garden.ws.commit,
        lambda: garden.ws.daily_add("x"),
        lambda: garden.ws.move("memory/dates.md", "private"),
        garden.ws.undo,
    ]
    for number, act in enumerate(acts):
        garden.write(f"memory/domains/private/diary{number}.md", "The treasure lies in the barn.\n")
        garden.write("memory/dates.md", f"# Dates {number}\n") if garden.has("memory/dates.md") else None
        act()
        assert garden.git("log", "--all", "-Streasure", "--format=%h %s") == "", number
    assert garden.ws.recall("treasure").hits, "it is there for who looks"


def test_a_filtered_note_is_not_committed(box: Sandbox) -> None:
    box.write(".gitattributes", "secret.md filter=git-crypt diff=git-crypt\n")
    box.write(f"{GENERAL}/secret.md", "x\n")
    box.write(f"{GENERAL}/a.md", "x\n")
    box.ws.commit()
    assert f"{GENERAL}/secret.md" not in box.tree()
    assert f"{GENERAL}/a.md" in box.tree()
    assert [item.path for item in box.problems("ignored")] == [f"{GENERAL}/secret.md"]


def test_without_a_repository(bare: Sandbox) -> None:
    bare.write(f"{GENERAL}/a.md", "x\n")
    with pytest.raises(Misconfigured) as caught:
        bare.ws.commit()
    assert "bonsai init" in caught.value.hint
    assert not bare.has("memory/_index.md")


def test_a_worktree_is_a_workspace_of_its_own(garden: Sandbox) -> None:
    garden.git("worktree", "add", "-q", "../tree", "-b", "side")
    side = Sandbox(garden.root.parent / "tree")
    side.write(f"{GENERAL}/side.md", "x\n")
    before = garden.head()
    assert side.ws.commit().commit == side.head()
    assert garden.head() == before
    side.assert_clean()
    side.close()


def test_a_nested_workspace_commits_its_own_files_only(bare: Sandbox) -> None:
    bare.git("init", "-q")
    bare.write("memory/domains/x/outer.md", "not ours\n")
    bare.write("MEMORY.md", "not ours\n")
    inner = Sandbox(bare.root / "agent")
    Workspace.init(inner.root)
    inner.write(f"{GENERAL}/a.md", "x\n")
    report = inner.ws.commit()
    assert f"{GENERAL}/a.md" in report.paths
    assert all(path.startswith("agent/") for path in bare.tree())
    assert inner.last()[0].paths[0].startswith(("MEMORY", "memory/"))
    inner.close()


def test_a_detached_head_is_busy_and_caught_up_with_later(garden: Sandbox) -> None:
    garden.git("checkout", "-q", "--detach")
    garden.write(f"{GENERAL}/a.md", "x\n")
    files = garden.files()
    with pytest.raises(Busy):
        garden.ws.commit()
    assert garden.files() == files
    assert garden.ws.status().blocked == "detached"
    garden.git("checkout", "-q", "-")
    assert f"{GENERAL}/a.md" in garden.ws.commit().paths


def test_spelling_in_head_is_that_on_disk(garden: Sandbox) -> None:
    composed, apart = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    garden.write(f"{GENERAL}/{composed}.md", "one coffee\n")
    garden.ws.commit()
    os.rename(garden.root / GENERAL / f"{composed}.md", garden.root / GENERAL / f"{apart}.md")
    os.rename(garden.root / GENERAL / "inbox.md", garden.root / GENERAL / "Inbox.md")
    garden.ws.commit()
    names = {path.rpartition("/")[2] for path in garden.tree() if path.startswith(GENERAL)}
    assert names == {"_index.md", f"{apart}.md", "Inbox.md"}


# -- the fuse ------------------------------------------------------------------------------------------------


@pytest.fixture
def ten(box: Sandbox) -> Sandbox:
    for number in range(10):
        box.write(f"memory/domains/d{number % 3}/n{number}.md", f"note {number}\n")
    box.ws.commit()
    return box


def delete(box: Sandbox, number: int) -> None:
    for path in sorted(box.root.glob("memory/domains/*/n*.md"))[:number]:
        path.unlink()


@pytest.mark.parametrize("gone", [5, 9, 10])
def test_notes_that_vanish_all_at_once_are_not_committed(ten: Sandbox, gone: int) -> None:
    before = ten.head()
    delete(ten, gone)
    ten.write("memory/domains/new/n.md", "new\n")
    with pytest.raises(Refused) as caught:
        ten.ws.commit()
    assert "--all-deletions" in caught.value.hint
    for verb in (ten.ws.purge, ten.ws.migrate, lambda: ten.ws.daily_add("x")):
        with pytest.raises(Refused):
            verb()
    assert ten.head() == before
    status = ten.ws.status()
    assert status.status == "CRITICAL"
    assert [item.severity for item in status.problems if item.code == "mass-deletion"] == ["critical"]
    report = ten.ws.commit(all_deletions=True)
    assert len([path for path in report.paths if re.search(r"/n\d", path)]) == gone
    assert ten.ws.status().status == "HEALTHY"


def test_the_fuse_holds_for_a_folder_that_is_named_too(ten: Sandbox) -> None:
    delete(ten, 10)
    with pytest.raises(Refused):
        ten.ws.commit("memory")
    with pytest.raises(Refused):
        ten.ws.commit("memory/domains/d0", "memory/domains/d1", "memory/domains/d2")
    assert ten.ws.commit("memory/domains", all_deletions=True).commit


@pytest.mark.parametrize("gone", [1, 3, 4])
def test_a_few_deletions_are_a_person_at_work(ten: Sandbox, gone: int) -> None:
    delete(ten, gone)
    assert ten.ws.commit().commit


def test_an_unmounted_memory_deletes_nothing(ten: Sandbox) -> None:
    os.rename(ten.root / "memory", ten.root.parent / "away")
    before = ten.head()
    with pytest.raises(Refused):
        ten.ws.commit()
    assert ten.head() == before
    assert ten.ws.status().status == "CRITICAL"


def test_renaming_the_whole_tree_is_no_deletion(ten: Sandbox) -> None:
    os.rename(ten.root / "memory/domains/d0", ten.root / "memory/domains/e0")
    os.rename(ten.root / "memory/domains/d1", ten.root / "memory/domains/e1")
    assert ten.ws.commit().commit
    ten.assert_clean()


def test_archiving_and_purging_everything_is_our_own_doing(ten: Sandbox, at) -> None:
    notes = sorted(path for path in ten.tree() if "/n" in path)
    ten.ws.archive(*notes)
    at("2026-12-01T00:00:00Z")
    assert len(ten.ws.purge(yes=True).purged) == 10
    assert not any(item.code == "mass-deletion" for item in ten.problems())
    assert ten.ws.commit().commit is None


def test_the_log_tells_what_was_deleted_by_hand(box: Sandbox) -> None:
    for name in ("a", "b", "c"):
        box.write(f"{GENERAL}/{name}.md", f"# {name}\n")
    box.ws.commit()
    (box.root / f"{GENERAL}/a.md").unlink()
    box.write(f"{GENERAL}/b.md", "# b\n\nmore\n")
    assert box.ws.commit().commit
    assert box.ws.log(limit=1).commits[0].message == "edit: general/b; deleted general/a"
    (box.root / f"{GENERAL}/b.md").unlink()
    box.ws.commit()
    assert box.ws.log(limit=1).commits[0].message == "edit: deleted general/b"
