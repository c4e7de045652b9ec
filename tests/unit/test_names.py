"""Names and links are looked at as they change; what is told is what a look at everything would tell."""

import time
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from bonsai.notes.change import Row, Stat
from bonsai.notes.names import Names, names_of
from bonsai.notes.problem import Problem
from bonsai.notes.summary import summarise

PATHS = [
    "memory/domains/a/x.md",
    "memory/domains/a/X.md",
    "memory/domains/a/x (1).md",
    "memory/domains/a/caf\u00e9.md",
    "memory/domains/a/cafe\u0301.md",
    "memory/domains/b/y.md",
    "memory/domains/b/y__DELETE.md",
    "memory/domains/b/pic.png",
]
TEXTS = [
    "# Plain\n",
    "# Links\n\n[x](../a/x.md) [gone](../c/gone.md) [[y]]\n",
    "# Yonder\n\n[[Plain]] [[a/x]] [p](pic.png)\n",
    "---\naliases: [plain, yonder]\n---\n\n[[Links]] [[cafe\u0301]]\n",
]


def row(path: str, text: str) -> Row:
    data = text.encode()
    summary = summarise(path, data, len(data)) if path.endswith(".md") else None
    return Row(path, Stat(len(data), 1, 1, 1, 0o100644), "blob", summary=summary)


def told(rows: Mapping[str, Row], names: Names | None = None) -> list[Problem]:
    names = names or Names()
    names.update(rows)
    return list(names.problems(lambda path: False))


def test_spellings_that_some_disk_cannot_tell_apart_are_named_together() -> None:
    rows = {path: row(path, "# T\n") for path in PATHS[:2] + PATHS[3:5]}
    found = told(rows)
    assert [(item.code, item.path) for item in found] == [("case-clash", PATHS[1]), ("case-clash", PATHS[4])]
    assert PATHS[0] in found[0].message
    assert PATHS[3] in found[1].message
    assert told({}) == []


def test_a_copy_is_one_only_beside_its_note() -> None:
    rows = {path: row(path, "# T\n") for path in (PATHS[0], PATHS[2])}
    names = Names()
    assert [item.path for item in told(rows, names)] == [PATHS[2]]
    del rows[PATHS[0]]
    assert told(rows, names) == []


def test_a_link_breaks_and_is_mended_by_what_happens_elsewhere() -> None:
    source, target = PATHS[5], PATHS[0]
    rows = {source: row(source, "[x](../a/x.md) [[The X]]\n"), target: row(target, "# The X\n")}
    names = Names()
    assert told(rows, names) == []
    rows[target] = row(target, "# Another title\n")
    assert [item.message.split()[2] for item in told(rows, names)] == ["[[The"]
    del rows[target]
    assert len(told(rows, names)) == 2
    rows[target] = row(target, "# The X\n")
    assert told(rows, names) == []


CHANGES = st.lists(st.tuples(st.sampled_from(PATHS), st.none() | st.sampled_from(TEXTS)), max_size=12)


@given(st.lists(CHANGES, max_size=6))
def test_step_by_step_is_as_good_as_at_once(steps: list[list[tuple[str, str | None]]]) -> None:
    rows: dict[str, Row] = {}
    names = Names()
    for changes in steps:
        for path, text in changes:
            if text is None:
                rows.pop(path, None)
            else:
                rows[path] = row(path, text)
        assert told(rows, names) == told(rows)
        assert all(names.is_taken(path) for path in rows)


def test_one_more_name_costs_little_in_a_large_tree() -> None:
    rows = {}
    for number in range(4000):
        path = f"memory/domains/d{number % 20}/n{number}.md"
        rows[path] = row(path, f"# Note {number}\n\n[next](n{(number + 20) % 4000}.md) [[Note {number // 2}]]\n")
    memo: dict[str, Names] = {}

    def cost() -> float:
        begun = time.process_time()
        names_of(memo, rows)
        return time.process_time() - begun

    whole, more = cost(), []
    for number in range(5):
        path = f"memory/domains/new/m{number}.md"
        rows[path] = row(path, f"# More {number}\n\n[[Note 7]]\n")
        more.append(cost())
    assert min(more) < whole / 5
    assert list(memo["names"].problems(lambda path: False)) == []
