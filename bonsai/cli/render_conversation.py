"""The words of a conversation: messages, facts, events, the context of a turn."""

import json
from collections.abc import Iterator, Sequence

from bonsai.cli.render import flat
from bonsai.cli.screen import Line, Lines
from bonsai.conversation import Context, Event, Fact, Message, Written
from bonsai.conversation.prompt import render, safe
from bonsai.notes.printed import counted

MOST = 200  # characters of a message or a value in a list


def written(report: Written) -> Lines:
    """`turn add`."""
    what = "was stored before" if report.repeated else f"stored {counted(len(report.messages), 'message')}"
    yield f"Turn {flat(report.turn)}: {what}"
    yield from facts(report.facts, empty="")
    yield from (Line(f"not kept: {flat(refused)}", "yellow") for refused in report.refused)


def messages(found: Sequence[Message]) -> Lines:
    """`turn list`."""
    for item in found:
        who = f"{item.role} {item.user}" if item.user and item.role == "user" else item.role
        yield f"{item.time[:19]}  {flat(who)}: {_short(item.content)}"
    if not found:
        yield "Nothing was said."


def facts(found: Sequence[Fact], empty: str = "No facts.") -> Lines:
    """`fact list` and what sets or finds them."""
    for fact in found:
        yield f"{_short(fact.key)}: {_short(fact.value)}"
        yield Line(f"  {fact.updated[:19]}  confidence {fact.confidence:.2g}  version {fact.version}", "dim")
    if not found and empty:
        yield empty


def versions(found: Sequence[Fact]) -> Lines:
    """`fact why`."""
    for fact in found:
        yield f"{fact.updated[:19]}  version {fact.version}  confidence {fact.confidence:.2g}  {_short(fact.value)}"


def events(found: Sequence[Event]) -> Lines:
    """`event list`."""
    for item in found:
        payload = json.dumps(item.payload, ensure_ascii=False, sort_keys=True)
        yield f"{item.time[:19]}  {flat(item.type)}  {_short(payload)}"
    if not found:
        yield "No events."


def context(found: Context) -> Iterator[Line | str]:
    """`context`: the prompt, and what it costs."""
    text = render(found)
    yield from text.rstrip("\n").split("\n") if text else ["Nothing is known yet."]
    left = ", ".join(f"{count} of {name}" for name, count in found.left_out.items())
    yield Line(f"\n~{found.tokens} tokens{f'; left out: {left}' if left else ''}", "dim")


def _short(text: str) -> str:
    one = " ".join(safe(text[: 2 * MOST]).split())
    return one if len(one) <= MOST and len(text) <= 2 * MOST else f"{one[:MOST]}…"
