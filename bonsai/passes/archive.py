"""Archive: rename notes to `__DELETE` and date them, so that a purge may come after the grace period."""

from collections.abc import Sequence

from bonsai.notes import layout, rename
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.passes.reports import ArchiveReport


def archive(draft: Draft, files: Sequence[str], reason: str, now_iso: str) -> tuple[Plan, ArchiveReport]:
    """Plan the archiving of some notes. Raises NotFound, Usage (no note, archived already), CannotCreate."""
    new = [rename.put_away(draft, file, reason, now_iso) for file in dict.fromkeys(files)]
    subject = f"archive: {layout.listed([layout.live_path(path) for path in new])}"
    body = "\n".join(f"archive {file}" for file in files) + (f"\n\nReason: {reason}" if reason else "")
    return draft.plan("archive", subject, body), ArchiveReport(new, None)
