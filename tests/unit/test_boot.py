"""The generated block comes and goes without a byte of the person's text changing."""

import pytest
from boot_files import boot_files
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.config import defaults
from bonsai.notes import boot
from bonsai.notes.printed import count_tokens

BLOCK = "# Memory Index\nline\n"
NOW = "2026-03-04T05:06:07+00:00"


def rendered(text: str = BLOCK, eol: str = "\n") -> bytes:
    return f"{boot.BEGIN}\n{text}{boot.END}\n".replace("\n", eol).encode()


def block(
    previous: str | None = None, now: str = NOW, index: str = "# Memory Index\n_x_\n", backup: bool = True
) -> str:
    return boot.block(index, backup=backup, agent_memory="memory", now_iso=now, previous=previous)


@settings(max_examples=2000)
@given(boot_files(), st.text(max_size=40))
def test_what_is_put_in_can_be_taken_out(data: bytes, text: str):
    with_block = boot.splice(data, text)
    assert boot.strip(with_block) == data
    assert boot.splice(with_block, text) == with_block


@settings(max_examples=2000)
@given(
    st.lists(boot_files() | st.sampled_from([b"\n" + m.encode() + b"\n" for m in (boot.BEGIN, boot.END)]), max_size=6)
)
def test_there_is_one_block_after_a_splice_and_the_text_stays(parts: list[bytes]):
    data = b"".join(parts)
    with_block = boot.splice(data, BLOCK)
    assert boot.strip(with_block).split() == boot.strip(data).split()
    assert boot.current(with_block) == BLOCK
    assert boot.splice(with_block, BLOCK) == with_block


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", rendered()),
        (b"\xef\xbb\xbf", b"\xef\xbb\xbf" + rendered()),
        (b"a\n", b"a\n\n" + rendered()),
        (b"a", b"a\n" + rendered()),
        (b"a\r\nb\r\n", b"a\r\nb\r\n\r\n" + rendered(eol="\r\n")),
        (b"---\nx: 1\n---\n", b"---\nx: 1\n---\n\n" + rendered()),
    ],
)
def test_a_new_block_stands_at_the_end(data: bytes, expected: bytes):
    assert boot.splice(data, BLOCK) == expected


def test_a_block_is_replaced_where_it_stands():
    data = b"above\n\n" + rendered("old\n") + b"\nbelow\n"
    assert boot.splice(data, BLOCK) == b"above\n\n" + rendered() + b"\nbelow\n"


def test_text_written_behind_the_block_is_kept():
    data = boot.splice(b"above", BLOCK) + b"below"
    assert boot.strip(data) == b"above\nbelow"


def test_of_several_blocks_one_is_left():
    data = b"a\n\n" + rendered("one\n") + b"between\n" + rendered("two\n") + b"z\n"
    assert boot.splice(data, BLOCK) == b"a\n\n" + rendered() + b"between\nz\n"


@pytest.mark.parametrize("marker", [boot.BEGIN, boot.END])
def test_a_marker_without_its_partner_takes_no_text_with_it(marker: str):
    data = f"mine\n{marker}\nmine too\n".encode()
    assert boot.strip(data) == b"mine\nmine too\n"
    assert boot.splice(data, BLOCK) == b"mine\n" + rendered() + b"mine too\n"


def test_a_begin_before_a_whole_block_leaves_the_text_between():
    data = f"{boot.BEGIN}\nmine\n".encode() + rendered("old\n") + b"end\n"
    assert boot.splice(data, BLOCK) == b"mine\n" + rendered() + b"end\n"


@pytest.mark.parametrize(
    "quoted",
    [
        b"```\n" + rendered() + b"```\n",
        b"~~~~ md\n" + rendered() + b"```\n~~~~~\n",
        b"- ```\n  " + rendered().replace(b"\n", b"\n  ") + b"```\n",
        b"the line `" + boot.BEGIN.encode() + b"` begins it\n",
    ],
)
def test_a_quoted_block_is_text(quoted: bytes):
    data = b"a\n" + quoted + b"z\n"
    assert boot.strip(data) == data
    assert boot.splice(data, BLOCK) == data + b"\n" + rendered()


@pytest.mark.parametrize(
    "before", [b"```\nnever closed\n", b"- ```\n  x\n  ```\n", b"> ```\n> x\n", b"<!--\n```\n-->\n", b"``` a`b ```\n"]
)
def test_a_fence_that_is_not_open_or_never_closed_hides_no_block(before: bytes):
    data = boot.splice(before, "old\n") + b"\n"
    if b"never" not in before:
        data += b"```\ncode\n```\n"
    assert boot.current(boot.splice(data, BLOCK)) == BLOCK
    assert boot.splice(data, BLOCK).count(boot.BEGIN.encode()) == 1


def test_the_block_has_the_header_of_the_original():
    assert block() == (
        "# Memory Index (see memory/domains/ for full content)\n"
        "# Auto-generated\n"
        "# Original preserved at memory/MEMORY.md.bak\n"
        f"# Last regenerated: {NOW}\n\n"
        "# Memory Index\n_x_\n"
    )
    assert "bak" not in block(backup=False)


def test_the_time_changes_only_with_the_rest():
    old = block(now="2026-01-01T00:00:00+00:00")
    assert block(previous=old) == old
    assert block(previous=old, index="# Other\n") == block(index="# Other\n")


def test_what_was_spliced_can_be_read_again():
    for data in (b"", b"a\r\n", b"a\r"):
        assert boot.current(boot.splice(data, block())) == block()
    assert boot.current(b"no block\n") is None


def test_the_header_fits_in_what_is_set_aside_for_it():
    index = "# Memory Index\n" + "word " * 200
    whole = boot.splice(b"", block(index=index)).decode()
    assert count_tokens(whole) <= count_tokens(index) + boot.header_tokens()


def test_hot_state_is_counted_by_section():
    data = b"# M\n## Identity\n" + b"x" * 100 + b"\n## Other\nyy\n## TASKS\nz\n"
    assert boot.hot_state_bytes(data) == len(b"## Identity\n") + 101 + len(b"## TASKS\nz\n")


def test_every_budget_that_is_exceeded_is_named():
    assert boot.over_budget(boot.splice(b"## Tasks\n- a\n", block()), defaults()) == []
    data = boot.splice(b"## Tasks\n" + b"- a task to do, and more\n" * 500, "word " * 1000)
    said = boot.over_budget(data, defaults())
    assert [text.split(" ", 1)[1].partition(" (")[0] for text in said] == [
        "bytes",
        "lines",
        "bytes in the hot-state sections",
        "tokens in the generated block",
    ]
    assert all("budget" in text for text in said)
