"""`log` tells the story of the memory; `undo` takes exactly one run back and keeps every later edit."""

import os
from collections.abc import Callable

import pytest

from bonsai.errors import NotFound, Refused, Usage
from verbs.sandbox import GENERAL, Sandbox, set_time

INBOX = f"{GENERAL}/inbox.md"
ARCHIVE = f"{GENERAL}/inbox__DELETE.md"
PRICING = "memory/domains/business/pricing.md"
WORDS = "memory/domains/business/seo/words.md"
LONG = "".join(f"Line {number} of a note that is long enough to be known again.\n" for number in range(30))


def notes(box: Sandbox) -> dict[str, bytes]:
    """What is not generated."""
    return {path: data for path, data in box.files().items() if not path.endswith("_index.md")}


# -- log -----------------------------------------------------------------------------------------------------


def test_newest_first_with_everything_that_is_known(garden: Sandbox, at) -> None:
    at("2026-03-16T08:15:00Z")
    garden.opened(agent="wren", session="s1").archive(INBOX, reason="x")
    archive, edit = garden.ws.log(limit=2).commits
    assert (archive.op, archive.actor, archive.session) == ("archive", "agent:wren", "s1")
    assert archive.sha == garden.head()
    assert archive.time in {"2026-03-16T08:15:00Z", "2026-03-16T08:15:00+00:00"}
    assert archive.message == archive.subject == "archive: general/inbox"
    assert {INBOX, ARCHIVE, "memory/_index.md"} <= set(archive.paths)
    assert (edit.op, edit.actor) == ("edit", "human")


def test_commits_of_people_are_listed_and_others_are_not(garden: Sandbox) -> None:
    garden.write("memory/dates.md", "# By hand\n")
    garden.git("commit", "-qam", "By hand\n\nBonsai-Op: nonsense\n\nNo trailer.")
    garden.write("code.py", "x\n")
    garden.git("add", "code.py")
    garden.git("commit", "-qm", "code")
    commits = garden.ws.log().commits
    assert [commit.subject for commit in commits[:2]] == ["By hand", commits[1].subject]
    assert (commits[0].op, commits[0].run, commits[0].author) == ("", "", "Pat Doe")
    assert "code" not in [commit.subject for commit in commits]


def test_one_path_through_its_renames(garden: Sandbox) -> None:
    garden.write(INBOX, LONG)
    garden.ws.commit()
    garden.ws.move(INBOX, "business")
    garden.ws.archive("memory/domains/business/inbox.md")
    ops = [commit.op for commit in garden.ws.log("memory/domains/business/inbox__DELETE.md").commits]
    assert ops == ["archive", "move", "edit", "edit"]
    assert [commit.op for commit in garden.ws.log(PRICING, limit=1).commits] == ["edit"]


def test_a_limit(garden: Sandbox) -> None:
    assert len(garden.ws.log(limit=1).commits) == 1
    assert len(garden.ws.log().commits) == garden.count()


def test_a_path_that_never_was_or_leaves(garden: Sandbox) -> None:
    with pytest.raises(NotFound):
        garden.ws.log("memory/domains/x/never.md")
    with pytest.raises(Refused):
        garden.ws.log("../outside.md")
    os.remove(garden.root / INBOX)
    garden.ws.commit()
    assert len(garden.ws.log(INBOX).commits) == 2, "what is gone has a story too"


# -- undo ----------------------------------------------------------------------------------------------------


def migrate(box: Sandbox) -> str | None:
    box.write("MEMORY.md", b"# Me\r\n\r\n## Pricing\r\n\r\nx\r\n" + box.read("MEMORY.md"))
    box.write("memory/2026-01-01.md", "- old day\n")
    box.ws.commit()
    return box.ws.migrate().commit


def purge(box: Sandbox) -> str | None:
    box.write(f"{GENERAL}/o__DELETE.md", "x\n")
    box.ws.commit()
    set_time("2027-03-15T08:15:00Z")
    return box.ws.purge().commit


def reflect(box: Sandbox) -> str | None:
    box.write(f"{GENERAL}/long.md", f"# Long\n\n## One\n\n{LONG}\n## Two\n\n{LONG}")
    box.write(f"{GENERAL}/twin.md", f"# Twin\n\n{LONG}")
    box.ws.commit()
    hashes = {path: box.git("hash-object", "--no-filters", path).strip() for path in notes(box)}
    twin = f"{GENERAL}/twin.md"
    decisions = [
        {"file": INBOX, "decision": "archive", "reason": "x", "hash": hashes[INBOX]},
        {"file": PRICING, "decision": "migrate", "domain": "legal", "hash": hashes[PRICING]},
        {"file": twin, "decision": "merge", "into": "memory/dates.md", "hash": hashes[twin]},
        {
            "file": f"{GENERAL}/long.md",
            "decision": "split",
            "parts": [{"name": "One"}, {"name": "Two"}],
            "hash": hashes[f"{GENERAL}/long.md"],
        },
    ]
    report = box.ws.reflect_apply({"candidates": decisions})
    assert report.refused == []
    return report.commit


RUNS: dict[str, Callable[[Sandbox], str | None]] = {
    "migrate": migrate,
    "purge": purge,
    "reflect": reflect,
    "archive": lambda box: box.ws.archive(INBOX, PRICING, reason="x").commit,
    "move": lambda box: box.ws.move(PRICING, "legal").commit,
    "restore": lambda box: (box.ws.archive(INBOX), box.ws.restore(INBOX).commit)[1],
    "restore a revision": lambda box: (
        box.write(INBOX, "newer\n"),
        box.ws.commit(),
        box.ws.restore(f"{INBOX}@HEAD~1").commit,
    )[2],
    "daily": lambda box: box.ws.daily_add("a call").commit,
    "undo": lambda box: (box.ws.archive(INBOX), box.ws.undo().commit)[1],
    "edit": lambda box: (box.write(INBOX, "other\n"), os.remove(box.root / WORDS), box.ws.commit().commit)[2],
}


def state_before(box: Sandbox, sha: str) -> dict[str, bytes]:
    """The notes in the commit before a run."""
    paths = [path for path in box.tree(f"{sha}~1") if not path.endswith("_index.md")]
    return {path: box.committed(path, f"{sha}~1") or b"" for path in paths}


@pytest.mark.parametrize("name", RUNS)
def test_undo_gives_back_what_was(garden: Sandbox, name: str) -> None:
    sha = RUNS[name](garden)
    assert sha == garden.head()
    before, count = state_before(garden, sha), garden.count()
    run = garden.last()[0].run
    report = garden.ws.undo(run)
    assert (report.conflicts, report.kept, report.undone) == ([], [], run)
    now = notes(garden)
    for path in {*before, *now} - {"MEMORY.md", "memory/_purge_log.json"}:
        assert now.get(path) == before.get(path), path
    assert garden.count() == count + 1
    assert report.commit == garden.head()
    last = garden.last()[0]
    assert (last.op, last.undoes) == ("undo", run)
    garden.assert_clean()


@pytest.mark.parametrize("name", RUNS)
def test_an_undo_is_undone(garden: Sandbox, name: str) -> None:
    RUNS[name](garden)
    after, run = notes(garden), garden.last()[0].run
    garden.ws.undo(run)
    garden.ws.undo(garden.last()[0].run)
    now = notes(garden)
    for path in {*after, *now} - {"MEMORY.md"}:
        assert now.get(path) == after.get(path), path
    garden.assert_clean()


@pytest.mark.parametrize("name", sorted(set(RUNS) - {"edit"}))
def test_later_edits_stay(garden: Sandbox, name: str) -> None:
    """A person edits every note a little after the run, makes new ones, and takes the run back."""
    RUNS[name](garden)
    run = garden.last()[0].run
    ours = [path for path in notes(garden) if path.endswith(".md") and path != "MEMORY.md"]
    for number, path in enumerate(ours):
        garden.write(path, garden.read(path) + f"\nA later thought {number}.\n".encode())
    garden.write(f"{GENERAL}/later.md", "# Later\n")
    garden.write("MEMORY.md", garden.read("MEMORY.md") + b"\n## Tasks\n\n- a later task\n")
    before = notes(garden)
    report = garden.ws.undo(run)
    now = notes(garden)
    if report.conflicts:
        assert report.commit is None
        assert now == before
        return
    text = b"".join(now.values())
    for number, path in enumerate(ours):
        assert f"A later thought {number}.\n".encode() in text, path
    assert b"- a later task\n" in now["MEMORY.md"]
    assert now[f"{GENERAL}/later.md"] == b"# Later\n"
    garden.assert_clean()


def test_only_the_daily_run_conflicts_with_a_line_right_behind(garden: Sandbox) -> None:
    garden.ws.daily_add("one")
    garden.write("memory/daily/2026-03-15.md", garden.read("memory/daily/2026-03-15.md") + b"- mine\n")
    report = garden.ws.undo()
    assert report.kept == ["memory/daily/2026-03-15.md"]
    assert garden.read("memory/daily/2026-03-15.md") == b"# 2026-03-15\n\n- one\n- mine\n"


def test_a_conflict_changes_nothing_and_shows_both(garden: Sandbox) -> None:
    garden.write(INBOX, "newer\n")
    garden.ws.commit()
    garden.ws.restore(f"{INBOX}@HEAD~1")
    run = garden.last()[0].run
    garden.write(INBOX, "# Inbox\n\nSort me soon.\n")
    garden.write("memory/dates.md", "pending\n")
    report = garden.ws.undo(run)
    assert report.commit is None
    [conflict] = report.conflicts
    assert (conflict.path, conflict.now, conflict.wanted) == (INBOX, "# Inbox\n\nSort me soon.\n", "newer\n")
    assert conflict.reason
    assert garden.read(INBOX) == b"# Inbox\n\nSort me soon.\n"
    assert garden.last()[0].op == "edit"


def test_a_name_that_is_taken_since_is_a_conflict(garden: Sandbox) -> None:
    garden.ws.archive(INBOX, PRICING)
    garden.write(INBOX, "another inbox\n")
    files = garden.files()
    report = garden.ws.undo()
    assert [item.path for item in report.conflicts] == [INBOX]
    assert garden.has(ARCHIVE)
    assert {path: data for path, data in garden.files().items() if "_index" not in path and path != "MEMORY.md"} == {
        path: data for path, data in files.items() if "_index" not in path and path != "MEMORY.md"
    }


def test_binary_files_that_changed_conflict(garden: Sandbox) -> None:
    path = f"{GENERAL}/pic.png"
    for data in (b"\0one", b"\0two"):
        garden.write(path, data)
        garden.ws.commit()
    run = garden.last()[0].run
    garden.write(path, b"\0three")
    report = garden.ws.undo(run)
    assert [item.path for item in report.conflicts] == [path]
    assert garden.read(path) == b"\0three"


def test_edits_in_other_lines_are_merged(garden: Sandbox) -> None:
    garden.write(INBOX, LONG)
    garden.ws.commit()
    garden.write(INBOX, LONG.replace("Line 3 ", "Line three "))
    garden.ws.commit()
    run = garden.last()[0].run
    garden.write(INBOX, garden.read(INBOX).replace(b"Line 20 ", b"Line twenty "))
    assert garden.ws.undo(run).restored == [INBOX]
    assert garden.read(INBOX) == LONG.replace("Line 20 ", "Line twenty ").encode()


def test_an_archive_that_was_edited_comes_back_with_the_edit(garden: Sandbox) -> None:
    garden.write(INBOX, LONG)
    garden.ws.archive(INBOX, reason="x")
    garden.write(ARCHIVE, garden.read(ARCHIVE) + b"One more.\n")
    garden.ws.undo()
    assert garden.read(INBOX) == (LONG + "One more.\n").encode()


def test_a_file_that_is_gone_since_stays_gone(garden: Sandbox) -> None:
    garden.ws.move(PRICING, "legal")
    run = garden.last()[0].run
    os.remove(garden.root / "memory/domains/legal/pricing.md")
    report = garden.ws.undo(run)
    assert not garden.has(PRICING)
    assert garden.ws.restore(PRICING).restored == [PRICING]
    assert report.conflicts == []


def test_the_newest_run_of_a_command_is_the_default(garden: Sandbox) -> None:
    garden.ws.archive(INBOX)
    garden.ws.move(PRICING, "legal")
    garden.write("memory/dates.md", "by hand\n")
    garden.ws.commit()
    assert garden.last()[0].op == "edit"
    garden.ws.undo()
    assert garden.has(PRICING) and garden.has(ARCHIVE)
    garden.ws.undo()
    assert garden.has(INBOX)
    with pytest.raises(NotFound):
        garden.ws.undo()
    assert garden.read("memory/dates.md") == b"by hand\n"


def test_after_an_undo_was_undone_the_run_counts_again(garden: Sandbox) -> None:
    garden.ws.move(PRICING, "legal")
    garden.ws.archive(INBOX)
    garden.ws.undo()
    garden.ws.undo(garden.last()[0].run)
    assert garden.has(ARCHIVE)
    garden.ws.undo()
    assert garden.has(INBOX) and not garden.has(PRICING)


def test_it_says_what_it_took_back_and_which_edit_by_hand_stays(garden: Sandbox) -> None:
    garden.ws.move(PRICING, "legal")
    (garden.root / INBOX).unlink()
    garden.ws.commit()
    edit = garden.last()[0].run
    report = garden.ws.undo()
    assert (report.message, report.later_edit) == ("move: business/pricing to legal", edit)
    assert INBOX in garden.ws.undo(report.later_edit).restored
    garden.ws.archive(INBOX)
    report = garden.ws.undo()
    assert (report.message, report.later_edit) == ("archive: general/inbox", "")


def test_an_undone_run_that_changed_no_boot_text_names_no_boot_file(garden: Sandbox) -> None:
    garden.ws.archive(INBOX)
    assert garden.ws.undo().restored == [INBOX, ARCHIVE]


def test_a_run_that_changed_nothing_to_take_back_is_passed_over(garden: Sandbox) -> None:
    """Else `undo` would name it again and again, and never come to the run before it."""
    archive = garden.ws.archive(INBOX).commit
    garden.write("memory/_erased.json", "[]\n")
    garden.git("add", "memory/_erased.json")
    garden.git("commit", "-qm", "sync: 1 commit\n\nBonsai-Op: sync\nBonsai-Actor: human\nBonsai-Run: abcdefabcdef\n")
    by_name = garden.ws.undo("abcdefabcdef")
    assert (by_name.undone, by_name.restored, by_name.commit) == (None, [], None)
    assert garden.ws.undo().undone == next(item.run for item in garden.ws.log().commits if item.sha == archive)


def test_init_is_not_undone_by_itself(box: Sandbox) -> None:
    with pytest.raises(NotFound):
        box.ws.undo()


def test_by_commit_and_by_run(garden: Sandbox) -> None:
    garden.write(INBOX, "one\n")
    sha = garden.ws.commit().commit
    garden.ws.archive("memory/dates.md")
    assert garden.ws.undo(sha[:10] if sha else "").restored == [INBOX]
    for name in ("nothing", "-x", "HEAD~99", "0" * 40):
        with pytest.raises(NotFound):
            garden.ws.undo(name)


def test_a_commit_of_a_person_can_be_taken_back(garden: Sandbox) -> None:
    garden.write(INBOX, "by hand\n")
    garden.write("code.py", "x\n")
    garden.git("add", "-A")
    garden.git("commit", "-qm", "both")
    garden.ws.undo("HEAD")
    assert garden.read(INBOX) == b"# Inbox\n\nSort me.\n"
    assert garden.read("code.py") == b"x\n"


def test_a_merge_is_not_taken_back(garden: Sandbox) -> None:
    garden.git("checkout", "-qb", "side")
    garden.write(INBOX, "side\n")
    garden.ws.commit()
    garden.git("checkout", "-q", "-")
    garden.write("memory/dates.md", "main\n")
    garden.ws.commit()
    garden.git("merge", "-q", "-Xours", "side", "-m", "merge")
    with pytest.raises(Usage):
        garden.ws.undo("HEAD")


def test_pending_edits_are_not_lost_by_an_undo(garden: Sandbox) -> None:
    garden.ws.archive(PRICING)
    garden.write(INBOX, "pending\n")
    garden.ws.undo()
    assert garden.read(INBOX) == b"pending\n"
    assert [commit.op for commit in garden.last(2)] == ["undo", "edit"]


def test_the_mode_of_a_file_survives_every_change_of_name(garden: Sandbox, at) -> None:
    path = f"{GENERAL}/run.md"
    garden.write(path, "#!/usr/bin/env bonsai\n")
    (garden.root / path).chmod(0o755)
    garden.ws.commit()
    [archive] = garden.ws.archive(path).archived
    assert os.access(garden.root / archive, os.X_OK)
    at("2027-03-15T08:15:00Z")
    garden.ws.purge()
    garden.ws.undo()
    assert os.access(garden.root / archive, os.X_OK)
    garden.ws.restore(path)
    garden.ws.move(path, "business")
    assert garden.git("ls-tree", "HEAD", "memory/domains/business/run.md").startswith("100755")
    garden.assert_clean()


def test_where_a_shallow_clone_ends_nothing_is_taken_back(garden: Sandbox) -> None:
    """That commit seems to have no parent, so undoing it would take every note away."""
    garden.ws.archive(INBOX)
    copy = garden.root.with_name("shallow")
    garden.git("clone", "-q", "--depth", "1", f"file://{garden.root}", str(copy))
    shallow = Sandbox(copy)
    before = notes(shallow)
    for run in (None, "HEAD"):
        with pytest.raises(Refused, match="begins there") as caught:
            shallow.ws.undo(run)
        assert "--unshallow" in str(caught.value.hint)
    assert notes(shallow) == before
    shallow.git("fetch", "-q", "--unshallow")
    assert INBOX in shallow.ws.undo().restored
    shallow.close()
