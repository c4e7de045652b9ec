"""Daily notes: one file a local day, appended to where it already stands."""

import re
from datetime import date

from bonsai.errors import BadData, NotFound, Usage
from bonsai.notes import dates
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.note import UTF16
from bonsai.notes.printed import encoded
from bonsai.passes.reports import DailyReport

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def parse_day(text: str) -> date:
    """A day as `YYYY-MM-DD`. Raises BadData."""
    try:
        if not _DAY.fullmatch(text):
            raise ValueError("not YYYY-MM-DD")
        return date.fromisoformat(text)
    except ValueError as error:
        raise BadData("is no day", path=text, hint="Write it as YYYY-MM-DD, e.g. 2026-04-12.") from error


def place(draft: Draft, tree: Tree, day: date) -> str:
    """Where the note of a day stands: right in memory/ (OpenClaw writes there) or in daily/, else daily/."""
    loose = tree.at(f"{day.isoformat()}.md")
    return loose if draft.get(loose) is not None else f"{tree.daily}/{day.isoformat()}.md"


def add(draft: Draft, tree: Tree, day: date, text: str) -> tuple[Plan, DailyReport]:
    """Plan to append an entry to the note of a day, its relative dates made absolute.

    Raises Usage for an empty one, BadData where the note is UTF-16.
    """
    entry = dates.absolute(text.strip("\r\n"), day)[0]
    if not entry.strip():
        raise Usage("the entry is empty", hint='Say what to remember: `bonsai daily add "Called the plumber."`')
    path = place(draft, tree, day)
    old = draft.get(path)
    if old is None:
        data = encoded(f"# {day.isoformat()}\n\n{_bullet(entry)}\n")
        draft.create(path, data)
    else:
        if old.startswith(UTF16):
            raise BadData("is UTF-16, so nothing can be appended to it", path=path, hint="Save it as UTF-8.")
        eol = b"\r\n" if b"\r\n" in old else b"\n"
        start = old if not old or old.endswith(b"\n") else old + eol
        draft.put(path, start + encoded(_bullet(entry)).replace(b"\n", eol) + eol)
    whole = draft.need(path).decode("utf-8", "replace")
    return draft.plan("daily", f"daily: {day.isoformat()}", f"add to {path}"), DailyReport(path, whole, None)


def _bullet(entry: str) -> str:
    """One entry as a bullet; further lines are indented so that they belong to it."""
    first, *rest = entry.replace("\r\n", "\n").split("\n")
    if first.startswith(("- ", "* ", "#")):
        return "\n".join([first, *rest])
    return "\n".join([f"- {first}", *(f"  {line}" if line.strip() else "" for line in rest)])


def show(draft: Draft, tree: Tree, day: date) -> tuple[str, str]:
    """Path and text of the note of a day. Raises NotFound."""
    path = place(draft, tree, day)
    data = draft.get(path)
    if data is None:
        raise NotFound("there is no daily note of that day", path=path, hint="`bonsai daily add TEXT` starts today's.")
    return path, data.decode("utf-8", "replace")
