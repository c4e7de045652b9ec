"""`status` looks live: every code is produced, with a path and what to do; it never claims clean when it is not."""

import json
import os
import re
import sqlite3
from collections.abc import Callable

import pytest

from bonsai.notes.problem import CODES
from bonsai.passes.reports import StatusReport
from verbs.sandbox import GENERAL, Sandbox, set_time

BUSINESS = "memory/domains/business"
#: How the last part of a message tells what to do.
ADVICE = re.compile(
    r"\b(run|see|save|split|decide|delete|correct|rename|merge|move|write|put|keep|bring|take|unlock|archive|look"
    r"|nothing to do|quote|shorten|removes|commit|accept|drop|apply|allow)\b",
    re.IGNORECASE,
)


def boot_over_budget(box: Sandbox) -> None:
    box.write("MEMORY.md", "# Me\n" + "- a line\n" * 300)


def conflict(box: Sandbox) -> None:
    box.write(f"{GENERAL}/inbox.md", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")


def mass_deletion(box: Sandbox) -> None:
    for number in range(6):
        box.write(f"{GENERAL}/n{number}.md", f"{number}\n")
    box.ws.commit()
    for number in range(6):
        os.remove(box.root / GENERAL / f"n{number}.md")


def overdue(box: Sandbox) -> None:
    box.write(f"{GENERAL}/new.md", "x\n")
    set_time("2026-03-15T16:00:00Z")


def old_general(box: Sandbox) -> None:
    box.write(f"{GENERAL}/inbox.md", "---\nupdated: 2026-01-01\n---\nx\n")


def purgeable(box: Sandbox) -> None:
    box.ws.archive(f"{GENERAL}/inbox.md")
    set_time("2026-12-15T16:00:00Z")


def staged(box: Sandbox) -> None:
    box.write(f"{GENERAL}/long.md", "a line that goes on and on\n" * 100)
    box.ws.reflect()


def damaged_cache(box: Sandbox) -> None:
    box.close()
    box.write(".bonsai/cache/tree.db", b"this is no database" * 100)


def unreadable(box: Sandbox) -> None:
    """A folder deeper than a scan goes: root may read every mode."""
    box.write(f"memory/{'d/' * 70}x.md", "x\n")


def index_lock(box: Sandbox) -> None:
    box.write(".git/index.lock", "")


MAKE: dict[str, tuple[str, Callable[[Sandbox], None]]] = {
    "bad-date": (f"{GENERAL}/a.md", lambda box: box.write(f"{GENERAL}/a.md", "---\nupdated: soon\n---\nx\n")),
    "bad-frontmatter": (f"{GENERAL}/a.md", lambda box: box.write(f"{GENERAL}/a.md", "---\na: [\n---\nx\n")),
    "binary": (f"{GENERAL}/a.md", lambda box: box.write(f"{GENERAL}/a.md", b"a\0b\n")),
    "boot-over-budget": ("MEMORY.md", boot_over_budget),
    "broken-link": (f"{GENERAL}/a.md", lambda box: box.write(f"{GENERAL}/a.md", "[x](nothing.md)\n")),
    "cache-rebuilt": (".bonsai/cache", damaged_cache),
    "case-clash": (f"{GENERAL}/Inbox.md", lambda box: box.write(f"{GENERAL}/Inbox.md", "x\n")),
    "conflict-copy": (f"{GENERAL}/inbox (1).md", lambda box: box.write(f"{GENERAL}/inbox (1).md", "x\n")),
    "conflict-markers": (f"{GENERAL}/inbox.md", conflict),
    "duplicate-key": (f"{GENERAL}/a.md", lambda box: box.write(f"{GENERAL}/a.md", "---\na: 1\na: 2\n---\nx\n")),
    "emptied": (f"{GENERAL}/inbox.md", lambda box: box.write(f"{GENERAL}/inbox.md", "")),
    "general-age": (f"{GENERAL}/inbox.md", old_general),
    "git-blocked": ("", lambda box: box.write(".git/MERGE_HEAD", box.head() + "\n")),
    "git-lock": (".git/index.lock", index_lock),
    "mass-deletion": ("memory", mass_deletion),
    "not-utf8": (f"{GENERAL}/a.md", lambda box: box.write(f"{GENERAL}/a.md", b"caf\xe9\n")),
    "pending-purge": (f"{GENERAL}/inbox__DELETE.md", purgeable),
    "reflection-waiting": ("memory/_reflect_staging.json", staged),
    "reindex-overdue": ("MEMORY.md", overdue),
    "special-file": (f"{GENERAL}/pipe.md", lambda box: os.mkfifo(box.root / GENERAL / "pipe.md")),
    "stale-index": ("MEMORY.md", lambda box: box.write(f"{GENERAL}/new.md", "x\n")),
    "symlink": (f"{GENERAL}/a.md", lambda box: os.symlink("inbox.md", box.root / GENERAL / "a.md")),
    "too-large": (f"{GENERAL}/a.md", lambda box: box.write(f"{GENERAL}/a.md", "long line\n" * 110_000)),
    "uncommitted": (f"{GENERAL}/inbox.md", lambda box: box.write(f"{GENERAL}/inbox.md", "other words\n")),
    "unreadable": ("memory/" + "d/" * 64 + "d", unreadable),
}
HEALTH = {"info": "HEALTHY", "warning": "WARNING", "critical": "CRITICAL"}


def ignored(box: Sandbox) -> None:
    box.write(".gitignore", "a.md\n")
    box.write(f"{GENERAL}/a.md", "x\n")


def secret(box: Sandbox) -> None:
    box.write(f"{GENERAL}/a.md", "ghp_" + "c" * 36 + "\n")


MAKE["secret"] = (f"{GENERAL}/a.md", secret)
MAKE["ignored"] = (f"{GENERAL}/a.md", ignored)


def test_every_code_that_these_verbs_can_find_is_tried() -> None:
    elsewhere = {"clock", "daemon-dead", "daemon-lagging", "unsigned", "watch-limit"}
    care = {"feedback-number", "relative-date", "unworthy"}  # of `feedback list`, `dates check` and `check-facts`
    assert set(CODES) - elsewhere - care == set(MAKE)


@pytest.mark.parametrize("code", MAKE)
def test_each_code(garden: Sandbox, code: str) -> None:
    path, make = MAKE[code]
    assert not garden.problems(code)
    make(garden)
    status = garden.ws.status()
    found = [item for item in status.problems if item.code == code]
    assert [item.path for item in found] == [path]
    assert found[0].severity == CODES[code]
    last = re.split(r"[:;,] ", found[0].message)[-1]
    assert ADVICE.search(last), found[0].message
    worst = max((CODES[item.code] for item in status.problems), key=list(HEALTH).index)
    assert status.status == HEALTH[worst]
    if code != "cache-rebuilt":  # said once
        assert [item.path for item in garden.problems(code)] == [path], "only the first look said it"


@pytest.mark.parametrize("code", sorted(set(MAKE) - {"reflection-waiting", "cache-rebuilt"}))
def test_a_problem_stays_until_it_is_mended(garden: Sandbox, code: str) -> None:
    """After other verbs have run it is still said."""
    path, make = MAKE[code]
    make(garden)
    passing = {"stale-index", "uncommitted", "reindex-overdue"}
    if code not in passing | {"mass-deletion", "git-blocked"}:
        garden.ws.reindex()
        assert [item.path for item in garden.problems(code)] == [path]
        garden.ws.commit()
        expected = [] if code == "emptied" else [path]
        assert [item.path for item in garden.problems(code)] == expected
    garden.close()
    os.remove(garden.root / ".bonsai/cache/tree.db")
    expected = [] if code == "emptied" else [path]
    if code not in passing:
        assert [item.path for item in garden.problems(code)] == expected


def test_five_old_notes_in_general_are_critical(garden: Sandbox) -> None:
    for number in range(4):
        garden.write(f"{GENERAL}/n{number}.md", "---\ncreated: 2026-01-02\n---\nx\n")
    assert garden.ws.status().status == "WARNING"
    garden.write(f"{GENERAL}/deeper/n.md", "---\nupdated: 2026-02-12\n---\nx\n")
    status = garden.ws.status()
    assert (status.status, status.general_violations) == ("CRITICAL", 5)
    garden.write(f"{GENERAL}/n0.md", "---\nupdated: 2026-02-13\n---\nexactly thirty days\n")
    assert garden.ws.status().general_violations == 4


def test_ages_come_from_git_and_not_from_file_times(garden: Sandbox, at) -> None:
    os.utime(garden.root / GENERAL / "inbox.md", (0, 0))
    assert garden.ws.status().general_violations == 0
    at("2026-05-01T00:00:00Z")
    os.utime(garden.root / GENERAL / "inbox.md")
    assert garden.ws.status().general_violations == 1
    garden.git("clone", "-q", ".", "../clone")
    clone = Sandbox(garden.root.parent / "clone")
    assert clone.ws.status().general_violations == 1
    clone.close()


def test_a_new_reindex_says_when(garden: Sandbox, at) -> None:
    at("2026-03-15T10:00:00Z")
    garden.ws.reindex()
    assert garden.ws.status().last_reindex == "2026-03-15T10:00:00Z"
    at("2026-03-16T10:00:00Z")
    assert not garden.problems("reindex-overdue"), "nothing is pending, so nothing is overdue"


def test_numbers(garden: Sandbox) -> None:
    status = garden.ws.status()
    assert (status.notes, status.domains, status.total_tokens) == (3, 2, 25)
    assert (status.general_violations, status.pending_purge, status.archived, status.uncommitted) == (0, 0, 0, 0)
    assert (status.blocked, status.daemon.running, status.daemon.pid) == (None, False, None)
    assert status.boot_tokens == len(garden.read("MEMORY.md").decode()) // 4
    garden.ws.archive(f"{GENERAL}/inbox.md")
    status = garden.ws.status()
    assert (status.notes, status.archived, status.pending_purge) == (2, 1, 0)
    assert [(item.severity, item.code) for item in status.problems] == [("info", "pending-purge")]


def test_the_worst_comes_first(garden: Sandbox) -> None:
    MAKE["broken-link"][1](garden)
    MAKE["binary"][1](garden)
    mass_deletion(garden)
    order = [item.severity for item in garden.ws.status().problems]
    assert order == sorted(order, key=list(reversed(HEALTH)).index)


BLOCKS = {
    "merge": lambda box: box.write(".git/MERGE_HEAD", box.head() + "\n"),
    "rebase": lambda box: box.write(".git/rebase-merge/head-name", "refs/heads/x\n"),
    "cherry-pick": lambda box: box.write(".git/CHERRY_PICK_HEAD", box.head() + "\n"),
    "revert": lambda box: box.write(".git/REVERT_HEAD", box.head() + "\n"),
    "bisect": lambda box: box.write(".git/BISECT_LOG", "git bisect start\n"),
    "detached": lambda box: box.git("checkout", "-q", "--detach"),
    "unusable": lambda box: box.write(".git/config", "[core\n"),
}


@pytest.mark.parametrize("state", BLOCKS)
def test_blocked_says_by_what(garden: Sandbox, state: str) -> None:
    garden.write(f"{GENERAL}/inbox.md", "edited\n")
    assert garden.ws.status().blocked is None
    BLOCKS[state](garden)
    status = garden.ws.status()
    assert status.blocked == state
    assert [item.code for item in status.problems if item.severity != "info"] == ["git-blocked"]
    assert status.uncommitted >= 1
    assert (status.status == "CRITICAL") is (state == "unusable")


def test_without_a_repository(bare: Sandbox) -> None:
    bare.write(f"{GENERAL}/a.md", "x\n")
    status = bare.ws.status()
    assert status.status == "WARNING"
    assert status.notes == 1
    assert "bonsai init" in next(item.message for item in status.problems if item.code == "git-blocked")
    assert sorted(os.listdir(bare.root)) == [".bonsai", "memory"]


def test_a_second_spelling_of_the_boot_file(garden: Sandbox) -> None:
    garden.write("memory.md", "x\n")
    assert [item.path for item in garden.problems("case-clash")] == ["memory.md"]


def test_the_cache_is_said_to_be_rebuilt_once(garden: Sandbox) -> None:
    damaged_cache(garden)
    assert garden.problems("cache-rebuilt")
    assert not garden.problems("cache-rebuilt")
    assert garden.ws.status().uncommitted == 0


# -- never a false clean -------------------------------------------------------------------------------------


def is_clean(status: StatusReport) -> bool:
    return status.uncommitted == 0 and not {"stale-index", "reindex-overdue"} & {item.code for item in status.problems}


def same_size_and_time(box: Sandbox) -> None:
    place = box.root / GENERAL / "inbox.md"
    before = place.stat()
    place.write_bytes(place.read_bytes().replace(b"Sort me", b"Sort it"))
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Sandbox], object]] = {
    "edit": lambda box: box.write(f"{GENERAL}/inbox.md", "edited\n"),
    "same size and time": same_size_and_time,
    "one blank": lambda box: box.write(f"{GENERAL}/inbox.md", box.read(f"{GENERAL}/inbox.md") + b" "),
    "crlf": lambda box: box.write(f"{GENERAL}/inbox.md", box.read(f"{GENERAL}/inbox.md").replace(b"\n", b"\r\n")),
    "new": lambda box: box.write(f"{GENERAL}/new.md", "x\n"),
    "new domain": lambda box: box.write("memory/domains/a/b/c.md", "x\n"),
    "delete": lambda box: os.remove(box.root / GENERAL / "inbox.md"),
    "rename": lambda box: os.rename(box.root / GENERAL / "inbox.md", box.root / GENERAL / "in.md"),
    "case": lambda box: os.rename(box.root / GENERAL / "inbox.md", box.root / GENERAL / "INBOX.md"),
    "swap": lambda box: (
        os.rename(box.root / GENERAL / "inbox.md", box.root / "x"),
        os.rename(box.root / "memory/dates.md", box.root / GENERAL / "inbox.md"),
        os.rename(box.root / "x", box.root / "memory/dates.md"),
    ),
    "asset": lambda box: box.write(f"{GENERAL}/pic.png", b"x"),
    "boot": lambda box: box.write("MEMORY.md", b"# Me\n\n" + box.read("MEMORY.md")),
    "block": lambda box: box.write("MEMORY.md", box.read("MEMORY.md").replace(b"Business", b"Busyness")),
    "index": lambda box: box.write(f"{BUSINESS}/_index.md", "mine\n"),
    "index gone": lambda box: os.remove(box.root / BUSINESS / "_index.md"),
    "settings": lambda box: box.write("bonsai.toml", "[index]\nblock_tokens = 200\n"),
    "head back": lambda box: box.git("reset", "-q", "--soft", "HEAD~1"),
    "other commit": lambda box: (
        box.git("rm", "-q", "--cached", f"{GENERAL}/inbox.md"),
        box.git("commit", "-qm", "untrack"),
    ),
    "archive by hand": lambda box: os.rename(box.root / GENERAL / "inbox.md", box.root / GENERAL / "inbox__DELETE.md"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_no_change_goes_unseen(garden: Sandbox, name: str) -> None:
    assert is_clean(garden.ws.status())
    CHANGES[name](garden)
    assert not is_clean(garden.ws.status())
    garden.ws.commit()
    assert is_clean(garden.ws.status())
    garden.assert_clean()


def test_a_checkout_of_another_branch_is_seen(garden: Sandbox) -> None:
    garden.git("checkout", "-q", "-b", "side")
    garden.write(f"{GENERAL}/side.md", "x\n")
    garden.ws.commit()
    garden.git("checkout", "-q", "-")
    garden.git("clean", "-qfd", "memory")
    assert garden.ws.status().uncommitted == 0
    garden.git("checkout", "-q", "side")
    assert garden.ws.status().uncommitted == 0
    assert garden.ws.recall("side").query == "side"


def test_status_changes_nothing(garden: Sandbox) -> None:
    CHANGES["new domain"](garden)
    before, head = garden.files(), garden.head()
    garden.ws.status()
    assert (garden.files(), garden.head()) == (before, head)


def test_status_works_while_somebody_writes(garden: Sandbox) -> None:
    other = garden.opened()
    with other._outside.lock():
        garden.write(f"{GENERAL}/new.md", "x\n")
        assert garden.opened().status().uncommitted == 1
        other.close()


def test_the_cache_may_be_deleted_or_damaged_at_any_time(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/new.md", "x\n")
    cache = ".bonsai/cache/tree.db"
    for damage in (b"", b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 5000, None):
        garden.ws.status()
        garden.close()
        for name in os.listdir(garden.root / ".bonsai/cache"):
            os.remove(garden.root / ".bonsai/cache" / name)
        if damage is not None:
            garden.write(cache, damage)
        status = garden.ws.status()
        assert (status.uncommitted, status.notes) == (1, 4)


def test_a_cache_of_another_workspace_lies_to_nobody(garden: Sandbox) -> None:
    """A cache that was copied along names blobs and times of other files."""
    garden.ws.status()
    garden.close()
    with sqlite3.connect(garden.root / ".bonsai/cache/tree.db") as db:
        tables = [row[0] for row in db.execute("select name from sqlite_master where type = 'table'")]
    assert tables
    db.close()
    garden.git("clone", "-q", ".", "../clone")
    clone = Sandbox(garden.root.parent / "clone")
    clone.write(f"{GENERAL}/inbox.md", "other\n")
    os.makedirs(clone.root / ".bonsai/cache", mode=0o700)
    clone.write(".bonsai/cache/tree.db", garden.read(".bonsai/cache/tree.db"))
    assert clone.ws.status().uncommitted == 1
    clone.close()


def test_staging_is_said_until_it_is_applied(garden: Sandbox) -> None:
    garden.ws.reflect()
    assert not garden.problems("reflection-waiting"), "there is nothing to decide, so nothing waits"
    staged(garden)
    assert json.loads(garden.read("memory/_reflect_staging.json"))["candidates"]
