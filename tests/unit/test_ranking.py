"""Which passage comes first, and why. The notes here are small; how well whole conversations are searched is measured
by the recall kit (docs/ranking.md)."""

import pytest

from bonsai.adapters.memory_search import MemorySearch
from bonsai.notes.change import Stat
from bonsai.notes.document import document
from bonsai.notes.query import parse
from bonsai.notes.ranking import BESIDE, WIDTH, Ranked, rank
from bonsai.notes.signals import CLOSER_LOOK
from bonsai.passes.recall import candidates

TALK = """---
title: Talk of May
created: 2023-05-08
---
# Talk of May

- **Ann**: Hello Ben! How have you been?
- **Ben**: Fine. I spent the weekend repairing my bike.
- **Ann**: Nice. Which instrument did you learn as a child?
- **Ben**: The cello, for six years.
- **Ann**: I never learned an instrument. My brother plays drums.
- **Ben**: Drums are loud!
- **Ann**: Very loud. See you soon.
"""
PRICES = """---
title: Event pricing
tags: [offers, vineyard]
---
# Event pricing

- A tasting costs 40 EUR for each guest.
- Invoices go out on Monday.

## Deposits

- Half is due when the room is booked.
"""
OPS = """# Deploys

- Use `deploy_prod` for the main site.
- The database is backed up at 02:00.
- `getUserName` fails for guests, see multi-agent notes.
- 向量数据库用于检索。
"""


def found(query: str, **notes: str) -> list[Ranked]:
    """The ranking over notes that are given by their names."""
    index = MemorySearch()
    with index.writing():
        for name, text in notes.items():
            index.put(document(f"memory/domains/general/{name}.md", text.encode()), Stat(0, 0, 0, 0, 0))
        index.finish("")
    wanted = parse(query)
    with index.reading():
        looked_up, _ = candidates(wanted, index, WIDTH, None, None)
        return rank(wanted, looked_up, index.statistics(wanted.terms))


def first(query: str, **notes: str) -> str:
    """The text of the best passage."""
    return found(query, **notes)[0].candidate.piece.text


# -- notes of every day ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("what does a tasting cost", "40 EUR"),
        ("invoices", "Monday"),
        ("when is the deposit due", "Half is due"),
        ("deposits", "Half is due"),
        ("deploy_prod", "deploy_prod"),
        ("user name", "getUserName"),
        ("multi-agent", "getUserName"),
        ("数据库", "向量"),
        ("backups of the database", "02:00"),
        ('"tasting" AND (cost* OR', "40 EUR"),
    ],
)
def test_the_passage_that_answers_comes_first(query: str, part: str):
    assert part in first(query, prices=PRICES, ops=OPS, talk=TALK)


def test_a_note_that_is_found_by_its_tags_alone_is_one_hit():
    hits = found("vineyard", prices=PRICES, ops=OPS)
    assert len(hits) == 1 and hits[0].why == ["vineyard in tags"]


def test_what_holds_no_word_of_the_query_is_no_hit():
    hits = found("main site", prices=PRICES, ops=f"{OPS}\n{'- A long line of other matters. ' * 20}\n")
    assert [hit.candidate.piece.lines for hit in hits] == [(3, 3)]


def test_nothing_is_found_without_words():
    assert found("?!", ops=OPS) == []
    assert found("zeppelin", ops=OPS) == []


def test_more_of_the_query_is_better():
    note = "# N\n\n- The red kite flew.\n\n- The red boat sank.\n\n- A blue kite sank far out at sea beyond the pier.\n"
    assert "red kite" in first("red kite", n=note)


# -- dialogues -------------------------------------------------------------------------------------------


def test_an_answer_is_found_by_the_question_before_it():
    hits = found("Which instrument did Ben learn?", talk=TALK)
    places = [hit.candidate.piece.text for hit in hits[:2]]
    assert any("cello" in text for text in places)
    answer = next(hit for hit in hits if "cello" in hit.candidate.piece.text)
    assert {"answers a question", "said by ben"} <= set(answer.why)


def test_who_is_named_says_it():
    talk = TALK.replace("I never learned", "I repaired my bike too. I never learned")
    assert "**Ben**" in first("What did Ben do with his bike?", talk=talk)
    assert "**Ann**" in first("What did Ann do with her bike?", talk=talk)


def test_a_label_that_is_said_once_is_no_speaker():
    note = "# Shop\n\n- **Pricing**: 200 EUR a day.\n- **Staff**: two.\n- Closed on Sunday.\n"
    hits = found("pricing", shop=note)
    assert "200 EUR" in hits[0].candidate.piece.text and "pricing in text" in hits[0].why
    assert not any(reason.startswith("said by") for hit in hits for reason in hit.why)


def test_a_day_that_is_named_prefers_the_note_of_that_day():
    june = TALK.replace("2023-05-08", "2023-06-10").replace("May", "June")
    hit = found("What did Ben repair on 9 May 2023?", june=june, may=TALK)[0]
    assert hit.candidate.about.date == "2023-05-08" and "date" in hit.why


# -- order -----------------------------------------------------------------------------------------------


def test_the_order_is_the_same_whatever_order_the_candidates_come_in():
    index = MemorySearch()
    with index.writing():
        for name, text in {"a": TALK, "b": TALK, "c": PRICES}.items():
            index.put(document(f"memory/domains/general/{name}.md", text.encode()), Stat(0, 0, 0, 0, 0))
        index.finish("")
    query = parse("Which instrument did Ben learn as a child?")
    with index.reading():
        candidates, statistics = index.search(query.search, WIDTH, BESIDE), index.statistics(query.terms)
    one, two = rank(query, candidates, statistics), rank(query, candidates[::-1], statistics)
    assert [(x.candidate.about.path, x.candidate.number, x.score) for x in one] == [
        (x.candidate.about.path, x.candidate.number, x.score) for x in two
    ]


def test_what_had_no_closer_look_comes_after_what_had_one():
    rows = "\n".join(f"- Row {number} of the ledger." for number in range(CLOSER_LOOK + 60))
    hits = found("ledger rows", big=f"# Big\n\n{rows}\n- The ledger has rows, and rows of the ledger.\n")
    assert len(hits) > CLOSER_LOOK
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in hits)


def test_parts_of_an_answer_in_several_notes_come_before_more_of_the_same_note() -> None:
    hedge = "- Its hedge is green and was planted in spring by the man next door.\n"
    rows = [f"- The roses of row {row} were cut.\n{hedge}" for row in ("one", "two", "six", "nine")]
    other = "# Letters\n\n- A word of mine.\n- The roses of row ten were cut.\n"
    order = [item.candidate.about.path for item in found("which roses were cut", a="".join(rows), b=other)]
    assert [path[-4] for path in order] == ["a", "a", "a", "b", "a"]


def test_a_word_of_that_kind_answers_and_says_so() -> None:
    [hit] = found("which pet", home="- We got a puppy in May.\n", work="- Nothing.\n")
    assert (hit.candidate.piece.text, hit.why) == ("- We got a puppy in May.", ["a word for pet in text"])


def test_the_word_itself_comes_before_one_that_stands_for_it() -> None:
    rows = "- The kids sleep late on Sunday.\n\nNothing here.\n\n- The children sleep late on Monday.\n"
    hits = found("when do the children sleep", a=rows)
    assert hits[0].candidate.piece.text == "- The children sleep late on Monday."
    assert "a word for children in text" in next(hit.why for hit in hits if "kids" in hit.candidate.piece.text)


def test_a_person_of_that_name_is_not_taken_for_a_kind() -> None:
    talk = "# Talk\n\n" + "- **Art**: I like tea.\n- **Ben**: I saw a painting.\n" * 2
    reasons = {reason for hit in found("what does Art like", talk=talk) for reason in hit.why}
    assert "Art in text" in {reason.replace("art in", "Art in") for reason in reasons}
    assert "a word for art in text" not in reasons
