"""Changes of the hot sections of a boot file; what is pruned there moves into notes, in the same run."""

from datetime import datetime
from typing import Any

from bonsai.config import Settings
from bonsai.errors import BadData
from bonsai.facts import fact as facts
from bonsai.facts import hot
from bonsai.facts.bullet import Entry, text_of
from bonsai.facts.extract import extract
from bonsai.facts.hot import DOMAINS, Limits, Pruned
from bonsai.facts.score import IMPORTANCE, finite
from bonsai.notes import layout, taxonomy
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.note import UTF16
from bonsai.notes.view import View
from bonsai.passes.tiered import HotReport


def limits(settings: Settings) -> Limits:
    """The limits of a workspace."""
    return Limits(
        int(settings["boot", "hot_bytes"]),
        int(settings["hot", "max_lessons"]),
        int(settings["hot", "max_events"]),
        int(settings["hot", "max_tasks"]),
    )


def update(
    view: View, draft: Draft, tree: Tree, key: str, value: Any, now: datetime, settings: Settings
) -> tuple[Plan, HotReport]:
    """Plan a change of the hot state. Raises Usage, BadData."""
    new = hot.updated(_boot(draft, tree), key, value, int(now.timestamp()))
    report = _put(draft, tree, new, now, settings, closed=False)
    report.updated = key
    return draft.plan("hot", f"hot: {key}", _told(report)), report


def rebuild(view: View, draft: Draft, tree: Tree, now: datetime, settings: Settings) -> tuple[Plan, HotReport]:
    """Plan to bring the hot sections within their limits, without what is done."""
    report = _put(draft, tree, _boot(draft, tree), now, settings, closed=True)
    return draft.plan("hot", f"hot: {len(report.moved)} entries move into notes", _told(report)), report


def _boot(draft: Draft, tree: Tree) -> bytes:
    data = draft.get(tree.boot) or b""
    if data.startswith(UTF16):
        raise BadData("is UTF-16, so nothing can be put into it", path=tree.boot, hint="Save it as UTF-8.")
    return data


def _put(draft: Draft, tree: Tree, data: bytes, now: datetime, settings: Settings, *, closed: bool) -> HotReport:
    new, out = hot.pruned(data, limits(settings), closed)
    if draft.get(tree.boot) is None:
        draft.create(tree.boot, new)
    else:
        draft.put(tree.boot, new)
    moved = [_kept(draft, tree, item, now) for item in out]
    return HotReport("", tree.boot, hot.size(new), limits(settings).size, moved)


def _kept(draft: Draft, tree: Tree, item: Pruned, now: datetime) -> str:
    """Draft the note of an entry that left the boot file."""
    entry, text = item.entry, text_of(item.kind, item.entry)
    domain = _domain(item)
    number = facts.fact_id(tree.agent, domain, text)
    path = f"{tree.domains}/{domain}/{facts.file_name(text, number)}.md"
    if draft.get(path) is not None:
        return path
    found = extract(text)
    fields = {
        "id": number,
        "type": facts.TYPE,
        "domain": domain,
        "created": _created(entry, now),
        "importance": f"{_importance(entry):.4g}",
        "status": str(entry["status"]) if entry.get("status") else None,
        "tags": [item.kind],
        "urls": found.urls,
        "commands": found.commands,
        "paths": found.paths,
    }
    draft.create(path, facts.note_of(text, fields))
    return path


def _domain(item: Pruned) -> str:
    given = item.entry.get("category")
    if isinstance(given, str) and given:
        try:
            return f"{DOMAINS[item.kind]}/{taxonomy.domain_path(given)}"
        except BadData:
            pass
    return DOMAINS[item.kind]


def _importance(entry: Entry) -> float:
    return min(1.0, max(0.0, finite(entry.get("importance"), IMPORTANCE)))


def _created(entry: Entry, now: datetime) -> str:
    stamp = entry.get("timestamp")
    said = facts.when(stamp) if isinstance(stamp, int | float) and not isinstance(stamp, bool) else ""
    return said or facts.when(now.timestamp())


def _told(report: HotReport) -> str:
    return "\n".join(f"move to {layout.printable(path)}" for path in report.moved)
