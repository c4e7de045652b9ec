"""Every Buffer keeps the same promises."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from bonsai.adapters.redis_buffer import RedisBuffer
from bonsai.conversation.ports import BUFFER
from bonsai.conversation.turn import Message, message
from conversation.conftest import Made
from conversation.nasty import TEXTS

HOUR = 3600


def said(thread: str, seq: int, text: str = "") -> Message:
    made = message(thread, "user", text or f"message {seq}", turn=str(seq), user="ann")
    return made._replace(seq=seq, time="2026-03-15T08:00:00+00:00")


def test_the_last_messages_come_back_oldest_first(buffer: Made) -> None:
    for seq in range(1, 6):
        buffer.store.push("t", [said("t", seq)], HOUR)
    assert buffer.again().recent("t") == [said("t", seq) for seq in range(1, 6)]
    assert buffer.store.recent("other") == []


def test_messages_and_values_come_at_once(buffer: Made) -> None:
    buffer.store.push("t:1\n", [said("t:1\n", seq) for seq in (2, 1)], HOUR)
    buffer.store.put(("summary", "t:1\n"), "half \ud83d", HOUR)
    keys = [("summary", "t:1\n"), ("follow_up", "t:1\n")]
    assert buffer.again().together("t:1\n", keys) == ([said("t:1\n", 1), said("t:1\n", 2)], ["half \ud83d", None])
    assert buffer.store.together("other", keys[::-1]) == ([], [None, "half \ud83d"])


def test_only_the_newest_twelve_stay(buffer: Made) -> None:
    buffer.store.push("t", [said("t", seq) for seq in range(1, 31)], HOUR)
    assert [item.seq for item in buffer.store.recent("t")] == list(range(31 - BUFFER, 31))


def test_the_place_in_the_log_counts_and_not_the_moment_of_the_push(buffer: Made) -> None:
    buffer.store.push("t", [said("t", 7), said("t", 8)], HOUR)
    buffer.store.push("t", [said("t", 3)], HOUR)
    assert [item.seq for item in buffer.store.recent("t")] == [3, 7, 8]


def test_a_message_that_is_pushed_again_is_there_once(buffer: Made) -> None:
    for _ in range(3):
        buffer.store.push("t", [said("t", 1), said("t", 2)], HOUR)
    assert len(buffer.store.recent("t")) == 2


def test_a_late_retry_does_not_come_back_as_the_newest(buffer: Made) -> None:
    buffer.store.push("t", [said("t", seq) for seq in range(1, 21)], HOUR)
    buffer.store.push("t", [said("t", 1)], HOUR)
    assert [item.seq for item in buffer.store.recent("t")] == list(range(9, 21))


def test_messages_and_values_end_with_their_time(buffer: Made) -> None:
    buffer.store.push("t", [said("t", 1)], 1)
    buffer.store.put(("summary", "t"), "short", 1)
    buffer.store.put(("scratch", "t", "k"), "long", HOUR)
    buffer.wait(1.2)
    assert buffer.store.recent("t") == []
    assert buffer.store.get(("summary", "t")) is None
    assert buffer.store.take(("summary", "t")) is None
    assert buffer.store.get(("scratch", "t", "k")) == "long"
    buffer.store.push("t", [said("t", 2)], HOUR)
    assert [item.seq for item in buffer.store.recent("t")] == [2]


def test_a_push_gives_the_whole_thread_new_time(buffer: Made) -> None:
    buffer.store.push("t", [said("t", 1)], 2 if buffer.wait.__name__ == "sleep" else 5)
    buffer.store.push("t", [said("t", 2)], HOUR)
    buffer.wait(2.2)
    assert [item.seq for item in buffer.store.recent("t")] == [1, 2]


def test_a_value_is_replaced_and_dropped(buffer: Made) -> None:
    buffer.store.put(("summary", "t"), "one", HOUR)
    buffer.store.put(("summary", "t"), "two", HOUR)
    assert buffer.again().get(("summary", "t")) == "two"
    buffer.store.drop([("summary", "t"), ("summary", "none")])
    assert buffer.store.get(("summary", "t")) is None


def test_a_value_is_taken_once(buffer: Made) -> None:
    buffer.store.put(("follow_up", "t"), "asked", HOUR)
    assert buffer.store.take(("follow_up", "t")) == "asked"
    assert buffer.store.take(("follow_up", "t")) is None
    assert buffer.store.get(("follow_up", "t")) is None


def test_of_many_who_take_at_once_one_gets_it(buffer: Made) -> None:
    stores = [buffer.again() for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            buffer.store.put(("follow_up", "t"), str(number), HOUR)
            got = list(pool.map(lambda store: store.take(("follow_up", "t")), stores * 4))
            assert [item for item in got if item is not None] == [str(number)]


def test_threads_that_push_at_once_lose_nothing(buffer: Made) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda seq: buffer.store.push("t", [said("t", seq)], HOUR), range(1, 41)))
    assert [item.seq for item in buffer.store.recent("t")] == list(range(29, 41))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_is_data(buffer: Made, text: str) -> None:
    buffer.store.push(text, [said(text, 1, text)], HOUR)
    buffer.store.put(("scratch", text, text), text, HOUR)
    assert buffer.store.recent(text) == [said(text, 1, text)]
    assert buffer.store.get(("scratch", text, text)) == text
    assert buffer.store.take(("scratch", text, text)) == text


def test_names_with_colons_do_not_meet(buffer: Made) -> None:
    buffer.store.put(("scratch", "a:b", "c"), "one", HOUR)
    buffer.store.put(("scratch", "a", "b:c"), "two", HOUR)
    buffer.store.put(("scratch", "a%3Ab", "c"), "three", HOUR)
    assert [buffer.store.get(("scratch", *names)) for names in (("a:b", "c"), ("a", "b:c"), ("a%3Ab", "c"))] == [
        "one",
        "two",
        "three",
    ]


def test_a_megabyte_is_a_message_like_any_other(buffer: Made) -> None:
    text = "x\0é" * 350_000
    buffer.store.push("t", [said("t", 1, text)], HOUR)
    assert buffer.store.recent("t")[0].content == text


def test_something_else_is_done_once_meanwhile(buffer: Made) -> None:
    done: list[int] = []
    buffer.store.push("t", [said("t", 1)], HOUR)
    found = buffer.store.together("t", [("summary", "t")], lambda: done.append(1))
    assert (found, done) == (([said("t", 1)], [None]), [1])
    with pytest.raises(ZeroDivisionError):
        buffer.store.together("t", [("summary", "t")], lambda: done.append(1 // 0))
    for _ in range(2):  # what was left unread is read by nobody else
        assert buffer.store.together("t", [("summary", "t")]) == ([said("t", 1)], [None])
        assert buffer.store.get(("summary", "t")) is None


def test_redis_works_meanwhile_and_its_connection_may_be_lost(redis_url: str, namespace: str) -> None:
    client, seen = Redis.from_url(redis_url), list[str]()
    buffer = RedisBuffer(redis_url, namespace)
    buffer.put(("summary", "t"), "short", HOUR)
    number = buffer._redis.client_id()

    def look() -> None:
        for _ in range(600):
            if any(other["cmd"] == "mget" and other["id"] == str(number) for other in client.client_list()):
                seen.append("at work")
                break
            time.sleep(0.05)
        client.client_kill_filter(_id=str(number))

    assert buffer.together("t", [("summary", "t")], look) == ([], ["short"])
    assert seen == ["at work"]
    assert buffer.get(("summary", "t")) == "short"
    buffer.close()
    client.close()
