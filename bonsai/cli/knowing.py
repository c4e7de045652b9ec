"""The commands of what is known about users: fact, event."""

import json

import click

from bonsai.cli.conversation import conversation, of_user, text_of
from bonsai.cli.door import Door, Verb, VerbGroup, door
from bonsai.errors import BadData, NotFound


@click.group("fact", cls=VerbGroup, examples="bonsai fact set city Oslo --user ann\nbonsai fact list --user ann")
@click.pass_context
@door
def fact(door: Door, context: click.Context) -> int:
    """Facts by key: `fact set`, `get`, `list`, `search`, `why`. The newer value wins, the old ones stay known."""
    return 0 if context.invoked_subcommand else _listed(door, "", 20)


@fact.command(
    "set",
    cls=Verb,
    examples="""bonsai fact set city Oslo --user ann
    bonsai fact set city Bergen --user ann --confidence 0.5 --keep-confident""",
)
@click.argument("key", metavar="KEY")
@click.argument("value", metavar="VALUE")
@of_user
@click.option("--confidence", default=0.8, metavar="0-1", help="How sure it is. [default: 0.8]")
@click.option("--keep-confident", is_flag=True, help="Not over a fact that is surer.")
@door
def fact_set(door: Door, key: str, value: str, user: str, confidence: float, keep_confident: bool) -> int:
    """Tell a fact; `-` reads VALUE from stdin."""
    from bonsai.cli import render_conversation as words

    with conversation(door) as talk:
        made = talk.set_fact(user, key, text_of(value), confidence, keep_confident=keep_confident)
    return door.answer(made, words.facts([made]))


@fact.command("get", cls=Verb, examples="bonsai fact get city --user ann")
@click.argument("key", metavar="KEY")
@of_user
@door
def fact_get(door: Door, key: str, user: str) -> int:
    """Show a fact."""
    with conversation(door) as talk:
        found = talk.fact(user, key)
    if found is None:
        raise _unknown(key, user)
    return door.answer(found, [found.value])


@fact.command("list", cls=Verb, examples="bonsai fact list --user ann --limit 5")
@of_user
@click.option("--limit", default=20, metavar="N", help="So many facts. [default: 20]")
@door
def fact_list(door: Door, user: str, limit: int) -> int:
    """Show the facts that were told last."""
    return _listed(door, user, limit)


@fact.command("search", cls=Verb, examples="bonsai fact search oslo --user ann")
@click.argument("query", metavar="TEXT")
@of_user
@click.option("--limit", default=10, metavar="N", help="So many facts. [default: 10]")
@door
def fact_search(door: Door, query: str, user: str, limit: int) -> int:
    """Show the facts whose key or value holds a text."""
    from bonsai.cli import render_conversation as words

    with conversation(door) as talk:
        found = talk.search_facts(user, query, limit)
    return door.answer({"facts": found}, words.facts(found))


@fact.command("why", cls=Verb, examples="bonsai fact why city --user ann")
@click.argument("key", metavar="KEY")
@of_user
@door
def fact_why(door: Door, key: str, user: str) -> int:
    """Show every version of a fact, newest first."""
    from bonsai.cli import render_conversation as words

    with conversation(door) as talk:
        found = talk.fact_history(user, key)
    if not found:
        raise _unknown(key, user)
    return door.answer({"facts": found}, words.versions(found))


def _listed(door: Door, user: str, limit: int) -> int:
    from bonsai.cli import render_conversation as words

    with conversation(door) as talk:
        found = talk.facts(user, limit)
    return door.answer({"facts": found}, words.facts(found))


def _unknown(key: str, user: str) -> NotFound:
    who = f" --user {user}" if user else ""
    return NotFound(f"there is no fact {key!r}", hint=f"`bonsai fact list{who}` names them.")


@click.group("event", cls=VerbGroup, examples="""bonsai event add workout '{"km": 5}' --user ann""")
@click.pass_context
@door
def event(door: Door, context: click.Context) -> int:
    """What users did: `event add`, `event list`. The same event is stored once."""
    return 0 if context.invoked_subcommand else _events(door, "owner", "", 50)


@event.command("add", cls=Verb, examples="""bonsai event add workout '{"km": 5}' --user ann""")
@click.argument("kind", metavar="TYPE")
@click.argument("payload", metavar="[JSON]", default="{}")
@click.option("--user", default="owner", metavar="ID", help="Who did it. [default: owner]")
@door
def event_add(door: Door, kind: str, payload: str, user: str) -> int:
    """Store an event; `-` reads its JSON object from stdin."""
    try:
        found = json.loads(text_of(payload))
    except (ValueError, RecursionError) as error:
        raise BadData(f"the payload is not JSON: {error}", hint="""Write it like '{"km": 5}'.""") from error
    if not isinstance(found, dict):
        raise BadData("the payload is no JSON object", hint="""Write it like '{"km": 5}'.""")
    with conversation(door) as talk:
        stored = talk.record(user, kind, found)
    return door.answer({"stored": stored}, ["Stored." if stored else "Known already."])


@event.command("list", cls=Verb, examples="bonsai event list --user ann --type workout")
@click.option("--user", default="owner", metavar="ID", help="Who did it. [default: owner]")
@click.option("--type", "kind", default="", metavar="TYPE", help="Only events of this type.")
@click.option("--limit", default=50, metavar="N", help="So many events. [default: 50]")
@door
def event_list(door: Door, user: str, kind: str, limit: int) -> int:
    """Show events, newest first."""
    return _events(door, user, kind, limit)


def _events(door: Door, user: str, kind: str, limit: int) -> int:
    from bonsai.cli import render_conversation as words

    with conversation(door) as talk:
        found = talk.events(user, kind, limit)
    return door.answer({"events": found}, words.events(found))
