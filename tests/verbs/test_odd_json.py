"""What JSON can say and no note can hold: half a surrogate pair, NaN, numbers beyond measure, wrong kinds of value."""

import json
import sqlite3
from collections.abc import Callable

import pytest

from bonsai import Workspace
from bonsai.errors import BadData, NotFound, Refused
from bonsai.notes.layout import DEEPEST
from verbs.sandbox import GENERAL, Sandbox

HALF = "party \ud83d time"  # the first half of an emoji: a model's answer that was cut there
WHOLE = "party \ufffd time".encode()
WRITES: dict[str, Callable[[Workspace], object]] = {
    "remember": lambda ws: ws.remember(HALF),
    "create": lambda ws: ws.create(f"{GENERAL}/party.md", HALF),
    "edit": lambda ws: ws.edit(f"{GENERAL}/inbox.md", lambda text: text + HALF),
    "daily": lambda ws: ws.daily_add(HALF),
    "feedback": lambda ws: ws.feedback_add(HALF, why="why", how="how"),
    "node": lambda ws: ws.tree_add("parties", HALF),
    "lesson": lambda ws: ws.hot_update("lesson", {"text": HALF}),
    "identity": lambda ws: ws.hot_update("identity", {"name": HALF}),
}


@pytest.mark.parametrize("verb", WRITES)
def test_half_a_surrogate_pair_is_written_as_a_replacement_character(garden: Sandbox, verb: str) -> None:
    WRITES[verb](garden.ws)
    assert any(WHOLE in data for data in garden.files().values())
    assert garden.ws.verify().ok


def test_half_a_surrogate_pair_is_no_revision_and_may_be_a_session(garden: Sandbox) -> None:
    for point in (lambda ws: ws.show("MEMORY.md", at=HALF), lambda ws: ws.undo(HALF), lambda ws: ws.diff(HALF)):
        with pytest.raises(NotFound):
            point(garden.ws)
    assert garden.opened(session=HALF).remember("Lanterns hang in the garden.").commit
    assert garden.ws.log(session=HALF) is not None
    assert garden.ws.distill(f"User: {HALF}").distilled.fact


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", '[1, {"a": NaN}]'])
def test_hot_is_json_whatever_it_is_given(garden: Sandbox, value: str) -> None:
    with pytest.raises(BadData):
        garden.ws.hot_update("identity", {"x": json.loads(value)})
    garden.write("MEMORY.md", f'# Me\n\n## Lessons\n\n- Water roses <!-- {{"importance": {value}}} -->\n')
    garden.ws.commit()
    assert json.dumps(garden.ws.hot(), allow_nan=False)
    assert garden.ws.hot()["critical_lessons"][0]["text"].startswith("Water roses")


def test_numbers_beyond_measure_are_ranked_as_if_they_were_not_there(garden: Sandbox) -> None:
    for number in range(25):
        garden.ws.hot_update("lesson", {"text": f"l{number}", "importance": 10**400, "timestamp": -(10**400)})
    assert 0 < len(garden.ws.hot()["critical_lessons"]) <= 20
    assert garden.ws.consolidate("full").hot_size_bytes


@pytest.mark.parametrize(
    "fact",
    [
        {"metadata": {"urls": 5, "commands": {"a": 1}, "paths": [None, [1], "src/a.py"]}},
        {"metadata": {"urls": ["\ud83d"]}},
        {"text": "Deploy from the tower \ud83d"},
        {"importance": float("nan"), "created_at": float("inf"), "access_count": 10**400},
    ],
)
def test_an_old_fact_with_odd_fields_is_taken_over(box: Sandbox, fact: dict[str, object]) -> None:
    old = {"text": "Deploy from the tower", "category": "ops", **fact}
    box.write("memory/warm-memory.json", json.dumps([old, {"text": "The lamp is green", "category": "ops"}]))
    box.ws.migrate()
    found = [name for name in box.files() if name.startswith("memory/domains/ops/") and "_index" not in name]
    assert len(found) == 2
    assert b"src/a.py" in b"".join(box.files().values()) or "src/a.py" not in json.dumps(fact)


def test_one_url_where_a_list_belongs_is_one_url(box: Sandbox) -> None:
    fact = {"text": "The lamp is green", "category": "ops", "metadata": {"urls": "https://lamp.example/x"}}
    box.write("memory/warm-memory.json", json.dumps([fact]))
    box.ws.migrate()
    (path,) = [name for name in box.files() if name.startswith("memory/domains/ops/") and "_index" not in name]
    assert b"https://lamp.example/x" in box.read(path) and b"- h\n" not in box.read(path)


def test_a_cold_row_of_another_tool_with_the_wrong_types_hides_no_other(garden: Sandbox) -> None:
    garden.ws.cold_init()
    with sqlite3.connect(garden.root / ".bonsai/cold.db") as cold:
        add = "INSERT INTO cold_memories (id, agent_id, text, category, importance, created_at, access_count)"
        cold.execute(f"{add} VALUES ('0a', 'default', 'Llamas eat hay', 'farm', 'high', 'long ago', 'many')")
        cold.execute(f"{add} VALUES ('0b', 'default', 'Llamas hum', 'farm', 0.5, 1700000000, 1)")
    cold.close()
    assert {hit.id for hit in garden.ws.cold_query("llamas")} == {"0a", "0b"}
    assert garden.ws.recall("llamas").hits
    assert garden.ws.consolidate("full")


def test_a_note_may_lie_as_deep_as_bonsai_looks_and_no_deeper(garden: Sandbox) -> None:
    """Below that it would be written and then seen by nobody, however deep the system allows."""
    path = "memory/" + "a/" * DEEPEST + "b.md"
    assert garden.ws.create(path, "Deep down.\n").commit
    assert garden.committed(path) == b"Deep down.\n"
    assert garden.ws.recall("deep down").hits[0].path == path
    for deeper in (DEEPEST + 1, 600):
        with pytest.raises(Refused, match="deeper than bonsai looks"):
            garden.ws.create("memory/" + "b/" * deeper + "b.md", "Deeper.\n")
    assert not (garden.root / "memory/b").exists()
