"""How notes fall into passages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.notes.passage import passages, visible
from bonsai.notes.prose import lines

NOTE = "memory/domains/general/x.md"
FILLER = "It takes a while to say all of this, since the section has to be longer than a short one may be. " * 4


def spans(text: str, path: str = NOTE) -> list[tuple[int, int]]:
    return [piece.lines for piece in passages(path, text.encode())]


# -- passages --------------------------------------------------------------------------------------------


def test_bullets_and_paragraphs():
    text = f"# T\n\n{FILLER}\ngoes on\n\n- one\n  more of one\n  - below one\n- two\n1. three\n\nlast\n"
    assert spans(text) == [(3, 4), (6, 8), (9, 9), (10, 10), (12, 12)]


def test_a_short_section_is_one_passage_with_its_heading():
    text = f"# T\n\n{FILLER}\n\n## Short\n\nOne line.\n\n## Long\n\n{FILLER}\n\nEnd\n---\n\n- a\n"
    found = passages(NOTE, text.encode())
    assert [(piece.lines, piece.heading) for piece in found] == [
        ((3, 3), "T"), ((5, 7), "Short"), ((11, 11), "Long"), ((13, 16), "End")
    ]  # fmt: skip
    assert found[1].trail == ("T", "Short")
    assert found[1].text == "## Short\n\nOne line."


def test_lines_count_from_the_top_of_the_file():
    assert spans("---\ntitle: T\n---\n\nBody.\n") == [(5, 5)]
    assert spans("\ufeff---\r\ntitle: T\r\n---\r\nBody.\r\n") == [(4, 4)]


def test_a_heading_in_code_is_no_heading():
    text = f"{FILLER}\n\n```\n# not this\n\nsame code\n```\n\n# This\n"
    assert [(piece.lines, piece.heading) for piece in passages(NOTE, text.encode())] == [
        ((1, 1), ""), ((3, 7), ""), ((9, 9), "This")
    ]  # fmt: skip


def test_a_long_passage_is_cut():
    text = "".join(f"row {number}\n" for number in range(40))
    assert spans(text) == [(1, 12), (13, 24), (25, 36), (37, 40)]


def test_the_generated_block_of_a_boot_file_is_left_out():
    text = "hand-written\n\n<!-- bonsai:begin -->\n# Index\n\nzebra\n<!-- bonsai:end -->\n\nafter\n"
    assert spans(text, "MEMORY.md") == [(1, 1), (9, 9)]
    assert spans(text) != [(1, 1), (9, 9)]


def test_a_section_that_is_commented_out_is_no_section():
    text = f"## Project\n<!--\n## Off\n- hidden\n\n-->\n- Rename the shop\n\n### Slot <!-- optional -->\n{FILLER}\n"
    found = [(piece.lines, piece.trail) for piece in passages(NOTE, text.encode())]
    assert found == [((1, 7), ("Project",)), ((10, 10), ("Project", "Slot"))]


def test_a_comment_without_an_end_and_one_in_code_hide_nothing():
    text = f"## A\n<!-- open\n{FILLER}\n\n## B\n{FILLER}\n"
    assert [piece.heading for piece in passages(NOTE, text.encode())] == ["A", "B"]
    text = f"## A\n{FILLER}\n```\n<!--\n```\n\n## B\n{FILLER}\n\n-->\n"
    assert {piece.heading for piece in passages(NOTE, text.encode())} == {"A", "B"}


@settings(max_examples=500)
@given(st.text(alphabet="ab# -=>`\n\r\x0c12.\t!<", max_size=120), st.booleans())
def test_passages_are_lines_of_the_file_in_order(text: str, front: bool):
    text = f"---\ntitle: x\n---\n{text}" if front else text
    rows, last = lines(text), 0
    for piece in passages(NOTE, text.encode()):
        first, end = piece.lines
        assert last < first <= end <= len(rows)
        assert "".join(rows[first - 1 : end]).strip("\r\n") == piece.text and piece.text.strip()
        last = end


@pytest.mark.parametrize(
    ("markdown", "seen"),
    [
        ("**Bold** and *it* and __b__ and `code`", "Bold and it and b and code"),
        ("[text](http://x.y/z) ![pic](a.png)", "text pic"),
        ("[[note]] [[note|shown]]", "note shown"),
        ("snake_case_name and 2 * 3", "snake_case_name and 2  3"),
        ("a \\# b <!-- hidden -->", "a # b"),
        ("~~gone~~", "gone"),
    ],
)
def test_a_heading_is_shown_as_a_reader_sees_it(markdown: str, seen: str):
    assert visible(markdown) == seen
