"""MEMORY.md is split where CommonMark has its headings, and every byte is in exactly one piece."""

import time
from pathlib import Path

import pytest
from boot_files import boot_files
from hypothesis import given, settings

from bonsai.notes.split import split

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "memories"


def headings(data: bytes) -> list[str]:
    return [section.heading for section in split(data).sections]


def pieces(data: bytes) -> list[bytes]:
    return [section.data for section in split(data).sections]


def kinds(data: bytes) -> list[str]:
    return [section.kind for section in split(data).sections]


@settings(max_examples=2000)
@given(boot_files())
def test_the_pieces_are_the_file(data: bytes):
    frontmatter, sections = split(data)
    assert frontmatter + b"".join(section.data for section in sections) == data
    assert all(section.data for section in sections)


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the memories beside the project are not here")
def test_the_pieces_of_real_memories_are_the_files():
    for path in sorted(SHARED.iterdir()):
        data = path.read_bytes()
        frontmatter, sections = split(data)
        assert frontmatter + b"".join(section.data for section in sections) == data, path.name
        assert len(sections) > 1, path.name


def test_level_two_headings_begin_a_section_and_deeper_ones_do_not():
    assert pieces(b"# M\n## One\ntext\n## Two\n### Sub\nmore\n## Three") == [
        b"# M\n",
        b"## One\ntext\n",
        b"## Two\n### Sub\nmore\n",
        b"## Three",
    ]


def test_an_underlined_heading_is_a_heading():
    assert headings(b"Household\n=========\n\nPets\n----\nTwo cats.\n") == ["Household", "Pets"]


@pytest.mark.parametrize(
    "inside",
    [
        b"```bash\n## build\n```\n",
        b"~~~\n## x\n```\n~~~\n",
        b"<!--\n## Old plan\n-->\n",
        b"- ## in a list\n",
        b"> ## in a quote\n",
        b"\n    ## code\n",
        b"\\## escaped\n",
        b"##hashtag\n",
    ],
)
def test_what_is_no_heading_does_not_split(inside: bytes):
    assert headings(b"## A\n" + inside + b"\n## B\n") == ["A", "B"]


def test_an_indented_fence_is_code_and_hides_nothing():
    assert headings(b"## Setup\n\n    ```\n    run\n\n## Usage\n") == ["Setup", "Usage"]


def test_a_fence_without_end_runs_to_the_end_of_the_file():
    assert headings(b"## Unclosed\n```\n## b\n") == ["Unclosed"]


def test_a_later_level_one_heading_is_a_chapter_of_its_own():
    data = b"# M\n## One\na\n# Chapter\nb\n## Two\nc\n"
    assert kinds(data) == ["preamble", "section", "chapter", "section"]
    assert pieces(data)[2] == b"# Chapter\nb\n"


def test_without_level_two_the_highest_level_splits():
    data = b"# Work\n### a\nx\n# Home\n### b\ny\n"
    assert pieces(data) == [b"# Work\n### a\nx\n", b"# Home\n### b\ny\n"]
    assert kinds(b"intro\n### a\n### b\n") == ["preamble", "section", "section"]


def test_without_headings_the_file_is_one_piece():
    assert kinds(b"just text\n") == ["preamble"]
    assert split(b"").sections == ()


@pytest.mark.parametrize("top", [b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \t\n", "\u3000\n".encode()])
def test_white_space_on_top_goes_with_the_first_section(top: bytes):
    assert pieces(top + b"## A\nx\n") == [top + b"## A\nx\n"]


@pytest.mark.parametrize(
    "top",
    [
        b"---\ntitle: x\n---\n",
        b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\n",
        b"---\ntitle: a: b\n---\n",
        b"---\n# a comment\nbad: [\n---\n",
        b"---\na: 1\na: 2\n---\n",
    ],
)
def test_frontmatter_stays_on_top_also_when_it_is_broken(top: bytes):
    assert split(top + b"## A\n").frontmatter == top


@pytest.mark.parametrize("top", [b"---\n\nA rule, then prose.\n\n---\n", b"---\n\n**Never:** push: force\n\n---\n"])
def test_prose_between_two_rules_is_text(top: bytes):
    assert split(top + b"## A\n").frontmatter == b""
    assert pieces(top + b"## A\n") == [top, b"## A\n"]


def test_a_comment_is_no_part_of_the_heading():
    assert headings(b"## Reference <!-- links only -->\n") == ["Reference"]


def test_a_piece_with_nothing_but_a_title_and_comments_is_bare():
    data = b"<!-- Keep it\nshort. -->\n# Memory\n\n## A\n"
    assert [section.bare for section in split(data).sections] == [True, False]


@pytest.mark.parametrize("hostile", [b"## " + b"<!--" * 200_000, b"<!---->" * 100_000, b"## a\n" * 20_000])
def test_a_large_hostile_file_is_split_in_linear_time(hostile: bytes):
    start = time.monotonic()
    split(hostile)
    assert time.monotonic() - start < 3
