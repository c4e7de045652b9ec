"""How a buffer writes down messages and the names of values."""

import json
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

from bonsai.conversation.armour import armour
from bonsai.conversation.turn import Message


def packed(message: Message) -> str:
    """A message of a thread as one line of ASCII, the same whenever the log gives the same message."""
    return json.dumps([message.seq, message.id, message.role, message.content, message.user, message.time])


def unpacked(texts: Iterable[str], thread: str) -> list[Message]:
    """What `packed` was given, but for the metadata; read at one go, which is a third of the cost."""
    rows = json.loads(f"[{','.join(texts)}]")
    return [
        Message(number, thread, role, content, user, "", None, time, seq)
        for seq, number, role, content, user, time in rows
    ]


@lru_cache(1024)  # the same few names at each turn of a thread
def spelled(key: tuple[str, ...]) -> str:
    """A name for a key that no other key has: whatever stands in its parts, the colons between them are ours."""
    return ":".join(quote(armour(part), safe="@.,+ ") for part in key)
