#!/usr/bin/env python3
"""An agent with a memory: what it knows goes before each message, what was said goes back. A model would be `reply`.

agent_loop.py WORKSPACE [USER]     reads messages from stdin, one a line; REDIS_URL and DATABASE_URL are honoured
"""

import re
import sys
from typing import Any

from bonsai.conversation import Context, Conversation

PATTERNS = {"name": r"my name is (\w{1,40})", "city": r"i live in (\w{1,40})", "pain": r"my (\w{1,40}) hurts"}


def learn(message: str) -> list[dict[str, Any]]:
    """Facts that a message states; a model does this better."""
    found = ((key, re.search(pattern, message, re.IGNORECASE)) for key, pattern in PATTERNS.items())
    return [{"key": key, "value": match[1]} for key, match in found if match]


def reply(prompt: str, context: Context, message: str) -> tuple[str, Any]:
    """An answer, and what it asks: here by rules, from what the prompt would tell a model."""
    known = {fact.key: fact.value for fact in context.facts}
    if context.follow_up and message.strip().isdigit():
        return f"Your {context.follow_up['about']} at {message.strip()}: that is worth a visit to a doctor.", None
    if match := re.search(PATTERNS["pain"], message, re.IGNORECASE):
        return "How much, from 1 to 10?", {"asked": "pain from 1 to 10", "about": match[1]}
    if "who am i" in message.lower():
        return f"You are {known.get('name', 'somebody new')}, from {known.get('city', 'somewhere')}.", None
    return "I see.", None


def turn(talk: Conversation, thread: str, user: str, message: str) -> str:
    """One turn: load, answer, write back."""
    context = talk.load(thread, user, message)
    answer, asked = reply(talk.prompt(context), context, message)
    talk.write_back(thread, user, message, answer, facts=learn(message))
    if asked:
        talk.set_follow_up(thread, asked)
    for warning in context.warnings:
        print(f"(memory: {warning})", file=sys.stderr)
    return answer


def main() -> None:
    """Talk."""
    path, user = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    with Conversation.open(path) as talk:
        for line in sys.stdin:
            print(turn(talk, f"loop:{user}", user, line.strip()), flush=True)


if __name__ == "__main__":
    main()
