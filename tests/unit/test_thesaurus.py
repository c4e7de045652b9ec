"""Words that stand for others: what they are good for, and that the list says what it should."""

import pytest

from bonsai.notes import thesaurus
from bonsai.notes.common_words import GLUE
from bonsai.notes.query import parse
from bonsai.notes.stem import stem
from bonsai.notes.thesaurus import stand_ins


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("children", "kids"),
        ("kids", "children"),
        ("allergies", "allergic"),
        ("pets", "puppy"),
        ("postgres", "database"),
        ("bookkeeping", "accountant"),
        ("wireless", "wifi"),
    ],
)
def test_what_says_the_same_or_is_of_that_kind(asked: str, told: str) -> None:
    assert stem(asked) in stand_ins([stem(asked)])[stem(told)]


def test_a_kind_stands_for_none_of_its_members() -> None:
    assert stem("pet") not in stand_ins([stem("puppy")])


def test_each_word_says_all_that_it_stands_for_in_the_order_of_the_query() -> None:
    assert stand_ins(["pet", "anim"])["dog"] == ["pet", "anim"]
    assert stand_ins(["zanzibar", "日本"]) == {}


def test_nothing_stands_for_itself_and_no_word_of_grammar_is_listed() -> None:
    table = thesaurus._table()
    assert not [word for word, others in table.items() if word in others]
    assert not GLUE & table.keys()


def test_every_word_that_is_asked_for_is_a_term_that_a_query_has() -> None:
    """A word that `parse` cuts or drops would never be met."""
    for row in (*thesaurus._SAME.split("\n"), *thesaurus._KINDS.split("\n")):
        for word in row.partition(":")[0].split():
            assert stem(word) in parse(word).terms, word
