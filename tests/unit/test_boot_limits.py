"""How much of a boot file agents load: at the boundary to the character, with the notice that people see."""

import pytest

from bonsai.notes.boot_limits import bonsai, claude_code, openclaw

REST = "Only part of it was loaded. Keep index entries to one line under ~200 chars; move detail into topic files."


def test_200_lines_are_whole_and_201_are_not() -> None:
    whole = "\n".join(f"- line {number}" for number in range(200))
    assert claude_code(whole) == (whole, "")
    assert claude_code(f"{whole}\n\n\n") == (whole, "")
    text, notice = claude_code(f"{whole}\n- one more\n")
    assert text == whole
    assert notice == f"> WARNING: MEMORY.md is 201 lines (limit: 200). {REST}"


@pytest.mark.parametrize("sign", ["a", "é", "漢", "\U0001f333"])
def test_25000_utf16_units_are_whole_and_one_more_is_not(sign: str) -> None:
    units = len(sign.encode("utf-16-le")) // 2
    whole = sign * (25_000 // units)
    assert claude_code(whole) == (whole, "")
    text, notice = claude_code(f"{whole}a")
    assert text == whole
    assert notice == f"> WARNING: MEMORY.md is 24.4KB (limit: 24.4KB) — index entries are too long. {REST}"


def test_no_half_of_an_emoji_is_loaded() -> None:
    text, _ = claude_code("a" + "\U0001f333" * 12_500)
    assert text == "a" + "\U0001f333" * 12_499


def test_it_is_cut_between_lines_where_that_is_possible() -> None:
    text, notice = claude_code("\n".join(["x" * 100] * 300))
    assert text == "\n".join(["x" * 100] * 200)
    assert notice == f"> WARNING: MEMORY.md is 300 lines and 29.6KB. {REST}"
    text, _ = claude_code("\n".join(["x" * 200] * 150))
    assert text == "\n".join(["x" * 200] * 124)


def test_openclaw_loads_20000_characters() -> None:
    assert openclaw("漢" * 20_000) == ("漢" * 20_000, "")
    text, notice = openclaw("漢" * 20_001)
    assert text == "漢" * 20_000 and "20001 -> 20000" in notice


def test_bonsai_keeps_10_kb() -> None:
    assert bonsai("a" * 10_000) == ("a" * 10_000, "")
    text, notice = bonsai("ä" * 5000 + "a")
    assert text == "ä" * 5000 and "10,001 bytes" in notice and "relocate" in notice
    assert bonsai("row\n" * 2501)[0] == "row\n" * 2500
