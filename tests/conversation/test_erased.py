"""What is to be forgotten is forgotten by every store of the conversation; everything else stays."""

from bonsai.conversation.fact import Told
from bonsai.conversation.turn import event, message
from bonsai.notes import forget
from conversation.conftest import Made

WORD = "Zanzibar-7"
WHAT = forget.of_text(WORD)
DAY = 86_400


def test_a_buffer_drops_what_holds_it(buffer: Made) -> None:
    kept = message("t", "user", "nothing of note", turn="1")._replace(seq=1)
    said = message("t", "user", f'the "code" is\n{WORD}', turn="2")._replace(seq=2)
    buffer.store.push("t", [kept, said], DAY)
    buffer.store.push(f"about {WORD}", [kept._replace(thread=f"about {WORD}")], DAY)
    for key, value in ((("summary", "t"), f"told {WORD}"), (("scratch", WORD, "k"), "x"), (("scratch", "r", "k"), "y")):
        buffer.store.put(key, value, DAY)
    buffer.store.put(("cache", "person_model:ann"), '{"value": "knows the code by heart"}', DAY)
    assert buffer.store.erase(WHAT, count=True) == 4
    assert buffer.store.get(("cache", "person_model:ann"))
    assert buffer.store.get(("summary", "t")) == f"told {WORD}"
    assert buffer.store.erase(WHAT) == 4
    again = buffer.again()
    assert [item.content for item in again.recent("t")] == ["nothing of note"]
    assert again.recent(f"about {WORD}") == []
    assert (again.get(("summary", "t")), again.get(("scratch", WORD, "k"))) == (None, None)
    assert again.get(("scratch", "r", "k")) == "y"
    assert again.get(("cache", "person_model:ann")) is None  # it may say the same in other words
    assert again.erase(WHAT) == 0


def test_a_log_puts_marks_in_its_place(log: Made) -> None:
    said = message("t", "user", f"It is {WORD}, keep it.", turn="1", user="ann", metadata={"seen": [WORD], "n": 1})
    other = message("t", "assistant", "I will.", turn="1", user="ann", metadata={"n": 2})
    half = message("t", "tool", f"half \ud83d\0 {WORD}", turn="1")
    before = log.store.append([said, other, half]).messages
    events = [event("ann", "said", {"what": WORD}), event("ann", "said", {"what": "[erased]"}), event("bob", WORD, {})]
    assert [log.store.record(item) for item in events] == [True, True, True]
    assert log.store.erase(WHAT, count=True) == 4
    assert log.again().read("t") == before
    assert log.store.erase(WHAT) == 4
    found = log.again().read("t")
    assert [item.content for item in found] == ["It is [erased], keep it.", "I will.", "half \ud83d\0 [erased]"]
    assert [item.metadata for item in found] == [{"seen": ["[erased]"], "n": 1}, {"n": 2}, None]
    assert [(item.id, item.seq, item.time) for item in found] == [(item.id, item.seq, item.time) for item in before]
    assert [item.payload for item in log.store.events("ann")] == [{"what": "[erased]"}]  # two became one
    assert [item.type for item in log.store.events("bob")] == ["[erased]"]
    assert not log.store.record(event("ann", "said", {"what": "[erased]"}))  # known by what it says now
    assert log.store.append([said]).added == 0  # a retry of the turn does not bring it back
    assert WORD not in log.store.read("t")[0].content
    assert log.store.erase(WHAT) == 0


def test_facts_forget_every_version(facts: Made) -> None:
    facts.store.put("ann", [Told("code", WORD), Told("city", "Oslo"), Told(f"about {WORD}", "a place")])
    facts.store.put("ann", [Told("code", f"not {WORD}")])
    facts.store.put("bob", [Told("code", "Oslo")])
    if facts.store.erase(WHAT, count=True) == 0:  # notes of the tree: `bonsai erase` does it there
        assert type(facts.store).__name__ == "TreeFacts"
        return
    assert facts.store.get("ann", "code").value == f"not {WORD}"
    assert facts.store.erase(WHAT) >= 3
    again = facts.again()
    assert {fact.key: fact.value for fact in again.newest("ann")} == {
        "code": "not [erased]",
        "city": "Oslo",
        "about [erased]": "a place",
    }
    assert [fact.value for fact in again.history("ann", "code")] == ["not [erased]", "[erased]"]
    assert again.search("ann", WORD) == []
    assert [fact.key for fact in again.search("ann", "NOT [ERASED]")] == ["code"]
    assert again.get("bob", "code").version == 1
    assert again.put("ann", [Told("code", "new")])[0].version == 3
    assert again.erase(WHAT) == 0


def test_two_keys_that_become_one_are_one_fact(facts: Made) -> None:
    facts.store.put("ann", [Told(f"key {WORD}", "old"), Told("key [erased]", "other")])
    if facts.store.erase(WHAT):
        assert [fact.key for fact in facts.again().newest("ann")] == ["key [erased]"]
