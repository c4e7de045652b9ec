"""After an accident the way back is open: deleted folders, another agent's runs, a workspace in a workspace."""

import shutil

import pytest

from bonsai import Workspace
from bonsai.errors import NotFound, Refused
from verbs.sandbox import GENERAL, Sandbox

BUSINESS = "memory/domains/business"


@pytest.fixture
def full(box: Sandbox) -> Sandbox:
    for number in range(6):
        box.write(f"{BUSINESS}/b{number}.md", f"price {number}\n")
    box.write(f"{GENERAL}/g.md", "other\n")
    box.ws.commit()
    return box


def test_restore_works_after_a_mass_deletion(full: Sandbox) -> None:
    shutil.rmtree(full.root / BUSINESS)
    with pytest.raises(Refused, match="gone at once"):
        full.ws.commit()
    assert full.ws.restore(f"{BUSINESS}/b0.md").restored == [f"{BUSINESS}/b0.md"]
    assert full.committed(f"{BUSINESS}/b1.md") == b"price 1\n", "the other deletions were not accepted by it"
    full.ws.restore("memory")
    assert full.read(f"{BUSINESS}/b5.md") == b"price 5\n"
    assert full.ws.status().status == "HEALTHY"
    assert not full.git("status", "--porcelain")


def test_restore_of_a_folder_brings_back_what_head_still_has(full: Sandbox) -> None:
    (full.root / BUSINESS / "b2.md").unlink()
    full.write(f"{BUSINESS}/b3.md", "a new price\n")
    assert full.ws.restore(BUSINESS).restored == [f"{BUSINESS}/b2.md"]
    assert full.read(f"{BUSINESS}/b2.md") == b"price 2\n"
    assert full.read(f"{BUSINESS}/b3.md") == b"a new price\n"


def test_undo_of_an_agent_takes_its_own_last_run(full: Sandbox) -> None:
    full.opened(agent="a1").daily_add("one")
    full.opened(agent="a2").daily_add("two")
    restored = full.opened(agent="a1").undo().restored
    assert [path for path in restored if "daily" in path] == ["memory/agents/a1/daily/2026-03-15.md"]
    assert full.has("memory/agents/a2/daily/2026-03-15.md")
    with pytest.raises(NotFound):
        full.opened(agent="a1").undo()


def test_undo_takes_the_start_of_a_run_id(full: Sandbox) -> None:
    full.ws.archive(f"{GENERAL}/g.md")
    run = full.ws.log(limit=1).commits[0].run
    assert full.ws.undo(run[:6]).undone == run
    assert full.has(f"{GENERAL}/g.md")


def test_no_workspace_is_made_inside_a_memory(full: Sandbox) -> None:
    for folder in ("memory", "memory/domains/business", "memory/new"):
        with pytest.raises(Refused, match="inside the memory"):
            Workspace.init(full.root / folder)
    assert not full.has("memory/memory")


def test_the_workspace_itself_is_a_path_to_commit(full: Sandbox) -> None:
    full.write(f"{GENERAL}/g.md", "changed\n")
    assert full.ws.locate(".", str(full.root)) == "."
    assert f"{GENERAL}/g.md" in full.ws.commit(".").paths


def test_what_may_not_be_committed_is_quoted_in_no_index(full: Sandbox) -> None:
    full.write("memory/.gitattributes", "domains/secret/** filter=git-crypt\n")
    full.write("memory/domains/secret/plan.md", "The launch code is violet.\n")
    full.write(".gitignore", "memory/domains/private/\n")
    full.write("memory/domains/private/diary.md", "Dear diary, I am in love.\n")
    full.ws.commit()
    text = b"".join(data for path, data in full.files().items() if path.endswith("_index.md") or path == "MEMORY.md")
    assert b"plan" in text
    assert b"violet" not in text
    assert b"in love" not in text
    assert b"violet" not in full.git("log", "-p", "--all").encode()


def test_a_quote_goes_when_a_note_becomes_private(full: Sandbox) -> None:
    full.write(f"{GENERAL}/later.md", "The launch code is violet.\n")
    full.ws.reindex()
    assert b"violet" in full.read(f"{GENERAL}/_index.md")
    full.write(".gitignore", "memory/domains/general/later.md\n")
    full.ws.reindex()
    assert b"violet" not in full.read(f"{GENERAL}/_index.md")


def test_a_save_between_the_look_and_the_plan_is_not_overwritten(
    full: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft reads the file after the edit commit: bytes that are in no commit are never overwritten."""
    from bonsai.run import Run

    draft = Run.draft

    def late(self: Run):
        full.write(f"{GENERAL}/g.md", "saved just now\n")
        return draft(self)

    monkeypatch.setattr(Run, "draft", late)
    from bonsai.errors import Busy

    with pytest.raises(Busy):
        full.ws.restore(f"{GENERAL}/g.md@HEAD")
    assert full.read(f"{GENERAL}/g.md") == b"saved just now\n"


def test_a_journal_that_came_with_a_clone_is_no_instruction(full: Sandbox) -> None:
    for line in (
        b'{"begin":{"time":"x"}}\n',
        b'{"begin":{"run":"r","head":"","time":1,"paths":[],"puts":[1],"drops":[]}}\n',
        b'{"begin":{"run":"r","head":"","time":1,"paths":["../x"],"puts":[],"drops":[["../x","00"]]}}\n',
    ):
        full.close()
        full.write(".bonsai/journal", line)
        full.write(f"{GENERAL}/g.md", line)
        assert full.ws.commit().commit
