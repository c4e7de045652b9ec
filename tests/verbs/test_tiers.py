"""The tiers: what is hot stands in the boot file, what is worth little leaves the tree, and nothing is ever lost."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.errors import BadData, Refused
from bonsai.passes.remember import Wanted
from verbs.sandbox import Sandbox

At = Callable[[str], None]
LATER = "2026-06-15T08:15:00Z"


def facts(box: Sandbox) -> list[str]:
    return sorted(path for path in box.files() if path.startswith("memory/domains/") and not path.endswith("_index.md"))


# -- hot -----------------------------------------------------------------------------------------------


def test_hot_is_shown_and_edited_as_sections_of_the_boot_file(box: Sandbox) -> None:
    box.write("MEMORY.md", b"# Me\n\nMy words.\n" + box.read("MEMORY.md"))
    report = box.ws.hot_update("owner_profile", {"timezone": "Australia/Sydney", "work_hours": "9am-6pm"})
    assert report.updated == "owner_profile"
    box.ws.hot_update("lesson", {"text": "Always test on testnet first", "category": "blockchain", "importance": 0.9})
    boot = box.read("MEMORY.md").decode()
    assert boot.startswith("# Me\n\nMy words.\n")
    assert "\n## Owner\n\n- timezone: Australia/Sydney\n- work_hours: 9am-6pm\n" in boot
    state = box.ws.hot()
    assert state["owner_profile"] == {"timezone": "Australia/Sydney", "work_hours": "9am-6pm"}
    assert state["critical_lessons"][0]["timestamp"] == 1773562500
    assert box.last()[0].op == "hot"
    box.ws.undo()
    assert box.ws.hot()["critical_lessons"] == []
    box.assert_clean()


def test_what_no_longer_fits_becomes_notes(box: Sandbox) -> None:
    for number in range(11):
        report = box.ws.hot_update("event", {"text": f"Event number {number}", "timestamp": 1_700_000_000 + number})
    assert len(box.ws.hot()["active_context"]["events"]) == 10
    assert len(report.moved) == 1
    assert b"\nEvent number 0\n" in box.read(report.moved[0])
    assert b"created: 2023-11-14T22:13:20Z" in box.read(report.moved[0])
    assert report.size_bytes <= report.max_bytes == 5000


def test_rebuild_puts_away_what_is_done_and_cuts_no_words_of_a_person(box: Sandbox) -> None:
    box.ws.hot_update("project", {"name": "OldProject", "status": "Completed", "description": "It was good"})
    box.ws.hot_update("project", {"name": "EvoClaw", "status": "Active"})
    box.write("MEMORY.md", b"## Notes of mine\n\n" + b"Words of mine.\n" * 500 + box.read("MEMORY.md"))
    report = box.ws.hot_rebuild()
    assert [project["name"] for project in box.ws.hot()["active_context"]["projects"]] == ["EvoClaw"]
    assert b"OldProject [Completed]: It was good" in box.read(report.moved[0])
    assert box.read("MEMORY.md").count(b"Words of mine.\n") == 500
    assert box.problems("boot-over-budget")


def test_nothing_secret_becomes_hot(box: Sandbox) -> None:
    with pytest.raises(Refused):
        box.ws.hot_update("lesson", {"text": "The key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"})


# -- tree ----------------------------------------------------------------------------------------------


def test_storing_makes_the_node_and_the_tree_counts_it(box: Sandbox) -> None:
    box.ws.remember("A.", domain="projects/evoclaw/bsc")
    box.ws.remember("B.", domain="projects/evoclaw")
    box.ws.tree_add("projects/evoclaw/bsc", "BSC blockchain integration")
    shown = box.ws.tree_show()
    assert shown.text.startswith("Memory Tree Index\n" + "=" * 50 + "\n📂 Root (warm:2, cold:0)\n")
    assert "📁 projects/evoclaw/bsc — BSC blockchain integration\n" in shown.text
    assert "Memories: warm=2, cold=0" in shown.text
    assert "\nNodes: 4/50\nSize: " in shown.text
    assert shown.nodes["projects/evoclaw"]["children"] == ["projects/evoclaw/bsc"]
    assert shown.nodes["projects/evoclaw/bsc"]["warm_count"] == 1
    assert shown.size_bytes == len(shown.text.encode()) <= 2048


def test_the_limits_bind_what_is_shown_and_storing_never_fails_for_them(box: Sandbox) -> None:
    wanted = [Wanted(f"Fact {a} {b}", f"d{a}/s{b}/x/y/z") for a in range(13) for b in range(13)]
    box.ws.remember_all(wanted)
    shown = box.ws.tree_show()
    assert shown.node_count <= 50
    assert shown.size_bytes <= 2048
    assert max(path.count("/") for path in shown.nodes) <= 3
    assert all(len(node["children"]) <= 10 for node in shown.nodes.values())
    assert shown.hidden > 100
    assert f"… {shown.hidden} more" in shown.text
    assert not box.ws.tree_add("a/b/c/d/e", "too deep").added


def test_a_node_that_holds_data_is_not_removed(box: Sandbox) -> None:
    box.ws.remember("A.", domain="a/b")
    box.ws.tree_add("a/c", "Empty")
    for path in ("a/b", "a"):
        with pytest.raises(Refused):
            box.ws.tree_remove(path)
    assert box.ws.tree_remove("a/c").removed
    assert not box.ws.tree_remove("a/c").removed
    assert not box.has("memory/domains/a/c")
    box.ws.undo()
    assert box.has("memory/domains/a/c/about.md")


def test_dead_nodes_go_and_undo_brings_them_back(box: Sandbox, at: At) -> None:
    box.ws.tree_add("old/unused", "Nothing came of it")
    box.ws.tree_add("used", "Something did")
    box.ws.remember("A.", domain="used")
    at("2026-05-01T08:15:00Z")
    assert box.ws.tree_prune().pruned == []
    at("2026-05-15T08:15:00Z")
    assert box.ws.tree_prune().pruned == ["old/unused"]
    assert box.ws.tree_prune().commit is None
    box.ws.undo()
    assert box.has("memory/domains/old/unused/about.md")


def test_a_rebuild_is_a_proposal_until_it_is_applied(box: Sandbox) -> None:
    one = box.ws.remember("A fact.", domain="chain/bsc").path
    two = box.ws.remember("Another.", domain="chain/bsc/tests").path
    box.write("memory/domains/notes/x.md", f"See [it](../chain/bsc/{one.rpartition('/')[2]}).\n")
    before = box.files()
    answer = """Sure! ```json
    {"moves": [{"from": "chain/bsc", "to": "projects/bsc", "reason": "one place"}, {"from": "gone", "to": "x"},
               {"from": "chain/bsc/tests", "to": "z"}, {"from": "notes", "to": "notes/below"}],
     "descriptions": {"projects/bsc": "BSC integration", "root": "no", "nowhere": "no"}}
    ```"""
    report = box.ws.tree_rebuild(answer)
    assert [(move["from"], move["to"]) for move in report.moves] == [("chain/bsc", "projects/bsc")]
    assert box.files() == before
    applied = box.ws.tree_rebuild(answer, apply=True)
    new = one.replace("chain/bsc", "projects/bsc")
    assert sorted(applied.paths) == sorted([new, two.replace("chain/bsc", "projects/bsc")])
    assert b"domain: projects/bsc\n" in box.read(new)
    assert f"(../projects/bsc/{one.rpartition('/')[2]})".encode() in box.read("memory/domains/notes/x.md")
    assert "projects/bsc — BSC integration" in box.ws.tree_show().text
    box.ws.undo()
    generated = {path: data for path, data in box.files().items() if path.endswith("_index.md") or path == "MEMORY.md"}
    assert box.files() == before | generated
    with pytest.raises(BadData):
        box.ws.tree_rebuild("I would rather not.")


# -- warm and cold -------------------------------------------------------------------------------------


def test_old_facts_that_are_worth_little_leave_for_the_cold_tier(box: Sandbox, at: At) -> None:
    wanted = {
        "weak": Wanted("Bought milk at the corner shop.", "daily", importance=0.3),
        "strong": Wanted("We never deploy on Fridays.", "rules", importance=1.0),
        "keyed": Wanted("Lives in Oslo.", "owner", importance=0.1, key="city"),
        "feedback": Wanted("Be brief.", "feedback", importance=0.1, type="feedback"),
    }
    reports = dict(zip(wanted, box.ws.remember_all(list(wanted.values())), strict=True))
    pinned = box.ws.remember("Pinned fact.", domain="x", importance=0.1).path
    edited = box.ws.remember("Edited fact.", domain="x", importance=0.1).path
    box.write(pinned, box.read(pinned).replace(b"---\n\n", b"pinned: true\n---\n\n"))
    box.write(edited, box.read(edited) + b"And a word of mine.\n")
    box.ws.commit()
    at("2026-04-10T08:15:00Z")
    assert box.ws.consolidate().evicted == []  # 26 days
    at("2026-04-20T08:15:00Z")
    bytes_before = box.read(reports["weak"].path)
    before = box.count()
    report = box.ws.consolidate()
    assert report.evicted == [reports["weak"].path]
    assert (report.evicted_warm, report.archived_cold, report.mode, report.agent_id) == (1, 1, "quick", "default")
    assert box.count() == before + 1
    assert not box.has(reports["weak"].path)
    assert all(box.has(path) for path in (pinned, edited, reports["keyed"].path, reports["feedback"].path))
    assert "milk" in report.report or reports["weak"].path in report.report
    hits = box.ws.cold_query("milk")
    assert [(hit.id, hit.text, hit.category, hit.tier) for hit in hits] == [
        (reports["weak"].id, "Bought milk at the corner shop.", "daily", "cold")
    ]
    found = [hit for hit in box.ws.recall("milk").hits if hit.path == reports["weak"].path]
    assert [hit.tier for hit in found] == ["cold"]
    box.ws.undo()
    assert box.read(reports["weak"].path) == bytes_before
    box.assert_clean()


def test_a_second_consolidate_changes_nothing(box: Sandbox, at: At) -> None:
    box.ws.remember("Bought milk.", domain="daily", importance=0.3)
    at(LATER)
    assert box.ws.consolidate().commit
    before = box.head()
    for mode in ("quick", "daily", "monthly", "full"):
        assert box.ws.consolidate(mode).commit is None
    assert box.head() == before


def test_full_says_what_a_person_may_tidy(box: Sandbox, at: At) -> None:
    at("2026-01-01T08:00:00Z")
    box.ws.remember("Gone cold soon.", domain="shop/old", importance=0.1)
    box.ws.remember("Kept.", domain="garden/tools", importance=0.9, key="rake")
    box.ws.remember("Kept, too.", domain="kitchen/tools", importance=0.9, key="pan")
    box.ws.tree_add("attic", "Nothing yet")
    at("2026-02-15T08:00:00Z")
    box.ws.consolidate()
    report = box.ws.consolidate("full")
    assert report.analysis == [
        "The tree: 7 nodes on 2 levels, 7 of them are shown",
        "Hold nothing: attic",
        "Hold cold facts alone: shop, shop/old",
        "Of one name: garden/tools, kitchen/tools",
    ]
    assert "Of one name: garden/tools, kitchen/tools" in report.report
    assert box.ws.consolidate("quick").analysis == []


def test_too_many_facts_leave_by_their_score(box: Sandbox) -> None:
    filler = "words and more words " * 80
    box.ws.remember_all([Wanted(f"Fact {n}: {filler}", "many", importance=n / 100) for n in range(40)])
    keyed = box.ws.remember_all([Wanted(f"Keyed {n}: {filler}", "many", importance=0.0, key=f"k{n}") for n in range(9)])
    report = box.ws.consolidate()
    left = [path for path in facts(box) if "/fact-" in path]
    assert 25 <= len(left) <= 30
    assert sum(len(box.read(path)) for path in left) <= 50 * 1024
    assert len(report.evicted) == 40 - len(left)
    assert all("/fact-" in path for path in report.evicted)
    assert all(box.has(item.path) for item in keyed)
    kept = sorted(int(path.partition("/fact-")[2].partition("-")[0]) for path in left)
    assert kept == list(range(40 - len(left), 40))


def test_what_may_not_leave_takes_no_room_from_what_may(box: Sandbox) -> None:
    filler = "words and more words " * 80
    wanted = [Wanted(f"Fact {n}: {filler}", "many", importance=0.3) for n in range(20)]  # 34 KB
    box.ws.remember_all(wanted)
    for number, mark in enumerate((b"pinned: true\n---\n\n", b"---\n\n")):
        path = box.ws.remember(f"Mine {number}: {filler * 20}", domain="mine", importance=1.0).path
        box.write(path, box.read(path).replace(b"---\n\n", mark) + b"And a word of mine.\n")
    box.ws.commit()
    assert box.ws.consolidate().evicted == []
    box.ws.remember_all([Wanted(f"More {n}: {filler}", "many", importance=0.9) for n in range(15)])
    assert 4 <= len(box.ws.consolidate().evicted) <= 8


def test_a_fact_that_is_used_stays(box: Sandbox, at: At) -> None:
    one = box.ws.remember("The printer is on floor three.", domain="x", importance=0.5).path
    two = box.ws.remember("The scanner is on floor four.", domain="x", importance=0.5).path
    for _ in range(10):
        box.ws.recall("printer")
    at("2026-04-20T08:15:00Z")
    assert box.ws.consolidate().evicted == [two]
    assert box.has(one)


def test_cold_that_fails_keeps_the_facts_in_the_tree(box: Sandbox, at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    path = box.ws.remember("Bought milk.", domain="daily", importance=0.3).path
    at(LATER)
    before = box.head()
    monkeypatch.setenv("BONSAI_DB_URL", "http://127.0.0.1:9")
    box.write("bonsai.toml", "[cold]\nretries = 0\n")
    with pytest.raises(Exception, match="cannot be reached"):
        box.ws.consolidate()
    assert box.has(path)
    assert box.git("rev-list", "--count", f"{before}..HEAD").strip() in ("0", "1")  # only the new bonsai.toml


def test_of_two_facts_with_one_id_neither_takes_the_place_of_the_other(box: Sandbox, at: At) -> None:
    """A copy bears the id of its note: both left the tree, and the cold tier knew only the last one."""
    paths = [box.ws.remember(text, domain="daily", importance=0.3).path for text in ("Bought milk.", "Sold a boat.")]
    ids = [next(row for row in box.read(path).splitlines() if row.startswith(b"id:")) for path in paths]
    box.write(paths[1], box.read(paths[1]).replace(ids[1], ids[0]).decode())
    box.git("add", "-A", "memory")
    box.git("commit", "-qm", "x\n\nBonsai-Op: sync\nBonsai-Actor: agent:x\nBonsai-Run: 0123456789ab")
    at(LATER)
    assert len(box.ws.consolidate().evicted) == 1
    assert box.ws.consolidate().evicted == []  # nor later
    assert len([path for path in paths if box.has(path)]) == 1
    assert {hit.path for query in ("milk", "boat") for hit in box.ws.recall(query).hits} == set(paths)


def test_what_was_evicted_comes_back(box: Sandbox, at: At) -> None:
    report = box.ws.remember("Bought milk.", domain="daily", importance=0.3)
    data = box.read(report.path)
    at(LATER)
    box.ws.consolidate()
    assert box.ws.restore(report.path).restored == [report.path]
    assert box.read(report.path) == data


def test_frozen_rows_past_their_retention_go(box: Sandbox, at: At) -> None:
    box.ws.remember("Bought milk.", domain="daily", importance=0.3)
    at(LATER)
    box.ws.consolidate()
    at("2036-02-01T00:00:00Z")
    assert box.ws.consolidate("monthly").cold_deleted == 0
    at("2036-06-20T00:00:00Z")
    assert box.ws.consolidate("daily").cold_deleted == 0
    assert box.ws.consolidate("monthly").cold_deleted == 1
    assert box.ws.cold_query("milk") == []


def test_an_agent_has_its_own_tiers(box: Sandbox, at: At) -> None:
    box.opened(agent="juno").remember("Bought milk.", domain="daily", importance=0.3)
    mine = box.ws.remember("Bought bread.", domain="daily", importance=0.3).path
    at(LATER)
    juno = box.opened(agent="juno")
    assert juno.consolidate().evicted[0].startswith("memory/agents/juno/")
    assert box.has(mine)
    assert [hit.text for hit in box.opened(agent="juno").cold_query("bought")] == ["Bought milk."]
    assert box.ws.cold_query("milk") == []
    box.opened(agent="juno").hot_update("lesson", {"text": "Mine"})
    assert b"- Mine" in box.read("MEMORY-juno.md")
    assert box.ws.hot()["critical_lessons"] == []


def test_metrics_have_all_their_keys(box: Sandbox, at: At) -> None:
    box.ws.remember("Bought milk.", domain="daily", importance=0.3)
    box.ws.remember("Bought bread.", domain="daily", importance=1)
    at(LATER)
    box.ws.consolidate()
    metrics = box.ws.metrics()
    assert (metrics.consolidation_count, metrics.evictions_today, metrics.warm_memory_count) == (1, 2, 0)
    assert metrics.last_consolidation == 1781511300
    assert metrics.tree_index_size_bytes > 50


# -- the state a new device starts from ----------------------------------------------------------------


def test_a_lost_device_is_made_again(box: Sandbox, tmp_path: Path) -> None:
    box.ws.hot_update("identity", {"agent_name": "Alex"})
    path = box.ws.remember("We deploy on Mondays.", domain="rules/deploy", importance=0.9).path
    box.ws.tree_add("rules", "How we work")
    ws = box.ws
    assert ws.sync_critical().synced
    ws._send(ws._need_cold(True), ws._rows_of([path]))  # what a database has of each fact that is stored
    data = box.read(path)
    box.close()
    Workspace.init(tmp_path / "other")
    shutil.copy(box.root / ".bonsai/cold.db", tmp_path / "other/.bonsai/cold.db")
    new = Sandbox(tmp_path / "other")
    assert new.ws.restore_from_cloud().restored == [path]
    assert new.read(path) == data
    assert new.ws.hot()["identity"] == {"agent_name": "Alex"}
    assert "rules — How we work" in new.ws.tree_show().text
    assert new.ws.restore_from_cloud().commit is None
    assert new.ws.recall("deploy Mondays").hits[0].path == path
    new.assert_clean()
    new.close()


def test_one_fact_comes_back_out_of_the_cold_tier_alone(box: Sandbox, tmp_path: Path, at: At) -> None:
    path = box.ws.remember("Bought milk.", domain="daily", importance=0.3).path
    data = box.read(path)
    at(LATER)
    number = box.ws.consolidate() and box.ws.cold_query("milk")[0].id
    box.close()
    Workspace.init(tmp_path / "other")
    shutil.copy(box.root / ".bonsai/cold.db", tmp_path / "other/.bonsai/cold.db")
    new = Sandbox(tmp_path / "other")
    assert [(hit.tier, hit.restore) for hit in new.ws.recall("milk").hits] == [("cold", f"bonsai restore {path}")]
    assert new.ws.restore(number).restored == [path]
    assert new.read(path) == data
    assert [hit.tier for hit in new.ws.recall("milk").hits] == ["warm"]
    new.close()


def test_an_older_state_is_not_kept(box: Sandbox, at: At) -> None:
    box.ws.hot_update("identity", {"agent_name": "Alex"})
    assert box.ws.sync_critical().synced
    at("2026-01-01T00:00:00Z")
    box.ws.hot_update("identity", {"agent_name": "Bob"})
    assert not box.ws.sync_critical().synced


def test_what_is_erased_is_erased_from_the_cold_tier_too(box: Sandbox, at: At) -> None:
    path = box.ws.remember("Bought xylophones.", domain="daily", importance=0.3).path
    box.ws.remember("Bought milk.", domain="daily", importance=0.3)
    box.ws.hot_update("event", {"text": "The xylophones came"})
    box.ws.sync_critical()
    at(LATER)
    box.ws.consolidate()
    assert b"xylophones" in box.read(".bonsai/cold.db")
    box.ws.erase(path, yes=True)
    box.close()
    assert b"Bought xylophones" not in box.read(".bonsai/cold.db")
    assert [hit.text for hit in box.ws.cold_query("bought")] == ["Bought milk."]
    box.ws.erase(match="xylophones", yes=True)
    box.close()
    assert b"xylophone" not in box.read(".bonsai/cold.db")


def test_what_is_held_back_reaches_no_cold_tier(box: Sandbox, at: At) -> None:
    path = box.ws.remember("Bought milk.", domain="daily", importance=0.3).path
    secret = b"ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    box.write(path, box.read(path) + b"The key is " + secret + b"\n")
    box.write("MEMORY.md", b"## Lessons\n\n- The key is " + secret + b"\n\n" + box.read("MEMORY.md"))
    at(LATER)
    assert box.ws.consolidate().evicted == []
    with pytest.raises(Refused):
        box.ws.sync_critical()
    assert not box.has(".bonsai/cold.db") or secret not in box.read(".bonsai/cold.db")
    assert box.ws._rows_of([path]) == []
