"""Recall without an index: how notes fall into passages, and which of them answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.errors import Usage
from bonsai.notes.note import lines
from bonsai.notes.passage import passages, query_terms, rank, visible, words
from bonsai.passes.recall import MAX_TEXT, recall

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


@settings(max_examples=500)
@given(st.text(alphabet="ab# -=>`\n\r\x0c12.\t", max_size=120), st.booleans())
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


# -- words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("multi-agent", {"multi-agent", "multi", "agent"}),
        ("parse_user", {"parse_user", "pars", "user"}),
        ("getUserName", {"get", "user", "name"}),
        ("12:30 v1.2", {"12:30", "12", "30", "v1.2"}),
        ("Deploys DEPLOYED deploying", {"deploy"}),
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
    assert some <= set(words(text))


def test_common_words_are_dropped_unless_there_is_nothing_else():
    assert list(query_terms("what is the price")) == list(query_terms("price"))
    assert list(query_terms("the")) == ["the"]


@settings(max_examples=500)
@given(st.text(max_size=60))
def test_every_word_of_a_text_finds_it(text: str):
    note = (NOTE, text.encode("utf-8", "ignore"))
    for term in query_terms(text):
        assert any(term in words(piece.text) for piece in passages(*note)) or "\0" in text or "---" in text


# -- recall ----------------------------------------------------------------------------------------------

TREE = {
    "memory/domains/business/pricing.md": "---\ntitle: Pricing\ntags: [rates]\ntype: project\n---\n# Pricing\n\n"
    f"{FILLER}\n\n- Events cost 900 euros a day\n- Talks are free\n",
    "memory/domains/business/seo/plan.md": "# Plan\n\nWrite about events every week.\n",
    "memory/domains/general/agents.md": "# File-back ingest lint\nSee multi-agent set-up.\n",
    "memory/domains/general/syntax.md": 'status: done\nretry OR skip (timeout "error)\nC++ and foo*\n',
    "memory/domains/general/old__DELETE.md": "Events of the past.\n",
    "memory/domains/general/_index.md": "# General Index\n\nevents\n",
    "memory/daily/2026-03-04.md": "- met Kim about the Zephyr launch\n",
    "memory/domains/general/stub.md": "---\ntitle: 2026-03-04\ndescription: About billing\naliases: [Invoices]\n---",
    "MEMORY.md": "# Memory\n\n- Owner likes tea\n\n<!-- bonsai:begin -->\nzebra\n<!-- bonsai:end -->\n",
    "memory/domains/general/bad.md": "---\ntitle: a: b\n---\nRuns as a service.\n",
}


def ask(query: str, limit: int = 10, domain: str = "", type: str = "", **more: bytes) -> list[str]:
    notes = [(path, text.encode()) for path, text in TREE.items()]
    return [hit.path.rpartition("/")[2] for hit in recall(query, notes, limit=limit, domain=domain, type=type).hits]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("events every week", "plan.md"),
        ("what do events cost?", "pricing.md"),
        ("File-back", "agents.md"),
        ("multi-agent", "agents.md"),
        ("ingest", "agents.md"),
        ("status: done", "syntax.md"),
        ('timeout "error', "syntax.md"),
        ("retry OR", "syntax.md"),
        ("C++ and foo", "syntax.md"),
        ("foo*", "syntax.md"),
        ("zephyr", "2026-03-04.md"),
        ("billing", "stub.md"),
        ("invoice", "stub.md"),
        ("stub", "stub.md"),
        ("rates", "pricing.md"),
        ("tea", "MEMORY.md"),
        ("Runs as a service", "bad.md"),
    ],
)
def test_what_is_found_first(query: str, first: str):
    assert ask(query)[:1] == [first]


@pytest.mark.parametrize(
    "query", ["NOT", "(", '"', "a AND", "NEAR(a b", "{x}:y", "^", "';--", "*", "a" * 10000, "\0", "\udcff"]
)
def test_no_punctuation_is_syntax(query: str):
    assert isinstance(ask(query), list)


def test_archives_indexes_and_the_generated_block_are_not_found():
    assert "old__DELETE.md" not in ask("past") and ask("zebra") == [] and "_index.md" not in ask("events")


def test_domain_and_type_and_limit():
    assert set(ask("events", domain="business")) == {"pricing.md", "plan.md"}
    assert ask("events", domain="business/seo") == ["plan.md"] == ask("events", domain="Business/SEO/")
    assert ask("events", domain="busi") == []
    assert set(ask("events", type="project")) == {"pricing.md"}
    assert len(ask("events", limit=1)) == 1


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_a_usage_error(query: str):
    with pytest.raises(Usage):
        ask(query)


def test_a_limit_below_one_is_a_usage_error():
    with pytest.raises(Usage):
        ask("events", limit=0)


def test_a_hit_says_where_and_why():
    hits = recall("deploy", [(NOTE, b"---\ntitle: 12:30\n---\n\n# On *deploy*\n\nWe deploy.\n")], limit=5).hits
    (hit,) = hits
    assert (hit.path, hit.lines, hit.heading, hit.title, hit.tier) == (NOTE, (5, 7), "On deploy", "12:30", "warm")
    assert hit.why == ["deploy in text", "deploy in heading"] and hit.score > 0
    assert hit.text == "# On *deploy*\n\nWe deploy."


def test_damaged_notes_are_found_by_what_can_be_read():
    notes = [(NOTE, b"# Old\ncaf\xe9 \x93quoted\x94\n"), ("memory/n.md", b"good part\n" + bytes(65536))]
    assert [hit.path for hit in recall("quoted", notes, limit=5).hits] == [NOTE]
    (hit,) = recall("good part", notes, limit=5).hits
    assert (hit.path, hit.text) == ("memory/n.md", "good part")


def test_a_hit_cannot_drive_the_terminal():
    (hit,) = recall(
        "red", [(NOTE, b'---\ntitle: "a\\e[2J"\n---\n# \x1b[31mH\n\n\x1b[31mred\x9b2J\r\n\tx\n')], limit=5
    ).hits
    assert "\x1b" not in hit.text + hit.title + hit.heading and "red" in hit.text and "\t" in hit.text


def test_a_huge_line_is_not_returned_whole():
    (hit,) = recall("word", [(NOTE, b"word " * 600_000)], limit=5).hits
    assert len(hit.text) <= MAX_TEXT


def test_chinese_is_found_by_its_pairs():
    notes = [(NOTE, "我们使用向量数据库。\n".encode()), ("memory/n.md", "据说库存\n".encode())]
    assert [found.path for found in rank("数据库", notes, 5)] == [NOTE]
    assert [found.path for found in rank("库", notes, 5)] != []


def test_a_rare_word_weighs_more_than_a_frequent_one():
    notes = [(f"memory/n{number}.md", b"meeting about budget\n") for number in range(20)]
    notes += [("memory/z.md", b"meeting about zeppelins\n")]
    assert rank("meeting zeppelin", notes, 3)[0].path == "memory/z.md"


def test_equal_hits_come_in_the_order_of_their_paths():
    notes = [(f"memory/{name}.md", b"same words\n") for name in "cab"]
    assert [found.path for found in rank("same", notes, 5)] == ["memory/a.md", "memory/b.md", "memory/c.md"]
