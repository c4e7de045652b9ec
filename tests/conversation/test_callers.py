"""What callers may give: both doors take the same, and what is of the wrong kind is said before anything is done."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bonsai import Workspace
from bonsai.conversation import AsyncConversation, Conversation, Told
from bonsai.errors import BadData, BonsaiError, Misconfigured, Usage


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    Workspace.init(tmp_path / "ws")
    return tmp_path / "ws"


@pytest.fixture(params=["embedded", "servers"])
def talk(request: pytest.FixtureRequest, ws: Path) -> Iterator[Conversation]:
    urls: dict[str, str] = {"redis_url": "", "database_url": ""}
    if request.param == "servers":
        urls = {name: request.getfixturevalue(name) for name in ("redis_url", "database_url", "namespace")}
    with Conversation.open(ws, **urls, facts="postgres" if request.param == "servers" else "sqlite") as found:
        yield found


def verbs(kind: type) -> dict[str, list[tuple[str, Any, Any]]]:
    """The public methods of a class, each with the names, kinds and defaults of its parameters."""
    found = {}
    for name, item in inspect.getmembers(kind, callable):
        if not name.startswith("_"):
            parameters = inspect.signature(item).parameters.values()
            found[name] = [(each.name, each.kind, each.default) for each in parameters if each.name != "self"]
    return found


def test_both_doors_have_the_same_verbs_with_the_same_parameters_and_defaults() -> None:
    sync, other = verbs(Conversation), verbs(AsyncConversation)
    assert sync.keys() == other.keys()
    assert {name: (sync[name], other[name]) for name in sync if sync[name] != other[name]} == {}


def test_every_verb_of_the_other_door_is_awaited() -> None:
    plain = [
        name for name in verbs(AsyncConversation) if not inspect.iscoroutinefunction(getattr(AsyncConversation, name))
    ]
    assert plain == ["prompt"]


TEXTS: dict[str, Callable[[Conversation, Any], Any]] = {
    "load thread": lambda talk, odd: talk.load(odd),
    "load user": lambda talk, odd: talk.load("t", odd),
    "load query": lambda talk, odd: talk.load("t", "ann", odd),
    "write thread": lambda talk, odd: talk.write_back(odd, "ann", "q", "a"),
    "write user": lambda talk, odd: talk.write_back("t", odd, "q", "a"),
    "write said": lambda talk, odd: talk.write_back("t", "ann", odd, "a"),
    "write answered": lambda talk, odd: talk.write_back("t", "ann", "q", odd),
    "write intent": lambda talk, odd: talk.write_back("t", "ann", "q", "a", intent=odd),
    "write key": lambda talk, odd: talk.write_back("t", "ann", "q", "a", facts=[Told(odd, "x")]),
    "write value": lambda talk, odd: talk.write_back("t", "ann", "q", "a", facts=[Told("k", odd)]),
    "add thread": lambda talk, odd: talk.add(odd, "user", "q"),
    "add role": lambda talk, odd: talk.add("t", odd, "q"),
    "add content": lambda talk, odd: talk.add("t", "user", odd),
    "add user": lambda talk, odd: talk.add("t", "user", "q", user=odd),
    "add intent": lambda talk, odd: talk.add("t", "user", "q", intent=odd),
    "messages": lambda talk, odd: talk.messages(odd),
    "history": lambda talk, odd: talk.history(odd),
    "record user": lambda talk, odd: talk.record(odd, "x", {}),
    "record type": lambda talk, odd: talk.record("ann", odd, {}),
    "events user": lambda talk, odd: talk.events(odd),
    "events type": lambda talk, odd: talk.events("ann", odd),
    "set_fact user": lambda talk, odd: talk.set_fact(odd, "k", "v"),
    "set_fact key": lambda talk, odd: talk.set_fact("ann", odd, "v"),
    "set_fact value": lambda talk, odd: talk.set_fact("ann", "k", odd),
    "fact user": lambda talk, odd: talk.fact(odd, "k"),
    "fact key": lambda talk, odd: talk.fact("ann", odd),
    "facts": lambda talk, odd: talk.facts(odd),
    "search user": lambda talk, odd: talk.search_facts(odd, "x"),
    "search query": lambda talk, odd: talk.search_facts("ann", odd),
    "fact_history user": lambda talk, odd: talk.fact_history(odd, "k"),
    "fact_history key": lambda talk, odd: talk.fact_history("ann", odd),
    "set_summary thread": lambda talk, odd: talk.set_summary(odd, "x"),
    "set_summary text": lambda talk, odd: talk.set_summary("t", odd),
    "summary": lambda talk, odd: talk.summary(odd),
    "set_scratch run": lambda talk, odd: talk.set_scratch(odd, "k", "v"),
    "set_scratch key": lambda talk, odd: talk.set_scratch("r", odd, "v"),
    "set_scratch value": lambda talk, odd: talk.set_scratch("r", "k", odd),
    "scratch run": lambda talk, odd: talk.scratch(odd, "k"),
    "scratch key": lambda talk, odd: talk.scratch("r", odd),
    "set_follow_up": lambda talk, odd: talk.set_follow_up(odd, {}),
    "follow_up": lambda talk, odd: talk.follow_up(odd),
    "take_follow_up": lambda talk, odd: talk.take_follow_up(odd),
    "person_model": lambda talk, odd: talk.person_model(odd, dict),
    "compute name": lambda talk, odd: talk.compute(odd, dict),
    "compute keys": lambda talk, odd: talk.compute("x", dict, user="ann", keys=[odd]),
    "cached": lambda talk, odd: talk.cached(odd),
    "keep name": lambda talk, odd: talk.keep(odd, 1, ""),
    "keep stamp": lambda talk, odd: talk.keep("x", 1, odd),
    "forget": lambda talk, odd: talk.forget(odd),
}


def accepted(kind: type[BonsaiError], calls: dict[str, Callable[..., Any]], talk: Conversation, odd: Any) -> list[str]:
    """The names of the calls that do not say what is wrong with one argument."""
    found = []
    for name, call in calls.items():
        try:
            call(talk, odd)
        except kind as error:
            assert error.hint, name
        else:
            found.append(name)
    return found


@pytest.mark.parametrize("odd", [None, b"bytes", 7, ["x"]], ids=repr)
def test_what_is_no_text_is_said_and_nothing_is_stored(talk: Conversation, odd: Any) -> None:
    assert accepted(BadData, TEXTS, talk, odd) == []
    assert talk.history("t") == talk.facts("ann") == talk.events("ann") == []


NUMBERS: dict[str, Callable[[Conversation, Any], Any]] = {
    "history": lambda talk, odd: talk.history("t", odd),
    "history before": lambda talk, odd: talk.history("t", 5, odd),
    "events": lambda talk, odd: talk.events("ann", limit=odd),
    "facts": lambda talk, odd: talk.facts("ann", odd),
    "search": lambda talk, odd: talk.search_facts("ann", "x", odd),
    "load": lambda talk, odd: talk.load("t", tokens=odd),
    "set_summary": lambda talk, odd: talk.set_summary("t", "x", odd),
    "set_scratch": lambda talk, odd: talk.set_scratch("r", "k", "v", odd),
    "set_follow_up": lambda talk, odd: talk.set_follow_up("t", {}, odd),
    "compute": lambda talk, odd: talk.compute("x", dict, ttl=odd),
    "keep": lambda talk, odd: talk.keep("x", 1, "", odd),
}


def test_what_is_no_number_of_rows_tokens_or_seconds_is_said(talk: Conversation) -> None:
    for odd in ("x", "5", -1, 1.5, float("nan"), None, True, b"5", -(10**30)):
        assert accepted(Usage, NUMBERS, talk, odd) == [], odd
    talk.set_summary("t", "still at work")
    assert talk.summary("t") == "still at work"  # no number made Redis fail, which would give it a rest


def test_a_time_beyond_every_clock_is_as_long_as_it_gets(talk: Conversation) -> None:
    talk.set_summary("t", "x", 10**30)
    talk.set_follow_up("t", "x", 10**30)
    assert talk.compute("x", lambda: 1, ttl=10**30) == 1
    assert (talk.summary("t"), talk.follow_up("t"), talk.cached("x").value) == ("x", "x", 1)


OTHERS: list[Callable[[Any], Any]] = [
    lambda talk: talk.write_back("t", "ann", "q", "a", facts=None),
    lambda talk: talk.write_back("t", "ann", "q", "a", facts="city=Oslo"),
    lambda talk: talk.write_back("t", "ann", "q", "a", facts={"key": "city", "value": "Oslo"}),
    lambda talk: talk.write_back("t", "ann", "q", "a", turn=7),
    lambda talk: talk.write_back("t", "ann", "q", "a", metadata=["x"]),
    lambda talk: talk.write_back("t", "ann", "q", "a", metadata={"x": b"x"}),
    lambda talk: talk.add("t", "user", "q", metadata="x"),
    lambda talk: talk.add("t", "user", "q", id=7),
    lambda talk: talk.record("ann", "x", ["payload"]),
    lambda talk: talk.record("ann", "x", None),
    lambda talk: talk.record("ann", "x", {"at": object()}),
    lambda talk: talk.set_fact("ann", "k", "v", "sure"),
    lambda talk: talk.set_fact("ann", "k", "v", float("nan")),
    lambda talk: talk.set_follow_up("t", object()),
    lambda talk: talk.set_follow_up("t", {"x": "x" * 17_000_000}),
    lambda talk: talk.compute("x", object),
    lambda talk: talk.compute("x", dict, user="ann", keys="city"),
    lambda talk: talk.compute("x", dict, user=7),
]


def test_what_is_of_another_kind_is_said_and_nothing_is_stored(talk: Conversation) -> None:
    for number, call in enumerate(OTHERS):
        with pytest.raises(BadData) as found:
            call(talk)
        assert found.value.hint, number
    assert talk.history("t") == talk.facts("ann") == talk.events("ann") == []


def test_what_opens_a_conversation_is_checked(ws: Path) -> None:
    for named in (
        {"redis_url": 5},
        {"database_url": b"x"},
        {"namespace": None},
        {"agent": 5},
        {"tell": "me"},
        {"facts": ["tree"]},
        {"facts": b"tree"},
    ):
        with pytest.raises((BadData, Misconfigured)):
            Conversation.open(ws, **named)  # type: ignore[arg-type]
    for path in (None, b"ws", 5):
        with pytest.raises(BadData):
            Conversation.open(path)  # type: ignore[arg-type]


def test_the_other_door_says_the_same(ws: Path) -> None:
    async def session() -> None:
        async with await AsyncConversation.open(ws, redis_url="", database_url="") as talk:
            for call in (talk.load(7), talk.history("t", -1), talk.person_model(None, dict), talk.forget(b"x")):  # type: ignore[arg-type]
                with pytest.raises(BonsaiError):
                    await call
            held = await talk.cached("embedding")
            await talk.keep("embedding", [0.5], held.stamp)
            assert (await talk.cached("embedding")).value == [0.5]
            await talk.forget("embedding")
            assert not (await talk.cached("embedding")).found

    asyncio.run(session())


def test_the_other_door_computes_with_any_function(ws: Path) -> None:
    async def made() -> int:
        return 1

    async def session() -> None:
        async with await AsyncConversation.open(ws, redis_url="", database_url="") as talk:
            assert await talk.compute("awaited", made) == 1
            assert await talk.compute("plain", lambda: 2) == 2
            assert await talk.compute("plain", made) == 2

    asyncio.run(session())


def test_a_model_of_the_owner_is_made_anew_when_he_tells_something(talk: Conversation) -> None:
    assert [talk.person_model("", lambda number=number: number) for number in (1, 2)] == [1, 1]
    talk.set_fact("", "city", "Oslo")
    assert talk.person_model("", lambda: 3) == 3
    assert talk.compute("of nobody", lambda: 4) == 4
    talk.set_fact("", "city", "Bergen")
    assert talk.compute("of nobody", lambda: 5) == 4
