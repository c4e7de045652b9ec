"""What a note names that can be checked, what is not worth remembering, and what of MEMORY.md can go elsewhere."""

import pytest

from bonsai.notes import claims, worth
from bonsai.notes.piece import pieces

NOTE = b"""---
paths: [src/none.py]
---
# Shop

The importer is `load_prices()` in `src/shop/prices.py`, started by /opt/shop/run.sh with `--dry-run`.
Docs: https://example.com/shop/manual. Runs on Python 3.11 and postgres==15.2; costs 8.50, about 1.5 hours.

- 2026-02-03: moved `old.py` away
- either/or, and/or, 24/7, TCP/IP

```sh
cat hidden.py
```

## User

Keeps her notes in `diary.md`.
"""


def test_what_a_note_names() -> None:
    assert {(item.kind, item.name) for item in claims.find(NOTE)} == {
        ("function", "load_prices"),
        ("file", "src/shop/prices.py"),
        ("file", "/opt/shop/run.sh"),
        ("option", "--dry-run"),
        ("url", "https://example.com/shop/manual"),
        ("version", "Python 3.11"),
        ("version", "postgres 15.2"),
    }
    assert {item.line for item in claims.find(NOTE)} == {6, 7}


@pytest.mark.parametrize(
    ("path", "front", "technical"),
    [
        ("memory/topics/server.md", b"", True),
        ("memory/domains/infrastructure/cron.md", b"", True),
        ("memory/domains/x/a.md", b"---\ntype: reference\n---\n", True),
        ("memory/domains/x/a.md", b"---\ntype: user\n---\n", False),
        ("memory/domains/x/a.md", b"---\nmetadata:\n  type: feedback\n---\n", False),
        ("memory/domains/identity/a.md", b"", False),
        ("memory/feedback.md", b"", False),
        ("memory/daily/2026-03-15.md", b"", False),
        ("memory/2026-03-15.md", b"", False),
        ("memory/domains/x/a__DELETE.md", b"", False),
    ],
)
def test_which_notes_are_checked(path: str, front: bytes, technical: bool) -> None:
    assert claims.is_technical(path, front + b"See `a.py`.\n") is technical


UNWORTHY = {
    "live-data": [
        "The current weather in Malmö is mild.",
        "ACME is trading at 41.20.",
        "Exchange rate is 11.3 today.",
        "It's now 14:05.",
        "今天的天气很好。",
        "AAPL股价：190",
    ],
    "code-structure": [
        "The function `parse_row()` is defined in `src/rows.py`.",
        "Tests live in `tests/`.",
        "Project structure: src, tests, docs.",
        "The module `billing` handles refunds.",
        "项目结构：src 和 tests。",
    ],
    "git-history": [
        "Fixed in commit 1a2b3c4d.",
        "Kim merged PR 12.",
        "PR #12 was merged.",
        "Recent changes: the parser.",
        "git log shows that Lee wrote it.",
        "最近的提交改了解析器。",
    ],
    "fix-recipe": [
        "Fixed the timeout by raising the limit.",
        "The workaround is to restart it.",
        "Root cause: a stale lock.",
        "The crash was caused by a null.",
        "修复方法：重启。",
    ],
    "ephemeral": [
        "Currently debugging the import.",
        "The migration is in progress.",
        "As said earlier in this conversation.",
        "Still waiting for the build.",
        "正在调试导入。",
    ],
}
WORTHY = [
    "Mara prefers tea and works from Gothenburg.",
    "The boathouse contract runs until 31 December 2027.",
    "Prices include VAT; the hall costs 14,500 kr a month.",
    "Decision: one writer, because two lost edits.",
    "The print shop in Kiel needs three days.",
    "She likes the weather in Malmö better.",
    "The backup server is in the cellar.",
    "Send the invoice before the first of the month.",
    "他喜欢喝茶。",
    "Known issue: the terminal loses its network when the dishwasher runs.",
]


@pytest.mark.parametrize("kind", UNWORTHY)
def test_what_is_not_worth_it_is_flagged(kind: str) -> None:
    missed = [text for text in UNWORTHY[kind] if kind not in {flag.kind for flag in worth.find(text)}]
    assert not missed


@pytest.mark.parametrize("text", WORTHY)
def test_what_is_worth_it_is_not(text: str) -> None:
    assert worth.find(text) == []


def test_what_the_projects_documents_say() -> None:
    documented = {worth.key("- **Run** `make check` before each push to the main branch.")}
    [flag] = worth.find("> Run make check before each push to the main branch.\n", documented)
    assert (flag.kind, flag.line) == ("documented", 1)
    assert "documents" in flag.advice


def test_frontmatter_is_exempt() -> None:
    assert worth.find("---\ncommands: [git log shows]\nnow: in progress\n---\nTea.\n") == []


def test_pieces_of_a_boot_file() -> None:
    long = "- a bullet of some length, so that it is worth a file of its own\n" * 6
    text = (
        f"# Top\n\n## User\n\n{long}\n## Reference\n\nIntro\n\n### One\n\n{long}\n### Two\n\n{long}\n## Odd\n\n{long}"
    )
    own = text.encode()
    found = pieces(own)
    assert [(item.section, item.heading) for item in found] == [
        ("reference", "One"),
        ("reference", "Two"),
        ("odd", "Odd"),
    ]
    for item in found:
        assert own[item.start : item.end].startswith((b"### One", b"### Two", b"## Odd"))
        assert own.count(b"\n", 0, item.start) == item.line
    assert found[0].end == found[1].start
