"""`verify` reads everything, and says what does not fit together; it changes nothing."""

import json
import os
import threading
from collections.abc import Callable

import pytest

from bonsai.errors import Misconfigured
from bonsai.passes.verify import CODES
from bonsai.watch import Watch
from verbs.sandbox import GENERAL, Sandbox, set_time

INBOX = f"{GENERAL}/inbox.md"
OURS = "x\n\nBonsai-Op: edit\nBonsai-Actor: human\nBonsai-Run: {run}\n"


def codes(box: Sandbox) -> list[str]:
    return [item.code for item in box.ws.verify().problems]


def by_hand(box: Sandbox, message: str, path: str = "memory/dates.md") -> None:
    box.write(path, f"{message}\n")
    box.git("add", path)
    box.git("commit", "-qm", message)


def damaged(box: Sandbox) -> None:
    pack = next(box.root.glob(".git/objects/pack/*.pack"))
    os.chmod(pack, 0o644)
    pack.write_bytes(pack.read_bytes()[:-30] + b"\0" * 30)


def same_times(box: Sandbox) -> None:
    """As a disk that loses a write, or a program that hides one: the bytes differ, the times do not tell."""
    box.ws.status()
    cache = box.opened()._cache
    row = cache.load().rows[INBOX]
    row.blob = row.head = "1" * 40
    cache.save([row])


def purged(box: Sandbox) -> None:
    box.write(f"{GENERAL}/o__DELETE.md", "x\n")
    box.ws.commit()
    set_time("2027-03-15T08:15:00Z")
    assert box.ws.purge().commit


def unlogged(box: Sandbox) -> None:
    purged(box)
    box.write("memory/_purge_log.json", "[]\n")
    box.ws.commit()


def logged_only(box: Sandbox) -> None:
    box.write("memory/_purge_log.json", json.dumps([{"file": f"{GENERAL}/never__DELETE.md"}, "odd", 1]))
    box.ws.commit()


def misdated(box: Sandbox) -> None:
    box.write(f"{GENERAL}/o__DELETE.md", "---\narchived: 2020-01-01\n---\nx\n")
    box.ws.commit()


def twice(box: Sandbox) -> None:
    for path in ("memory/dates.md", "memory/other.md"):
        by_hand(box, OURS.format(run="a" * 12), path)
    box.ws.commit()


MAKE: dict[str, Callable[[Sandbox], None]] = {
    "damaged": damaged,
    "unlike-head": same_times,
    "unseen-edit": same_times,
    "pending": lambda box: box.write(INBOX, "new\n"),
    "held": lambda box: box.write(INBOX, "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"),
    "stale-index": lambda box: box.write(f"{GENERAL}/_index.md", "by hand\n"),
    "trailers": lambda box: by_hand(box, "x\n\nBonsai-Op: Odd Word\nBonsai-Run: abc\n"),
    "same-run": twice,
    "stray-path": lambda box: by_hand(box, OURS.format(run="b" * 12), "code.py"),
    "purge-log": unlogged,
    "purge-unknown": logged_only,
    "archive-date": misdated,
}


def test_a_sound_memory_with_every_kind_of_run(garden: Sandbox, at: Callable[[str], None]) -> None:
    garden.ws.archive(INBOX, reason="x")
    garden.ws.move("memory/domains/business/pricing.md", "legal")
    garden.ws.daily_add("a call")
    garden.ws.undo()
    by_hand(garden, "a person's own commit")
    garden.ws.commit()
    purged(garden)
    report = garden.ws.verify()
    assert (report.ok, report.fsck, report.problems) == (True, [], [])
    assert (report.commits, report.notes) == (garden.count(), len(list(garden.root.glob("memory/**/[!_]*.md"))))


@pytest.mark.parametrize("code", CODES)
def test_what_does_not_fit_is_told(garden: Sandbox, code: str) -> None:
    assert codes(garden) == []
    MAKE[code](garden)
    files, head = garden.files(), garden.head()
    report = garden.ws.verify()
    found = [item for item in report.problems if item.code == code]
    assert found and found[0].severity == CODES[code]
    assert "`" in found[0].message or code in ("purge-unknown", "archive-date"), "says what to do"
    assert report.ok is all(item.severity == "info" for item in report.problems)
    assert (garden.files(), garden.head()) == (files, head), "nothing is changed"


def test_without_a_repository(bare: Sandbox) -> None:
    bare.write(f"{GENERAL}/a.md", "x\n")
    with pytest.raises(Misconfigured):
        bare.ws.verify()


def test_before_the_first_commit(bare: Sandbox) -> None:
    bare.write(f"{GENERAL}/a.md", "x\n")
    bare.git("init", "-q")
    report = bare.ws.verify()
    assert (report.ok, report.commits, [item.code for item in report.problems]) == (True, 0, ["pending"])


def test_what_a_daemon_does_once_a_day_finds_damage_and_keeps_git_fast(garden: Sandbox) -> None:
    assert garden.ws.tend(str(garden.root)) == []
    assert (garden.root / ".git/objects/info/commit-graphs").is_dir()
    damaged(garden)
    assert garden.ws.tend(str(garden.root)) != []


def test_the_daemon_looks_once_a_day_beside_its_other_work(garden: Sandbox, at: Callable[[str], None]) -> None:
    said: list[str] = []
    daemon = Watch(garden.ws, threading.Event(), said.append)
    daemon._by_the_clock()
    damaged(garden)
    for now, count in (("2026-03-15T20:15:00Z", 0), ("2026-03-16T08:20:00Z", 1), ("2026-03-16T09:00:00Z", 1)):
        at(now)
        daemon._by_the_clock()
        for thread in [thread for thread in threading.enumerate() if thread.name == "bonsai verify"]:
            thread.join()
        assert len([line for line in said if line.startswith("verify: git finds damage")]) == count, said
