"""Merging two versions of a file: nothing is lost, both sides of a merge come to the same bytes, no markers."""

import json
import re
import time
from hashlib import sha1

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.notes import boot
from bonsai.notes.merge import Merged, Side, conflict_name, healed, merge
from bonsai.notes.merge_passages import MARK, passages
from bonsai.notes.note import parse
from bonsai.notes.prose import conflicted

NOTE = "memory/domains/general/a.md"


def side(data: str | bytes, time: int = 100) -> Side:
    raw = data.encode() if isinstance(data, str) else data
    return Side(raw, time, sha1(raw).hexdigest())


def both_ways(path: str, base: str | bytes | None, one: Side, other: Side) -> Merged:
    was = base.encode() if isinstance(base, str) else base
    found = merge(path, was, one, other)
    assert merge(path, was, other, one) == found
    return found


def text(base: str | None, earlier: str, later: str) -> tuple[str, bool]:
    """The merge of two versions of a note, the second committed later."""
    found = both_ways(NOTE, base, side(earlier, 100), side(later, 200))
    assert found.beside is None
    return found.data.decode(), found.both


BULLETS = "# Plan\n\n- one\n- two\n- three\n"


def test_what_only_one_side_changed_is_taken() -> None:
    assert text(BULLETS, BULLETS, BULLETS.replace("two", "2")) == (BULLETS.replace("two", "2"), False)
    assert text(BULLETS, BULLETS.replace("two", "2"), BULLETS) == (BULLETS.replace("two", "2"), False)
    assert text(BULLETS, "", BULLETS) == ("", False)


def test_edits_of_different_passages_meet() -> None:
    merged = text(BULLETS, BULLETS.replace("one", "1"), BULLETS.replace("two", "2"))
    assert merged == ("# Plan\n\n- 1\n- 2\n- three\n", False)


def test_additions_at_one_place_are_both_kept_the_earlier_first() -> None:
    assert text(BULLETS, BULLETS + "- a\n", BULLETS + "- b\n") == (BULLETS + "- a\n- b\n", False)
    assert text(BULLETS, BULLETS + "- a\n- same\n", BULLETS + "- b\n- same\n") == (
        BULLETS + "- a\n- b\n- same\n",
        False,
    )


def test_additions_to_what_the_other_side_edited() -> None:
    merged = text(BULLETS, BULLETS.replace("three", "3"), BULLETS + "- four\n")
    assert merged == ("# Plan\n\n- one\n- two\n- 3\n- four\n", False)


def test_two_edits_of_one_passage_are_both_kept_and_said() -> None:
    merged, both = text(BULLETS, BULLETS.replace("two", "2"), BULLETS.replace("two", "II"))
    assert both
    assert merged == f"# Plan\n\n- one\n- II\n{MARK.decode()}- 2\n- three\n"
    assert text(merged, merged, merged) == (merged, False)


def test_a_passage_is_the_whole_paragraph() -> None:
    base = "The fair is\nin May\nat noon.\n"
    merged, both = text(base, base.replace("fair", "market"), base.replace("noon", "ten"))
    assert both
    assert merged == f"The fair is\nin May\nat ten.\n{MARK.decode()}The market is\nin May\nat noon.\n"


def test_of_a_nested_bullet_the_mark_stands_as_far_in() -> None:
    base = "- a\n  - b\n"
    merged, _ = text(base, "- a\n  - b1\n", "- a\n  - b2\n")
    assert merged == f"- a\n  - b2\n  {MARK.decode()}  - b1\n"


def test_rows_of_a_table_and_lines_of_a_fence_meet() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
    merged = text(table, table.replace("| 1 |", "| 9 |"), table + "| 5 | 6 |\n")
    assert merged == (table.replace("| 1 |", "| 9 |") + "| 5 | 6 |\n", False)
    fence = "```sh\none\n\n- two\nthree\n```\n"
    assert text(fence, fence.replace("one", "1"), fence.replace("three", "3")) == (
        "```sh\n1\n\n- two\n3\n```\n",
        False,
    )
    merged_fence, both = text(fence, fence.replace("one", "1"), fence.replace("one", "I"))
    assert both and merged_fence == fence.replace("one", "I") + MARK.decode() + fence.replace("one", "1")


def test_a_passage_that_was_deleted_here_and_edited_there_stays_edited() -> None:
    assert text(BULLETS, BULLETS.replace("- two\n", ""), BULLETS.replace("two", "2"))[0] == BULLETS.replace("two", "2")


def test_paragraphs_from_both_sides_do_not_melt_into_one() -> None:
    assert text("# T\n", "# T\n\nfrom one\n", "# T\n\nfrom two\n") == ("# T\n\nfrom one\n\nfrom two\n", False)


def test_sections_from_both_sides_stay_whole() -> None:
    merged, _ = text("# T\n", "# T\n\n## Tue\n\n- a\n", "# T\n\n## Wed\n\n- b\n")
    assert merged == "# T\n\n## Tue\n\n- a\n## Wed\n\n- b\n"


def test_a_daily_note_that_both_made() -> None:
    assert text(None, "# 2026-03-15\n\n- a\n", "# 2026-03-15\n\n- b\n") == ("# 2026-03-15\n\n- a\n- b\n", False)


# -- frontmatter ---------------------------------------------------------------------------------------------


def note(*keys: str, body: str = "Text.\n") -> str:
    return "".join(["---\n", *(f"{key}\n" for key in keys), "---\n", body])


def test_different_keys_meet() -> None:
    merged = text(note("a: 1", "b: 1"), note("a: 2", "b: 1"), note("a: 1", "b: 2", "c: 3"))
    assert merged == (note("a: 2", "b: 2", "c: 3"), False)


def test_of_one_key_the_later_value_counts_and_the_other_stays_visible() -> None:
    merged, both = text(
        note("importance: 0.5", "b: 1"), note("importance: 0.4", "b: 1"), note("importance: 0.9", "b: 1")
    )
    assert both
    assert merged == note("importance: 0.9", "# bonsai: both kept, the other device has: importance: 0.4", "b: 1")
    assert parse(merged.encode()).fields == {"importance": "0.9", "b": "1"}


def test_the_earlier_value_counts_where_only_that_was_edited() -> None:
    assert text(note("a: 1"), note("a: 2"), note("a: 1"))[0] == note("a: 2")
    assert text(note("a: 1", "b: 1"), note("b: 1"), note("a: 1", "b: 2")) == (note("b: 2"), False)


def test_a_key_deleted_here_and_edited_there_stays() -> None:
    assert text(note("a: 1", "b: 1"), note("b: 1"), note("a: 2", "b: 1"))[0] == note("a: 2", "b: 1")


def test_items_that_both_sides_added_to_a_list() -> None:
    merged = text(note("tags: [x, y]"), note("tags: [x, y, one]"), note("tags: [y, two]"))
    assert merged == (note("tags: [y, two, one]"), False)
    block, both = text(note("tags:", "  - x"), note("tags:", "  - x", "  - one"), note("tags:", "  - x", "  - two"))
    assert both and {"one", "two"} <= set(re.findall(r"\w+", block))
    assert not parse(block.encode()).fault


def test_comments_and_odd_values_survive() -> None:
    base = note("# mine", "code: 007", 'zip: "01234"  # keep', "text: |", "  a: b", "  - c", "end: 1")
    merged, both = text(base, base.replace("end: 1", "end: 2"), base.replace("007", "008"))
    assert (merged, both) == (base.replace("end: 1", "end: 2").replace("007", "008"), False)


def test_frontmatter_that_does_not_parse_is_kept_twice() -> None:
    base = note("a: [1")
    merged, both = text(base, note("a: [2"), note("a: [3"))
    assert both
    assert merged.startswith("---\na: [3\n---\n") and "a: [2" in merged and merged.count("Text.") == 1


def test_both_made_a_note_with_frontmatter() -> None:
    merged, both = text(None, note("title: A", body="# A\n\nx\n"), note("title: B", body="# A\n\ny\n"))
    assert both and merged.count("title: B") == 1 and "has: title: A" in merged
    assert merged.endswith("---\n# A\n\nx\n\ny\n")


# -- the form of the bytes -----------------------------------------------------------------------------------


def test_line_ends_a_bom_and_a_missing_last_line_end_stay() -> None:
    base = BULLETS.replace("\n", "\r\n").encode()
    one, other = base.replace(b"one", b"1"), base.replace(b"three", b"3")
    assert both_ways(NOTE, base, side(one), side(other)).data == one.replace(b"three", b"3")
    bom = b"\xef\xbb\xbf---\na: 1\n---\n" + BULLETS.encode()
    assert both_ways(
        NOTE, bom, side(bom.replace(b"one", b"1")), side(bom.replace(b"a: 1", b"a: 2"))
    ).data == bom.replace(b"one", b"1").replace(b"a: 1", b"a: 2")
    bare = "- one\n- two"
    assert text(bare, "- 1\n- two", "- one\n- two\n- three") == ("- 1\n- two\n- three", False)


def test_one_side_changed_the_line_ends_and_the_other_a_line() -> None:
    base = BULLETS.encode()
    crlf = base.replace(b"\n", b"\r\n")
    merged = both_ways(NOTE, base, side(crlf), side(base.replace(b"two", b"2"))).data
    assert merged == crlf.replace(b"two", b"2")


def test_bytes_that_are_no_utf8() -> None:
    base = b"- caf\xe9\n- b\n"
    assert (
        both_ways(NOTE, base, side(b"- caf\xe9!\n- b\n"), side(b"- caf\xe9\n- b\xff\n")).data
        == b"- caf\xe9!\n- b\xff\n"
    )


# -- other files ---------------------------------------------------------------------------------------------


def test_of_a_binary_file_the_later_stays_and_the_other_is_kept_beside() -> None:
    found = both_ways("memory/pic.png", b"\0a", side(b"\0b", 1), side(b"\0c", 2))
    assert (found.data, found.both) == (b"\0c", True)
    assert found.beside is not None and found.beside.data == b"\0b"
    assert re.fullmatch(r"memory/pic\.conflict-[0-9a-f]{7}\.png", conflict_name("memory/pic.png", found.beside.oid))


def test_names_of_what_is_kept_beside() -> None:
    assert conflict_name("memory/a.b/x", "1" * 40) == "memory/a.b/x.conflict-1111111"
    assert conflict_name("memory/.gitignore", "1" * 40) == "memory/.gitignore.conflict-1111111"
    assert conflict_name("memory/MEMORY.md.bak", "1" * 40) == "memory/MEMORY.md.bak.conflict-1111111.txt"


def test_the_original_memory_is_the_first_one() -> None:
    found = both_ways("memory/MEMORY.md.bak", None, side("first\n", 1), side("second\n", 2))
    assert found.data == b"first\n" and found.beside is not None and found.beside.data == b"second\n"


def test_the_log_of_purges_holds_the_entries_of_both() -> None:
    entries = [{"file": name, "purged_at": f"2026-01-0{day}T00:00:00Z"} for day, name in enumerate("abc", 1)]
    dumped = [json.dumps(entries[:1]), json.dumps([entries[0], entries[2]]), json.dumps(entries[:2])]
    found = both_ways("memory/_purge_log.json", dumped[0], side(dumped[1]), side(dumped[2]))
    assert json.loads(found.data) == entries and not found.both
    damaged = both_ways("memory/_purge_log.json", dumped[0], side("{"), side(dumped[2]))
    assert damaged.beside is not None


def test_settings_stay_sound() -> None:
    base = "[purge]\ngrace_days = 180\n"
    found = both_ways(
        "bonsai.toml", base, side(base + "ask_over = 5\n", 1), side(base + "\n[commit]\nlock_seconds = 5\n", 2)
    )
    assert b"ask_over = 5" in found.data and b"lock_seconds = 5" in found.data
    twice = both_ways("bonsai.toml", base, side(base.replace("180", "90"), 1), side(base.replace("180", "365"), 2))
    assert twice.both and twice.data.startswith(b"[purge]\ngrace_days = 365\n") and b"# grace_days = 90" in twice.data


def test_rules_of_git_are_united() -> None:
    found = both_ways("memory/.gitignore", "a\n", side("a\nb\n", 1), side("a\nc\n", 2))
    assert (found.data, found.both) == (b"a\nb\nc\n", False)


def memory(hand: str, time: str, index: str = "x") -> str:
    return boot.splice(hand.encode(), f"# Last regenerated: {time}\n{index}").decode()


def test_memory_md_is_merged_around_its_block() -> None:
    base = memory("# Me\n\n- one\n- two\n", "2026-01-01T00:00:00Z")
    one = memory("# Me\n\n- 1\n- two\n", "2026-01-03T00:00:00Z", "y")
    other = memory("# Me\n\n- one\n- two\n- three\n", "2026-01-02T00:00:00Z", "z")
    found = both_ways("MEMORY.md", base, side(one, 1), side(other, 2))
    assert not found.both and found.beside is None
    assert boot.strip(found.data) == b"# Me\n\n- 1\n- two\n- three\n"
    assert boot.current(found.data) == "# Last regenerated: 2026-01-03T00:00:00Z\ny\n"


def test_the_block_stays_where_the_person_put_it() -> None:
    inside = memory("# Me\n", "2026-01-01T00:00:00Z") + "\nbelow\n"
    found = both_ways("MEMORY.md", inside, side(inside + "- a\n", 1), side(inside.replace("# Me", "# You"), 2))
    assert found.data == inside.replace("# Me", "# You").encode() + b"- a\n"


def test_an_index_is_never_merged() -> None:
    def index(time: str, row: str) -> str:
        return f"# X Index\n_Last indexed: {time}_\n\n### {row}\n"

    found = both_ways(
        "memory/_index.md",
        index("2026-01-01T00:00:00Z", "a"),
        side(index("2026-01-03T00:00:00Z", "b"), 1),
        side(index("2026-01-02T00:00:00Z", "c"), 2),
    )
    assert found.data.decode() == index("2026-01-03T00:00:00Z", "b") and not found.both


def test_markers_that_somebody_committed_become_both_versions() -> None:
    base = "a\n<<<<<<< HEAD\none\n||||||| base\nzero\n=======\ntwo\n>>>>>>> other\nb\n"
    assert healed(base.encode()) == b"a\none\n" + MARK + b"two\nb\n"
    shown = b"```\n" + base.encode() + b"```\n"
    assert healed(shown) == shown, "an example in a fence is a text like any other"


# -- whatever the texts are ----------------------------------------------------------------------------------

WORDS = st.integers(0, 10_000).map(lambda number: f"w{number}x")
ROW = st.one_of(
    st.just(""),
    WORDS,
    WORDS.map(lambda word: f"- {word}"),
    WORDS.map(lambda word: f"  - {word}"),
    WORDS.map(lambda word: f"## {word}"),
    WORDS.map(lambda word: f"| {word} |"),
    st.sampled_from(["```", "---", "<!--", "-->", "> ", "a: [", "=======", MARK.decode().rstrip(), "key: 1"]),
)
TEXTS = st.lists(ROW, max_size=14)
KEYS = st.dictionaries(st.sampled_from(["a", "b", "tags", "c d", "e"]), WORDS, max_size=4)


@st.composite
def versions(draw: st.DrawFn) -> tuple[bytes | None, Side, Side]:
    """A note and two edits of it: rows taken out, put in, changed; keys likewise."""
    rows, keys = draw(TEXTS), draw(KEYS)

    def edited() -> bytes:
        found = list(rows)
        for _ in range(draw(st.integers(0, 4))):
            at = draw(st.integers(0, len(found)))
            found[at : at + draw(st.integers(0, 3))] = draw(st.lists(ROW, max_size=3))
        fields = {**keys, **draw(KEYS)}
        for key in draw(st.lists(st.sampled_from(sorted(fields) or ["a"]), max_size=2)):
            fields.pop(key, None)
        return written(fields, found)

    def written(fields: dict[str, str], found: list[str]) -> bytes:
        block = ["---", *(f"{key}: {value}" for key, value in fields.items()), "---"] if fields else []
        data = "\n".join([*block, *found]) + draw(st.sampled_from(["", "\n"]))
        return (
            draw(st.sampled_from(["", "\ufeff"])).encode()
            + data.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))).encode()
        )

    base = None if draw(st.booleans()) and draw(st.booleans()) else written(keys, rows)
    one, other = edited(), edited()
    return base, side(one, draw(st.integers(0, 2))), side(other, draw(st.integers(0, 2)))


def tokens(data: bytes) -> set[str]:
    return set(re.findall(r"w\d+x", data.decode()))


@settings(max_examples=500)
@given(versions())
def test_no_word_is_lost_and_both_sides_come_to_the_same(given_: tuple[bytes | None, Side, Side]) -> None:
    base, one, other = given_
    for path in (NOTE, "MEMORY.md"):
        found = merge(path, base, one, other)
        assert merge(path, base, other, one) == found
        have = tokens(found.data) | (tokens(found.beside.data) if found.beside else set())
        before = tokens(base or b"")
        assert (tokens(one.data) | tokens(other.data)) - before <= have
        if not any(conflicted(data.decode()) for data in (base or b"", one.data, other.data)):
            assert not conflicted(found.data.decode())
        assert merge(path, base, side(found.data), side(found.data)) == Merged(found.data), (
            "to merge again adds nothing"
        )


@given(TEXTS)
def test_passages_are_the_text(rows: list[str]) -> None:
    data = "".join(f"{row}\n" for row in rows).encode()
    assert b"".join(passages(data)) == data


@pytest.mark.parametrize(
    "unit", [b"<!--\n", b"```\n", b"- a\n", b"a\n", b"a:\n", b"\n", b"| a |\n", b"1. a\n", b"#\n", b">>>>>>> \n"]
)
def test_hostile_texts_take_no_time(unit: bytes) -> None:
    base = unit * 5_000
    one = b"".join(unit + b"x%d\n" % number for number in range(2_500))
    other = b"".join(unit + b"y%d\n" % number for number in range(2_500))
    start = time.process_time()
    merge(NOTE, base, side(one), side(other))
    healed(b"<<<<<<< a\n" + base + b"=======\n>>>>>>> b\n")
    assert time.process_time() - start < 3
