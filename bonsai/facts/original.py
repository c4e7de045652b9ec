"""The files of the original tiered memory: warm-memory.json, memory-tree.json, hot-memory-state.json, config.json."""

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, NamedTuple

from bonsai.errors import BadData
from bonsai.facts import fact as facts
from bonsai.facts.extract import Metadata
from bonsai.facts.score import IMPORTANCE, finite
from bonsai.notes import taxonomy
from bonsai.notes.printed import encoded

WARM, TREE, HOT, METRICS, CONFIG = (
    "warm-memory.json",
    "memory-tree.json",
    "hot-memory-state.json",
    "metrics.json",
    "config.json",
)
FILES = (WARM, TREE, HOT, METRICS)
COUNTERS = {
    "retrieval_count": "retrievals",
    "consolidation_count": "consolidations",
    "last_consolidation": "last_consolidation",
}


class Old(NamedTuple):
    """A fact as the original kept it; `created` is an ISO 8601 time, "" for none."""

    id: str
    text: str
    domain: str
    importance: float
    created: str
    accesses: int
    metadata: Metadata


def loaded(data: bytes, path: str) -> Any:
    """The JSON of a file. Raises BadData."""
    try:
        return _sound(json.loads(data.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        raise BadData("is no JSON, so nothing was taken over from it", path=path, hint="Correct the file.") from error


def warm(found: Any) -> Iterator[Old]:
    """The facts of warm-memory.json (a list, or an object that holds one); what has no text is passed over."""
    items = found.get("facts", found.get("entries", [])) if isinstance(found, dict) else found
    for item in items if isinstance(items, list) else []:
        text = item.get("text") if isinstance(item, dict) else None
        if not isinstance(text, str) or not text.strip():
            continue
        number = str(item.get("id", ""))
        told = item.get("metadata")
        kept = told if isinstance(told, dict) else {}
        created, weight = finite(item.get("created_at"), 0), finite(item.get("importance"), IMPORTANCE)
        yield Old(
            number if facts.ID.fullmatch(number) else "",
            text,
            domain(item.get("category")),
            min(1.0, max(0.0, weight)),
            facts.when(created) if created else "",
            int(finite(item.get("access_count"), 0)),
            Metadata(*(_texts(kept.get(key)) for key in ("urls", "commands", "paths"))),
        )


def domain(category: Any) -> str:
    """The domain of a category; what cannot be one is general."""
    try:
        return taxonomy.domain_path(category) if isinstance(category, str) and category else taxonomy.GENERAL
    except BadData:
        return taxonomy.GENERAL


def nodes(found: Any) -> dict[str, str]:
    """Category → description, of memory-tree.json."""
    items = found.get("nodes", found) if isinstance(found, dict) else {}
    told: dict[str, str] = {}
    for path, node in items.items() if isinstance(items, Mapping) else ():
        about = node.get("desc", node.get("description")) if isinstance(node, dict) else None
        if path != "root" and isinstance(about, str) and about.strip():
            name = domain(path)
            if name != taxonomy.GENERAL or path == taxonomy.GENERAL:
                told[name] = about
    return told


def counters(found: Any) -> dict[str, int]:
    """The counters of metrics.json that go on counting."""
    items = found if isinstance(found, dict) else {}
    return {ours: int(value) for name, ours in COUNTERS.items() if (value := finite(items.get(name), 0)) > 0}


def _sound(value: Any) -> Any:
    """A JSON value without what a note cannot hold: half a surrogate pair, a number that is none."""
    if isinstance(value, str):
        return encoded(value).decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {_sound(key): _sound(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_sound(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _texts(value: Any) -> tuple[str, ...]:
    """The texts of a list, or the one that stands where a list belongs; what is no text is passed over."""
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in items if isinstance(item, str) and item.strip())
