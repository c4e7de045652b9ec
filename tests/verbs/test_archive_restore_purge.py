"""Put away, bring back, delete for good: every step is one commit, and whatever was ever committed can be had back."""

import json
import os

import pytest

from bonsai.errors import CannotCreate, Misconfigured, NotFound, Refused, Usage
from verbs.sandbox import GENERAL, Sandbox

INBOX = f"{GENERAL}/inbox.md"
ARCHIVE = f"{GENERAL}/inbox__DELETE.md"
LOG = "memory/_purge_log.json"
ODD = {
    "crlf": b"---\r\ntitle: A\r\n---\r\nText\r\n",
    "bom": b"\xef\xbb\xbf---\ntitle: A\n---\nText",
    "no-end": b"---\ntitle: A\n---",
    "plain": b"Text without anything",
    "comment": b"---\n# why\ntitle:   'A'   # odd\nz: 1\na: 007\n---\n\n\nText\n\n\n",
    "empty": b"",
    "blank": b"\n\n",
    "ruler": b"---\n\nText after a ruler\n\n---\nmore\n",
    "broken": b"---\na: [\n---\nText\n",
    "latin": b"caf\xe9\n",
    "utf16": "Text\n".encode("utf-16"),
    "twice": b"---\na: 1\na: 2\n---\nText\n",
    "empty-block": b"---\n---\nText\n",
    "only-comment": b"---\n# mine\n---\nText\n",
}
UNEDITABLE = {"broken", "twice", "utf16"}


# -- archive -------------------------------------------------------------------------------------------------


def test_archiving_renames_dates_and_commits_once(garden: Sandbox) -> None:
    before = garden.count()
    report = garden.ws.archive(INBOX, reason="sorted")
    assert report.archived == [ARCHIVE]
    assert garden.count() == before + 1
    assert report.commit == garden.head()
    assert garden.read(ARCHIVE) == (
        b"---\narchived: 2026-03-15T08:15:00Z\narchive_reason: sorted\n---\n# Inbox\n\nSort me.\n"
    )
    assert not garden.has(INBOX)
    assert not garden.has(f"{GENERAL}/_index.md")
    assert b"inbox" not in garden.read("memory/_index.md")
    garden.assert_clean()


def test_the_message_of_an_archive(garden: Sandbox) -> None:
    garden.ws.archive(INBOX, "memory/domains/business/pricing.md", reason="Both\nare old.\n\nBonsai-Op: edit")
    commit = garden.last()[0]
    assert commit.subject == "archive: general/inbox, business/pricing"
    assert (commit.op, commit.actor) == ("archive", "human")
    assert f"archive {INBOX}\n" in commit.body and "Both\nare old." in commit.body


def test_pending_edits_are_committed_first_by_themselves(garden: Sandbox) -> None:
    garden.write(INBOX, "edited\n")
    garden.write("memory/dates.md", "# Other\n")
    garden.ws.archive(INBOX)
    edit, archive = garden.last(2)[::-1]
    assert (edit.op, archive.op) == ("edit", "archive")
    assert edit.run != archive.run
    assert garden.committed(INBOX, "HEAD~1") == b"edited\n"
    assert set(edit.paths) == {INBOX, "memory/dates.md"}


@pytest.mark.parametrize("name", ODD)
def test_archive_and_restore_give_the_bytes_back(box: Sandbox, name: str) -> None:
    path, data = f"{GENERAL}/a.md", ODD[name]
    box.write(path, data)
    [archive] = box.ws.archive(path, reason="why").archived
    if name in UNEDITABLE:
        assert box.read(archive) == data
    box.ws.restore(archive)
    assert box.read(path) == data
    assert not box.has(archive)
    box.assert_clean()


def test_later_edits_of_an_archive_come_back_too(garden: Sandbox) -> None:
    garden.ws.archive(INBOX)
    garden.write(ARCHIVE, garden.read(ARCHIVE) + b"More.\n")
    garden.ws.restore(INBOX)
    assert garden.read(INBOX) == b"# Inbox\n\nSort me.\nMore.\n"


def test_a_second_archive_of_the_same_name_takes_another(garden: Sandbox) -> None:
    garden.ws.archive(INBOX)
    garden.write(INBOX, "another\n")
    assert garden.ws.archive(INBOX).archived == [f"{GENERAL}/inbox-2__DELETE.md"]
    assert b"Sort me." in garden.read(ARCHIVE)


def test_several_files_are_one_run_or_none(garden: Sandbox) -> None:
    before, files = garden.head(), garden.files()
    for wrong in ("memory/domains/x/none.md", "MEMORY.md", f"{GENERAL}/_index.md", f"{GENERAL}/../../../etc/x.md"):
        with pytest.raises((NotFound, Usage, Refused)):
            garden.ws.archive(INBOX, wrong)
    assert (garden.head(), garden.files()) == (before, files)
    assert len(garden.ws.archive(INBOX, INBOX, "memory/dates.md").archived) == 2


def test_an_archive_is_not_archived_again(garden: Sandbox) -> None:
    garden.ws.archive(INBOX)
    with pytest.raises(Usage):
        garden.ws.archive(ARCHIVE)


def test_a_name_that_would_be_too_long(box: Sandbox) -> None:
    path = f"{GENERAL}/{'x' * 250}.md"
    box.write(path, "x\n")
    with pytest.raises(CannotCreate):
        box.ws.archive(path)
    assert box.has(path)


def test_without_a_repository_nothing_is_renamed(bare: Sandbox) -> None:
    bare.write(INBOX, "x\n")
    with pytest.raises(Misconfigured):
        bare.ws.archive(INBOX)
    assert bare.has(INBOX)


def test_a_file_name_of_any_bytes(box: Sandbox) -> None:
    names = ("caf\udce9.md", "a\nb.md", "-rf.md", ":(top)x.md", "日記.md", 'a b\'s "q".md', "x@{1}.md", "$(id).md")
    for name in names:
        path = f"{GENERAL}/{name}"
        box.write(os.fsdecode(path.encode("utf-8", "surrogateescape")), f"text of {name!r}\n")
        [archive] = box.ws.archive(path).archived
        assert box.ws.restore(path).restored == [path], name
        assert archive == path.replace(".md", "__DELETE.md")
        box.ws.archive(path)
        assert box.ws.log(archive).commits[0].op == "archive"
    box.assert_clean()


# -- what may not be committed is never touched ---------------------------------------------------------------


def hold(box: Sandbox, kind: str) -> str:
    path = f"{GENERAL}/secret.md"
    if kind == "markers":
        box.write(path, "fine\n")
        box.ws.commit()
        box.write(path, "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    elif kind == "ignored":
        box.write(".gitignore", "secret*\n")
        box.write(path, "x\n")
    elif kind == "filter":
        box.write(".gitattributes", "*secret* filter=git-crypt\n")
        box.write(path, "x\n")
    else:
        box.write("memory/.gitattributes", "domains/general/*.md filter=lfs\n")
        box.write(path, "x\n")
        box.ws.commit()
    return path


@pytest.mark.parametrize("kind", ["markers", "ignored", "filter", "lfs"])
def test_a_note_that_may_not_be_committed_is_left_alone(garden: Sandbox, kind: str) -> None:
    path = hold(garden, kind)
    data, before = garden.read(path), garden.files()
    archives = f"{GENERAL}/secret__DELETE.md"
    for verb in (
        lambda: garden.ws.archive(path),
        lambda: garden.ws.archive("memory/dates.md", path),
        lambda: garden.ws.move(path, "business"),
        lambda: garden.ws.restore(f"{path}@HEAD~1"),
    ):
        with pytest.raises((Refused, NotFound)):
            verb()
    assert garden.read(path) == data
    assert not garden.has(archives)
    assert {name for name in garden.files() if not name.endswith("_index.md")} == {
        name for name in before if not name.endswith("_index.md")
    }
    if kind == "markers":
        with pytest.raises(Refused):
            garden.ws.restore(f"{path}@HEAD")


def test_an_ignored_archive_is_never_purged(garden: Sandbox, at) -> None:
    garden.write(".gitignore", "*__DELETE.md\n")
    garden.write(f"{GENERAL}/old__DELETE.md", "---\narchived: 2020-01-01\n---\nthe only copy\n")
    at("2028-01-01T00:00:00Z")
    report = garden.ws.purge()
    assert report.purged == []
    assert garden.has(f"{GENERAL}/old__DELETE.md")


def test_a_held_archive_is_not_purged(garden: Sandbox, at) -> None:
    garden.ws.archive(INBOX)
    garden.write(ARCHIVE, "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n")
    at("2027-01-01T00:00:00Z")
    with pytest.raises(Refused):
        garden.ws.purge()
    assert garden.has(ARCHIVE)


# -- restore -------------------------------------------------------------------------------------------------


def test_a_live_note_is_there_already(garden: Sandbox) -> None:
    with pytest.raises(Usage):
        garden.ws.restore(INBOX)


def test_a_taken_name_is_not_overwritten(garden: Sandbox) -> None:
    garden.ws.archive(INBOX)
    garden.write(INBOX, "new one\n")
    with pytest.raises(CannotCreate):
        garden.ws.restore(ARCHIVE)
    assert garden.read(INBOX) == b"new one\n"
    assert garden.has(ARCHIVE)


def test_a_deleted_file_of_any_kind_comes_back(garden: Sandbox) -> None:
    garden.write("bonsai.toml", "[purge]\ngrace_days = 200\n")
    garden.write(f"{GENERAL}/pic.png", bytes(range(256)))
    garden.write("memory/daily/2026-03-01.md", "- x\n")
    garden.write("memory/agents/wren/domains/x/a.md", "x\n")
    garden.write(f"{GENERAL}/me@home.md", "x\n")
    garden.ws.commit()
    before = garden.files()
    for path in (
        *("bonsai.toml", f"{GENERAL}/pic.png", "memory/daily/2026-03-01.md", "memory/dates.md", INBOX),
        *("memory/agents/wren/domains/x/a.md", f"{GENERAL}/me@home.md", "MEMORY-wren.md"),
    ):
        os.remove(garden.root / path)
        garden.ws.commit()
        if path == "MEMORY-wren.md":
            continue  # a boot file is made again at once
        assert garden.ws.restore(path).restored == [path]
        assert garden.read(path) == before[path], path
    garden.assert_clean()


def test_the_mode_comes_back_too(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/run.sh", "#!/bin/sh\n")
    (garden.root / GENERAL / "run.sh").chmod(0o755)
    garden.ws.commit()
    os.remove(garden.root / GENERAL / "run.sh")
    garden.ws.restore(f"{GENERAL}/run.sh")
    assert os.access(garden.root / GENERAL / "run.sh", os.X_OK)
    garden.assert_clean()


def test_a_deletion_that_is_not_committed_yet(garden: Sandbox) -> None:
    os.remove(garden.root / INBOX)
    garden.ws.restore(INBOX)
    assert garden.read(INBOX) == b"# Inbox\n\nSort me.\n"


@pytest.mark.parametrize("name", ODD)
def test_a_revision_gives_exact_bytes(box: Sandbox, name: str) -> None:
    path = f"{GENERAL}/a.md"
    box.write(path, ODD[name])
    box.ws.commit()
    first = box.head()
    box.write(path, "new text\n")
    before = box.count()
    report = box.ws.restore(f"{path}@{first[:12]}")
    assert (report.restored, box.read(path)) == ([path], ODD[name])
    assert box.count() == before + 2
    assert box.committed(path, "HEAD~1") == b"new text\n"
    box.assert_clean()


def test_a_revision_of_an_archive_is_the_archive(garden: Sandbox) -> None:
    garden.ws.archive(INBOX, reason="x")
    old = garden.read(ARCHIVE)
    garden.ws.restore(INBOX)
    garden.ws.restore(f"{ARCHIVE}@HEAD~1")
    assert garden.read(ARCHIVE) == old
    assert garden.has(INBOX)


def test_revisions_by_any_name(garden: Sandbox) -> None:
    garden.git("tag", "v1")
    old = garden.head()
    garden.write(INBOX, "new\n")
    garden.ws.commit()
    run = garden.last()[0].run
    for rev in ("v1", old, old[:10], "HEAD~1", "HEAD^"):
        garden.ws.restore(f"{INBOX}@{rev}")
        assert garden.read(INBOX) == b"# Inbox\n\nSort me.\n", rev
        garden.git("reset", "-q", "--hard", f"{old}")
        garden.write(INBOX, "new\n")
        garden.ws.commit()
    for rev in ("nothing", "-x", "--upload-pack=x", "HEAD:memory", run + "x", "", "HEAD~99"):
        with pytest.raises((NotFound, Usage)):
            garden.ws.restore(f"{INBOX}@{rev}")
    assert garden.read(INBOX) == b"new\n"


def test_the_boot_file_of_a_revision(garden: Sandbox) -> None:
    garden.write("MEMORY.md", b"# Mine\r\n\r\n" + garden.read("MEMORY.md"))
    garden.ws.commit()
    garden.write("MEMORY.md", garden.read("MEMORY.md").replace(b"# Mine", b"# Yours"))
    garden.ws.commit()
    garden.ws.restore("MEMORY.md@HEAD~1")
    assert garden.read("MEMORY.md").startswith(b"# Mine\r\n\r\n")
    garden.assert_clean()


def test_what_git_never_had(garden: Sandbox) -> None:
    for path in (f"{GENERAL}/never.md", f"{GENERAL}/never__DELETE.md", f"{GENERAL}/never.md@HEAD"):
        with pytest.raises(NotFound):
            garden.ws.restore(path)
    outside = ("src/x.py", "../x.md", "memory/../../x.md", ".git/config")
    for path in (*outside, "memory/_meta.json", f"{GENERAL}/_index.md"):
        with pytest.raises((Usage, Refused)):
            garden.ws.restore(path)


def test_a_note_of_another_branch_or_lost_folder_comes_back_where_it_was(garden: Sandbox) -> None:
    garden.git("rm", "-rq", "memory/domains/business")
    garden.git("commit", "-qm", "away")
    garden.ws.commit()
    garden.ws.restore("memory/domains/business/seo/words.md")
    assert garden.has("memory/domains/business/seo/words.md")
    assert garden.has("memory/domains/business/_index.md")


# -- purge ---------------------------------------------------------------------------------------------------


def test_purge_waits_for_the_grace_to_be_over(garden: Sandbox, at) -> None:
    garden.ws.archive(INBOX)
    assert [(item.path, item.days_left) for item in garden.ws.purge().waiting] == [(ARCHIVE, 180)]
    at("2026-03-15T08:15:01Z")
    assert garden.ws.purge().waiting[0].days_left == 180
    at("2026-09-11T08:14:59Z")
    report = garden.ws.purge()
    assert (report.purged, report.waiting[0].days_left, report.commit) == ([], 1, None)
    at("2026-09-11T08:15:00Z")
    before = garden.count()
    report = garden.ws.purge()
    assert [(item.path, item.age_days) for item in report.purged] == [(ARCHIVE, 180)]
    assert garden.count() == before + 1
    assert not garden.has(ARCHIVE)
    garden.assert_clean()


def test_grace_is_never_from_file_times(garden: Sandbox, at) -> None:
    garden.ws.archive(INBOX)
    os.utime(garden.root / ARCHIVE, (0, 0))
    assert garden.ws.purge().purged == []
    at("2026-09-12T00:00:00Z")
    os.utime(garden.root / ARCHIVE)
    assert garden.ws.purge(dry_run=True).purged[0].age_days == 180
    garden.git("clone", "-q", ".", "../clone")
    clone = Sandbox(garden.root.parent / "clone")
    assert clone.ws.purge(dry_run=True).purged[0].age_days == 180
    clone.close()


def test_a_written_date_can_only_lengthen_the_grace(garden: Sandbox, at) -> None:
    garden.write(f"{GENERAL}/a__DELETE.md", "---\narchived: 2020-01-01\n---\nx\n")
    garden.write(f"{GENERAL}/b__DELETE.md", "---\narchived: 2026-09-01\n---\nx\n")
    garden.write(f"{GENERAL}/c__DELETE.md", "---\narchived: nonsense\n---\nx\n")
    garden.write(f"{GENERAL}/d__DELETE.md", "x\n")
    garden.ws.commit()
    at("2026-10-01T08:15:00Z")
    report = garden.ws.purge(dry_run=True)
    assert [(item.path[-12:], item.age_days) for item in report.purged] == [
        (f"{name}__DELETE.md", 200) for name in "acd"
    ]
    assert [(item.path[-12:], item.days_left) for item in report.waiting] == [("b__DELETE.md", 150)]


def test_an_archive_that_git_has_never_seen_is_committed_and_waits(garden: Sandbox, at) -> None:
    garden.write(f"{GENERAL}/x__DELETE.md", "---\narchived: 2020-01-01\n---\nx\n")
    os.utime(garden.root / GENERAL / "x__DELETE.md", (0, 0))
    report = garden.ws.purge()
    assert report.purged == []
    assert [(item.path, item.days_left) for item in report.waiting] == [(f"{GENERAL}/x__DELETE.md", 180)]
    assert garden.committed(f"{GENERAL}/x__DELETE.md") is not None


def test_a_rename_by_hand_starts_the_grace(garden: Sandbox, at) -> None:
    at("2026-06-01T00:00:00Z")
    os.rename(garden.root / INBOX, garden.root / ARCHIVE)
    garden.ws.commit()
    at("2026-09-20T00:00:00Z")
    report = garden.ws.purge(dry_run=True)
    assert [item.days_left for item in report.waiting] == [69]


def test_only_the_exact_suffix_is_an_archive(garden: Sandbox, at) -> None:
    kept = ["x__delete.md", "x__DELETE.txt", "x__DELETE", "x_DELETE.md", "x__DELETE2.md", "x__DELETE.md.md"]
    for name in kept:
        garden.write(f"{GENERAL}/{name}", "---\narchived: 2020-01-01\n---\nx\n")
    (garden.root / GENERAL / "folder__DELETE").mkdir()
    garden.write(f"{GENERAL}/folder__DELETE/note.md", "x\n")
    garden.ws.commit()
    at("2030-01-01T00:00:00Z")
    assert garden.ws.purge().purged == []


def test_the_log_is_appended_to_and_committed(garden: Sandbox, at) -> None:
    for number, path in enumerate((INBOX, "memory/dates.md"), 1):
        data_tokens = 4
        garden.ws.archive(path)
        at(f"202{6 + number}-03-16T08:15:00Z")
        garden.ws.purge()
        log = json.loads(garden.read(LOG))
        assert len(log) == number
        assert garden.committed(LOG) == garden.read(LOG)
    assert [item["file"] for item in log] == [ARCHIVE, "memory/dates__DELETE.md"]
    assert set(log[0]) >= {"file", "purged_at", "age_days", "tokens"}
    assert (log[0]["purged_at"], log[0]["age_days"]) == ("2027-03-16T08:15:00Z", 366)
    assert log[0]["tokens"] >= data_tokens


@pytest.mark.parametrize("damage", [b"", b"{", b"{}", b"\xff", b"null", b"[1, {}]"])
def test_a_damaged_log_is_set_aside(garden: Sandbox, at, damage: bytes) -> None:
    garden.write(LOG, damage)
    garden.ws.archive(INBOX)
    at("2027-03-15T08:15:00Z")
    garden.ws.purge()
    assert json.loads(garden.read(LOG))[-1]["file"] == ARCHIVE
    if damage in (b"{", b"{}", b"\xff", b"null"):
        assert garden.read("memory/_purge_log.damaged-1.json") == damage


def test_a_dry_run_changes_nothing(garden: Sandbox, at) -> None:
    garden.ws.archive(INBOX)
    at("2027-03-15T08:15:00Z")
    garden.write("memory/dates.md", "edited\n")
    files, head = garden.files(), garden.head()
    report = garden.ws.purge(dry_run=True)
    assert (report.dry_run, report.commit, [item.path for item in report.purged]) == (True, None, [ARCHIVE])
    assert (garden.files(), garden.head()) == (files, head)


def archives(box: Sandbox, number: int, live: int) -> None:
    for each in range(live):
        box.write(f"memory/domains/live/n{each}.md", f"note {each}\n")
    for each in range(number):
        box.write(f"memory/domains/old/n{each}__DELETE.md", f"old {each}\n")
    box.ws.commit()


@pytest.mark.parametrize(
    ("number", "live", "asks"), [(5, 0, False), (6, 53, True), (6, 54, False), (20, 180, False), (21, 400, True)]
)
def test_a_large_purge_asks(box: Sandbox, at, number: int, live: int, asks: bool) -> None:
    archives(box, number, live)
    at("2027-03-15T08:15:00Z")
    if asks:
        files, head = box.files(), box.head()
        with pytest.raises(Refused) as caught:
            box.ws.purge()
        assert "--yes" in caught.value.hint
        assert (box.files(), box.head()) == (files, head)
        assert len(box.ws.purge(dry_run=True).purged) == number
    assert len(box.ws.purge(yes=asks).purged) == number


def test_what_was_purged_is_restored(garden: Sandbox, at) -> None:
    data = garden.read(INBOX)
    garden.ws.archive(INBOX, reason="x")
    at("2027-03-15T08:15:00Z")
    garden.ws.purge()
    for name in (INBOX, ARCHIVE):
        assert garden.ws.restore(name).restored == [INBOX]
        assert garden.read(INBOX) == data
        garden.ws.undo()
        assert not garden.has(INBOX)


def test_undo_of_a_purge_starts_the_grace_anew(garden: Sandbox, at) -> None:
    garden.ws.archive(INBOX)
    at("2027-03-15T08:15:00Z")
    garden.ws.purge()
    log = garden.read(LOG)
    garden.ws.undo()
    assert garden.has(ARCHIVE)
    assert garden.read(LOG) == log, "the log says what happened"
    assert garden.ws.purge().waiting[0].days_left == 180


def test_the_grace_is_a_setting(garden: Sandbox, at) -> None:
    garden.write("bonsai.toml", "[purge]\ngrace_days = 10\n")
    garden.ws.archive(INBOX)
    at("2026-03-25T08:15:00Z")
    assert [item.age_days for item in garden.ws.purge().purged] == [10]


def test_a_clock_that_goes_back_purges_nothing(garden: Sandbox, at) -> None:
    garden.ws.archive(INBOX)
    at("2016-03-15T08:15:00Z")
    report = garden.ws.purge()
    assert (report.purged, [item.days_left > 180 for item in report.waiting]) == ([], [True])
    assert garden.ws.status().status in ("HEALTHY", "WARNING")
