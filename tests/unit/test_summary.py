"""Summaries: what an index may show of a note, and what is wrong with it."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.notes.layout import MAX_PARSED
from bonsai.notes.printed import MAX_LEAD, clean, count_tokens
from bonsai.notes.problem import CODES
from bonsai.notes.summary import Summary, summarise

PATH = "memory/domains/general/x.md"


def of(text: str | bytes, size: int | None = None) -> Summary:
    data = text.encode() if isinstance(text, str) else text
    return summarise(PATH, data, len(data) if size is None else size)


def codes(summary: Summary) -> list[str]:
    return [problem.code for problem in summary.problems]


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("plain\n", "plain"),
        ("# Title\n\nFirst words.\nMore.", "First words."),
        ("Title\n=====\n\nFirst words.", "First words."),
        ("Title\n---\nFirst words.", "First words."),
        ("---\ntitle: T\n---\n\nBody.", "Body."),
        ("---\r\ntitle: T\r\n---\r\nLine one\r\n", "Line one"),
        ("---\ndescription: In short\n---\nBody.", "In short"),
        ("---\ntitle: a: b\n---\nBody.", "Body."),
        ("---\n\nProse first.\n\n---\n\nSecond.", "Prose first."),
        ("---\na: 1\na: 2\n---\nBody.", "Body."),
        ("***\n___\n- - -\n* * *\n\ntext", "text"),
        ("<!-- one line -->\n<!--\nmany\n--> \ntext", "text"),
        ("<!-- c --> behind", "behind"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |"),
        ("|---|---|\n| 1 | 2 |", "| 1 | 2 |"),
        ("- [ ] open task", "open task"),
        ("- [x] done", "done"),
        ("> quoted", "quoted"),
        (">quoted", "quoted"),
        ("> - 1. deep", "deep"),
        ("12) twelve", "twelve"),
        ("-5 degrees", "-5 degrees"),
        ("```sh\nls -l\n```\nThen this.", "Then this."),
        ("```sh\nls -l\n```\n", "ls -l"),
        ("# Only a heading", "Only a heading"),
        ("## C#\n", "C#"),
        ("## Closed ##\n", "Closed"),
        ("---\ntitle: Stub\ndomain: general\n---", "Stub"),
        ("", ""),
        ("\n \t\n", ""),
        ("#hashtag first", "#hashtag first"),
        ("    indented", "indented"),
        ("<<<<<<< HEAD\nours\n\n=======\ntheirs\n>>>>>>> side\n", "ours"),
    ],
)
def test_the_lead_is_the_first_line_that_says_something(text: str, lead: str):
    assert of(text).lead == lead


def test_a_lead_is_cut_and_its_white_space_collapsed():
    assert of("a  \t b").lead == "a b"
    lead = of("word " * 1000).lead
    assert len(lead) <= MAX_LEAD and lead.endswith("word…")
    assert len(of("x" * 3_000_000).lead) == MAX_LEAD


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link", "link"),
        ("a\u200bb\u202ec\ufeffd\u2066e", "abcde"),
        ("bell\x07 nul\0 esc\x1b", "bell nul esc"),
        ("<!-- bonsai:begin --> x", "bonsai:begin x"),
        ("<!<!---- x ----!>>", "<! -- x ----!>>"),
        ("a\u2028b\x0cc\x85d", "a b c d"),
        ("e\u0301 日本 😀 naïve", "e\u0301 日本 😀 naïve"),
        ("tag\U000e0041s", "tags"),
    ],
)
def test_what_is_printed_is_made_safe(text: str, shown: str):
    assert clean(text) == shown


@settings(max_examples=500)
@given(st.text(max_size=400))
def test_a_cleaned_text_is_one_safe_line(text: str):
    shown = clean(text)
    assert shown.isprintable() and len(shown) <= MAX_LEAD
    assert "<!--" not in shown and "-->" not in shown
    assert clean(shown) == shown


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 2026-03-04\n---\n# H", "2026-03-04"),
        ("---\ntitle: 12:30\n---\n", "12:30"),
        ("---\ntitle: [a, b]\n---\n", "a, b"),
        ("---\ntitle: {a: b}\n---\n# H", "H"),
        ("---\ntitle:\n---\ntext\n\n## H", "H"),
        ("text only", ""),
        ("```\n# code\n```\n# Real", "Real"),
        ("Setext\n===\n", "Setext"),
    ],
)
def test_the_title_is_as_written(text: str, title: str):
    assert of(text).title == title


def test_names_type_and_key():
    found = of("---\ntitle: A b\nname: a-b\naliases: [Ab, A.B.]\nmetadata: {type: user}\nkey: k/1\n---\n")
    assert found.names == ("A b", "a-b", "Ab", "A.B.")
    assert (found.type, found.key) == ("user", "k/1")
    assert of("---\ntype: [a]\nalias: one\n---\n").names == ("one",)
    assert of("---\ntype: null\n---\nx").type == ""


@pytest.mark.parametrize(
    ("fields", "dated", "wrong"),
    [
        ("created: 2026-3-4", "2026-03-04", 0),
        ("created: 2026-03-04\nupdated: 2026-02-01", "2026-03-04", 0),
        ("created: 2026-03-04\nupdated: 2026-03-04T01:00:00Z", "2026-03-04T01:00:00+00:00", 0),
        ("updated: '2026-03-04 10:00'", "2026-03-04T10:00:00", 0),
        ("updated: 2026-03-04T10:00:00.123+0530", "2026-03-04T10:00:00+05:30", 0),
        ("updated: 2026-03-04T10:00:00-08", "2026-03-04T10:00:00-08:00", 0),
        ("created:\nupdated: ~", "", 0),
        ("created: yesterday", "", 1),
        ("created: 2026-02-30", "", 1),
        ("created: 0000-01-01", "", 1),
        ("created: [2026-01-01]", "", 1),
        ("created: soon\nupdated: 2026-01-02", "2026-01-02", 1),
        ("updated: 2026-01-01T10:00:00+99:00", "", 1),
        ("updated: 0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00", 0),
    ],
)
def test_dates(fields: str, dated: str, wrong: int):
    found = of(f"---\n{fields}\n---\nx")
    assert (found.dated, codes(found)) == (dated, ["bad-date"] * wrong)


def test_an_archiving_date():
    assert of("---\narchived: 2026-03-04T10:00:00+00:00\n---\nx").archived == "2026-03-04T10:00:00+00:00"
    assert codes(of("---\narchived: never\n---\nx")) == ["bad-date"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"# Old note\ncaf\xe9 at 5\n", "not-utf8"),
        ("# Title\ntext".encode("utf-16"), "not-utf8"),
        (b"good part\n" + bytes(65536), "binary"),
        (b"---\ntitle: a: b\n---\nx", "bad-frontmatter"),
        (b"---\na: 1\na: 2\n---\nx", "duplicate-key"),
        (b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> c\n", "conflict-markers"),
    ],
)
def test_problems_are_named_and_say_what_to_do(data: bytes, code: str):
    found = of(data)
    assert codes(found) == [code]
    problem = found.problems[0]
    assert problem.path == PATH and problem.message.endswith(".") and problem.severity == CODES[code]
    assert "\0" not in found.lead + found.title


def test_a_damaged_note_is_still_shown_by_what_can_be_read():
    assert of(b"good part\n" + bytes(65536)).lead == "good part"
    assert of("# Title\ntext".encode("utf-16")).lead == "text"
    assert of(b"caf\xe9 at 5").lead == "caf\ufffd at 5"


def test_only_conflict_markers_hold_a_note_back():
    assert of("---\ntitle: P\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n---\nText").held
    assert not of("# Title\n=======\ntext").held
    assert not of(b"\xff\0").held


def test_prose_between_two_rules_is_said_but_no_alarm():
    found = of("---\n\nProse.\n\n---\n\nMore.")
    assert [(item.code, item.severity) for item in found.problems] == [("bad-frontmatter", "info")]


def test_a_note_that_is_too_large_is_judged_by_its_first_part():
    part = b"word " * (MAX_PARSED // 5)
    found = summarise(PATH, part, 10 * len(part))
    assert codes(found) == ["too-large"] and found.tokens == 10 * (len(part) // 4)
    cut = ("é" * MAX_PARSED).encode()[: MAX_PARSED + 1]
    assert codes(summarise(PATH, cut, 2 * MAX_PARSED)) == ["too-large"]  # a character cut in two is no bad byte
    assert summarise(PATH, b"", 5_000_000).tokens == 0


def test_blank():
    assert of("").blank and of(" \n\t\r\n").blank and of(b"\xef\xbb\xbf\n").blank and of(bytes(100)).blank
    assert not of("x").blank and not of("---\na: b\n---\n").blank and not of("#").blank


def test_tokens():
    assert count_tokens("") == 0
    assert count_tokens("abcd" * 100) == 100
    assert count_tokens("日本語") == 3 == count_tokens("ひらが") == count_tokens("한국어")
    assert count_tokens("日本語abcd") == 4
    assert count_tokens("é" * 8) == 2
    assert of("---\ntitle: abc\n---\nbody").tokens == len("---\ntitle: abc\n---\nbody") // 4


def test_links_are_those_of_the_body():
    assert of("---\nsee: '[x](front.md)'\n---\n[a](b.md) and [[c|d]]\n").links == ("b.md", "[[c]]")


@settings(max_examples=500)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore")))
def test_any_bytes_can_be_summed_up(data: bytes):
    for variant in (data, b"---\n" + data + b"\n---\n" + data):
        found = of(variant)
        assert len(found.lead) <= MAX_LEAD and found.lead.isprintable() and found.title.isprintable()


def test_a_typical_note_takes_no_time():
    body = (
        b"# Deploy\n\nRun the smoke test. See [x](y.md).\n\n" + b"- a bullet about something that matters here\n" * 20
    )
    front = b"---\ntitle: Deploy\ncreated: 2026-03-04\ntags: [a, b]\ntype: project\n---\n"
    for data, most in ((body, 150e-6), (front + body, 400e-6)):
        best = min(_cost(data) for _ in range(5))
        assert best < most


def _cost(data: bytes) -> float:
    start = time.process_time()
    for _ in range(100):
        of(data)
    return (time.process_time() - start) / 100
