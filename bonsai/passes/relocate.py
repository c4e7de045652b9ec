"""Relocate: what MEMORY.md has no room for goes into topics, whole, with a pointer where it stood."""

from collections.abc import Mapping, Sequence
from datetime import date

from bonsai.config import Settings
from bonsai.notes import boot, feedback, layout, links, taxonomy
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.piece import Piece, pieces
from bonsai.notes.printed import clean
from bonsai.passes.cared import Relocated, RelocateReport

LEAD = 80  # characters of a pointer's words


def relocate(
    draft: Draft, tree: Tree, settings: Settings, today: date, written: Mapping[int, date]
) -> tuple[Plan, RelocateReport]:
    """Plan to bring the boot file within its budget; what is needed least goes first.

    Feedback has a file of its own; then come reference, other sections, projects; within one, what was not changed for
    longest. Who the person is stays.

    Args:
        written: the day on which each line (1-based) of the boot file was written, where git knows.
    """
    old = whole = draft.need(tree.boot)
    limit, most = int(settings["boot", "max_bytes"]), int(settings["boot", "max_lines"])
    taken: list[tuple[Piece, str]] = []
    moved: list[Relocated] = []
    spare = 0  # bytes by which the index in the block will grow: it names each new note
    for piece in sorted(_placed(old), key=lambda item: (item.rank, _last(item, written, today), item.start - item.end)):
        if len(whole) + spare <= limit and len(whole.splitlines()) <= most:
            break
        path = _target(draft, tree, piece)
        _put(draft, tree, path, piece, old[piece.start : piece.end], today)
        taken.append((piece, path))
        moved.append(Relocated(piece.heading, path, piece.end - piece.start))
        whole, spare = _with_pointers(old, taken), spare + len(path)
    if taken and (len(whole) + spare > limit or len(whole.splitlines()) > most):
        whole = _with_pointers(old, taken, lead=0)  # so many pointers that their words have no room
    draft.put(tree.boot, whole)
    left = _left(whole, limit, most) if len(whole) > limit or len(whole.splitlines()) > most else ""
    names = layout.listed(list(dict.fromkeys(item.to for item in moved)))
    body = "\n".join(f"{item.heading or tree.boot} to {item.to}" for item in moved)
    plan = draft.plan("relocate", f"relocate: {names}", body)
    return plan, RelocateReport(moved, len(old), len(whole), limit, left, None)


def _placed(whole: bytes) -> list[Piece]:
    """The pieces with their places in the file as it is; the generated block is in none of them."""
    own = boot.strip(whole)
    at, size = whole.find(boot.BEGIN.encode()), len(whole) - len(own)
    if at < 0 or whole[:at] + whole[at + size :] != own:
        at = len(own)
        if not whole.startswith(own):
            return []  # several blocks, or markers that lost their partner: reindex puts that in order first
    rows = whole.count(b"\n", 0, at + size) - own.count(b"\n", 0, at)
    return [
        piece
        if piece.end <= at
        else piece._replace(start=piece.start + size, end=piece.end + size, line=piece.line + rows)
        for piece in pieces(own)
        if not piece.start < at < piece.end
    ]


def _last(piece: Piece, written: Mapping[int, date], today: date) -> date:
    """When a piece changed last; a line that git does not know is of today."""
    return max((written.get(piece.line + at + 1, today) for at in range(piece.lines)), default=today)


def _target(draft: Draft, tree: Tree, piece: Piece) -> str:
    if piece.section == "feedback":
        return tree.at(feedback.NAME)
    stem, number = taxonomy.slug(piece.heading or piece.section), 1
    name = stem
    while not (draft.free(tree.at(f"topics/{name}.md")) and draft.free(tree.at(f"topics/{name}{layout.ARCHIVED}.md"))):
        number += 1
        name = f"{stem[: taxonomy.MAX_NAME - 5]}-{number}"
    return tree.at(f"topics/{name}.md")


def _put(draft: Draft, tree: Tree, path: str, piece: Piece, text: bytes, today: date) -> None:
    eol = b"\r\n" if b"\r\n" in text else b"\n"
    text = links.rewrite(text, tree.boot, path, {})
    old = draft.get(path)
    if old is None:
        day = today.isoformat()
        title = (
            b"" if text.lstrip().startswith(b"#") else f"# {piece.heading}".encode("utf-8", "surrogateescape") + eol * 2
        )
        stamp = f"> Created: {day} | Updated: {day}".encode() + eol * 2
        head = b"" if path == tree.at(feedback.NAME) else stamp
        draft.create(path, title + head + text)
    else:
        gap = b"" if old.endswith((b"\n\n", b"\r\n\r\n")) or not old else eol if old.endswith(b"\n") else eol * 2
        draft.put(path, old + gap + text)


def _with_pointers(whole: bytes, taken: Sequence[tuple[Piece, str]], lead: int = LEAD) -> bytes:
    """The boot file with a pointer in place of each piece."""
    eol = b"\r\n" if b"\r\n" in whole else b"\n"
    for piece, path in sorted(taken, key=lambda item: -item[0].start):
        before, text, after = whole[: piece.start], whole[piece.start : piece.end], whole[piece.end :]
        pointer = _pointer(piece, path, text, lead).encode("utf-8", "replace") + eol
        gap = b"" if not before or before.endswith((b"\n\n", b"\r\n\r\n")) else eol
        follows = after.startswith(b"- [")  # the pointer of the next piece: one list of them
        whole = before + gap + pointer + (b"" if follows or not after.strip() else eol) + after
    return whole


def _pointer(piece: Piece, path: str, text: bytes, limit: int) -> str:
    rows = [row.strip() for row in text.decode("utf-8", "replace").splitlines()]
    lead = next((row for row in rows if row and not row.startswith(("#", "<!--", "```", ">", "---"))), "")
    words = clean(lead.lstrip("-*+ ").replace("**", ""), limit) if limit else ""
    name = clean(piece.heading, LEAD).replace("[", "(").replace("]", ")") or layout.name_of(path)
    return f"- [{name}]({path.replace(' ', '%20')})" + (f": {words}" if words else "")


def _left(now: bytes, limit: int, most: int) -> str:
    what = f"{len(now):,} bytes (budget {limit:,})" if len(now) > limit else f"{len(now.splitlines())} lines ({most})"
    return f"still has {what}: what is left is about the person, or in pieces too small for a note; shorten it by hand"
