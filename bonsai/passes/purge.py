"""Purge: delete archives whose grace period is over, and log each of them."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bonsai.errors import Refused
from bonsai.notes import ages, layout, lifecycle, moment
from bonsai.notes.change import PathTime, Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.view import View
from bonsai.passes.reports import Purged, PurgeReport, Waiting


def purge(
    view: View,
    draft: Draft,
    tree: Tree,
    times: Mapping[str, PathTime],
    *,
    now: datetime,
    grace_days: int,
    ask_over: int,
    yes: bool,
    dry_run: bool,
) -> tuple[Plan, PurgeReport]:
    """Plan a purge. Raises Refused when it is large and not confirmed."""
    found = ages.archives(view, tree, times, now, grace_days)
    over = [Purged(item.path, item.age_days) for item in found if not item.days_left]
    waiting = [Waiting(item.path, item.days_left) for item in found if item.days_left]
    report = PurgeReport(over, waiting, None, dry_run)
    if dry_run or not over:
        return Plan("purge", ""), report
    live = sum(1 for _ in view.notes(tree)) + len(over) + len(waiting)
    reason = lifecycle.needs_yes(len(over), live, ask_over)
    if reason and not yes:
        raise Refused(reason, path=tree.memory, hint="Look at `bonsai purge --dry-run`, then run `bonsai purge --yes`.")
    entries = []
    for item in over:
        row = view.rows[item.path]
        draft.drop(item.path)
        tokens = row.summary.tokens if row.summary else 0
        entries.append(
            {
                "file": item.path,
                "purged_at": moment.stamp(now),
                "age_days": item.age_days,
                "tokens": tokens,
                "blob": row.blob,
            }
        )
    _append(draft, tree.at(layout.PURGE_LOG), entries)
    body = "\n".join(f"purge {item.path} ({item.age_days}d)" for item in over)
    return draft.plan("purge", f"purge: {layout.listed([item.path for item in over])}", body), report


def _append(draft: Draft, path: str, entries: list[dict[str, Any]]) -> None:
    """Add to the log; one that is damaged is kept beside it under another name."""
    old = draft.get(path)
    log: list[Any] = []
    if old is not None and old.strip():
        try:
            log = json.loads(old)
            if not isinstance(log, list):
                raise ValueError("not a list")
        except (ValueError, RecursionError):
            log = []
            number = 1
            while not draft.free(f"{path.removesuffix('.json')}.damaged-{number}.json"):
                number += 1
            draft.create(f"{path.removesuffix('.json')}.damaged-{number}.json", old)
    draft.put(path, (json.dumps([*log, *entries], indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
