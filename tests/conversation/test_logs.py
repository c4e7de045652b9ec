"""Every MessageLog keeps the same promises."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bonsai.conversation.turn import Message, event, message
from conversation.conftest import Made
from conversation.nasty import TEXTS


def said(thread: str, turn: object, text: str = "hello", role: str = "user") -> Message:
    return message(thread, role, text, turn=str(turn), user="ann", intent="chat", metadata={"n": [1, {"é": None}]})


def test_messages_come_back_whole_and_in_order(log: Made) -> None:
    for turn in range(5):
        stored = log.store.append([said("t", turn, f"q{turn}"), said("t", turn, f"a{turn}", "assistant")])
        assert stored.added == 2
    found = log.again().read("t")
    assert [item.content for item in found] == [f"{side}{turn}" for turn in range(5) for side in "qa"]
    assert found[0].metadata == {"n": [1, {"é": None}]}
    assert (found[0].user, found[0].intent, found[0].role, found[0].thread) == ("ann", "chat", "user", "t")
    assert [item.seq for item in found] == sorted({item.seq for item in found})
    assert found[0].time <= found[-1].time
    assert found[0].time.endswith("+00:00")


def test_the_newest_are_read_oldest_first_and_one_can_go_back(log: Made) -> None:
    for turn in range(10):
        log.store.append([said("t", turn, str(turn))])
    last = log.store.read("t", 3)
    assert [item.content for item in last] == ["7", "8", "9"]
    assert [item.content for item in log.store.read("t", 3, last[0].seq)] == ["4", "5", "6"]
    assert log.store.read("t", 0) == []
    assert log.store.read("nobody") == []


def test_a_message_is_stored_once_and_stays_as_it_is(log: Made) -> None:
    first = log.store.append([said("t", 1, "as it was")])
    again = log.store.append([said("t", 1, "as it was not"), said("t", 2)])
    assert (first.added, again.added) == (1, 1)
    assert again.messages[0] == first.messages[0]
    assert len(log.store.read("t")) == 2


def test_the_same_turn_in_another_thread_is_another_one(log: Made) -> None:
    log.store.append([said("one", 1)])
    assert log.store.append([said("two", 1)]).added == 1


def test_all_messages_are_stored_or_none(log: Made) -> None:
    if type(log.store).__name__ == "MemoryLog":
        return  # refuses nothing
    bad = Message("no uuid at all", "t", "user", None)  # type: ignore[arg-type]
    with pytest.raises(Exception):  # noqa: B017 (whatever it is)
        log.store.append([said("t", 1), bad])
    assert log.store.read("t") == []


def test_an_event_is_stored_once_whatever_the_order_of_its_keys(log: Made) -> None:
    assert log.store.record(event("ann", "workout", {"kind": "run", "km": 5}))
    assert not log.again().record(event("ann", "workout", {"km": 5, "kind": "run"}))
    assert log.store.record(event("ann", "workout", {"km": 6, "kind": "run"}))
    assert log.store.record(event("ann", "walk", {"km": 5, "kind": "run"}))
    assert log.store.record(event("bob", "workout", {"km": 5, "kind": "run"}))
    assert [item.payload["km"] for item in log.store.events("ann", "workout")] == [6, 5]
    assert len(log.store.events("ann")) == 3
    assert len(log.store.events("ann", limit=2)) == 2
    assert log.store.events("nobody") == []


def test_events_dedup_exactly_under_concurrency(log: Made) -> None:
    stores = [log.again() for _ in range(4)]
    payloads = [{"n": number % 25} for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        new = list(pool.map(lambda n: stores[n % 4].record(event("ann", "x", payloads[n])), range(200)))
    assert sum(new) == 25
    assert len(log.store.events("ann", limit=1000)) == 25


def test_each_writer_finds_his_messages_in_his_order(log: Made) -> None:
    stores = [log.again() for _ in range(4)]

    def write(writer: int) -> None:
        for number in range(25):
            stores[writer % 4].append([said("t", f"{writer}-{number}", f"{writer}:{number}")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    found = [item.content.split(":") for item in log.store.read("t", 1000)]
    assert len(found) == 200
    for writer in range(8):
        assert [int(n) for w, n in found if int(w) == writer] == list(range(25))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_is_data(log: Made, text: str) -> None:
    made = message(text, text, text, turn=text, user=text, intent=text, metadata={text: [text]})
    assert log.store.append([made]).messages[0].content == text
    found = log.store.read(text)[0]
    assert (found.thread, found.role, found.content, found.user, found.intent) == (text,) * 5
    assert found.metadata == {text: [text]}
    assert log.store.record(event(text, text, {text: {"deep": [text]}}))
    assert log.store.events(text, text)[0].payload == {text: {"deep": [text]}}


def test_a_megabyte_is_a_message_like_any_other(log: Made) -> None:
    text = "x\0é" * 350_000
    log.store.append([said("t", 1, text)])
    assert log.store.read("t")[0].content == text
