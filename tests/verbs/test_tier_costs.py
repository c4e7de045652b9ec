"""What the tiers cost at 10,000 notes, by CPU time and against what the same machine needs for a full reindex."""

import os
import random
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bonsai.passes.remember import Wanted
from verbs.sandbox import Sandbox, set_time

pytestmark = pytest.mark.skipif(os.environ.get("BONSAI_FAULTS") != "all", reason="minutes; BONSAI_FAULTS=all runs it")
NOTES, ROUNDS = 10_000, 2
WORDS = [f"word{number}" for number in range(3000)]


def seconds(act: Callable[[], object]) -> float:
    """CPU seconds of this process and of its children."""

    def used() -> float:
        both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in both)

    before = used()
    act()
    return used() - before


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with 10,000 facts, made once."""
    root = tmp_path_factory.mktemp("large") / "ws"
    root.mkdir()
    set_time("2026-01-05T08:00:00Z")
    box, rng = Sandbox(root), random.Random(1)
    box.ws.init(root)
    facts = [f"{' '.join(rng.choices(WORDS, k=14))} nr {number}." for number in range(NOTES)]
    box.ws.remember_all([Wanted(fact, f"d{n % 25}/s{n % 4}", importance=0.3) for n, fact in enumerate(facts)])
    box.close()
    return root


@pytest.mark.parametrize(
    ("kilobytes", "when", "least", "most"),
    [
        (1_000_000, "2026-01-06T08:00:00Z", 0, 0),
        (2300, "2026-01-06T08:00:00Z", 1, 9000),
        (50, "2026-06-15T08:00:00Z", NOTES, NOTES),
    ],
    ids=["nothing leaves", "some leave", "all leave"],
)
def test_a_quick_consolidate_costs_less_than_two_reindexes(
    large: Path, tmp_path: Path, kilobytes: int, when: str, least: int, most: int
) -> None:
    ratios = []
    for number in range(ROUNDS):
        root = tmp_path / f"{number}"
        shutil.copytree(large, root)
        set_time(when)
        box = Sandbox(root)
        box.write("bonsai.toml", f"[tiers]\nwarm_kb = {kilobytes}\n")
        box.ws.commit()
        ws = box.ws
        whole = seconds(lambda: ws.reindex(full=True))  # noqa: B023
        ws, left = box.ws, list[str]()
        ratios.append(seconds(lambda: left.extend(ws.consolidate().evicted)) / whole)  # noqa: B023
        assert least <= len(left) <= most
        box.close()
    assert min(ratios) <= 2.0, ratios


def test_a_new_device_has_ten_thousand_notes_again_within_two_minutes(large: Path, tmp_path: Path) -> None:
    shutil.copytree(large, tmp_path / "old")
    set_time("2026-01-06T08:00:00Z")
    old = Sandbox(tmp_path / "old")
    ws = old.ws
    facts = [path for path in old.files() if path.startswith("memory/domains/") and not path.endswith("_index.md")]
    ws._send(ws._need_cold(True), ws._rows_of(facts))  # as a database gets each fact that is stored
    ws.sync_critical()
    old.close()
    (tmp_path / "new").mkdir()
    new = Sandbox(tmp_path / "new")
    new.ws.init(tmp_path / "new")
    shutil.copy(tmp_path / "old/.bonsai/cold.db", tmp_path / "new/.bonsai/cold.db")
    restored: list[str] = []
    assert seconds(lambda: restored.extend(new.ws.restore_from_cloud().restored)) <= 120
    assert len(restored) == NOTES
    new.close()


def test_storing_costs_less_than_one_and_a_half_commits(large: Path, tmp_path: Path) -> None:
    shutil.copytree(large, tmp_path / "ws")
    set_time("2026-01-06T08:00:00Z")
    box = Sandbox(tmp_path / "ws")
    ws, edits, facts = box.ws, list[float](), list[float]()
    ws.recall("word1")
    paths = sorted(path for path in box.files() if path.startswith("memory/domains/") and "_index" not in path)
    for number in range(24):
        box.write(paths[number * 7], box.read(paths[number * 7]) + b"And more.\n")
        edits.append(seconds(ws.commit))
        facts.append(seconds(lambda: ws.remember(f"New fact {number}.", domain=f"d{number}/new", importance=0.8)))  # noqa: B023
    assert sum(sorted(facts)[:12]) <= 1.5 * sum(sorted(edits)[:12])
    box.close()
