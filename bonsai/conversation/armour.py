"""Text as every store can keep it: a NUL or half a surrogate pair is refused by databases, and is data all the same."""

import re
from collections.abc import Callable
from typing import Any

_MARK = "\ufdd0"  # a code point that stands for no character, in any script, for ever
_ODD = re.compile(f"[\x00{_MARK}\ud800-\udfff]")
_WORN = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def armour(text: str) -> str:
    """The text without what PostgreSQL, SQLite or UTF-8 refuse; `bare` gives it back."""
    if text.isascii() and "\0" not in text:  # almost every text: a load of fifty messages is full of them
        return text
    return _ODD.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def bare(text: str) -> str:
    """What `armour` was given."""
    if _MARK not in text:
        return text
    return _WORN.sub(lambda found: chr(int(found[1], 16)), text)


def armour_json(value: Any) -> Any:
    """`armour` for every text in a JSON value, keys too."""
    return each_text(value, armour)


def bare_json(value: Any) -> Any:
    """`bare` for every text in a JSON value."""
    return each_text(value, bare)


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): each_text(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [each_text(item, change) for item in value]
    return value
