"""A workspace of the original tiered memory is taken over as it is, and keeps working."""

import json
from typing import Any

from verbs.sandbox import Sandbox

NOW = 1773562500  # 2026-03-15T08:15:00Z
WARM: list[dict[str, Any]] = [
    {
        "id": "abc123def456",
        "text": "Decided to use zero go-ethereum deps for EvoClaw, see https://docs.example.org/deps",
        "category": "projects/evoclaw/architecture",
        "importance": 0.8,
        "created_at": NOW - 86400,
        "access_count": 3,
        "score": 0.742,
        "tier": "warm",
    },
    {"id": "x", "text": "Bought milk", "category": "../evil", "importance": 7, "created_at": "never"},
    {"text": ""},
    17,
]
TREE = {
    "root": {"desc": "Memory root", "warm_count": 0, "children": ["projects"]},
    "projects/evoclaw": {"desc": "EvoClaw framework", "warm_count": 1, "cold_count": 0, "children": []},
}
HOT = {
    "identity": {"agent_name": "Alex"},
    "owner_profile": {},
    "active_context": {"projects": [], "events": [{"text": "Deadline Feb 15", "timestamp": 1707350400}], "tasks": []},
    "critical_lessons": [{"text": "Test first", "importance": 0.9, "timestamp": 1}],
}


def original(box: Sandbox, folder: str) -> None:
    box.write(f"{folder}/warm-memory.json", json.dumps(WARM))
    box.write(f"{folder}/memory-tree.json", json.dumps(TREE))
    box.write(f"{folder}/hot-memory-state.json", json.dumps(HOT))
    box.write(f"{folder}/metrics.json", json.dumps({"retrieval_count": 234, "consolidation_count": 8}))


def test_migrate_takes_over_what_the_original_kept(box: Sandbox) -> None:
    original(box, "memory")
    report = box.ws.migrate()
    path = "memory/domains/projects/evoclaw/architecture/decided-to-use-zero-go-ethereum-deps-for-abc123.md"
    assert path in [item.path for item in report.created]
    text = box.read(path).decode()
    assert "id: abc123def456\n" in text
    assert "created: 2026-03-14T08:15:00Z\n" in text
    assert 'urls: ["https://docs.example.org/deps"]\n' in text
    assert any("/general/bought-milk-" in item.path for item in report.created)
    assert box.ws.hot()["identity"] == {"agent_name": "Alex"}
    assert box.ws.hot()["active_context"]["events"][0]["timestamp"] == 1707350400
    shown = box.ws.tree_show()
    assert shown.nodes["projects/evoclaw"]["desc"] == "EvoClaw framework"
    assert box.ws.metrics().retrieval_count == 234
    assert [hit.access_count for hit in box.ws.retrieve("zero deps for EvoClaw", limit=1)] == [4]
    assert box.has("memory/warm-memory.json")
    assert box.last()[0].actor == "import"
    box.assert_clean()


def test_a_second_time_changes_nothing_also_for_what_has_moved_or_left(box: Sandbox) -> None:
    original(box, "memory/default")
    first = box.ws.migrate()
    box.ws.move(next(item.path for item in first.created if "abc123" in item.path), "elsewhere")
    before = box.head()
    assert box.ws.migrate().commit is None
    assert box.head() == before


def test_every_agent_gets_its_own(box: Sandbox) -> None:
    original(box, "memory/agent-2")
    box.ws.migrate()
    assert box.opened(agent="agent-2").hot()["identity"] == {"agent_name": "Alex"}
    assert box.ws.hot()["identity"] == {}
    assert any(path.startswith("memory/agents/agent-2/domains/projects/") for path in box.files())
    assert box.read("MEMORY-agent-2.md")


def test_a_damaged_file_is_passed_over_and_said(box: Sandbox) -> None:
    original(box, "memory")
    box.write("memory/warm-memory.json", b"{broken")
    box.write("memory/memory-tree.json", b"[1, 2]")
    report = box.ws.migrate()
    assert [item.path for item in report.skipped if "JSON" in item.reason] == ["memory/warm-memory.json"]
    assert box.ws.hot()["identity"] == {"agent_name": "Alex"}


def test_the_settings_of_the_original_count_until_bonsai_toml_says_otherwise(box: Sandbox) -> None:
    config = {"scoring": {"half_life_days": 60, "color": 1}, "warm": {"max_kb": 5}, "tree": {"max_depth": 99}, "x": 1}
    box.write("memory/config.json", json.dumps(config))
    box.write("bonsai.toml", "[tiers]\nwarm_kb = 7.0\n")
    ws = box.ws
    assert ws.settings["tiers", "decay_days"] == 60
    assert ws.settings["tiers", "warm_kb"] == 7
    assert ws.settings["tree", "max_depth"] == 4
    warned = "\n".join(ws.consolidate().warnings)
    assert all(word in warned for word in ("scoring.color", "tree.max_depth", " x is no setting"))


def test_what_changes_beside_us_is_taken_over_once(box: Sandbox) -> None:
    original(box, "memory/default")
    taken = box.ws.adopt_new()
    assert taken is not None and len(taken.created) == 2
    assert box.ws.adopt_new() is None
    newer = {"id": "0123456789ab", "text": "Said to the old skill since.", "category": "late", "created_at": NOW}
    box.write("memory/default/warm-memory.json", json.dumps([*WARM, newer]))
    taken = box.ws.adopt_new()
    assert taken is not None and [path.rpartition("/")[0] for path in taken.created] == ["memory/domains/late"]
    box.ws.undo()
    assert box.ws.adopt_new() is None  # who took it back does not get it again


def test_each_agent_has_the_settings_of_its_own_folder(box: Sandbox) -> None:
    box.write("memory/config.json", json.dumps({"warm": {"max_kb": 5}}))
    box.write("memory/juno/config.json", json.dumps({"warm": {"max_kb": 6, "color": 1}}))
    box.write("memory/default/config.json", json.dumps({"warm": {"max_kb": 7}}))
    assert box.ws.settings["tiers", "warm_kb"] == 7
    juno = box.opened(agent="juno")
    assert juno.settings["tiers", "warm_kb"] == 6
    assert juno.config_warnings == ["memory/juno/config.json: warm.color is no setting"]
    assert box.opened(agent="other").settings["tiers", "warm_kb"] == 5
