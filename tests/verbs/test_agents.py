"""Another agent's tree is a tree of its own: its boot file, indexes, ages and verbs; its commits bear its name."""

import pytest

from bonsai import Workspace
from bonsai.errors import BadData, BonsaiError
from verbs.sandbox import GENERAL, Sandbox, outside_block

BASE = "memory/agents/wren"


@pytest.fixture
def two(garden: Sandbox) -> Sandbox:
    """A workspace with the main tree and that of an agent."""
    garden.write(f"{BASE}/domains/birds/song.md", "# Song\n\nIt sings at dawn.\n")
    garden.write("MEMORY-wren.md", b"# Wren\r\n")
    garden.ws.commit()
    return garden


def test_a_note_in_its_folder_makes_the_tree(garden: Sandbox) -> None:
    garden.write(f"{BASE}/domains/birds/song.md", "# Song\n\nIt sings at dawn.\n")
    garden.ws.commit()
    assert {"MEMORY-wren.md", f"{BASE}/_index.md", f"{BASE}/domains/birds/_index.md"} <= garden.tree()
    assert garden.has(f"{BASE}/_meta.json")
    assert not [path for path in garden.tree() if path.endswith("_meta.json")]
    garden.assert_clean()


def test_the_trees_do_not_mix(two: Sandbox) -> None:
    assert two.read("MEMORY-wren.md").startswith(b"# Wren\r\n\r\n<!-- bonsai:begin -->\r\n")
    assert b"It sings" in two.read("MEMORY-wren.md") and b"895" not in two.read("MEMORY-wren.md")
    assert b"It sings" not in two.read("MEMORY.md") and b"It sings" not in two.read("memory/_index.md")
    assert (two.ws.status().notes, two.opened(agent="wren").status().notes) == (3, 1)
    assert two.ws.recall("dawn").hits == []
    assert [hit.path for hit in two.opened(agent="wren").recall("dawn").hits] == [f"{BASE}/domains/birds/song.md"]


def test_its_boot_file_keeps_what_is_outside_the_block(two: Sandbox) -> None:
    before = outside_block(two.read("MEMORY-wren.md"))
    two.write(f"{BASE}/domains/birds/nest.md", "# Nest\n")
    assert set(two.ws.reindex().changed) == {"MEMORY-wren.md", f"{BASE}/_index.md", f"{BASE}/domains/birds/_index.md"}
    assert outside_block(two.read("MEMORY-wren.md")) == before
    assert two.ws.reindex().changed == []


def test_verbs_stay_in_the_agents_tree(two: Sandbox, at) -> None:
    wren = lambda: two.opened(agent="wren")  # noqa: E731
    assert wren().daily_add("Sang.").path == f"{BASE}/daily/2026-03-15.md"
    assert wren().move(f"{BASE}/domains/birds/song.md", "music").to == f"{BASE}/domains/music/song.md"
    [archive] = wren().archive(f"{BASE}/domains/music/song.md").archived
    main = two.ws.archive(f"{GENERAL}/inbox.md").archived[0]
    at("2027-03-15T08:15:00Z")
    assert [item.path for item in wren().purge().purged] == [archive]
    assert two.has(main), "the purge of an agent is about its own archives"
    assert [item.path for item in two.ws.purge(dry_run=True).purged] == [main]
    assert two.read(f"{BASE}/_purge_log.json")
    ops = [(commit.op, commit.actor, commit.author) for commit in two.ws.log(limit=5).commits if commit.op == "purge"]
    assert ops == [("purge", "agent:wren", "wren")]
    two.assert_clean()


def test_migrate_splits_its_own_boot_file(two: Sandbox) -> None:
    two.write("MEMORY-wren.md", "# Wren\n\n## Songs\n\nMany.\n\n## Pricing\n\nFree.\n")
    main = two.read("MEMORY.md")
    report = two.opened(agent="wren").migrate()
    assert report.backup == f"{BASE}/MEMORY.md.bak"
    assert two.read(f"{BASE}/MEMORY.md.bak") == b"# Wren\n\n## Songs\n\nMany.\n\n## Pricing\n\nFree.\n"
    assert {item.path for item in report.created} == {
        f"{BASE}/domains/general/preamble.md",
        f"{BASE}/domains/general/songs.md",
        f"{BASE}/domains/business/pricing.md",
    }
    assert two.read("MEMORY.md") == main
    assert two.opened(agent="wren").migrate().commit is None
    two.assert_clean()


def test_reflect_stages_in_its_own_folder(two: Sandbox, at) -> None:
    two.write(f"{BASE}/domains/general/old.md", "---\nupdated: 2026-01-01\n---\nx\n")
    two.ws.commit()
    report = two.opened(agent="wren").reflect()
    assert [item.file for item in report.candidates] == [f"{BASE}/domains/general/old.md"]
    assert two.has(f"{BASE}/_reflect_staging.json") and not two.has("memory/_reflect_staging.json")
    two.ws.commit()
    assert not [path for path in two.tree() if "staging" in path]
    assert [item.path for item in two.opened(agent="wren").status().problems if item.code == "reflection-waiting"]


def test_one_commit_holds_the_edits_of_all_trees(two: Sandbox) -> None:
    two.write(f"{BASE}/domains/birds/song.md", "other\n")
    two.write(f"{GENERAL}/inbox.md", "other\n")
    before = two.count()
    paths = set(two.ws.commit().paths)
    assert two.count() == before + 1
    assert {f"{BASE}/domains/birds/song.md", f"{GENERAL}/inbox.md", f"{BASE}/domains/birds/_index.md"} <= paths


def test_a_first_daily_note_of_a_new_agent(garden: Sandbox) -> None:
    garden.opened(agent="robin.red-2").daily_add("Hello.")
    [folder] = [path.name for path in (garden.root / "memory/agents").iterdir()]
    assert garden.has(f"MEMORY-{folder}.md")
    garden.assert_clean()


@pytest.mark.parametrize("agent", ["../x", "a/b", ".", "..", "/etc", ".git", "-x", "\0", "con"])
def test_an_id_cannot_lead_elsewhere(garden: Sandbox, agent: str) -> None:
    before = set(garden.root.parent.iterdir())
    try:
        workspace = Workspace.open(garden.root, agent=agent)
    except (BadData, BonsaiError):
        return
    with workspace:
        report = workspace.daily_add("x")
    parts = report.path.split("/")
    assert parts[:2] == ["memory", "agents"] and len(parts) == 5
    assert parts[2] not in (".", "..", ".git")
    assert set(garden.root.parent.iterdir()) == before


def test_an_emptied_agent_tree_leaves_no_stale_index(two: Sandbox) -> None:
    (two.root / BASE / "domains/birds/song.md").unlink()
    two.ws.commit()
    assert not two.has(f"{BASE}/domains/birds")
    assert b"song" not in two.read("MEMORY-wren.md")
    two.assert_clean()


def test_the_undo_of_the_first_note_leaves_nothing_of_the_agent(garden: Sandbox) -> None:
    """MEMORY-wrne.md of a slip of the fingers stayed behind, and its indexes."""
    before = garden.tree()
    garden.opened(agent="wren").remember("It sings at dawn.")
    garden.opened(agent="wren").remember("It nests in May.")
    garden.opened(agent="wren").undo()
    assert garden.has("MEMORY-wren.md")  # there is a note still
    garden.opened(agent="wren").undo()
    assert garden.tree() == before and not garden.has("MEMORY-wren.md") and not garden.has("memory/agents")
    assert not [path for path in garden.files() if "wren" in path]
    garden.assert_clean()
    garden.ws.undo(garden.ws.log(limit=1).commits[0].run)
    assert "MEMORY-wren.md" in garden.tree() and b"sings" in garden.read("MEMORY-wren.md")


def test_what_a_person_wrote_for_the_agent_stays(garden: Sandbox) -> None:
    garden.opened(agent="wren").remember("It sings at dawn.")
    garden.write("MEMORY-wren.md", b"# Wren\n\n" + garden.read("MEMORY-wren.md"))
    garden.write(f"{BASE}/song.png", b"\x89PNG")
    garden.ws.commit()
    garden.opened(agent="wren").undo()
    assert garden.read("MEMORY-wren.md").startswith(b"# Wren\n\n<!-- bonsai:begin -->")
    assert garden.has(f"{BASE}/song.png") and garden.has(f"{BASE}/_index.md")


def test_an_index_that_a_person_wrote_is_no_leftover(garden: Sandbox) -> None:
    garden.write(f"{BASE}/_index.md", "my own page\n")
    garden.ws.commit()
    garden.ws.reindex()
    assert garden.read(f"{BASE}/_index.md") == b"my own page\n"
