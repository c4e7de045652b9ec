"""What was said without what is to be forgotten: marks stand in its place, the rest of each text stays."""

import json
from typing import Any

from bonsai.conversation.armour import each_text
from bonsai.conversation.fact import Fact
from bonsai.conversation.turn import Event, Message
from bonsai.notes.forget import Forget


def text(said: str, what: Forget) -> str:
    """A text (without armour), the very one where it holds nothing of it."""
    data = said.encode("utf-8", "surrogatepass")
    if not what.found(data):
        return said
    clear = what.text_of(data)
    try:
        return clear.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a form in another encoding ended in the midst of a character
        return clear.decode("utf-8", "replace")


def value(said: Any, what: Forget) -> Any:
    """A JSON value, keys too."""
    return each_text(said, lambda part: text(part, what))


def message(said: Message, what: Forget) -> Message:
    """A message; its id, its place and its time stay."""
    return said._replace(
        thread=text(said.thread, what),
        role=text(said.role, what),
        content=text(said.content, what),
        user=text(said.user, what),
        intent=text(said.intent, what),
        metadata=None if said.metadata is None else value(said.metadata, what),
    )


def event(done: Event, what: Forget) -> Event:
    """An event; another one by its hash where it held something, since a hash of what was there could be guessed."""
    return Event(text(done.user, what), text(done.type, what), value(done.payload, what), done.time)


def fact(known: Fact, what: Forget) -> Fact:
    """A fact, or a version of one."""
    return known._replace(
        user=text(known.user, what),
        key=text(known.key, what),
        value=text(known.value, what),
        turn=text(known.turn, what),
    )


def holds(said: str, what: Forget) -> bool:
    """Whether a text, or what it says as JSON, holds something of it."""
    if text(said, what) != said:
        return True
    if "\\" not in said:  # then its JSON says nothing that does not stand there
        return False
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return False
    return bool(value(found, what) != found)
