"""Feedback: write the next entry, list them, give duplicates a number of their own."""

from collections.abc import Callable
from datetime import date

from bonsai.errors import BadData, Usage
from bonsai.notes import dates, feedback
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.note import UTF16
from bonsai.notes.printed import encoded
from bonsai.notes.problem import Problem, problem
from bonsai.passes.cared import Absolute, FeedbackAdded, FeedbackFixed, FeedbackList


def add(
    draft: Draft, tree: Tree, guide: str, today: date, *, rule: str, why: str, how: str, confirmed: bool, context: str
) -> tuple[Plan, FeedbackAdded]:
    """Plan the next entry of feedback.md. Raises Usage where a part is missing, BadData for a file that is UTF-16.

    Args:
        guide: the text that a new feedback.md begins with.
        today: the day of the entry; relative dates in its parts are taken as of it.
    """
    _need(rule=rule, why=why, how=how, confirmed=confirmed, context=context)
    path = tree.at(feedback.NAME)
    old = draft.get(path)
    text = guide if old is None else _text(old, path)
    number = feedback.next_number(text, _decoded(draft.get(tree.boot) or b""))
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


def entries(read: Callable[[str], bytes | None], tree: Tree) -> FeedbackList:
    """The entries of feedback.md, in order."""
    path = tree.at(feedback.NAME)
    found = feedback.find(_decoded(read(path) or b""))
    return FeedbackList(path, found, numbered_twice(path, found))


def numbered_twice(path: str, found: list[feedback.Entry]) -> list[Problem]:
    """A problem for each entry whose number is taken."""
    return [
        problem("feedback-number", path, f"line {item.line}: {item.id} is there twice: run `bonsai feedback fix`")
        for item in feedback.duplicates(found)
    ]


def fix(draft: Draft, tree: Tree) -> tuple[Plan, FeedbackFixed]:
    """Plan a new number for each duplicate; the first entry of a number keeps it."""
    path = tree.at(feedback.NAME)
    text = _text(draft.need(path), path)
    taken = [entry.number for entry in feedback.find(_decoded(draft.get(tree.boot) or b""))]
    new, done = feedback.renumber(text, taken)
    if done:
        draft.put(path, new.encode("utf-8", "surrogateescape"))
    body = "\n".join(f"{item.old} in line {item.line} is {item.new} now" for item in done)
    return draft.plan("feedback", f"feedback: renumber {len(done)}", body), FeedbackFixed(path, done, None)


def _text(data: bytes, path: str) -> str:
    if data.startswith(UTF16):
        raise BadData("is UTF-16, so nothing can be written into it", path=path, hint="Save it as UTF-8.")
    return _decoded(data)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
