"""How a buffer writes down messages and the names of values."""

import json
from urllib.parse import quote

from bonsai.conversation.armour import armour
from bonsai.conversation.turn import Message


def packed(message: Message) -> str:
    """A message of a thread as one line of ASCII, the same whenever the log gives the same message."""
    return json.dumps([message.seq, message.id, message.role, message.content, message.user, message.time])


def unpacked(text: str, thread: str) -> Message:
    """What `packed` was given, but for its metadata."""
    seq, number, role, content, user, time = json.loads(text)
    return Message(number, thread, role, content, user, time=time, seq=seq)


def spelled(key: tuple[str, ...]) -> str:
    """A name for a key that no other key has: whatever stands in its parts, the colons between them are ours."""
    return ":".join(quote(armour(part), safe="@.,+ ") for part in key)
