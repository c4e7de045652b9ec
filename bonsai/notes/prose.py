"""The lines of a markdown text: how they are split, which are code, which are git's conflict markers."""

import io
import re
from collections.abc import Iterator

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)]) +)?(`{3,}|~{3,})(.*)", re.DOTALL)
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t\r\n]|$)")
_BULLET = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")


def lines(text: str) -> list[str]:
    r"""The lines with their ends, split as markdown-it splits: after `\n`, `\r\n` and a lone `\r`, nothing else.

    `str.splitlines` also splits at form feeds and U+2028, which put every later line number out.
    """
    return io.StringIO(text, newline="").readlines()


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are in no fenced and no indented code, each with its 0-based number."""
    rows = lines(text)
    if "```" not in text and "~~~" not in text and "    " not in text and "\t" not in text:
        yield from enumerate(rows)
        return
    # Indented code cannot go on with a paragraph: it may begin behind an empty line, a fence, a heading.
    fence, in_list, after_blank = "", False, True
    for number, row in enumerate(rows):
        found = _FENCE.match(row) if "```" in row or "~~~" in row else None
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence, after_blank = "", True
            continue
        blank = not row.strip()
        deep = row.startswith(("    ", "\t", " \t", "  \t", "   \t"))
        in_list = in_list if blank or (row[0] in " \t" and not _BULLET.match(row)) else bool(_BULLET.match(row))
        if deep and not in_list and not blank and after_blank:
            continue
        after_blank = blank or bool(_HEADING.match(row))
        if found and not (found[1][0] == "`" and "`" in found[2]) and (in_list or not deep):
            fence = found[1]
            continue
        yield number, row


def conflicted(text: str) -> bool:
    """Whether git left conflict markers: `<<<<<<<`, `=======`, `>>>>>>>` at line starts in that order, no code."""
    return conflict_line(text) is not None


def conflict_line(text: str) -> int | None:
    """The 0-based line of the first conflict marker, None where there is none."""
    if "<<<<<<<" not in text or ">>>>>>>" not in text:
        return None
    rows = lines(text)
    opened = next((number for number, row in prose_lines(text) if _is_marker(row, "<<<<<<<")), None)
    if opened is None:
        return None
    # What follows is looked at everywhere: one side of the conflict may open a fence that the other lacks.
    middle = next((at for at in range(opened + 1, len(rows)) if rows[at].rstrip() == "======="), len(rows))
    closed = any(_is_marker(row, ">>>>>>>") for row in rows[middle + 1 :])
    return opened if closed else None


def _is_marker(row: str, mark: str) -> bool:
    return row.startswith(mark) and row[len(mark) :][:1] in ("", " ", "\r", "\n")
