"""Reflect: stage what needs a decision, then carry the decisions out as one guarded run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bonsai.config import Settings
from bonsai.errors import BadData, BonsaiError, CannotCreate, NotFound, Refused, Usage
from bonsai.notes import ages, layout, note, rename, review, taxonomy
from bonsai.notes.change import PathTime, Plan
from bonsai.notes.decision import Decision, split_note, suggest_parts
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.printed import count_tokens
from bonsai.notes.provenance import is_untrusted
from bonsai.notes.review import Candidate, NoteView
from bonsai.notes.similar import near_duplicates
from bonsai.notes.view import View
from bonsai.passes.reports import ApplyReport, Decided


def stage(
    view: View,
    tree: Tree,
    times: Mapping[str, PathTime],
    settings: Settings,
    now: datetime,
    read: Callable[[str], bytes],
) -> list[Candidate]:
    """What needs a decision: old notes in general/, large notes and domains, near-duplicates.

    Of a note that is held back nothing could be done; and the suggestions for it would quote it.
    """
    rows = sorted((row for row in view.notes(tree) if not view.is_held(row)), key=lambda row: row.path)
    notes = [
        NoteView(
            row.path,
            layout.domain_of(row.path) or "",
            ages.age_of(row, times, now),
            row.summary.tokens if row.summary else 0,
            row.blob,
        )
        for row in rows
        if layout.domain_of(row.path) is not None
    ]
    found = review.candidates(notes, tree.domains, settings)
    texts = ((item.path, _text(read, item.path)) for item in notes)
    pairs = near_duplicates(texts, float(settings["reflect", "similarity"]))
    found = review.with_duplicates(found, notes, pairs)
    limit = int(settings["reflect", "file_tokens"])
    for candidate in found:
        if candidate.hash and candidate.tokens > limit:
            parts = suggest_parts(_bytes(read, candidate.file))
            if len(parts) > 1:
                candidate.suggest["parts"] = parts
    return found


def _bytes(read: Callable[[str], bytes], path: str) -> bytes:
    try:
        return read(path)
    except BonsaiError:
        return b""  # unreadable notes are a problem of status, not of reflection


def _text(read: Callable[[str], bytes], path: str) -> str:
    return note.parse(_bytes(read, path)[: layout.MAX_PARSED]).text


@dataclass(slots=True)
class _Work:
    view: View
    draft: Draft
    tree: Tree
    now_iso: str
    moved: dict[str, str] = field(default_factory=dict)
    applied: list[Decided] = field(default_factory=list)
    refused: list[Decided] = field(default_factory=list)
    loss: dict[str, tuple[int, int]] = field(default_factory=dict)  # path → tokens before and after, no archive

    def tokens(self, data: bytes) -> int:
        return count_tokens(note.parse(data).text)


def apply(
    view: View, draft: Draft, tree: Tree, settings: Settings, now_iso: str, decisions: Sequence[Decision]
) -> tuple[Plan, ApplyReport, list[str]]:
    """Plan the decisions; a note that changed since it was staged is refused alone.

    Returns:
        The plan, the report, and the files that the staging must keep (refused, or without a decision).

    Raises:
        Refused: the run would drop too large a part of a note or of the tree with no archive to show for it.
    """
    work = _Work(view, draft, tree, now_iso)
    waiting = []
    for decision in decisions:
        if not decision.action:
            waiting.append(decision.file)
            continue
        try:
            with draft.whole():
                to = _carry(work, decision)
            work.applied.append(Decided(decision.file, decision.action, to))
        except (BadData, CannotCreate, NotFound, Usage, Refused) as error:
            work.refused.append(Decided(decision.file, decision.action, reason=error.cause))
            waiting.append(decision.file)
    rename.relink(view, draft, work.moved)
    before = sum(row.summary.tokens for row in view.notes(tree) if row.summary)
    after = before - sum(max(0, was - left) for was, left in work.loss.values())
    reason = review.guard(work.loss, before, after, float(settings["reflect", "max_loss"]))
    if reason:
        raise Refused(reason, hint="Archive what is to go, or keep more of the text; nothing was changed.")
    done = [item for item in work.applied if item.decision != "keep"]
    body = "\n".join(f"{item.decision} {item.file}" + (f" to {item.to}" if item.to else "") for item in done)
    plan = draft.plan("reflect", f"reflect: {layout.listed([item.file for item in done])}", body)
    return plan, ApplyReport(work.applied, work.refused, None), waiting


def _carry(work: _Work, decision: Decision) -> str:
    """Draft one decision; returns where the text went."""
    if decision.action == "keep":
        return ""
    row = work.view.rows.get(decision.file)
    if row is None or row.stat is None:
        raise NotFound("is not there any more", path=decision.file)
    if (
        not decision.hash
        or row.blob != decision.hash
        or work.draft.get(decision.file) != work.draft.original(decision.file)
    ):
        raise Refused("changed since it was staged", path=decision.file)
    return ACTIONS[decision.action](work, decision)


def _migrate(work: _Work, decision: Decision) -> str:
    to = rename.relocate(work.view, work.draft, decision.file, decision.to)
    work.moved[decision.file] = to
    return to


def _archive(work: _Work, decision: Decision) -> str:
    return rename.put_away(work.draft, decision.file, decision.reason, work.now_iso)


def _merge(work: _Work, decision: Decision) -> str:
    """Append the note to another one, or take the merged text as given; the note itself becomes an archive."""
    into = decision.to
    target = rename.need_note(work.draft, into)
    if layout.is_archived(into):  # the text would be purged with it
        raise Usage("cannot be merged into an archive", path=into)
    if target.startswith(note.UTF16):
        raise BadData("is UTF-16, so nothing can be appended to it", path=into)
    source = work.draft.need(decision.file)
    if is_untrusted(note.parse(source)) and not is_untrusted(note.parse(target)):
        raise Refused(f"is from outside: `bonsai promote {decision.file}` first", path=decision.file)
    if decision.text is not None:
        merged = target[: note.parse(target).body_start] + decision.text.encode("utf-8", "surrogateescape")
    else:
        gap = b"\n" if target.endswith(b"\n") else b"\n\n"
        merged = target + gap + source[note.parse(source).body_start :]
    work.draft.put(into, merged)
    rename.put_away(work.draft, decision.file, decision.reason or f"merged into {into}", work.now_iso)
    if decision.text is not None:
        work.loss[into] = (work.tokens(work.draft.original(into) or b""), work.tokens(merged))
    work.moved[decision.file] = into
    return into


def _split(work: _Work, decision: Decision) -> str:
    """Write the parts as notes of their own beside it; the whole note becomes an archive."""
    folder = layout.folder_of(decision.file)
    made, outside = [], is_untrusted(note.parse(work.draft.need(decision.file)))
    for name, data in split_note(work.draft.need(decision.file), decision.parts):
        slug, number = taxonomy.slug(name), 1
        path = f"{folder}/{slug}.md"
        while not work.draft.free(path):
            number += 1
            path = f"{folder}/{slug}-{number}.md"
        if outside and not is_untrusted(note.parse(data)):
            raise Refused("is from outside, which its parts would not say any more", path=decision.file)
        work.draft.create(path, data)
        made.append(path)
    rename.put_away(work.draft, decision.file, decision.reason or f"split into {len(made)} notes", work.now_iso)
    return ", ".join(made)


ACTIONS: dict[str, Callable[[_Work, Decision], str]] = {
    "migrate": _migrate,
    "archive": _archive,
    "merge": _merge,
    "split": _split,
}
