"""The numbered entries of feedback.md: found, numbered, appended, renumbered."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai.notes import feedback

DAY = date(2026, 3, 15)
TEXT = """# Feedback

```markdown
### F900: an example (2026-01-01)
```

### F001: Read the docs first (2026-02-02)
- **Why**: guessed a flag
- **How to apply**: open the manual

### F002: 报告用表格 (确认 2026-02-10)
- **Context**: weekly numbers
- **Why**: read on a phone

## Later

- **Why**: belongs to no entry

#### F003： Full width （确认 2026-02-11）
### F003: Never reply-all
"""


def test_entries_are_found() -> None:
    found = feedback.find(TEXT)
    assert [(item.id, item.line, item.rule, item.date, item.confirmed) for item in found] == [
        ("F001", 7, "Read the docs first", "2026-02-02", False),
        ("F002", 11, "报告用表格", "2026-02-10", True),
        ("F003", 19, "Full width", "2026-02-11", True),
        ("F003", 20, "Never reply-all", "", False),
    ]
    assert (found[0].why, found[0].how, found[0].context) == ("guessed a flag", "open the manual", "")
    assert (found[1].why, found[1].context) == ("read on a phone", "weekly numbers")


def test_the_next_number_is_behind_the_highest() -> None:
    assert feedback.next_number("") == 1
    assert feedback.next_number(TEXT) == 4
    assert feedback.next_number("### F007: a\n", "## F041: b\n") == 42


def test_both_forms_are_read_again() -> None:
    text = feedback.correction(7, "Ask\nfirst", DAY, "it was\n\n### F999: taken", "read ``` it")
    text += feedback.confirmation(8, "Two times (or three)", DAY, "a meeting", "")
    assert text == (
        "### F007: Ask first (2026-03-15)\n- **Why**: it was ### F999: taken\n- **How to apply**: read ``` it\n"
        "### F008: Two times (or three) (确认 2026-03-15)\n- **Context**: a meeting\n"
    )
    assert [(item.number, item.rule, item.confirmed) for item in feedback.find(text)] == [
        (7, "Ask first", False),
        (8, "Two times (or three)", True),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [("", "E\n"), ("a", "a\n\nE\n"), ("a\n", "a\n\nE\n"), ("a\n\n", "a\n\nE\n"), ("a\r\n", "a\r\n\r\nE\r\n")],
)
def test_an_entry_stands_behind_one_empty_line(old: str, new: str) -> None:
    assert feedback.append(old, "E\n") == new


def test_only_later_duplicates_get_another_number() -> None:
    boot = "### F010: kept\n"
    made, done = feedback.renumber({"feedback.md": TEXT, "MEMORY.md": boot})
    assert [(item.line, item.old, item.new) for item in done] == [(20, "F003", "F011")]
    assert made == {"feedback.md": TEXT.replace("### F003: Never", "### F011: Never")}
    assert feedback.renumber(made) == ({}, [])


@given(st.lists(st.integers(1, 5), max_size=12))
def test_renumbering_leaves_each_number_once(numbers: list[int]) -> None:
    text = "".join(f"### F{number:03}: rule {at}\n- **Why**: F{number:03}\n\n" for at, number in enumerate(numbers))
    files, done = feedback.renumber({"feedback.md": text})
    made = files.get("feedback.md", text)
    found = feedback.find(made)
    assert len({item.number for item in found}) == len(found) == len(numbers)
    assert [item.rule for item in found] == [f"rule {at}" for at in range(len(numbers))]
    assert made.count("Why**: F00") == len(numbers) and len(done) == len(numbers) - len(set(numbers))


def test_entries_of_several_files_share_their_numbers() -> None:
    files = {"a.md": "### F001: a\n### F002: b\n", "b.md": "x\n\n### F002: c\r\n### F009: d\n"}
    assert [(item.path, item.line, item.id) for item in feedback.gathered(files)] == [
        ("a.md", 1, "F001"),
        ("a.md", 2, "F002"),
        ("b.md", 3, "F002"),
        ("b.md", 4, "F009"),
    ]
    new, done = feedback.renumber(files)
    assert new == {"b.md": "x\n\n### F010: c\r\n### F009: d\n"}
    assert [(item.path, item.line, item.old, item.new) for item in done] == [("b.md", 3, "F002", "F010")]


@pytest.mark.parametrize(("title", "is_one"), [("F012: Wait", True), ("F1: the races", False), ("Formula", False)])
def test_a_note_named_like_an_entry_is_one(title: str, is_one: bool) -> None:
    assert feedback.is_feedback("", title) is is_one
    assert feedback.is_feedback("feedback", title)
