"""Edit: the files of the memory as an agent works on them by name: made, changed, renamed, put away."""

from collections.abc import Callable
from datetime import date

from bonsai.errors import BadData, CannotCreate, NotFound, Refused, Usage
from bonsai.notes import dates, layout, rename
from bonsai.notes.change import Plan
from bonsai.notes.dates import Phrase
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Kind
from bonsai.notes.note import UTF16, can_splice, parse, set_fields
from bonsai.notes.printed import encoded
from bonsai.notes.provenance import PROMOTED, is_untrusted, source
from bonsai.notes.view import View
from bonsai.passes.edited import Written

CLOSED = {
    Kind.INDEX: "is generated: the notes that it is made of can be edited",
    Kind.CONFIG: "holds the settings, which belong to the person",
    Kind.STATE: "is state of bonsai",
    Kind.HELPER: "is a hidden or temporary name, which bonsai does not keep",
    Kind.OUTSIDE: "is not part of the memory",
}
LOGS = frozenset({layout.PURGE_LOG, layout.ERASED, layout.BACKUP})


def need_open(path: str) -> None:
    """Raises Refused where no agent may write: outside the memory, generated, hidden, an archive."""
    fault = layout.path_fault(path)
    if not fault:
        fault = CLOSED.get(layout.kind_of(path), "")
    if not fault and layout.is_archived(path):
        fault = "is archived"
    if not fault and layout.name_of(path).startswith("."):
        fault = "is a hidden file"
    if not fault and layout.name_of(path) in LOGS:
        fault = "is a record that only grows"
    if not fault and path.count("/") > layout.DEEPEST + 1:  # it would be written, and then seen by nobody
        fault = f"is in more than {layout.DEEPEST} folders, deeper than bonsai looks"
    if fault:
        raise Refused(fault, path=layout.printable(path), hint="Name a note under memory/.")


def create(draft: Draft, path: str, text: str) -> tuple[Plan, Written]:
    """Plan a new file. Raises Refused, CannotCreate (the name is taken)."""
    need_open(path)
    draft.create(path, encoded(text))
    return draft.plan("create", f"create: {layout.short(path)}", f"create {path}"), Written(path, None)


def change(draft: Draft, path: str, edit: Callable[[str], str]) -> tuple[Plan, Written]:
    """Plan another text for a file. A note from outside stays one, whatever is written into it.

    `edit` sees the ends of its lines as a model does, and writes them so: without the CR of Windows, which stays.

    Raises NotFound, Refused, BadData, and what `edit` raises.
    """
    need_open(path)
    old = draft.need(path)
    if old.startswith(UTF16):
        raise BadData("is UTF-16, so nothing can be put into it", path=path, hint="Save it as UTF-8.")
    text = old.decode("utf-8", "surrogateescape")
    if text.count("\r\n") == text.count("\n") > 0:
        text = edit(text.replace("\r\n", "\n")).replace("\r\n", "\n").replace("\n", "\r\n")
    else:
        text = edit(text)
    data = encoded(text)
    was = parse(old)
    if is_untrusted(was) and not is_untrusted(parse(data)):
        data = _marked(path, data, source(was.fields) or "untrusted")
    draft.put(path, data)
    return draft.plan("update", f"update: {layout.short(path)}", f"update {path}"), Written(path, None)


def rename_file(view: View, draft: Draft, old: str, new: str) -> tuple[Plan, Written]:
    """Plan another name for a file, or for a folder with all that stands in it; links keep working.

    Raises NotFound, Refused, CannotCreate.
    """
    moved = {path: new + path[len(old) :] for path in within(view, draft, old)}
    if not moved:
        raise NotFound("there is no such file", path=old, hint="`bonsai recall` finds notes.")
    if f"{new}/".startswith(f"{old}/"):
        raise CannotCreate("cannot be put into itself", path=new, hint="Give another name.")
    for path, name in moved.items():
        need_open(path)
        need_open(name)
        if layout.kind_of(path) is Kind.BOOT or layout.kind_of(name) is Kind.BOOT:
            raise Refused("is the boot file, which keeps its name", path=path, hint="Edit its text instead.")
        draft.rename(path, name)
    rename.relink(view, draft, {path: name for path, name in moved.items() if layout.kind_of(path) is Kind.NOTE})
    subject = f"rename: {layout.short(old)} to {layout.short(new)}"
    body = "\n".join(f"rename {path}\nto {name}" for path, name in moved.items())
    return draft.plan("rename", subject, body), Written(new, None, old)


def put_away(view: View, draft: Draft, path: str, now_iso: str) -> tuple[Plan, Written]:
    """Plan that a file, or all in a folder, is there no more: notes become archives, the rest stays in git alone.

    Raises NotFound, Refused.
    """
    found = within(view, draft, path)
    if not found:
        raise NotFound("there is no such file", path=path, hint="`bonsai recall` finds notes.")
    made = []
    for name in found:
        need_open(name)
        if layout.kind_of(name) is Kind.BOOT:
            raise Refused("is the boot file, which every agent starts with", path=name, hint="Edit its text instead.")
        if layout.kind_of(name) is Kind.NOTE:
            made.append(rename.put_away(draft, name, "", now_iso))
        else:
            draft.drop(name)
    body = "\n".join(f"archive {name}" for name in found)
    return draft.plan("archive", f"archive: {layout.listed(found)}", body), Written(path, None, to=", ".join(made))


def within(view: View, draft: Draft, path: str) -> list[str]:
    """The file itself, or the files of a folder that an agent may work on; generated ones follow by themselves."""
    if draft.get(path) is not None:
        return [path]
    return sorted(name for name in view.rows if name.startswith(f"{path}/") and view.on_disk(name) and is_shown(name))


def is_shown(path: str) -> bool:
    """Whether an agent that lists files sees this one, generated indexes aside."""
    kind = layout.kind_of(path)
    name = layout.name_of(path)
    return kind in (Kind.NOTE, Kind.ASSET) and not layout.is_archived(path) and name not in LOGS and name[0] != "."


def replaced(text: str, old: str, new: str) -> str:
    """The text with its one occurrence of `old` as `new`; where `old` is empty, `new` comes at the end.

    Raises Usage where it is not there, or more than once.
    """
    if not old:
        start = text if not text or text.endswith("\n") else f"{text}\n"
        return start + (new if new.endswith("\n") else f"{new}\n")
    count = text.count(old)
    if count != 1:
        what = "is not in the file" if not count else f"is in the file {count} times"
        hint = "Read the file, then give the text exactly as it stands there." if not count else "Give more of it."
        raise Usage(f"the old text {what}", hint=hint)
    return text.replace(old, new)


def updated(text: str, old: str, new: str, today: date) -> tuple[str, list[Phrase]]:
    """The same, with the relative dates in `new` made absolute where the text around it makes no code of them."""
    made = replaced(text, old, new)
    start = text.index(old) if old else len(made) - len(new) - (not new.endswith("\n"))
    prose = {phrase.start for phrase in dates.find(made, today)}
    found = [phrase for phrase in dates.find(new, today) if start + phrase.start in prose]
    return made[:start] + dates.rewritten(new, found) + made[start + len(new) :], found


def _marked(path: str, data: bytes, said: str) -> bytes:
    if not can_splice(parse(data)):
        raise BadData("would no longer say that it is from outside", path=path, hint="Keep its frontmatter as it is.")
    gone = {PROMOTED: None} if PROMOTED in parse(data).fields else {}
    return set_fields(data, {"source": said, **gone})
