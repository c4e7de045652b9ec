"""`init` makes a workspace or adopts a folder, and changes nothing of what it finds but for the block in MEMORY.md."""

import os
import shutil
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.errors import Busy, Refused
from verbs.sandbox import Sandbox, outside_block


def test_a_new_folder_becomes_a_workspace(tmp_path: Path) -> None:
    box = Sandbox(tmp_path / "deep/down")
    report = Workspace.init(box.root)
    assert report.workspace == str(box.root)
    assert set(report.created) >= {".git", "MEMORY.md", "memory/_index.md", "memory/.gitignore"}
    assert box.tree() == {"MEMORY.md", "memory/_index.md", "memory/.gitignore", "memory/.gitattributes"}
    box.assert_clean()
    assert box.ws.status().status == "HEALTHY"
    box.close()


def test_state_and_cache_are_never_committed(bare: Sandbox) -> None:
    Workspace.init(bare.root)
    assert (bare.root / ".bonsai/.gitignore").read_text() == "*\n"
    assert {"_meta.json", "_stats.json"} <= set(os.listdir(bare.root / "memory"))
    assert bare.git("status", "--porcelain", "--untracked-files=all") == ""


def test_a_second_init_does_nothing(box: Sandbox) -> None:
    before, files = box.head(), box.files()
    assert Workspace.init(box.root).created == []
    assert (box.head(), box.files()) == (before, files)


def test_a_folder_with_notes_is_adopted_as_it_is(bare: Sandbox) -> None:
    notes = {
        "memory/domains/Business/a.md": b"\xef\xbb\xbf---\r\ntitle: A\r\n---\r\nText",
        "memory/domains/x/latin.md": b"caf\xe9\n",
        "memory/2026-03-15.md": b"today\n",
        "memory/pic.png": bytes(range(256)),
    }
    for path, data in notes.items():
        bare.write(path, data)
    bare.write("MEMORY.md", b"# Mine\r\nno end")
    Workspace.init(bare.root)
    assert {path: bare.read(path) for path in notes} == notes
    assert {path: bare.committed(path) for path in notes} == notes
    assert bare.read("MEMORY.md").startswith(b"# Mine\r\nno end\r\n<!-- bonsai:begin -->\r\n")
    assert bare.has("memory/domains/Business/_index.md")
    bare.assert_clean()


def test_what_was_there_is_committed_before_the_block_is_added(bare: Sandbox) -> None:
    bare.write("MEMORY.md", "# Mine\n")
    Workspace.init(bare.root)
    assert bare.committed("MEMORY.md", "HEAD~1") == b"# Mine\n"
    assert outside_block(bare.read("MEMORY.md")) == b"# Mine\n\n\n"
    assert [commit.op for commit in bare.last(5)] == ["init", "edit"]


def test_a_folder_inside_a_repository_uses_that_one(bare: Sandbox) -> None:
    bare.git("init", "-q")
    bare.write("src/main.py", "print()\n")
    bare.git("add", "-A")
    bare.git("commit", "-qm", "code")
    inner = Sandbox(bare.root / "notes/agent")
    inner.write("memory/domains/x/a.md", "A note.\n")
    report = Workspace.init(inner.root)
    assert ".git" not in report.created
    assert not inner.has(".git")
    assert "notes/agent/memory/domains/x/a.md" in bare.tree()
    inner.assert_clean()
    inner.close()


def test_a_repository_without_a_commit_is_adopted(bare: Sandbox) -> None:
    bare.git("init", "-q", "-b", "trunk")
    Workspace.init(bare.root)
    assert bare.git("symbolic-ref", "HEAD").strip() == "refs/heads/trunk"
    assert bare.count() == 1


def test_what_is_staged_elsewhere_stays_staged(bare: Sandbox) -> None:
    bare.git("init", "-q")
    bare.write("code.py", "x = 1\n")
    bare.git("add", "code.py")
    Workspace.init(bare.root)
    assert bare.git("diff", "--cached", "--name-only").split() == ["code.py"]
    assert "code.py" not in bare.tree()


def test_a_symlinked_memory_is_refused(bare: Sandbox) -> None:
    (bare.root.parent / "elsewhere").mkdir()
    (bare.root / "memory").symlink_to("../elsewhere")
    with pytest.raises(Refused):
        Workspace.init(bare.root)
    assert os.listdir(bare.root.parent / "elsewhere") == []


def test_a_merge_under_way_stops_it(bare: Sandbox) -> None:
    bare.git("init", "-q")
    bare.write("f", "1\n")
    bare.git("add", "f")
    bare.git("commit", "-qm", "f")
    bare.write(".git/MERGE_HEAD", bare.head() + "\n")
    bare.write("memory/domains/x/a.md", "A note.\n")
    with pytest.raises(Busy):
        Workspace.init(bare.root)
    assert bare.count() == 1
    assert not bare.has("memory/_index.md")


def test_an_agents_tree_is_made_on_request(box: Sandbox) -> None:
    report = Workspace.init(box.root, agent="wren")
    assert report.created == ["MEMORY-wren.md", "memory/agents/wren/_index.md"]
    assert box.last()[0].actor == "agent:wren"
    box.assert_clean()


def test_a_person_without_any_git_identity_can_work(bare: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(bare.root))
    Workspace.init(bare.root)
    assert bare.git("log", "-1", "--format=%an%ae").strip() != ""


def test_the_root_of_the_file_system_is_no_workspace() -> None:
    before = sorted(os.listdir("/"))
    with pytest.raises(Refused, match="root of the file system"):
        Workspace.init("/tmp/..")
    assert sorted(os.listdir("/")) == before


def test_a_file_where_our_own_state_belongs(box: Sandbox) -> None:
    box.close()
    shutil.rmtree(box.root / ".bonsai")
    box.write(".bonsai", "mine\n")
    with pytest.raises(Refused, match="is no folder") as caught:
        box.ws.commit()
    assert caught.value.hint.startswith("Move it away")
    assert box.read(".bonsai") == b"mine\n"


def test_a_folder_with_a_line_break_in_its_name(tmp_path: Path) -> None:
    with pytest.raises(Busy, match="line break"):
        Workspace.init(tmp_path / "a\nb")
