"""Restore: bring back an archive, a purged note, or a file as it was at a revision or on a day."""

import shlex
from collections.abc import Callable

from bonsai.errors import CannotCreate, NotFound, Usage
from bonsai.notes import layout, rename
from bonsai.notes.change import Plan, Row
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Kind
from bonsai.notes.view import View
from bonsai.passes.reports import RestoreReport
from bonsai.ports.history import History

MANAGED = frozenset({Kind.NOTE, Kind.ASSET, Kind.BOOT, Kind.CONFIG})


def restore(
    view: View, draft: Draft, history: History, target: str, point: Callable[[str], str]
) -> tuple[Plan, RestoreReport]:
    """Plan the return of one file: `PATH` as it was last, `PATH@REV` as it was then; of a folder, what HEAD still has.

    Raises NotFound (git never had it), Usage (it stands there already, or is no part of the memory), CannotCreate (the
    name is taken).
    """
    missing = _missing_below(view, target)
    if missing:
        for row in missing:
            draft.create(row.path, history.blob(row.head), row.head_mode)
        paths = [row.path for row in missing]
        body = "\n".join(f"restore {path}" for path in paths)
        return draft.plan("restore", f"restore: {layout.listed(paths)}", body), RestoreReport(paths, None)
    path, rev, commit = _name_and_revision(draft, history, target, point)
    if layout.kind_of(path) not in MANAGED:
        if "/" not in path and draft.get(path) is None:  # a note by its bare name
            raise NotFound("there is no such note", path=path, hint="`bonsai recall --deleted` finds what is gone.")
        raise Usage("is nothing that bonsai keeps", path=path, hint="Name a file under memory/, or MEMORY.md.")
    to = _at_revision(draft, history, path, commit) if rev else _latest(draft, history, path)
    at = f"\nfrom {rev}" if rev else ""
    return draft.plan("restore", f"restore: {layout.short(to)}", f"restore {to}{at}"), RestoreReport([to], None)


def _missing_below(view: View, folder: str) -> list[Row]:
    """What HEAD has below a folder and the disk has not: a clean-up tool was here."""
    return [
        row
        for path, row in sorted(view.rows.items())
        if path.startswith(f"{folder}/")
        and row.head
        and row.stat is None
        and not view.hides(path)
        and layout.kind_of(path) in MANAGED
    ]


def _name_and_revision(
    draft: Draft, history: History, target: str, point: Callable[[str], str]
) -> tuple[str, str, str]:
    """Path, revision, its commit. An `@` may well be part of the name (`me@home.md`)."""
    name, at, rev = target.rpartition("@")
    if not at or draft.get(target) is not None:
        return target, "", ""
    try:
        return name, rev, point(rev)
    except NotFound:
        if not history.log([target], limit=1):
            raise
        return target, "", ""


def _at_revision(draft: Draft, history: History, path: str, commit: str) -> str:
    """Exactly the bytes that the path had then; what stands there now is in HEAD."""
    draft.put(path, history.read(commit, path))
    return path


def _latest(draft: Draft, history: History, path: str) -> str:
    live = layout.live_path(path) if layout.is_archived(path) else path
    archived = path if layout.is_archived(path) else layout.archived_path(path) if path.endswith(".md") else ""
    data = draft.get(archived) if archived else None
    if data is not None:
        if not draft.free(live):
            raise CannotCreate("the name is taken", path=live, hint="Rename the note that stands there, then restore.")
        draft.rename(archived, live, rename.without_archive_keys(data))
        return live
    if draft.get(live) is not None:
        older = shlex.quote(f"{live}@REV")
        raise Usage("stands there already", path=live, hint=f"`bonsai restore {older}` gives an older version.")
    if not draft.free(live):
        raise CannotCreate("the name is taken", path=live, hint="Rename what stands there, then restore.")
    draft.create(live, *_from_history(history, live, archived))
    return live


def _from_history(history: History, live: str, archived: str) -> tuple[bytes, int]:
    """The last bytes that git had under either name, without what archiving added; and their mode."""
    names = [name for name in (live, archived) if name]
    for commit in history.log(names):
        for name in names:
            try:
                data = history.read(commit.sha, name)
            except NotFound:
                continue
            mode = history.tree(commit.sha)[name].mode
            return rename.without_archive_keys(data) if name == archived else data, mode
    raise NotFound("git never had such a file", path=live, hint="`bonsai log` shows the paths that there were.")
