"""The commands of a conversation: turn, context, prompt, summary, scratch, followup."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bonsai.cli import screen
from bonsai.cli.door import Door, Verb, VerbGroup, door, verb
from bonsai.errors import NotFound

if TYPE_CHECKING:
    from bonsai.conversation import Conversation

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
in_thread: Decorator = click.option("--thread", default="main", metavar="ID", help="The conversation. [default: main]")
of_user: Decorator = click.option(
    "--user", default="", metavar="ID", help="Whose memory. [default: the owner of the workspace]"
)


@contextmanager
def conversation(door: Door) -> Iterator["Conversation"]:
    """The conversation of the workspace; what its cache cannot keep is said on stderr."""
    from bonsai.conversation import Conversation

    def tell(sentence: str) -> None:
        screen.say([screen.Line(f"bonsai: {sentence}", "yellow")])

    with Conversation.open(door.start(), agent=door.agent, tell=tell) as found:
        yield found


def text_of(words: str) -> str:
    """An argument, `-` for stdin."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape") if words == "-" else words


@click.group(
    "turn",
    cls=VerbGroup,
    examples="""bonsai turn add --user ann 'I moved to Oslo.' 'Noted.' --fact city=Oslo
    bonsai turn list""",
)
@click.pass_context
@door
def turn(door: Door, context: click.Context) -> int:
    """Store what was said (`turn add`), or show it."""
    return 0 if context.invoked_subcommand else _turns(door, "main", 50)


@turn.command(
    "add",
    cls=Verb,
    examples="""bonsai turn add --user ann 'I moved to Oslo.' 'Noted.' --fact city=Oslo --id turn-17
    bonsai turn add --role tool '{"rain": true}'""",
)
@click.argument("said", metavar="SAID")
@click.argument("answered", metavar="[ANSWERED]", default="")
@in_thread
@of_user
@click.option("--id", "number", default="", metavar="ID", help="The same turn again is stored once.")
@click.option("--role", default="", metavar="ROLE", help="One message of this role, instead of a turn.")
@click.option("--fact", "facts", multiple=True, metavar="KEY=VALUE", help="What was learnt. May be repeated.")
@click.option("--intent", default="", metavar="TEXT", help="What it was about.")
@click.option("--distil", "--distill", is_flag=True, help="Also keep what the turn comes to, by rules.")
@door
def add(
    door: Door,
    said: str,
    answered: str,
    thread: str,
    user: str,
    number: str,
    role: str,
    facts: tuple[str, ...],
    intent: str,
    distil: bool,
) -> int:
    """Store a turn in all tiers: what the user SAID and what the agent ANSWERED; `-` reads SAID from stdin."""
    from bonsai.cli import render_conversation as words

    if role and (answered or facts):
        raise click.UsageError("--role takes one message, and no facts.")
    pairs = [fact.partition("=") for fact in facts]
    if any(not equals for _, equals, _ in pairs):
        raise click.UsageError("--fact takes KEY=VALUE.")
    told = [{"key": key, "value": value} for key, _, value in pairs]
    with conversation(door) as talk:
        if role:
            made = talk.add(thread, role, text_of(said), user=user, id=number, intent=intent)
            return door.answer({"message": made}, words.messages([made]))
        report = talk.write_back(
            thread, user, text_of(said), answered, facts=told, turn=number, intent=intent, distil=distil
        )
    return door.answer(report, words.written(report))


@turn.command("list", cls=Verb, examples="bonsai turn list --thread support-12 --limit 10")
@in_thread
@click.option("--limit", default=50, metavar="N", help="So many messages. [default: 50]")
@door
def turns(door: Door, thread: str, limit: int) -> int:
    """Show the last messages of a conversation, oldest first."""
    return _turns(door, thread, limit)


def _turns(door: Door, thread: str, limit: int) -> int:
    from bonsai.cli import render_conversation as words

    with conversation(door) as talk:
        found = talk.history(thread, limit)
    return door.answer({"messages": found}, words.messages(found))


@verb("context", "bonsai context --user ann --query 'Where does she live?' --tokens 2000\nbonsai context --json")
@in_thread
@of_user
@click.option("--query", default="", metavar="TEXT", help="The new message. [default: the last one of the user]")
@click.option("--tokens", default=8000, metavar="N", help="The budget. [default: 8000]")
@door
def context(door: Door, thread: str, user: str, query: str, tokens: int) -> int:
    """Show what the next turn should know.

    The last messages, the summary, what was said before, facts of the user, passages of the memory, and the follow-up,
    which stays (`bonsai followup get` takes it).
    """
    from bonsai.cli import render_conversation as words

    with conversation(door) as talk:
        found = talk.load(thread, user, query, tokens=tokens, peek=True)
    return door.answer(found, words.context(found))


@verb("prompt", "bonsai prompt --user ann --query 'Where does she live?'")
@in_thread
@of_user
@click.option("--query", default="", metavar="TEXT", help="The new message. [default: the last one of the user]")
@click.option("--tokens", default=8000, metavar="N", help="The budget. [default: 8000]")
@door
def prompt(door: Door, thread: str, user: str, query: str, tokens: int) -> int:
    """Print the context as text for a prompt: fenced, with where everything is from."""
    with conversation(door) as talk:
        found = talk.load(thread, user, query, tokens=tokens, peek=True)
        text = talk.prompt(found)
    if door.json:
        return door.answer({"prompt": text, "tokens": found.tokens}, [])
    screen.write_text(text)
    return 0


@click.group("summary", cls=VerbGroup, examples="bonsai summary set 'She looks for a flat.'\nbonsai summary get")
@click.pass_context
@door
def summary(door: Door, context: click.Context) -> int:
    """The rolling summary of a conversation: `summary set TEXT`, or show it. It ends after three days."""
    return 0 if context.invoked_subcommand else _summary(door, "main")


@summary.command("set", cls=Verb, examples="bonsai summary set --thread support-12 'She looks for a flat.'")
@click.argument("text", metavar="TEXT")
@in_thread
@door
def summary_set(door: Door, text: str, thread: str) -> int:
    """Keep the summary; `-` reads stdin."""
    said = text_of(text)
    with conversation(door) as talk:
        talk.set_summary(thread, said)
    return door.answer({"thread": thread, "summary": said}, [])


@summary.command("get", cls=Verb, examples="bonsai summary get --thread support-12")
@in_thread
@door
def summary_get(door: Door, thread: str) -> int:
    """Show the summary."""
    return _summary(door, thread)


def _summary(door: Door, thread: str) -> int:
    with conversation(door) as talk:
        found = talk.summary(thread)
    return door.answer({"thread": thread, "summary": found}, [found or "No summary."])


@click.group("scratch", cls=VerbGroup, examples="bonsai scratch set plan 'ask first' --run r1\nbonsai scratch get plan")
@click.pass_context
@door
def scratch(door: Door, context: click.Context) -> int:
    """Intermediate results of a run: `scratch set KEY VALUE`, `scratch get KEY`. They end after two hours."""
    if context.invoked_subcommand is None:
        raise click.UsageError("say `scratch set KEY VALUE` or `scratch get KEY`.", context)
    return 0


of_run: Decorator = click.option("--run", default="main", metavar="ID", help="The run. [default: main]")


@scratch.command("set", cls=Verb, examples="bonsai scratch set plan 'ask first' --run r1")
@click.argument("key", metavar="KEY")
@click.argument("value", metavar="VALUE")
@of_run
@door
def scratch_set(door: Door, key: str, value: str, run: str) -> int:
    """Keep a value; `-` reads stdin."""
    with conversation(door) as talk:
        talk.set_scratch(run, key, text_of(value))
    return door.answer({"run": run, "key": key}, [])


@scratch.command("get", cls=Verb, examples="bonsai scratch get plan --run r1")
@click.argument("key", metavar="KEY")
@of_run
@door
def scratch_get(door: Door, key: str, run: str) -> int:
    """Show a value."""
    with conversation(door) as talk:
        found = talk.scratch(run, key)
    if found is None:
        raise NotFound(f"the run {run!r} has no {key!r}, or its two hours are over", hint="`bonsai scratch set` it.")
    return door.answer({"run": run, "key": key, "value": found}, [found])


@click.group(
    "followup", cls=VerbGroup, examples="""bonsai followup set '{"asked": "From 1 to 10?"}'\nbonsai followup get"""
)
@click.pass_context
@door
def followup(door: Door, context: click.Context) -> int:
    """What was asked and is not answered yet: `followup set JSON`, `get` takes it, `peek` does not."""
    return 0 if context.invoked_subcommand else _followup(door, "main", take=False)


@followup.command("set", cls=Verb, examples="""bonsai followup set '{"asked": "From 1 to 10?"}' --thread support-12""")
@click.argument("what", metavar="JSON")
@in_thread
@door
def followup_set(door: Door, what: str, thread: str) -> int:
    """Keep it for ten minutes; what is no JSON is kept as a text."""
    text = text_of(what)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    with conversation(door) as talk:
        talk.set_follow_up(thread, value)
    return door.answer({"thread": thread, "follow_up": value}, [])


@followup.command("get", cls=Verb, examples="bonsai followup get --thread support-12")
@in_thread
@door
def followup_get(door: Door, thread: str) -> int:
    """Take it: it is gone with that."""
    return _followup(door, thread, take=True)


@followup.command("peek", cls=Verb, examples="bonsai followup peek --thread support-12")
@in_thread
@door
def followup_peek(door: Door, thread: str) -> int:
    """Show it; it stays."""
    return _followup(door, thread, take=False)


def _followup(door: Door, thread: str, take: bool) -> int:
    with conversation(door) as talk:
        found = talk.take_follow_up(thread) if take else talk.follow_up(thread)
    shown = "Nothing is waiting for an answer." if found is None else json.dumps(found, ensure_ascii=False)
    return door.answer({"thread": thread, "follow_up": found}, [shown])
