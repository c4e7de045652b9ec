"""How a buffer writes down messages and the names of values."""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from bonsai.conversation.armour import armour
from bonsai.conversation.turn import Message

_TYPES = [int, str, str, str, str, str]


def packed(message: Message) -> str:
    """A message of a thread as one line of ASCII, the same whenever the log gives the same message."""
    return json.dumps([message.seq, message.id, message.role, message.content, message.user, message.time])


def unpacked(texts: Iterable[str], thread: str) -> list[Message]:
    """What `packed` was given, but for the metadata; what it never gave is left out."""
    lines = list(texts)
    try:  # at one go, which is a third of the cost
        return [_message(row, thread) for row in json.loads(f"[{','.join(lines)}]")]
    except (ValueError, TypeError, RecursionError):  # damaged, or of another program: the other messages are good
        return [found for line in lines for found in _readable(line, thread)]


def loaded(text: str | None) -> Any:
    """A value that was kept as JSON, None where it is none any more."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None


def _readable(line: str, thread: str) -> list[Message]:
    try:
        return [_message(json.loads(line), thread)]
    except (ValueError, TypeError, RecursionError):
        return []


def _message(row: list[Any], thread: str) -> Message:
    seq, number, role, content, user, time = row
    if [type(item) for item in row] != _TYPES:
        raise TypeError
    return Message(number, thread, role, content, user, "", None, time, seq)


@lru_cache(1024)  # the same few names at each turn of a thread
def spelled(key: tuple[str, ...]) -> str:
    """A name for a key that no other key has: whatever stands in its parts, the colons between them are ours."""
    return ":".join(quote(armour(part), safe="@.,+ ") for part in key)
