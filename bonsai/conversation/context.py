"""What the next turn should know, within a budget: recent messages first, then what is known, then what was said."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from bonsai.conversation.fact import Fact
from bonsai.conversation.turn import Message
from bonsai.notes.printed import count_tokens

T = TypeVar("T")
HISTORY, FACTS, PASSAGES = 50, 20, 8  # how many of each there are at most
TOKENS = 8000  # unless somebody says otherwise
BASE = 60  # tokens of the sentence that a prompt begins with
AROUND = 12  # tokens of what stands around an item: where it is from, its fence


class Passage(NamedTuple):
    """A passage of the memory, where it stands, and who says so, where its note tells (`web:…`, an actor)."""

    path: str
    lines: tuple[int, int]
    heading: str
    text: str
    score: float
    source: str = ""


@dataclass(slots=True)
class Context:
    """All that is known for the next turn of a thread.

    `buffer` are the last messages, `history` those and what was said before (both oldest first), `facts` what matters
    most first. `left_out` says how many of each did not fit, `warnings` what could not be asked. `tokens` is an
    estimate of the whole.
    """

    thread: str
    user: str
    buffer: list[Message] = field(default_factory=list)
    summary: str = ""
    history: list[Message] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    follow_up: Any = None
    tokens: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def earlier(self) -> list[Message]:
        """The messages of the history that are not in the buffer."""
        recent = {item.id for item in self.buffer}
        return [item for item in self.history if item.id not in recent]


def fit(whole: Context, tokens: int, cost: Callable[[Context], int]) -> Context:
    """The context within a budget, by what it costs as a prompt.

    A follow-up is never cut: where it alone is larger than the budget, the context is too.
    """
    if _length(whole) <= 4 * tokens:  # most contexts: all of it fits, and nothing has to be chosen
        out = replace(whole, history=whole.history or list(whole.buffer))
        out.tokens = cost(out)
        if out.tokens <= tokens:
            return out
    aim = tokens - BASE
    while True:
        out = _fitted(whole, max(aim, 0))
        out.tokens = cost(out)
        if out.tokens <= tokens or aim <= 0:
            return out
        aim -= max(out.tokens - tokens, aim // 10 + 1)


def _length(whole: Context) -> int:
    """Characters of what people and programs said, roughly: what stands around it is not counted."""
    return (
        sum(len(item.content) for item in whole.history or whole.buffer)
        + sum(len(item.value) for item in whole.facts)
        + sum(len(item.text) for item in whole.passages)
        + len(whole.summary)
    )


def _fitted(whole: Context, tokens: int) -> Context:
    """What fits by a rough count. What is cut ends with `…`, and what is left out is counted.

    First come the question that is open, the summary and the newest messages (at most half of the budget), then facts
    and passages (at most half of what is left, each), then older messages as long as they fit.
    """
    left = tokens
    out = Context(whole.thread, whole.user, warnings=list(whole.warnings))
    out.follow_up = whole.follow_up
    left -= count_tokens(str(whole.follow_up)) if whole.follow_up is not None else 0
    out.summary = cut(whole.summary, max(left // 4, 0))
    left -= count_tokens(out.summary)
    buffer = _newest(whole.buffer, tokens // 2 if left > tokens // 2 else left)
    left -= _cost(buffer)
    out.facts = _first(whole.facts, left // 2, lambda fact: f"{fact.key}{fact.value}", _cut_fact)
    left -= sum(count_tokens(f"{fact.key}{fact.value}") + AROUND for fact in out.facts)
    out.passages = _first(whole.passages, left // 2, lambda hit: hit.text, _cut_passage)
    left -= sum(count_tokens(hit.text) + AROUND for hit in out.passages)
    recent = {item.id for item in whole.buffer}
    earlier = _newest([item for item in whole.history if item.id not in recent], left) if left > 0 else []
    # Once one is left out, an older one would stand beside messages that are not its neighbours.
    if len(buffer) < len(whole.buffer):
        earlier = []
    shown = {item.id: item for item in [*earlier, *buffer]}
    out.buffer = buffer
    out.history = [shown[item.id] for item in whole.history if item.id in shown] or list(buffer)
    counts = ((name, len(getattr(whole, name)) - len(getattr(out, name))) for name in ("history", "facts", "passages"))
    out.left_out = {name: count for name, count in counts if count > 0}
    return out


def cut(text: str, tokens: int) -> str:
    """A text of at most so many tokens, which shows where it ends early."""
    cost = count_tokens(text)
    if cost <= tokens:
        return text
    if tokens <= 0:
        return ""
    kept = text[: max(len(text) * tokens // cost - 1, 0)]
    while kept and count_tokens(kept) + 1 > tokens:
        kept = kept[: len(kept) * 3 // 4]
    return f"{kept}…"


def _cost(messages: Iterable[Message]) -> int:
    return sum(count_tokens(item.content) + AROUND for item in messages)


def _newest(messages: Sequence[Message], tokens: int) -> list[Message]:
    """The newest messages that fit, oldest first; the very newest is cut rather than left out."""
    kept: list[Message] = []
    for item in reversed(messages):
        cost = count_tokens(item.content) + AROUND
        if cost > tokens:
            if not kept and tokens > 2 * AROUND:
                kept.append(_cut_message(item, tokens - AROUND))
            break
        kept.append(item)
        tokens -= cost
    return kept[::-1]


def _first(items: Sequence[T], tokens: int, text: Callable[[T], str], shorter: Callable[[T, int], T]) -> list[T]:
    """The first items that fit; a long one may take a third of what is left, so that it does not push out the rest."""
    kept = []
    for item in items:
        most = tokens if count_tokens(text(item)) <= tokens // 3 else tokens // 3
        if most <= 2 * AROUND:
            break
        short = shorter(item, most - AROUND) if count_tokens(text(item)) > most - AROUND else item
        kept.append(short)
        tokens -= count_tokens(text(short)) + AROUND
    return kept


def _cut_message(item: Message, tokens: int) -> Message:
    return item._replace(content=cut(item.content, tokens))


def _cut_fact(item: Fact, tokens: int) -> Fact:
    return item._replace(value=cut(item.value, tokens - count_tokens(item.key)))


def _cut_passage(item: Passage, tokens: int) -> Passage:
    return item._replace(text=cut(item.text, tokens))
