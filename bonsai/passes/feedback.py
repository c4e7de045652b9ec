"""Feedback: write the next entry, list them, give duplicates a number of their own."""

from collections.abc import Callable, Sequence
from datetime import date

from bonsai.errors import BadData, Usage
from bonsai.notes import dates, feedback
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.note import UTF16
from bonsai.notes.printed import encoded
from bonsai.notes.view import View
from bonsai.passes.cared import Absolute, FeedbackAdded, FeedbackFixed, FeedbackList


def add(
    view: View,
    draft: Draft,
    tree: Tree,
    guide: str,
    today: date,
    *,
    rule: str,
    why: str,
    how: str,
    confirmed: bool,
    context: str,
) -> tuple[Plan, FeedbackAdded]:
    """Plan the next entry of feedback.md. Raises Usage where a part is missing, BadData for a file that is UTF-16.

    Its number is the one after the highest that any file of the tree has.

    Args:
        guide: the text that a new feedback.md begins with.
        today: the day of the entry; relative dates in its parts are taken as of it.
    """
    _need(rule=rule, why=why, how=how, confirmed=confirmed, context=context)
    path = tree.at(feedback.NAME)
    old = draft.get(path)
    text = guide if old is None else _text(old, path)
    number = feedback.next_number(text, *_files(draft.get, feedback.places(view, tree)).values())
    changed: list[Absolute] = []

    def written(part: str) -> str:
        made, found = dates.absolute(part, today)
        changed.extend(Absolute(path, 0, item.text, item.absolute) for item in found)
        return made

    rule, why, how, context = map(written, (rule, why, how, context))
    if confirmed:
        entry = feedback.confirmation(number, rule, today, context, why)
    else:
        entry = feedback.correction(number, rule, today, why, how)
    data = encoded(feedback.append(text, entry))
    if old is None:
        draft.create(path, data)
    else:
        draft.put(path, data)
    name = f"F{number:03}"
    plan = draft.plan("feedback", f"feedback: {name} {' '.join(rule.split())[:60]}", f"add to {path}")
    return plan, FeedbackAdded(name, path, entry, changed, None)


def _need(*, rule: str, why: str, how: str, confirmed: bool, context: str) -> None:
    if not rule.strip():
        raise Usage("there is nothing to remember", hint="Say it: --rule TEXT, or --confirm TEXT.")
    if confirmed and how.strip():
        raise Usage("a confirmation has no --how", hint="Say what was being done with --context.")
    if confirmed and not context.strip():
        raise Usage("a confirmation needs its context", hint="Say what was being done: --context TEXT.")
    if not confirmed and context.strip():
        raise Usage("a correction has no --context", hint="Use --why and --how, or --confirm for an approval.")
    missing = [name for name, value in (("--why", why), ("--how", how)) if not value.strip()]
    if not confirmed and missing:
        raise Usage(
            f"a correction needs {' and '.join(missing)}",
            hint="Without its reason nobody can tell later when it applies.",
        )


def entries(view: View, read: Callable[[str], bytes | None], tree: Tree) -> FeedbackList:
    """The entries of a tree, by their numbers."""
    places = feedback.places(view, tree)
    found = feedback.gathered(_files(read, places))
    with_some = {entry.path for entry in found}
    elsewhere = [path for path in places[2:] if path not in with_some]
    found.sort(key=lambda entry: entry.number)
    return FeedbackList(tree.at(feedback.NAME), found, feedback.numbered_twice(found), elsewhere)


def fix(view: View, draft: Draft, tree: Tree) -> tuple[Plan, FeedbackFixed]:
    """Plan a new number for each duplicate; the first entry of a number keeps it. Raises NotFound without any file."""
    path = tree.at(feedback.NAME)
    files = _files(draft.get, feedback.places(view, tree))
    if not any(feedback.find(text) for text in files.values()):
        draft.need(path)
    new, done = feedback.renumber(files)
    for name, text in new.items():
        draft.put(name, text.encode("utf-8", "surrogateescape"))
    body = "\n".join(f"{item.old} in {item.path}, line {item.line}, is {item.new} now" for item in done)
    return draft.plan("feedback", f"feedback: renumber {len(done)}", body), FeedbackFixed(path, done, None)


def _files(read: Callable[[str], bytes | None], places: Sequence[str]) -> dict[str, str]:
    """What stands in these files, as far as they are there; nothing can be read or written in UTF-16."""
    found = {path: read(path) or b"" for path in places}
    return {path: _decoded(data) for path, data in found.items() if not data.startswith(UTF16)}


def _text(data: bytes, path: str) -> str:
    if data.startswith(UTF16):
        raise BadData("is UTF-16, so nothing can be written into it", path=path, hint="Save it as UTF-8.")
    return _decoded(data)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
