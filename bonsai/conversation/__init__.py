"""The conversation: recent turns, messages, events and facts, and one context for the next turn.

`Conversation` and `AsyncConversation` are the public API; `Told`, `Fact`, `Message`, `Event` and `Context` are what
they take and give.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bonsai.conversation.context import Context as Context
    from bonsai.conversation.context import Passage as Passage
    from bonsai.conversation.fact import Fact as Fact
    from bonsai.conversation.fact import Told as Told
    from bonsai.conversation.turn import Event as Event
    from bonsai.conversation.turn import Message as Message
    from bonsai.talk.concurrent import AsyncConversation as AsyncConversation
    from bonsai.talk.service import Conversation as Conversation
    from bonsai.talk.service import Written as Written

_WHERE = {
    "AsyncConversation": "bonsai.talk.concurrent",
    "Context": "bonsai.conversation.context",
    "Conversation": "bonsai.talk.service",
    "Event": "bonsai.conversation.turn",
    "Fact": "bonsai.conversation.fact",
    "Message": "bonsai.conversation.turn",
    "Passage": "bonsai.conversation.context",
    "Told": "bonsai.conversation.fact",
    "Written": "bonsai.talk.service",
}
__all__ = [
    "AsyncConversation",
    "Context",
    "Conversation",
    "Event",
    "Fact",
    "Message",
    "Passage",
    "Told",
    "Written",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: the nouns beside this do without the rest."""
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'bonsai.conversation' has no attribute {name!r}")
