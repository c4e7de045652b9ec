"""A process of a test: writes turns into the stores that it is told, and says in JSON what it did.

work.py JSON      {"path", "redis_url", "database_url", "namespace", "facts", "writer", "turns", "threads", …}
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bonsai.adapters import redis_buffer
from bonsai.conversation import Conversation, Told
from bonsai.errors import BonsaiError


def main(order: dict[str, Any]) -> dict[str, Any]:
    names = ("redis_url", "database_url", "facts", "namespace")
    writer, done, told = order["writer"], {"taken": [], "new": 0, "errors": [], "warnings": []}, []
    if order.get("patient"):  # a machine that is busy with other tests is no outage
        redis_buffer.WAIT = 10.0
    with Conversation.open(order["path"], **{name: order[name] for name in names}, tell=told.append) as talk:
        for number in range(order["turns"]):
            thread = f"t{(writer + number) % order['threads']}"
            if number % order.get("ask_every", 10) == 0:
                talk.set_follow_up(f"ask-{writer}-{number}", f"{writer}-{number}")
            write(talk, thread, writer, number, done, order.get("fact_every", 0))
            for asker in range(order["writers"]):
                if number % order.get("ask_every", 10) == 0 and (got := talk.take_follow_up(f"ask-{asker}-{number}")):
                    done["taken"].append(got)
            if number % 5 == 0:
                done["new"] += patiently(done, partial(talk.record, "ann", "step", {"n": number % 50}))
            time.sleep(order.get("pause", 0))
    done["warnings"] = told
    return done


def write(talk: Conversation, thread: str, writer: int, number: int, done: dict[str, Any], fact_every: int) -> None:
    """A turn, again and again until it is stored, as an agent does it."""
    facts = [Told("count", f"{writer}-{number}")] if fact_every and number % fact_every == 0 else []
    said = f"{writer}:{number}", f"answer {writer}:{number}"
    patiently(done, lambda: talk.write_back(thread, "ann", *said, facts=facts, turn=f"{writer}-{number}"))


def patiently(done: dict[str, Any], ask: Callable[[], Any]) -> Any:
    for _ in range(200):
        try:
            return ask()
        except BonsaiError as error:
            done["errors"].append(f"{type(error).__name__}: {error}")
            time.sleep(0.1)
    raise AssertionError("the database never came back")


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
