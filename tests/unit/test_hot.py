"""The hot tier as sections of the boot file: JSON and markdown say the same, and hand-written lines stay."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bonsai.errors import BadData, Usage
from bonsai.facts import hot
from bonsai.facts.hot import Limits
from bonsai.notes import boot

DOCUMENT: dict[str, Any] = {
    "identity": {
        "agent_name": "Alex",
        "owner_name": "Bowen",
        "owner_preferred_name": "Bowen",
        "relationship_start": "2026-01-15",
        "trust_level": 0.95,
    },
    "owner_profile": {
        "personality": "technical, direct communication",
        "family": ["Sarah (wife)", "Luna (daughter, 3yo)"],
        "topics_avoid": ["small talk about weather"],
        "timezone": "Australia/Sydney",
        "nothing": [],
    },
    "active_context": {
        "projects": [
            {"name": "EvoClaw", "description": "Self-evolving agent framework", "status": "Active - BSC integration"}
        ],
        "events": [{"text": "Hackathon deadline Feb 15", "timestamp": 1707350400}],
        "tasks": [{"text": "Deploy to BSC testnet", "status": "pending", "timestamp": 1707350400}],
    },
    "critical_lessons": [
        {
            "text": "Always test on testnet before mainnet",
            "category": "blockchain",
            "importance": 0.9,
            "timestamp": 1707350400,
        }
    ],
}
BLOCK = "# Memory Index\n\nwhat is generated\n"


def test_the_state_of_the_document_goes_in_and_comes_out() -> None:
    data = hot.merged(b"# Me\n\nHello.\n", DOCUMENT, 5)
    assert hot.state(data) == DOCUMENT
    assert data.startswith(b"# Me\n\nHello.\n")
    assert b"- family: Sarah (wife); Luna (daughter, 3yo) <!--" in data
    assert b"- timezone: Australia/Sydney\n" in data
    assert b"- EvoClaw [Active - BSC integration]: Self-evolving agent framework\n" in data
    assert b'- [ ] Deploy to BSC testnet <!-- {"timestamp": 1707350400} -->\n' in data
    assert hot.merged(data, DOCUMENT, 9) == data


def test_the_block_stays_where_it_is() -> None:
    for hand in (b"Mine.\n", b"", b"Mine without end", b"\xef\xbb\xbfA\r\nB\r\n"):
        data = boot.splice(hand, BLOCK)
        new = hot.updated(data, "lesson", {"text": "Test first"}, 7)
        assert boot.current(new) == BLOCK
        assert new.endswith(b"<!-- bonsai:end -->" + (b"\r\n" if b"\r" in hand else b"\n"))
        assert boot.strip(new).startswith(hand)
    middle = boot.splice(b"A\n", BLOCK) + b"\nB\n"
    new = hot.updated(middle, "lesson", {"text": "Test first"}, 7)
    assert new.startswith(middle)
    assert hot.state(new)["critical_lessons"][0]["text"] == "Test first"


def test_only_the_line_of_an_entry_changes() -> None:
    data = (
        b"# Me\r\n\r\n## Projects\r\n\r\nFree words.\r\n\r\n"
        b"- **Old** [Active]: by hand\r\n  and on two lines\r\n- Other\r\n\r\n"
        b"More words.\r\n\r\n## Mine\r\n\r\n- Old [x]: not a project\r\n"
    )
    new = hot.updated(data, "project", {"name": "Old", "status": "Completed"}, 1)
    assert new == data.replace(
        b"- **Old** [Active]: by hand\r\n  and on two lines", b"- Old [Completed]: by hand and on two lines"
    )
    more = hot.updated(data, "project", {"name": "New", "description": "d"}, 1)
    assert more == data.replace(b"- Other\r\n", b"- Other\r\n- New: d\r\n")
    assert hot.updated(data, "project", {"name": "Other"}, 1) == data


def test_what_is_shown_can_be_edited_by_hand() -> None:
    data = hot.merged(b"", DOCUMENT, 5)
    data = data.replace(b"Always test on testnet before mainnet", b"Never test on mainnet")
    data = data.replace(b"Luna (daughter, 3yo)", b"Luna (daughter, 4yo)").replace(b"- [ ] Deploy", b"- [x] Deploy")
    data = data.replace(b"trust_level: 0.95", b"trust_level: 1")
    now = hot.state(data)
    assert now["critical_lessons"][0] == {**DOCUMENT["critical_lessons"][0], "text": "Never test on mainnet"}
    assert now["active_context"]["tasks"][0]["status"] == "done"
    assert now["identity"]["trust_level"] == 1
    assert now["owner_profile"]["family"] == ["Sarah (wife)", "Luna (daughter, 4yo)"]


def test_a_key_of_an_object_is_set_and_taken_away() -> None:
    data = hot.updated(b"", "owner_profile", {"timezone": "Australia/Sydney", "work_hours": "9am-6pm"}, 1)
    data = hot.updated(data, "owner_profile", {"timezone": "Europe/Oslo", "work_hours": None}, 2)
    assert hot.state(data)["owner_profile"] == {"timezone": "Europe/Oslo"}


def test_the_least_important_lesson_the_oldest_event_and_task_leave() -> None:
    data = b""
    for number in range(25):
        data = hot.updated(data, "lesson", {"text": f"L{number}", "importance": (number * 7 % 25) / 100}, number)
        data = hot.updated(data, "event", {"text": f"E{number}"}, number)
        data = hot.updated(data, "task", {"text": f"T{number}"}, number)
    new, out = hot.pruned(data, Limits(size=100_000), closed=False)
    now = hot.state(new)
    assert len(now["critical_lessons"]) == 20
    assert min(item["importance"] for item in now["critical_lessons"]) == 0.05
    assert [item["text"] for item in now["active_context"]["events"]] == [f"E{number}" for number in range(15, 25)]
    assert [item["text"] for item in now["active_context"]["tasks"]] == [f"T{number}" for number in range(15, 25)]
    everything = hot.state(data)
    assert len(out) == 5 + 15 + 15
    for kind, items in (("lesson", everything["critical_lessons"]), ("event", everything["active_context"]["events"])):
        kept = now["critical_lessons"] if kind == "lesson" else now["active_context"]["events"]
        assert sorted(map(str, [item.entry for item in out if item.kind == kind] + kept)) == sorted(map(str, items))


def test_a_size_over_the_limit_takes_out_more_but_never_who_one_is() -> None:
    data = hot.updated(b"Words of mine.\n", "identity", {"name": "x" * 300}, 0)
    for number in range(10):
        data = hot.updated(data, "event", {"text": f"{number} " + "word " * 40}, number)
        data = hot.updated(data, "lesson", {"text": f"{number} " + "rule " * 40}, number)
    new, out = hot.pruned(data, Limits(size=1500), closed=False)
    assert hot.size(new) <= 1500
    assert out
    assert hot.state(new)["identity"] == {"name": "x" * 300}
    assert new.startswith(b"Words of mine.\n")
    assert hot.pruned(new, Limits(size=1500), closed=False) == (new, [])


def test_what_is_done_leaves_when_asked() -> None:
    data = hot.updated(b"", "project", {"name": "OldProject", "status": "Completed"}, 1)
    data = hot.updated(data, "project", {"name": "New", "status": "Active"}, 1)
    data = hot.updated(data, "task", {"text": "Ship", "status": "done"}, 1)
    assert hot.pruned(data, Limits(), closed=False)[1] == []
    new, out = hot.pruned(data, Limits(), closed=True)
    assert [(item.kind, item.why) for item in out] == [("project", "done"), ("task", "done")]
    assert hot.state(new)["active_context"]["projects"] == [{"name": "New", "status": "Active"}]


@pytest.mark.parametrize(
    ("key", "value"), [("lesson", {}), ("project", {"status": "x"}), ("identity", [1]), ("task", "")]
)
def test_what_has_no_shape_is_refused(key: str, value: Any) -> None:
    with pytest.raises(BadData):
        hot.updated(b"", key, value, 0)


def test_other_keys_are_refused() -> None:
    with pytest.raises(Usage):
        hot.updated(b"", "mood", {}, 0)


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=30)
VALUES = st.one_of(WORDS, st.integers(), st.booleans(), st.none(), st.lists(WORDS, max_size=3))


@given(
    st.sampled_from(["project", "lesson", "event", "task"]), st.dictionaries(WORDS, VALUES, max_size=3), WORDS, WORDS
)
def test_any_entry_round_trips(kind: str, extra: dict[str, Any], name: str, about: str) -> None:
    entry = {**extra, ("name" if kind == "project" else "text"): name, "description": about}
    try:
        data = hot.updated(b"", kind, entry, 3)
    except BadData:
        return
    found = hot.state(data)
    got = (found["critical_lessons"] if kind == "lesson" else found["active_context"][f"{kind}s"])[0]
    wanted = {**entry, ("name" if kind == "project" else "text"): " ".join(name.split())}
    assert {key: got.get(key) for key in wanted} == wanted
    assert hot.updated(data, kind, got, 9) == data


@given(st.dictionaries(WORDS, VALUES, max_size=3))
def test_any_object_round_trips(value: dict[str, Any]) -> None:
    assume(len({" ".join(key.split()).casefold() for key in value}) == len(value))
    found = hot.state(hot.updated(b"", "identity", value, 3))["identity"]
    wanted = {" ".join(key.split()): item for key, item in value.items() if item is not None}
    assert {key: found.get(key) for key in wanted if key} == {key: item for key, item in wanted.items() if key}


@given(st.binary(max_size=300), st.sampled_from(["lesson", "identity", "project"]))
def test_no_byte_of_a_person_is_lost(junk: bytes, kind: str) -> None:
    value = {"k": "v"} if kind == "identity" else {"text": "t", "name": "t"}
    new = hot.updated(junk, kind, value, 1)
    left = new
    for line in junk.split(b"\n"):
        assert line.strip() in left
