"""The verbs on files by name, as agents work on them: read, create, update, rename, put away, promote."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bonsai.adapters.files import ensure_private
from bonsai.errors import BadData, NotFound, Refused
from bonsai.notes import layout
from bonsai.notes.layout import Kind
from bonsai.place import Place

if TYPE_CHECKING:
    from bonsai.passes.edited import PromoteReport, Text, Written

READABLE = (Kind.NOTE, Kind.BOOT, Kind.INDEX, Kind.ASSET)


class Editing(Place):
    """A memory whose files are edited by name. Paths are workspace-relative."""

    def read(self, path: str, first: int = 1, last: int = 0) -> Text:
        """The lines of a file from `first` to `last` (1-based, inclusive; 0: to its end).

        Raises NotFound, Refused (not part of the memory), BadData (no text).
        """

        from bonsai.notes.note import parse
        from bonsai.notes.provenance import is_untrusted, source
        from bonsai.passes.edited import Text

        if fault := layout.path_fault(path):
            raise Refused(fault, path=layout.printable(path), hint="Name a note under memory/, or MEMORY.md.")
        if layout.kind_of(path) not in READABLE:
            raise Refused("is not part of the memory", path=path, hint="Name a note under memory/, or MEMORY.md.")
        try:
            data = self._store.read(path)
        except NotFound as error:
            hint = "`recall` finds notes; `restore` brings an archived one back."
            raise NotFound("there is no such note", path=path, hint=hint) from error
        if b"\0" in data:
            raise BadData("is no text", path=path, hint="It is kept beside the notes; open it with its own program.")
        note = parse(data)
        rows = data.decode("utf-8", "replace").split("\n")
        total = len(rows) - (rows[-1] == "")
        end = min(last or total, total)
        start = max(first, 1)
        shown = (start, end) if start <= end else (0, 0)
        text = "\n".join(rows[start - 1 :] if not last else rows[start - 1 : end]) if shown[0] else ""
        return Text(path, text, shown, total, source(note.fields), is_untrusted(note))

    def files(self, folder: str = layout.MEMORY) -> dict[str, int]:
        """The live notes, generated indexes and other files at or below a folder, with their sizes in bytes."""

        from bonsai.passes import edit

        with self._reading() as (run, _):
            rows = run.look().rows
        found = {path: row.stat.size for path, row in rows.items() if row.stat is not None}
        shown = (path for path in found if edit.is_shown(path) or layout.kind_of(path) in (Kind.INDEX, Kind.BOOT))
        return {path: found[path] for path in sorted(shown) if path == folder or path.startswith(f"{folder}/")}

    def create(self, path: str, text: str) -> Written:
        """Write a new file. Raises CannotCreate (the name is taken), Refused."""

        from bonsai.passes import edit

        return self._run(lambda run, view, draft: edit.create(draft, path, text))

    def edit(self, path: str, change: Callable[[str], str]) -> Written:
        """Give a file another text: `change` is handed the old one, under the lock.

        Raises NotFound, Refused, BadData, and what `change` raises.
        """

        from bonsai.passes import edit

        return self._run(lambda run, view, draft: edit.change(draft, path, change))

    def update(self, path: str, old: str, new: str) -> Written:
        """Replace the one place that says `old`; with an empty `old`, append. Relative dates in `new` become absolute.

        Raises Usage, NotFound, Refused.
        """

        from bonsai.adapters import clock
        from bonsai.passes import edit
        from bonsai.passes.cared import Absolute

        found: list[Absolute] = []

        def change(text: str) -> str:
            made, phrases = edit.updated(text, old, new, clock.local(self.now()).date())
            found[:] = [Absolute(path, 0, item.text, item.absolute) for item in phrases]
            return made

        report = self.edit(path, change)
        report.dates = found
        return report

    def rename(self, old: str, new: str) -> Written:
        """Give a file or a folder another name; links keep working. Raises NotFound, CannotCreate, Refused."""

        from bonsai.passes import edit

        return self._run(lambda run, view, draft: edit.rename_file(view, draft, old, new))

    def put_away(self, path: str) -> Written:
        """Archive a note, or all in a folder; other files go, and stay in git. Raises NotFound, Refused."""

        from bonsai.passes import edit

        return self._run(lambda run, view, draft: edit.put_away(view, draft, path, run.now_iso))

    def token(self, path: str) -> str:
        """The secret of a server, in a private file of `.bonsai`; made where there is none.

        Raises Refused, IoFailed.
        """

        from bonsai.adapters import private_files

        ensure_private(self.root)
        return private_files.token(self.root, path)

    def promote(self, path: str) -> PromoteReport:
        """Speak for a note from the web or a tool, so that the boot file may tell of it. Raises NotFound, Usage."""

        from bonsai.passes import promote

        return self._run(lambda run, view, draft: promote.promote(draft, path, run.now_iso))
