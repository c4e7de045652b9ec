"""Migrate puts every section of MEMORY.md into exactly one note, and a second migrate has nothing to do."""

import re
from collections.abc import Collection
from datetime import date
from pathlib import Path

import pytest
from boot_files import boot_files
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.errors import BadData, Usage
from bonsai.notes import boot as boot_file
from bonsai.notes.boot import HOT_NAMES
from bonsai.notes.layout import Tree, fold
from bonsai.notes.note import BOM, parse
from bonsai.notes.split import split
from bonsai.passes.migrate import Migration, kept_by_default, plan

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "memories"
BLOCK = "# Memory Index\n"
BACKUP = "memory/MEMORY.md.bak"
BAD_NAME = re.compile(r'[\\:*?"<>|\x00-\x1f. ]')


def migrate(
    data: bytes,
    *,
    later: bool = False,
    keep: Collection[str] = (),
    taken: Collection[str] = (),
    loose: dict[str, bytes] | None = None,
    tree: Tree | None = None,
) -> Migration:
    return plan(
        data,
        tree=tree or Tree(),
        has_backup=later,
        keep=keep,
        taken=taken,
        loose=loose or {},
        today=date(2026, 3, 4),
    )


def later(text: str, **rest: Collection[str]) -> Migration:
    return migrate(boot_file.splice(text.encode(), BLOCK), later=True, **rest)


def notes(found: Migration) -> dict[str, bytes]:
    return {put.path.removeprefix("memory/"): put.data for put in found.puts if put.path != BACKUP}


def assert_whole(data: bytes, found: Migration):
    """Each section that left stands in one note, word for word, under a name that every system can hold."""
    sections = split(boot_file.strip(data)).sections
    written = [put for put in found.puts if put.path != BACKUP]
    gone = [section for section in sections if section.data.removeprefix(BOM).decode("utf-8", "replace").strip()]
    for put, section in zip(written, gone, strict=True):
        # A `type:` goes on top, and a BOM above even that.
        assert put.data.endswith(section.data.removeprefix(BOM))
        assert put.data.startswith(section.data[:3] if section.data.startswith(BOM) else b"")
        assert put.data == section.data or parse(put.data).fields["type"] == section.heading.lower()
    assert [put.path for put in written] == [item.path for item in found.created]
    assert len({fold(put.path) for put in found.puts}) == len(found.puts)
    assert all(put.old is None for put in found.puts)
    for put in written:
        name = put.path.removesuffix(".md").rpartition("/")[2]
        assert len(name) <= 60
        assert not BAD_NAME.search(name)


def assert_settled(found: Migration, keep: Collection[str] = ()):
    """A second migrate of the result does nothing."""
    after = boot_file.splice(found.boot, BLOCK)
    again = migrate(after, later=True, keep=keep, taken=[put.path for put in found.puts])
    assert again.created == []
    assert again.puts == ()
    assert again.boot == after


@settings(max_examples=2000)
@given(boot_files())
def test_every_section_is_in_one_note_and_the_second_run_has_nothing_to_do(data: bytes):
    found = migrate(data)
    assert_whole(data, found)
    assert_settled(found)


@settings(max_examples=2000)
@given(boot_files(), st.sets(st.sampled_from(["API quirks", "Memory", "Chapter Two", "Pets", "Sub"])))
def test_a_later_run_is_followed_by_nothing_either(data: bytes, keep: set[str]):
    boot = boot_file.splice(data, BLOCK)
    there = {section.heading for section in split(data).sections}
    found = migrate(boot, later=True, keep=keep & there)
    stayed = [name for name in keep & there if name in {s.heading for s in split(boot_file.strip(found.boot)).sections}]
    assert_settled(found, stayed)
    left = b"".join(put.data for put in found.puts) + found.rest
    for row in boot_file.strip(data).splitlines():
        assert row in left


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the memories beside the project are not here")
def test_real_memories_are_split_whole():
    for path in sorted(SHARED.iterdir()):
        data = path.read_bytes()
        found = migrate(data)
        assert_whole(data, found)
        assert_settled(found)
        assert found.puts[0].data == data


def test_the_example_of_the_original_lands_where_it_says():
    found = migrate(
        b"# M\nintro\n## Key Identity Facts\na\n## Revenue\nb\n## Birthdays\nc\n## Dates to keep\nd\n## Misc\ne\n"
    )
    assert notes(found) == {
        "domains/general/preamble.md": b"# M\nintro\n",
        "domains/identity/key-identity-facts.md": b"## Key Identity Facts\na\n",
        "domains/business/revenue.md": b"## Revenue\nb\n",
        "dates.md": b"## Birthdays\nc\n",
        "domains/general/dates-to-keep.md": b"## Dates to keep\nd\n",
        "domains/general/misc.md": b"## Misc\ne\n",
    }
    assert found.rest == b""
    assert found.backup == BACKUP


def test_equal_headings_get_numbers_and_no_name_is_taken_twice():
    found = migrate(
        b"## Meeting notes\nA\n## Meeting notes\nB\n## meeting   Notes!\nC\n",
        taken=["memory/domains/general/Meeting-Notes.md", "memory/domains/general/meeting-notes-3__DELETE.md"],
    )
    assert list(notes(found)) == [f"domains/general/meeting-notes-{n}.md" for n in (2, 4, 5)]


def test_a_domain_is_the_folder_that_a_person_made():
    found = migrate(b"## Revenue\n", taken=["memory/domains/Business/x.md"])
    assert list(notes(found)) == ["domains/Business/revenue.md"]


def test_dates_that_find_their_file_taken_go_where_their_next_word_says():
    found = migrate(b"## Dates\na\n## Client birthdays\nb\n## Family anniversaries\nc\n## Days to remember\nd\n")
    assert list(notes(found)) == [
        "dates.md",
        "domains/business/client-birthdays.md",
        "domains/identity/family-anniversaries.md",
        "domains/general/days-to-remember.md",
    ]


def test_taken_dates_go_to_general():
    found = migrate(b"## Dates\n", taken=["memory/dates.md"])
    assert list(notes(found)) == ["domains/general/dates.md"]


def test_a_chapter_goes_to_general_whatever_it_is_called():
    found = migrate(b"## One\na\n# Revenue\nb\n")
    assert notes(found)["domains/general/revenue.md"] == b"# Revenue\nb\n"


def test_a_section_named_after_a_type_gets_the_type():
    found = migrate(b"## USER\r\n- tea\r\n")
    assert notes(found) == {"domains/general/user.md": b"---\r\ntype: user\r\n---\r\n## USER\r\n- tea\r\n"}


def test_the_backup_is_the_original_without_what_bonsai_added():
    original = b"# M\r\n## A\r\nx"
    found = migrate(boot_file.splice(original, BLOCK))
    assert found.puts[0].path == BACKUP
    assert found.puts[0].data == original


def test_an_empty_file_leaves_nothing_to_do():
    for data in (b"", b"\n \n", b"\xef\xbb\xbf", "\u3000".encode(), boot_file.splice(b"", BLOCK)):
        found = migrate(data)
        assert (found.puts, found.backup, found.boot) == ((), None, data)


def test_frontmatter_stays_in_the_boot_file():
    found = migrate(b"---\na: 1\n---\n## One\nx\n")
    assert found.rest == b"---\na: 1\n---\n"


def test_a_list_of_headings_may_hold_headings_with_commas():
    boot = b"# M\n## Quiet hours (added 3 May, 2026, review #1)\na\n## User\nb\n## Misc\nc\n"
    found = migrate(boot, keep=["User, quiet hours (added 3 May, 2026, review #1)"])
    assert list(notes(found)) == ["domains/general/preamble.md", "domains/general/misc.md"]


def test_the_first_run_keeps_only_what_is_asked_for():
    found = migrate(b"# M\n## User\na\n## Other\nb\n## Tasks\nc\n", keep=["user", "OTHER"])
    assert found.rest == b"## User\na\n## Other\nb\n"
    assert list(notes(found)) == ["domains/general/preamble.md", "domains/agents/tasks.md"]
    assert_settled(found, ["User", "Other"])


@pytest.mark.parametrize("name", HOT_NAMES)
def test_a_later_run_leaves_hot_sections_and_the_title(name: str):
    found = later(f"# M\n\n## {name.upper()}\na\n\n## {name} and more\nb\n")
    assert found.rest == f"# M\n\n## {name.upper()}\na\n\n".encode()
    assert found.backup is None
    assert len(found.created) == 1


def test_a_later_run_splits_a_preamble_that_says_something():
    assert later("# M\n<!-- short, please -->\n\n## User\n").created == []
    assert later("<!-- short, please -->\n# M\n\n").created == []
    assert later("# M\nNew fact.\n\n## User\n").rest == b"## User\n"


def test_a_file_that_lost_its_block_is_split_but_for_hot_sections():
    found = migrate(b"# M\n## User\na\n## Other\nb\n", later=True)
    assert found.rest == b"## User\na\n"


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_a_section_that_stays_does_not_grow_by_the_removal_of_another(eol: str):
    found = later("## User\ntext\n## Other\n```\n```\nTasks\n-----\n- a\n".replace("\n", eol))
    assert [section.heading for section in split(found.rest).sections] == ["User", "Tasks"]


def test_a_block_in_the_middle_stays_there_when_nothing_leaves():
    data = b"## User\na\n\n" + boot_file.splice(b"", BLOCK) + b"\n## Tasks\nb\n"
    assert migrate(data, later=True).boot == data


def test_an_unknown_name_to_keep_is_refused_with_the_names_there_are():
    with pytest.raises(Usage) as error:
        migrate(b"## One\n## Two\n", keep=["Three"])
    assert "One, Two" in error.value.hint
    assert migrate(b"## One\n", keep=["Feedback"]).created  # a hot name is known even where it is not used


def test_conflict_markers_are_refused_with_their_line():
    with pytest.raises(BadData, match="line 2 "):
        migrate(b"## A\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\n")
    assert migrate(b"## A\n```\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\n```\n").created


def test_loose_daily_notes_move_but_for_the_latest_two():
    loose = {f"memory/{name}": b"x" for name in ("2026-03-04.md", "2026-03-03-late.md", "2026-03-02.md", "2025-a.md")}
    loose |= {"memory/app-progress-2.md": b"p", "memory/dates.md": b"d", "memory/2026-01-01__DELETE.md": b"o"}
    found = migrate(b"", later=True, loose=loose, taken=["memory/daily/2025-A.md"])
    assert found.moved == [
        ("memory/2026-03-02.md", "memory/daily/2026-03-02.md"),
        ("memory/app-progress-2.md", "memory/daily/app-progress-2.md"),
    ]
    assert [(drop.path, drop.old) for drop in found.drops] == [
        ("memory/2026-03-02.md", b"x"),
        ("memory/app-progress-2.md", b"p"),
    ]
    assert {item.path: item.reason for item in found.skipped}["memory/2025-a.md"].endswith("is there already")
    assert len(found.skipped) == 3


def test_an_agent_has_a_tree_of_its_own():
    found = migrate(b"## Revenue\n", tree=Tree("juno"))
    assert [put.path for put in found.puts] == [
        "memory/agents/juno/MEMORY.md.bak",
        "memory/agents/juno/domains/business/revenue.md",
    ]


def test_the_type_sections_are_what_a_person_is_asked_about():
    assert kept_by_default(b"## user\n## Other\n## FEEDBACK\n## Tasks\n") == ["user", "FEEDBACK"]
