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
    made, done = feedback.renumber(TEXT, taken=[10])
    assert [(item.line, item.old, item.new) for item in done] == [(20, "F003", "F011")]
    assert made == TEXT.replace("### F003: Never", "### F011: Never")
    assert feedback.renumber(made) == (made, [])


@given(st.lists(st.integers(1, 5), max_size=12))
def test_renumbering_leaves_each_number_once(numbers: list[int]) -> None:
    text = "".join(f"### F{number:03}: rule {at}\n- **Why**: F{number:03}\n\n" for at, number in enumerate(numbers))
    made, done = feedback.renumber(text)
    found = feedback.find(made)
    assert len({item.number for item in found}) == len(found) == len(numbers)
    assert [item.rule for item in found] == [f"rule {at}" for at in range(len(numbers))]
    assert made.count("Why**: F00") == len(numbers) and len(done) == len(numbers) - len(set(numbers))
