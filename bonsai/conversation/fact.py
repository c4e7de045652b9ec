"""What is known about a user: facts by key, how sure they are, and which of them matter most now."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from bonsai.conversation.turn import json_text, need_name, need_text
from bonsai.errors import BadData

CONFIDENCE = 0.8  # of a fact that says nothing about it
FADE_DAYS = 30.0  # after so many days a fact weighs a third of what it did


@dataclass(frozen=True, slots=True)
class Told:
    """A fact as somebody tells it. `keep_confident`: it does not replace one that is surer."""

    key: str
    value: str
    confidence: float = CONFIDENCE
    keep_confident: bool = False


class Fact(NamedTuple):
    """A fact as it stands, or as it stood: one key of one user has one value at a time.

    `updated` is ISO 8601 in UTC, `turn` the turn that told it, `source` where it is kept.
    """

    user: str
    key: str
    value: str
    confidence: float
    version: int
    updated: str
    turn: str = ""
    source: str = ""


def each_told(items: Iterable[Told | Mapping[str, Any]]) -> list[Told]:
    """Checked facts. Raises BadData."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise BadData("the facts are no list of facts", hint='[{"key": "city", "value": "Oslo"}]')
    return [told(item) for item in items]


def told(item: Told | Mapping[str, Any]) -> Told:
    """A checked fact, also from a mapping with `key`, `value` and perhaps `confidence`. Raises BadData."""
    if not isinstance(item, Told):
        good = isinstance(item, Mapping) and not set(item) - {"key", "value", "confidence", "keep_confident"}
        if not good or item.get("key") is None or item.get("value") is None:
            raise BadData("a fact has a key, a value and perhaps a confidence", hint='{"key": "city", "value": "Oslo"}')
        keep = bool(item.get("keep_confident", False))
        item = Told(str(item["key"]), _text(item["value"]), item.get("confidence", CONFIDENCE), keep)
    need_name("key", item.key)
    need_text("value", item.value)
    sure = item.confidence
    if isinstance(sure, bool) or not isinstance(sure, int | float) or not 0 <= sure <= 1:
        raise BadData(f"the confidence {sure!r} is no number from 0 to 1", hint="Say 0.8, or leave it out.")
    return Told(item.key, item.value, float(sure), item.keep_confident)


def _text(value: Any) -> str:
    """A value as a text: of what a model says in JSON, that JSON."""
    return value if isinstance(value, str) else json_text(value)


def replaces(new: Told, old: Fact, turn: str, since: str | None) -> bool:
    """Whether a fact that is told takes the place of the one that stands.

    It does not where the same turn told that one already, where somebody has told it after `since` (a turn that is
    retried must not undo what came after it), or where it wants to yield to a surer one.
    """
    if turn and turn == old.turn:
        return False
    if since is not None and _instant(old.updated) > _instant(since):
        return False
    return not (new.keep_confident and old.confidence > new.confidence)


def by_weight(facts: Iterable[Fact], now: datetime) -> list[Fact]:
    """What matters most first, by confidence × recency; in a stable order."""
    at = now.timestamp()

    def order(fact: Fact) -> tuple[float, str]:
        days = max(0.0, at - _seconds(fact.updated)) / 86400
        return -fact.confidence * math.exp(-days / FADE_DAYS), fact.key

    return sorted(facts, key=order)


def folded(key: str, value: str) -> str:
    """The text in which a search looks, whatever the case of its words."""
    return f"{key}\n{value}".casefold()


@lru_cache(4096)  # the facts of a user are weighed anew at each of his turns
def _seconds(iso: str) -> float:
    return _instant(iso).timestamp()


def _instant(iso: str) -> datetime:
    return datetime.fromisoformat(iso)
