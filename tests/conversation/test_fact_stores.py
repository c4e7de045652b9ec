"""Every FactStore keeps the same promises."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bonsai.conversation.fact import Fact, Told
from conversation.conftest import Made
from conversation.nasty import TEXTS


def put(made: Made, user: str, key: str, value: str, confidence: float = 0.8, **more: object) -> Fact:
    return made.store.put(user, [Told(key, value, confidence)], **more)[0]


def test_a_fact_comes_back(facts: Made) -> None:
    fact = put(facts, "ann", "city", "Oslo")
    assert (fact.user, fact.key, fact.value, fact.confidence, fact.version) == ("ann", "city", "Oslo", 0.8, 1)
    assert facts.again().get("ann", "city") == fact
    assert fact.source
    assert facts.store.get("ann", "town") is None


def test_the_newer_value_wins_and_the_old_one_stays_known(facts: Made) -> None:
    put(facts, "ann", "city", "Oslo", 0.9)
    newer = put(facts, "ann", "city", "Bergen", 0.5)
    assert (newer.value, newer.version, newer.confidence) == ("Bergen", 2, 0.5)
    assert [(fact.value, fact.version) for fact in facts.again().history("ann", "city")] == [
        ("Bergen", 2),
        ("Oslo", 1),
    ]
    assert facts.store.history("ann", "nothing") == []


def test_the_same_value_told_again_is_a_newer_version(facts: Made) -> None:
    first = put(facts, "ann", "city", "Oslo")
    again = put(facts, "ann", "city", "Oslo")
    assert again.version == 2
    assert again.updated > first.updated


def test_a_surer_fact_stays_only_where_that_is_asked_for(facts: Made) -> None:
    put(facts, "ann", "city", "Oslo", 0.9)
    kept = facts.store.put("ann", [Told("city", "Bergen", 0.6, keep_confident=True)])[0]
    assert (kept.value, kept.version) == ("Oslo", 1)
    replaced = facts.store.put("ann", [Told("city", "Bergen", 0.9, keep_confident=True)])[0]
    assert (replaced.value, replaced.version) == ("Bergen", 2)


def test_a_turn_that_is_told_again_changes_nothing(facts: Made) -> None:
    for _ in range(3):
        fact = put(facts, "ann", "city", "Oslo", turn="turn-1")
    assert (fact.version, fact.turn) == (1, "turn-1")


def test_a_late_retry_does_not_undo_what_came_after_it(facts: Made) -> None:
    early = put(facts, "ann", "city", "Oslo", turn="turn-1")
    put(facts, "ann", "city", "Bergen", turn="turn-2")
    late = put(facts, "ann", "city", "Oslo", turn="turn-1", since=early.updated)
    assert (late.value, late.version) == ("Bergen", 2)


def test_a_retry_tells_what_the_first_try_did_not_reach(facts: Made) -> None:
    early = put(facts, "ann", "city", "Oslo", turn="turn-1")
    done = facts.store.put("ann", [Told("city", "Oslo"), Told("job", "cook")], turn="turn-1", since=early.updated)
    assert [(fact.key, fact.version) for fact in done] == [("city", 1), ("job", 1)]


def test_users_do_not_see_each_other(facts: Made) -> None:
    names = ["ann", "Ann", "ANN!", "ann/bob", "ann-bob", "ann bob", "../ann", "a" * 200, ""]
    for user in names:
        put(facts, user, "city", f"city of {user!r}")
    for user in names:
        assert [fact.value for fact in facts.store.newest(user)] == [f"city of {user!r}"]
        assert facts.store.get(user, "city").version == 1  # type: ignore[union-attr]
        assert [fact.user for fact in facts.store.search(user, "city of")] == [user]


def test_keys_that_look_alike_are_different_facts(facts: Made) -> None:
    keys = ["home city", "home-city", "Home City", "home:city", "home\ncity", "home_city"]
    facts.store.put("ann", [Told(key, key) for key in keys])
    assert {fact.key: fact.value for fact in facts.again().newest("ann")} == {key: key for key in keys}


def test_the_newest_come_first_and_only_so_many(facts: Made) -> None:
    for number in range(6):
        put(facts, "ann", f"key {number}", "x")
    put(facts, "ann", "key 2", "y")
    assert [fact.key for fact in facts.store.newest("ann", 3)] == ["key 2", "key 5", "key 4"]
    assert facts.store.newest("ann", 0) == []


def test_a_search_looks_in_keys_and_values_ignoring_case(facts: Made) -> None:
    facts.store.put("ann", [Told("Lieblingsstraße", "Äpfel & 100%"), Told("colour", "blue"), Told("x_y", "Blues")])

    def keys(query: str, limit: int = 10) -> set[str]:
        return {fact.key for fact in facts.store.search("ann", query, limit)}

    assert keys("BLUE") == {"colour", "x_y"}
    assert keys("äPFEL") == keys("LIEBLINGSSTRASSE") == keys("100%") == {"Lieblingsstraße"}
    assert keys("_") == {"x_y"}
    assert keys("%") == {"Lieblingsstraße"}
    assert keys("green") == set()
    assert len(keys("blue", 1)) == 1


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_is_data(facts: Made, text: str) -> None:
    first = put(facts, text, text, text)
    assert (first.key, first.value, first.user) == (text, text, text)
    second = facts.again().put(text, [Told(text, text + "2")])[0]
    assert (second.value, second.version) == (text + "2", 2)
    assert [fact.value for fact in facts.store.history(text, text)] == [text + "2", text]
    assert text in {fact.key for fact in facts.store.search(text, text)}


def test_a_long_value_comes_back_whole(facts: Made) -> None:
    text = "word\n\n" * 50_000
    put(facts, "ann", "book", text)
    found = facts.again().get("ann", "book")
    assert found is not None
    assert found.value == text


def test_writers_at_once_lose_no_version(facts: Made) -> None:
    stores = [facts.again() for _ in range(2)]

    def write(number: int) -> None:
        stores[number % 2].put("ann", [Told("count", str(number)), Told(f"own {number}", "x")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    assert facts.store.get("ann", "count").version == 12  # type: ignore[union-attr]
    assert len(facts.store.newest("ann", 100)) == 13
    assert sorted(int(fact.value) for fact in facts.store.history("ann", "count")) == list(range(12))
