"""The terms of a text and of a query."""

import pytest

from bonsai.notes.query import index_terms, parse

# -- words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("multi-agent", {"multi-agent", "multi", "agent"}),
        ("Wi-Fi", {"wi-fi", "wifi"}),
        ("parse_user", {"parse_user", "pars", "user"}),
        ("getUserName", {"get", "user", "name"}),
        ("12:30 v1.2", {"12:30", "12", "30", "v1.2"}),
        ("Deploys DEPLOYED deploying", {"deploi"}),
        ("向量数据库", {"向", "向量", "量数", "数据", "据库"}),
        ("API設計", {"api", "設計"}),
        ("ﬁlms ＡＢＣ", {"film", "abc"}),
        ("STRAßEN", {"strassen"}),
        ("Привет", {"привет"}),
        ("", set()),
        ("?!* ()", set()),
    ],
)
def test_terms(text: str, some: set[str]):
    assert some <= set(index_terms(text))


def test_common_words_are_dropped_unless_there_is_nothing_else():
    assert list(parse("what is the price").terms) == list(parse("price").terms)
    assert list(parse("the").terms) == ["the"]
