"""Notes that change their name: moved with their links, put away as archives, brought back."""

import shlex
from collections.abc import Iterable

from bonsai.errors import CannotCreate, NotFound, Usage
from bonsai.notes import layout, links, note, taxonomy
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.view import View

MAX_NAME = 255  # bytes of a file name on every common file system
ARCHIVE_KEYS = ("archived", "archive_reason")


def need_note(draft: Draft, file: str) -> bytes:
    """The bytes of a note. Raises NotFound, Usage where the file is no note."""
    data = draft.get(file)
    if data is None:
        raise NotFound("there is no such note", path=file, hint="`bonsai recall` finds notes.")
    if layout.kind_of(file) is not Kind.NOTE:
        raise Usage("is not a note", path=file, hint="Name a markdown file under memory/.")
    return data


def domain_on_disk(view: View, tree: Tree, given: str) -> str:
    """The domain that somebody names: a folder that is there under the name it has, else slugified.

    `business/seo` is `Business/seo` where a person has made `Business`: on some disks the two are one folder. Raises
    BadData for what names no domain.
    """
    folders: dict[str, str] = {}
    start = f"{tree.domains}/"
    standing = (path for path, row in view.rows.items() if row.stat is not None and path.startswith(start))
    for folder in dict.fromkeys(path.rpartition("/")[0] for path in standing):  # once each: 100, not 10,000
        domain = folder[len(start) :]
        while domain and layout.fold(domain) not in folders:
            folders[layout.fold(domain)] = domain
            domain = layout.folder_of(domain)
    found = ""
    for slug, typed in zip(taxonomy.domain_path(given).split("/"), given.split("/"), strict=False):
        names = (layout.fold(f"{found}/{name}".lstrip("/")) for name in (typed, slug))
        found = next((folders[name] for name in names if name in folders), f"{found}/{slug}".lstrip("/"))
    return found


def relocate(view: View, draft: Draft, file: str, domain: str) -> str:
    """Draft the move of a note to another domain, without the links; returns the new path.

    Raises NotFound, Usage (no note, or it stands there already), CannotCreate (the name is taken there), BadData (no
    domain).
    """
    data = need_note(draft, file)
    domain = domain_on_disk(view, layout.tree_of(file), domain)
    to = f"{layout.tree_of(file).domains}/{domain}/{layout.name_of(file)}"
    if to == file:
        raise Usage(f"stands in {domain} already", path=file, hint="Name another domain.")
    if not draft.free(to):
        raise CannotCreate("the name is taken there", path=to, hint=f"Rename {file} first, then move it.")
    draft.rename(file, to, with_domain(data, domain))
    return to


def with_domain(data: bytes, domain: str) -> bytes:
    """The bytes with their `domain:` set; unchanged where there is no frontmatter that can be edited safely."""
    return note.set_fields(data, {"domain": domain}) if note.can_splice(note.parse(data)) else data


def relink(view: View, draft: Draft, moved: dict[str, str]) -> list[str]:
    """Draft the rewritten links: those to the moved notes, and the moved notes' own relative ones."""
    changed = []
    for path in sorted({*_linking(view, moved), *moved}):
        place = moved.get(path, path)
        old = draft.get(place)
        if old is None:
            continue
        new = links.rewrite(old, path, place, moved)
        if new != old:
            draft.put(place, new)
            if place == path:
                changed.append(path)
    return changed


def _linking(view: View, moved: dict[str, str]) -> Iterable[str]:
    for path, row in view.rows.items():
        summary = row.summary
        if summary is None or row.stat is None or summary.held:
            continue
        if any(links.leads_to(path, target, moved) for target in summary.links):
            yield path


def put_away(draft: Draft, file: str, reason: str, now_iso: str) -> str:
    """Draft the archiving of one note; returns its new path.

    Raises NotFound, Usage (no note, or archived already), CannotCreate (too long a name).
    """
    data = need_note(draft, file)
    if layout.is_archived(file):
        raise Usage("is archived already", path=file, hint=f"`bonsai restore {shlex.quote(file)}` brings it back.")
    new = _free_name(draft, file)
    if len(layout.name_of(new).encode("utf-8", "surrogateescape")) > MAX_NAME:
        raise CannotCreate("the name would be too long with __DELETE", path=file, hint="Rename it to a shorter name.")
    found = note.parse(data)
    # An empty block stays alone: with the keys, `restore` would take it away too. Git knows date and reason.
    if note.can_splice(found) and (found.fields or found.block is None):
        keys: dict[str, str | None] = {"archived": now_iso}
        if reason:
            keys["archive_reason"] = reason
        data = note.set_fields(data, keys)
    draft.rename(file, new, data)
    return new


def _free_name(draft: Draft, file: str) -> str:
    """The archive's name; an earlier archive of the same name is not overwritten."""
    stem, number = file.removesuffix(".md"), 1
    new = layout.archived_path(file)
    while not draft.free(new):
        number += 1
        new = layout.archived_path(f"{stem}-{number}.md")
    return new


def without_archive_keys(data: bytes) -> bytes:
    """The bytes before archiving, plus later edits."""
    found = note.parse(data)
    if not any(key in found.fields for key in ARCHIVE_KEYS) or not note.can_splice(found):
        return data
    return note.set_fields(data, {key: None for key in ARCHIVE_KEYS if key in found.fields})


def bare_name(path: str) -> str:
    """The name of a file, whether it is archived or not, and wherever it stands."""
    return layout.name_of(layout.live_path(path) if layout.is_archived(path) else path)


def came_from(pairs: Iterable[tuple[str, str]], path: str) -> str:
    """The name that a path had before changes, each (old, new): renamed to it, else gone with the same bare name.

    A note of two lines that gains `archived:` is no rename to git, since it is not half alike.
    """
    gone = []
    for old, new in pairs:
        if new == path and old and old != path:
            return old
        if not new and bare_name(old) == bare_name(path):
            gone.append(old)
    return min(gone, key=lambda old: layout.folder_of(old) != layout.folder_of(path), default="")
