"""Move a note to another domain: set its `domain:`, rename it, and let every link to it still lead there."""

from bonsai.notes import layout, rename
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.view import View
from bonsai.passes.reports import MoveReport


def move(view: View, draft: Draft, file: str, domain: str) -> tuple[Plan, MoveReport]:
    """Plan the move of one note. `domain` is a path such as `Business/SEO`.

    Raises BadData (no domain), NotFound, Usage (not a note, or it stands there already), CannotCreate (the name is
    taken there).
    """
    to = rename.relocate(view, draft, file, domain)
    changed = rename.relink(view, draft, {file: to})
    plan = draft.plan("move", f"move: {layout.short(file)} to {layout.domain_of(to)}", f"move {file}\nto {to}")
    return plan, MoveReport(file, to, changed, None)
