"""The context of a turn: what comes first, what is left out, and a prompt that no text breaks."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bonsai.conversation import context, prompt
from bonsai.conversation.armour import armour, armour_json, bare, bare_json
from bonsai.conversation.context import Context, Passage
from bonsai.conversation.fact import Fact, Told, by_weight, replaces, told
from bonsai.conversation.kept import packed, spelled, unpacked
from bonsai.conversation.prompt import render, safe
from bonsai.conversation.turn import Event, Message, event, message
from bonsai.errors import BadData
from bonsai.notes.printed import count_tokens

TEXT = some.text(some.characters(codec=None, exclude_categories=()), max_size=60)
NOW = datetime(2026, 3, 15, tzinfo=UTC)


def said(number: int, text: str) -> Message:
    return Message(
        f"id {number}", "t", "user" if number % 2 else "assistant", text, "ann", time=NOW.isoformat(), seq=number
    )


def fact(key: str, value: str = "x", confidence: float = 0.8, days: float = 0) -> Fact:
    return Fact("ann", key, value, confidence, 1, (NOW - timedelta(days=days)).isoformat(), source="memory/x.md")


def fit(given: Context, tokens: int) -> Context:
    return context.fit(given, tokens, prompt.tokens)


def whole(texts: list[str], **more: object) -> Context:
    history = [said(number, text) for number, text in enumerate(texts, 1)]
    return Context("t", "ann", history=history, buffer=history[-12:], **more)  # type: ignore[arg-type]


@given(TEXT)
def test_armour_comes_off(text: str) -> None:
    worn = armour(text)
    assert bare(worn) == text
    worn.encode()
    assert "\0" not in worn


@given(
    some.recursive(
        TEXT | some.integers() | some.none() | some.booleans(), lambda x: some.lists(x) | some.dictionaries(TEXT, x)
    )
)
def test_armour_comes_off_json(value: object) -> None:
    assert bare_json(armour_json(value)) == value


@given(some.lists(TEXT, min_size=1, max_size=3), some.lists(TEXT, min_size=1, max_size=3))
def test_two_names_never_meet(one: list[str], two: list[str]) -> None:
    assert (spelled(tuple(one)) == spelled(tuple(two))) == (one == two)


@given(TEXT, TEXT, TEXT)
def test_a_message_is_unpacked_as_it_was(role: str, content: str, user: str) -> None:
    made = Message("id", "t", role, content, user, time="now", seq=7)
    assert unpacked([packed(made), packed(made)], "t") == [made, made]


def test_the_id_of_a_message_is_that_of_its_turn_in_its_thread() -> None:
    first = message("t", "user", "a", turn="1")
    assert message("t", "user", "b", turn="1").id == first.id
    others = [("t", "assistant", "1"), ("u", "user", "1"), ("t", "user", "2"), ("t\0user", "1", "1")]
    assert first.id not in {message(thread, role, "a", turn=turn).id for thread, role, turn in others}


def test_the_hash_of_an_event_knows_no_order_of_keys() -> None:
    assert Event("a", "x", {"b": 1, "c": [1, 2]}).hash == Event("a", "x", {"c": [1, 2], "b": 1}).hash
    assert Event("a", "x", {"b": [1, 2]}).hash != Event("a", "x", {"b": [2, 1]}).hash


@pytest.mark.parametrize("payload", [{"x": float("inf")}, {"x": {1, 2}}, {"x": object()}, {"x": b"bytes"}])
def test_what_is_no_json_is_refused(payload: dict[str, object]) -> None:
    with pytest.raises(BadData):
        event("ann", "x", payload)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadData):
        event("ann", "x", {"deep": deep})


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), "high", True, None])
def test_a_confidence_is_a_number_from_0_to_1(confidence: object) -> None:
    with pytest.raises(BadData):
        told({"key": "a", "value": "b", "confidence": confidence})


def test_the_newer_fact_wins_but_for_three_reasons() -> None:
    old = Fact("ann", "city", "Oslo", 0.8, 3, NOW.isoformat(), "turn-1")
    new = Told("city", "Bergen", 0.5)
    assert replaces(new, old, "turn-2", None)
    assert replaces(new, old, "", None)
    assert not replaces(new, old, "turn-1", None)
    assert not replaces(new, old, "turn-0", (NOW - timedelta(seconds=1)).isoformat())
    assert replaces(new, old, "turn-2", NOW.isoformat())
    assert not replaces(Told("city", "Bergen", 0.5, keep_confident=True), old, "turn-2", None)


def test_facts_are_ordered_by_confidence_and_recency() -> None:
    facts = [fact("old and sure", confidence=0.9, days=60), fact("new and unsure", confidence=0.5)]
    facts += [fact("new and sure", confidence=0.9), fact("b"), fact("a"), fact("of tomorrow", days=-5)]
    assert [item.key for item in by_weight(facts, NOW)] == [
        *("new and sure", "a", "b", "of tomorrow", "new and unsure", "old and sure"),
    ]


def test_all_stays_where_there_is_room() -> None:
    given = whole([f"text {n}" for n in range(50)], facts=[fact("a")], summary="short", follow_up={"x": 1})
    found = fit(given, 8000)
    assert (found.history, found.buffer, found.facts, found.summary) == (
        *(given.history, given.buffer, given.facts, given.summary),
    )
    assert found.left_out == {}
    assert [item.id for item in found.earlier()] == [item.id for item in given.history[:-12]]


def test_the_newest_messages_stay_longest() -> None:
    found = fit(whole([f"{n} " + "word " * 40 for n in range(1, 51)], facts=[fact("a")]), 1000)
    numbers = [item.seq for item in found.history]
    assert numbers == list(range(50 - len(numbers) + 1, 51))
    assert 0 < len(numbers) < 50
    assert found.left_out["history"] == 50 - len(numbers)
    assert found.facts == [fact("a")]


def test_a_message_that_is_too_long_is_cut_and_pushes_nothing_else_out() -> None:
    given = whole(["short", "x" * 1_000_000], facts=[fact("a")], summary="y" * 100_000, follow_up={"x": 1})
    found = fit(given, 1000)
    assert found.buffer[-1].content.endswith("x…")
    assert (len(found.facts), found.follow_up) == (1, {"x": 1})
    assert found.summary.endswith("y…")


@given(
    some.lists(some.text(max_size=400), max_size=20),
    some.lists(some.text(min_size=1, max_size=400), max_size=8),
    some.text(max_size=3000),
    some.integers(min_value=100, max_value=3000),
)
def test_the_prompt_stays_in_its_budget(texts: list[str], values: list[str], summary: str, tokens: int) -> None:
    facts = [fact(f"key {number}", value) for number, value in enumerate(values)]
    passages = [Passage("memory/domains/general/x.md", (1, 2), "", value, 1.0) for value in values]
    found = fit(whole(texts, facts=facts, passages=passages, summary=summary), tokens)
    assert count_tokens(render(found)) <= tokens
    assert found.tokens <= tokens


@given(TEXT)
def test_no_text_leaves_its_fence(text: str) -> None:
    given = whole([text, text], facts=[fact(text, text)], summary=text, follow_up={text: text})
    given.passages = [Passage(text, (1, 1), text, text, 1.0)]
    given.user = text
    body = render(given).split("\n\n", 1)[1]
    for line in body.split("\n"):
        assert line.startswith(("| ", "[", "## ")) or not line
    assert not [char for char in body if char != "\n" and char in "\r\x0b\x0c\x1b\x85\u2028\u2029\u202e\u200b\0"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb\x1b[0m", "ab"),
        ("a\x1b]0;title\x07b", "a0;titleb"),
        ("a<!-- hidden\norder -->b", "ab"),
        ("a<!-- open", "a<!-- open"),
        ("ig\u200bno\u202ere", "ignore"),
        ("tag\U000e0041s", "tags"),
        ("line\nline", "line\nline"),
    ],
)
def test_what_does_not_show_is_taken_out(text: str, shown: str) -> None:
    assert safe(text) == shown
