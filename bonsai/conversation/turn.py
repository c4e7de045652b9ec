"""What is said and what is done: messages of a thread, events of a user. Their ids make a repetition harmless."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from bonsai.conversation.armour import armour
from bonsai.errors import BadData, Usage

MAX_NAME = 600  # bytes of a thread, user, key or type: a row of an index in PostgreSQL holds 2,700
MOST = 2**62  # rows
MAX_TEXT = 16 * 1024 * 1024  # bytes of a message or a value
_SPACE = UUID("6f0a6c4e-3c55-5d0e-9d67-0b0a5e1b7a11")  # in which ids are made out of names


class Message(NamedTuple):
    """One message. `seq` is its place in the log and `time` (ISO 8601, UTC) when it came in; both are the log's."""

    id: str
    thread: str
    role: str
    content: str
    user: str = ""
    intent: str = ""
    metadata: Mapping[str, Any] | None = None
    time: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a user did. The same user, type and payload is the same event."""

    user: str
    type: str
    payload: Mapping[str, Any]
    time: str = ""

    @property
    def hash(self) -> str:
        """Hex digits that two equal payloads share, in whatever order their keys are. Raises BadData."""
        return hashlib.sha256(json_text(self.payload).encode()).hexdigest()

    @property
    def id(self) -> str:
        """The UUID of the event."""
        return str(uuid5(_SPACE, "\0".join(("event", armour(self.user), armour(self.type), self.hash))))


def message(
    thread: str,
    role: str,
    content: str,
    *,
    turn: str,
    user: str = "",
    intent: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Message:
    """A checked message that is the same one whenever `thread`, `turn` and `role` are. Raises BadData."""
    need_name("thread", thread)
    need_name("role", role)
    need_name("turn", turn)
    need_text("message", content)
    need_user(user)
    need_str("intent", intent)
    if metadata is not None:
        _need_object("metadata", metadata)
    made = uuid5(_SPACE, "\0".join(("message", armour(thread), armour(turn), armour(role))))
    return Message(str(made), thread, role, content, user, intent, metadata)


def event(user: str, type: str, payload: Mapping[str, Any]) -> Event:
    """A checked event. Raises BadData."""
    need_name("user", user)
    need_name("type", type)
    _need_object("payload", payload)
    return Event(user, type, payload)


def need_name(what: str, text: str) -> str:
    """Raises BadData for a name that is no text, is empty or too long for an index."""
    need_str(what, text)
    if not text.strip():
        raise BadData(f"the {what} is empty", hint=f"Name the {what}.")
    if len(text) > MAX_NAME or len(armour(text).encode()) > MAX_NAME:
        raise BadData(f"the {what} is longer than {MAX_NAME} bytes", hint=f"Give a shorter {what}.")
    return text


def need_user(user: str) -> str:
    """Raises BadData for a name that cannot be one; "" is the owner of the memory."""
    return need_str("user", user) and need_name("user", user)


def need_text(what: str, text: str) -> str:
    """Raises BadData for a text that is none, is empty or larger than 16 MiB."""
    need_str(what, text)
    if not text:
        raise BadData(f"the {what} is empty", hint="Say something.")
    if len(text) > MAX_TEXT:
        raise BadData(f"the {what} is larger than {MAX_TEXT >> 20} MiB", hint="Keep it in a file and name that.")
    return text


def need_str(what: str, text: str) -> str:
    """Raises BadData for what is no text; callers hand on what a model or a client sent as JSON."""
    if not isinstance(text, str):
        raise BadData(f"the {what} is no text", hint="Give it as a text.")
    return text


def need_count(what: str, number: int, least: int = 0) -> int:
    """Raises Usage for what is no whole number, or is below `least`."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        shown = f"{number!r}"[:40]
        raise Usage(f"the {what} {shown} is no whole number from {least} on", hint=f"Give a number of {least} or more.")
    return number


def _need_object(what: str, value: Mapping[str, Any]) -> None:
    if not isinstance(value, Mapping):
        raise BadData(f"the {what} is no JSON object", hint="""Give one like {"km": 5}.""")
    need_text(what, json_text(value))


def countable(number: int) -> int:
    """A number of rows, or a place among them, as a database counts: in 64 bits, none below zero."""
    return min(max(number, 0), MOST)


def json_text(value: Any) -> str:
    """JSON in one stable form. Raises BadData for what JSON cannot say."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadData(f"not JSON: {error}", hint="Use texts, numbers, lists and objects with text keys.") from error
