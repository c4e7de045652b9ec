"""The generated block in MEMORY.md: its only author. What stands outside the block is the person's, byte for byte."""

import heapq
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bonsai.config import Settings
from bonsai.notes import layout
from bonsai.notes.index import keep_time
from bonsai.notes.printed import count_tokens
from bonsai.notes.split import split

BEGIN = "<!-- bonsai:begin -->"
END = "<!-- bonsai:end -->"
HOT_STATE = ("Identity", "Owner", "Projects", "Lessons", "Events", "Tasks")
TYPE_NAMES = ("User", "Feedback", "Project", "Reference")
HOT_NAMES = (*TYPE_NAMES, *HOT_STATE)
NAMED = 3  # files of feedback that the block names
MAX_NAMED = 80  # characters of such a name

_BOM = b"\xef\xbb\xbf"
_BEGIN, _END = BEGIN.encode(), END.encode()
_TIME = "Last regenerated"
# A fence, also as the first thing in a list item or a quote.
_FENCE = re.compile(
    rb" {0,3}(?P<container>(?:(?:[-*+>]|\d{1,9}[.)])[ \t]{1,4}){0,3})(?P<mark>`{3,}|~{3,})(?P<info>.*)", re.DOTALL
)


class _Span(NamedTuple):
    """Bytes that are ours: whole lines from `start` to `end`."""

    start: int
    end: int
    whole: bool  # a block with begin and end; else the one line of a marker that lost its partner


class _Line(NamedTuple):
    start: int
    end: int
    marker: bytes  # _BEGIN, _END or b""


class _Fence(NamedTuple):
    mark: bytes  # the backticks or tildes that opened it
    container: bytes  # the list or quote markers before them on the line


def strip(boot: bytes) -> bytes:
    """What stands outside the generated block: `strip(splice(x, b)) == x`."""
    for span in reversed(_spans(boot)):
        boot = _without(boot, span)
    return boot


def splice(boot: bytes, block: str) -> bytes:
    """The file with `block` (text without the markers) as its one generated block.

    It stands where the first block stood, else at the end behind one empty line. Markers that lost their partner and
    further blocks go; the text between a lone marker and the end of the file is the person's.
    """
    spans = _spans(boot)
    place = next((span for span in spans if span.whole), spans[0] if spans else None)
    eol = _eol(boot)
    data = b"".join(line + eol for line in [_BEGIN, *_inert(block), _END])
    if place is None:
        return boot + _gap(boot, eol) + data
    for span in reversed(spans):
        boot = boot[: span.start] + data + boot[span.end :] if span == place else _without(boot, span)
    return boot


def current(boot: bytes) -> str | None:
    """The text of the generated block as `block` makes it (LF, without the markers), None where there is none."""
    span = next((span for span in _spans(boot) if span.whole), None)
    if span is None:
        return None
    inner = boot[span.start : span.end].splitlines(keepends=True)[1:-1]
    return b"".join(inner).decode("utf-8", "replace").replace("\r\n", "\n")


def block(
    root_index: str, *, backup: bool, agent_memory: str, now_iso: str, previous: str | None, first: str = ""
) -> str:
    """The text of the block: a header and the root index.

    Args:
        backup: whether the original MEMORY.md is kept beside the tree.
        agent_memory: the folder of the tree, `memory` or `memory/agents/<id>`.
        first: what `read_first` gave.
        previous: what `current` gave; its time stays where nothing else differs, so that a second run is a no-op.
    """
    raw = _header(agent_memory, backup, now_iso, first) + root_index.strip("\n")
    text = b"".join(line + b"\n" for line in _inert(raw)).decode()
    return keep_time(text, previous, _TIME)


def header_tokens(agent_memory: str = "memory", first: str = "") -> int:
    """Tokens of all that `splice` and `block` put around the root index."""
    header = _header(agent_memory, True, "2026-01-01T00:00:00+00:00", first)
    return count_tokens(f"{BEGIN}\n{header}\n{END}\n") + 1


def read_first(paths: Iterable[str]) -> str:
    """Words that name the feedback, whatever else has no room: it must not be overlooked. "" where there is none."""
    every = list(paths)
    first = heapq.nsmallest(NAMED, every, key=lambda path: (path.count("/"), path))  # of thousands, at every edit
    more = f" and {len(every) - NAMED} more of type feedback" if len(every) > NAMED else ""
    return ", ".join(layout.printable(path)[:MAX_NAMED] for path in first) + more


def _header(memory: str, backup: bool, now_iso: str, first: str) -> str:
    original = f"# Original preserved at {memory}/MEMORY.md.bak\n" if backup else ""
    title = f"# Memory Index (see {memory}/domains/ for full content)\n# Auto-generated\n"
    feedback = f"# Read first: {first}\n" if first else ""
    return f"{title}{original}{feedback}# {_TIME}: {now_iso}\n\n"


def hot_state_bytes(boot: bytes) -> int:
    """Size of the hot-state sections (HOT_STATE) of a boot file, in bytes."""
    names = {name.casefold() for name in HOT_STATE}
    return sum(len(item.data) for item in split(strip(boot)).sections if item.heading.casefold() in names)


def over_budget(boot: bytes, settings: Settings) -> list[str]:
    """Words for each budget that a boot file exceeds. It is only ever said: hand-written text is never cut."""
    found = []

    def check(size: int, limit: float, unit: str) -> None:
        if size > limit:
            found.append(f"{size:,} {unit} (budget {limit:,})")

    check(len(boot), settings["boot", "max_bytes"], "bytes")
    check(len(boot.splitlines()), settings["boot", "max_lines"], "lines")
    hot = settings["boot", "hot_bytes"]
    if len(boot) > hot:  # only then it pays to look for the sections
        check(hot_state_bytes(boot), hot, "bytes in the hot-state sections")
    check(count_tokens(current(boot) or ""), settings["index", "block_tokens"], "tokens in the generated block")
    return found


def _inert(text: str) -> list[bytes]:
    """The lines without those that would end or hide the block, so that the next run knows it again."""
    lines = text.encode("utf-8", "replace").splitlines()
    return [line for line in lines if not _FENCE.match(line) and not line.lstrip().startswith(b"<!--")]


def _eol(boot: bytes) -> bytes:
    first = next(iter(boot.splitlines(keepends=True)), b"")
    return b"\r\n" if first.endswith(b"\r\n") else b"\n"


def _gap(boot: bytes, eol: bytes) -> bytes:
    """The one line end before an appended block, which `_without` takes away again."""
    if boot in (b"", _BOM):
        return b""
    return b"\r\n" if boot.endswith(b"\r") else eol  # CR + LF would melt into one line end


def _without(boot: bytes, span: _Span) -> bytes:
    before, after = boot[: span.start], boot[span.end :]
    if after or not span.whole:
        return before + after
    for eol in (b"\r\n", b"\n", b"\r"):
        if before.endswith(eol):
            return before.removesuffix(eol)
    return before


def _spans(boot: bytes) -> list[_Span]:
    """Our lines, in order: blocks, and markers that have no partner."""
    found: list[_Span] = []
    opened: _Line | None = None
    for line in _marker_lines(boot):
        if opened and line.marker == _END:
            found.append(_Span(opened.start, line.end, True))
            opened = None
            continue
        if opened:
            found.append(_Span(opened.start, opened.end, False))
        opened = line if line.marker == _BEGIN else None
        if not opened:
            found.append(_Span(line.start, line.end, False))
    if opened:
        found.append(_Span(opened.start, opened.end, False))
    return found


def _marker_lines(boot: bytes) -> list[_Line]:
    """The marker lines outside closed fences.

    A fence that is never closed hides nothing: it may be the person's last text before the block, which must be
    found again by the next run.
    """
    if _BEGIN not in boot and _END not in boot:
        return []
    found: list[_Line] = []
    hidden: list[_Line] = []  # markers since the fence opened
    fence: _Fence | None = None
    in_comment = False
    for line, text in _lines(boot):
        if fence and _leaves(text, fence.container):
            found, hidden, fence = found + hidden, [], None
        if line.marker:
            (hidden if fence else found).append(line)
            in_comment = False
        elif fence:
            if _closes(text, fence.mark):
                hidden, fence = [], None
        elif in_comment or text.lstrip(b" ").startswith(b"<!--"):
            in_comment = b"-->" not in text
        else:
            fence = _opened(text)
    return found + hidden


def _opened(text: bytes) -> _Fence | None:
    match = _FENCE.match(text)
    if not match or (match["mark"][:1] == b"`" and b"`" in match["info"]):
        return None
    return _Fence(match["mark"], match["container"])


def _leaves(text: bytes, container: bytes) -> bool:
    """Whether a line stands outside the quote or the list item that a fence was opened in."""
    if b">" in container:
        return not text.lstrip(b" ").startswith(b">")
    return bool(container) and bool(text.strip()) and text[:1] not in (b" ", b"\t")


def _closes(text: bytes, mark: bytes) -> bool:
    """Whether a line closes a fence; in a list item or a quote it may stand further in."""
    bare = text.strip(b" \t>\r\n")
    return len(bare) >= len(mark) and not bare.strip(mark[:1])


def _lines(boot: bytes) -> Iterator[tuple[_Line, bytes]]:
    position = len(_BOM) if boot.startswith(_BOM) else 0
    for text in boot[position:].splitlines(keepends=True):
        bare = text.strip()
        yield _Line(position, position + len(text), bare if bare in (_BEGIN, _END) else b""), text
        position += len(text)
