"""How much of a boot file each agent loads, and what it says where it loads only a part."""

from collections.abc import Callable
from typing import NamedTuple

LINES = 200
UNITS = 25_000  # UTF-16 code units: an emoji is two
CHARACTERS = 20_000
BYTES = 10_000  # what bonsai itself keeps a boot file within


class Loaded(NamedTuple):
    """What an agent sees: the part that it loads, and the notice below it ("" where that is all)."""

    text: str
    notice: str


def claude_code(text: str) -> Loaded:
    """At most 200 lines and 25,000 UTF-16 units, whichever ends first, cut between lines where that is possible."""
    whole = text.rstrip("\n")
    rows, size = whole.split("\n"), _units(whole)
    if len(rows) <= LINES and size <= UNITS:
        return Loaded(whole, "")
    kept = "\n".join(rows[:LINES])
    if _units(kept) > UNITS:
        part = kept.encode("utf-16-le", "surrogatepass")[: 2 * UNITS].decode("utf-16-le", "ignore")
        kept = part[: part.rfind("\n")] if "\n" in part else part
    shown = f"{size / 1024:.1f}KB"
    if len(rows) > LINES and size > UNITS:
        what = f"MEMORY.md is {len(rows)} lines and {shown}."
    elif len(rows) > LINES:
        what = f"MEMORY.md is {len(rows)} lines (limit: {LINES})."
    else:
        what = f"MEMORY.md is {shown} (limit: {UNITS / 1024:.1f}KB) — index entries are too long."
    rest = "Only part of it was loaded. Keep index entries to one line under ~200 chars; move detail into topic files."
    return Loaded(kept, f"> WARNING: {what} {rest}")


def openclaw(text: str) -> Loaded:
    """At most 20,000 characters."""
    if len(text) <= CHARACTERS:
        return Loaded(text, "")
    return Loaded(text[:CHARACTERS], f"> WARNING: MEMORY.md was truncated: {len(text)} -> {CHARACTERS} characters.")


def bonsai(text: str) -> Loaded:
    """The budget that bonsai keeps: 10 KB."""
    data = text.encode("utf-8", "surrogateescape")
    if len(data) <= BYTES:
        return Loaded(text, "")
    part = data[:BYTES].decode("utf-8", "ignore")
    kept = part[: part.rfind("\n") + 1] or part
    hint = "`bonsai relocate` moves what is needed least into notes."
    return Loaded(kept, f"> WARNING: MEMORY.md is {len(data):,} bytes (budget {BYTES:,}). {hint}")


LOADERS: dict[str, Callable[[str], Loaded]] = {"bonsai": bonsai, "claude-code": claude_code, "openclaw": openclaw}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
