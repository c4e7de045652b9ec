"""What was said without what is to be forgotten: marks stand in its place, the rest of each text stays."""

import json
from collections.abc import Iterable
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

from bonsai.conversation.armour import each_text
from bonsai.conversation.fact import Fact
from bonsai.conversation.turn import Event, Message
from bonsai.notes.forget import Forget

Said = TypeVar("Said", Message, Event, Fact)
Place = TypeVar("Place")
#: What of each is anybody's words. Ids, places and times stay; an event is another one by its hash where its words are
#: others, since a hash of what was there could be guessed.
WORDS: dict[type, tuple[str, ...]] = {
    Message: ("thread", "role", "content", "user", "intent", "metadata"),
    Event: ("user", "type", "payload"),
    Fact: ("user", "key", "value", "turn"),
}


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


def without(item: Said, what: Forget) -> Said:
    """A message, an event, a fact or a version of one."""
    words = {name: value(getattr(item, name), what) for name in WORDS[type(item)]}
    return replace(item, **words) if is_dataclass(item) else item._replace(**words)


def holding(items: Iterable[tuple[Place, Said]], what: Forget) -> list[tuple[Place, Said, Said]]:
    """Those of many that hold something of it: where each stands, as it is, and without it."""
    return [(place, old, new) for place, old in items if (new := without(old, what)) != old]


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
