"""A year with the tiers: every fact can still be found, and a session starts with no more than in the first week.

Every fact is looked for where it must be, and a sample of them with recall; all of them, and more of them a week, with
BONSAI_FAULTS=all.
"""

import os
import random
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

from bonsai.passes.remember import Wanted
from verbs.sandbox import Sandbox, set_time

WHOLE = os.environ.get("BONSAI_FAULTS") == "all"
WEEKS, FACTS, RECALLS, SAMPLE = (48, 12, 3, 576) if WHOLE else (48, 6, 2, 24)
DOMAINS = [f"{top}/{below}" for top in ("projects", "owner", "technical", "lessons", "business") for below in "abcd"]
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
TALK = re.findall(
    r"\w+",
    "the team decided to move the launch of the product to the spring because the tests were late and the budget small "
    "we agreed that the server in the north stays until the contract ends and that backups run at night with a report",
)


def fact(rng: random.Random, number: int) -> tuple[str, str]:
    """A text, and the word that stands in no other."""
    word = f"zq{number:04d}mark"
    return f"{' '.join(rng.sample(TALK, 14))} {word}", word


def session(box: Sandbox) -> int:
    """Bytes that an agent starts with: the boot file, the tree, and what one question brings."""
    hits = box.ws.recall("launch of the product and the budget").hits
    return len(box.read("MEMORY.md")) + box.ws.tree_show().size_bytes + sum(len(hit.text.encode()) for hit in hits)


def in_tree_or_cold(box: Sandbox) -> set[str]:
    """The words of the facts that stand in a note or in a row of the cold tier."""
    texts = [path.read_text("utf-8") for path in (box.root / "memory").rglob("*.md")]
    with closing(sqlite3.connect(box.root / ".bonsai/cold.db")) as db:
        texts += [row[0] for row in db.execute("SELECT text FROM cold_memories")]
    return set(re.findall(r"zq\d{4}mark", "\n".join(texts)))


def test_a_year_of_weekly_consolidation(box: Sandbox) -> None:
    rng = random.Random(7)
    for number in range(80):  # notes of bullets, which are as long as facts
        bullets = "\n".join(f"- {' '.join(rng.sample(TALK, 15))}" for _ in range(5))
        box.write(
            f"memory/domains/{DOMAINS[number % len(DOMAINS)]}/note-{number}.md", f"# Note {number}\n\n{bullets}\n"
        )
    box.ws.commit()
    facts: dict[str, str] = {}
    sizes: list[int] = []
    for week in range(WEEKS):
        set_time((START + timedelta(weeks=week)).isoformat())
        wanted = []
        for _ in range(FACTS):
            text, word = fact(rng, len(facts))
            importance = rng.choice([0.3, 0.4, 0.5, 0.5, 0.6, 0.8, 0.9])
            key = f"key {len(facts)}" if rng.random() < 0.1 else ""
            wanted.append(Wanted(text, rng.choice(DOMAINS), importance=importance, key=key))
            facts[word] = text
        box.ws.remember_all(wanted)
        for word in rng.sample(sorted(facts), min(RECALLS, len(facts))):
            box.ws.recall(word, limit=3)
        box.ws.consolidate("monthly" if week % 4 == 3 else "daily" if week % 2 else "quick")
        sizes.append(session(box))
        assert sizes[-1] <= 15 * 1024
        assert len(box.read("MEMORY.md")) <= 10_000
    assert abs(sizes[-1] - sizes[0]) <= 0.1 * sizes[0], sizes
    metrics = box.ws.metrics()
    assert metrics.warm_memory_size_kb <= 50
    assert not set(facts) - in_tree_or_cold(box)
    tiers: dict[str, int] = {}
    for word in rng.sample(sorted(facts), min(SAMPLE, len(facts))):
        hits = [hit for hit in box.ws.recall(word, limit=1).hits if word in hit.text]
        if not hits:
            hits = [hit for hit in box.ws.recall(word, limit=1, deleted=True).hits if word in hit.text]
        assert hits, f"{word} is lost"
        tiers[hits[0].tier] = tiers.get(hits[0].tier, 0) + 1
    assert tiers.get("cold", 0) > 0
    box.assert_clean()
