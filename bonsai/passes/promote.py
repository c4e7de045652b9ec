"""Promote: a person speaks for a note from the web or a tool, so that the boot file may tell of it."""

from bonsai.errors import BadData, Usage
from bonsai.notes import layout, rename
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.note import can_splice, parse, set_fields
from bonsai.notes.provenance import PROMOTED, is_untrusted, source
from bonsai.passes.edited import PromoteReport


def promote(draft: Draft, file: str, now_iso: str) -> tuple[Plan, PromoteReport]:
    """Plan to write `promoted:` into a note from outside; its `source:` stays.

    Raises NotFound, Usage (no note, or not from outside), BadData (its frontmatter is broken).
    """
    data = rename.need_note(draft, file)
    note = parse(data)
    if not is_untrusted(note):
        raise Usage("is not from outside, or promoted already", path=file, hint="There is nothing to do.")
    if not can_splice(note):
        raise BadData("has frontmatter that cannot be edited", path=file, hint="Correct it, then promote the note.")
    draft.put(file, set_fields(data, {PROMOTED: now_iso}))
    subject = f"promote: {layout.short(file)}"
    return draft.plan("promote", subject, f"promote {file}"), PromoteReport(file, source(note.fields))
