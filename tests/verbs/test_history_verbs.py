"""Looking back: a log that can be asked, why each line is there, a file and the whole memory as they were."""

import os

import pytest

from bonsai.cli import render_story
from bonsai.errors import BadData, BonsaiError, NotFound, Refused, Usage
from bonsai.passes.reports import WhyLine
from verbs.sandbox import GENERAL, Sandbox

INBOX = f"{GENERAL}/inbox.md"
WORDS = "memory/domains/business/seo/words.md"
PRICING = "memory/domains/business/pricing.md"
BOOT = "# Me\n\n## Pricing\n\nA dinner costs 895 kr.\n\n## Cron\n\nAt night.\n"
DAYS = [f"2026-03-{16 + number}T08:15:00Z" for number in range(8)]


def tell(box: Sandbox, target: str) -> dict[str, WhyLine]:
    return {item.text: item for item in box.ws.why(target).lines}


@pytest.fixture
def story(garden: Sandbox, at) -> Sandbox:
    """A price that a person wrote, an agent changed, and that was moved and archived since."""
    at(DAYS[0])
    garden.write(PRICING, garden.read(PRICING) + b"A lunch costs 300 kr.\n")
    garden.ws.commit()
    at(DAYS[1])
    garden.write(PRICING, garden.read(PRICING).replace(b"895", b"995"))
    garden.opened(agent="wren", session="s1").commit()
    at(DAYS[2])
    garden.ws.move(PRICING, "legal")
    at(DAYS[3])
    garden.ws.archive("memory/domains/legal/pricing.md", reason="old")
    return garden


ARCHIVE = "memory/domains/legal/pricing__DELETE.md"

# -- log -----------------------------------------------------------------------------------------------------


def ops(box: Sandbox, path: str | None = None, **filters: str) -> list[str]:
    return [commit.op for commit in box.ws.log(path, **filters).commits]


def test_the_log_of_a_small_note_through_move_and_archive(story: Sandbox) -> None:
    assert ops(story, ARCHIVE) == ["archive", "move", "edit", "edit", "edit"]


def test_filters_of_the_log(story: Sandbox) -> None:
    assert ops(story, since="2026-03-18") == ["archive", "move"]
    assert ops(story, since="2026-03-17", until="2026-03-18") == ["move", "edit"]
    assert ops(story, until="2026-03-17T08:14:59Z", op="edit") == ["edit", "edit"]
    assert ops(story, actor="wren") == ops(story, actor="agent:wren") == ["edit"]
    assert ops(story, actor="human", op="archive") == ["archive"]
    assert ops(story, session="s1") == ["edit"]
    run = story.last()[0].run
    assert ops(story, run=run) == ops(story, run=run[:6]) == ["archive"]
    assert ops(story, ARCHIVE, op="move") == ["move"]
    assert ops(story, op="nothing") == []
    assert len(story.ws.log(op="edit", limit=2).commits) == 2


@pytest.mark.parametrize("odd", ["\0", "a\0b", "\ud800", "x" * 200_000], ids=["nul", "inside", "surrogate", "long"])
def test_a_filter_that_no_command_line_can_hold_is_no_bug(story: Sandbox, odd: str) -> None:
    """A model made one up: the server told of a bug in bonsai."""
    for name in ("op", "run", "session"):
        try:
            assert ops(story, **{name: odd}) == []
        except BonsaiError as error:
            assert error.hint


def test_a_commit_made_with_git_is_by_a_human(story: Sandbox) -> None:
    story.write(INBOX, "by hand\n")
    story.git("commit", "-qam", "By hand")
    assert [item.subject for item in story.ws.log(actor="human", limit=1).commits] == ["By hand"]


def test_a_clock_that_went_back_hides_no_commit(garden: Sandbox, at) -> None:
    for number, when in enumerate(["2026-06-01T00:00:00Z", "2020-01-01T00:00:00Z", "2026-06-02T00:00:00Z"]):
        at(when)
        garden.write(INBOX, f"{number}\n")
        garden.ws.commit()
    assert len(garden.ws.log(since="2026-05-01").commits) == 2


def test_a_day_is_local(garden: Sandbox, at, monkeypatch: pytest.MonkeyPatch) -> None:
    at("2026-04-11T19:53:00Z")
    garden.write(INBOX, "late\n")
    garden.ws.commit()
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    assert ops(garden, since="2026-04-12", until="2026-04-12") == ["edit"]
    assert ops(garden, since="2026-04-11", until="2026-04-11") == []


@pytest.mark.parametrize("when", ["2026-02-30", "yesterday-ish", "--all", "HEAD"])
def test_a_date_that_is_none(garden: Sandbox, when: str) -> None:
    for filters in ({"since": when}, {"until": when}):
        with pytest.raises(BadData):
            garden.ws.log(**filters)


# -- why -----------------------------------------------------------------------------------------------------


def test_a_line_through_move_and_archive(story: Sandbox) -> None:
    lines = tell(story, ARCHIVE)
    dinner, lunch = lines["A dinner costs 995 kr."], lines["A lunch costs 300 kr."]
    assert (dinner.actor, dinner.op, dinner.session) == ("agent:wren", "edit", "s1")
    assert dinner.replaced == ["A dinner costs 895 kr."]
    assert dinner.time is not None and dinner.time.startswith("2026-03-17T08:15:00")
    assert dinner.run == story.ws.log(actor="wren").commits[0].run
    assert (lunch.actor, lunch.replaced, lunch.title) == ("human", [], "Pricing")
    assert lines["domain: legal"].op == "move"
    assert lines["archive_reason: old"].op == "archive"


def test_a_migrated_line_leads_back_to_the_commit_of_its_own(bare: Sandbox, at) -> None:
    at(DAYS[0])
    bare.write("MEMORY.md", BOOT)
    bare.git("init", "-q")
    bare.git("add", "MEMORY.md")
    bare.git("commit", "-qm", "my memory", "--date", DAYS[0])
    own = bare.head()
    at(DAYS[1])
    type(bare.ws).init(bare.root)
    bare.ws.migrate()
    for path, text in ((PRICING, "A dinner costs 895 kr."), ("memory/domains/infrastructure/cron.md", "At night.")):
        line = tell(bare, path)[text]
        assert (line.sha, line.op, line.actor, line.author) == (own, "", "human", "Pat Doe")
        assert line.origin.startswith("MEMORY.md:")
        assert line.via is not None
        assert (line.via.op, line.via.actor) == ("migrate", "import")
    bare.ws.archive(PRICING)
    assert tell(bare, PRICING.replace(".md", "__DELETE.md"))["A dinner costs 895 kr."].sha == own


def test_what_a_person_wrote_again_is_no_copy(garden: Sandbox, at) -> None:
    at(DAYS[0])
    garden.write(INBOX, "- called the plumber about the kitchen\n")
    garden.ws.commit()
    at(DAYS[1])
    garden.write(INBOX, "- called the plumber about the kitchen\n- bought milk\n- called the plumber\n")
    garden.write("memory/dates.md", "# Dates\n\n- called the plumber about the kitchen\n")
    sha = garden.ws.commit().commit
    first, _, last = garden.ws.why(INBOX).lines
    assert (first.time or "")[:10] == "2026-03-16" and last.sha == sha
    assert tell(garden, "memory/dates.md")["- called the plumber about the kitchen"].sha == sha


def test_lines_that_a_person_moved_keep_their_story(garden: Sandbox, at) -> None:
    rows = [f"- entry number {number} of the list, long enough to be told apart\n" for number in range(4)]
    garden.write(INBOX, "".join(rows))
    first = garden.ws.commit().commit
    at(DAYS[0])
    garden.write(INBOX, "".join([rows[3], *rows[:3]]))
    garden.ws.commit()
    assert {item.sha for item in garden.ws.why(INBOX).lines} == {first}
    at(DAYS[1])
    garden.write("memory/dates.md", garden.read("memory/dates.md") + rows[2].encode())
    garden.write(INBOX, "".join([rows[3], *rows[:2]]))
    garden.ws.commit()
    line = tell(garden, "memory/dates.md")[rows[2].strip()]
    assert (line.sha, line.origin) == (first, f"{INBOX}:3")


def test_what_is_not_committed_says_so(story: Sandbox) -> None:
    story.write(ARCHIVE, story.read(ARCHIVE).replace(b"A lunch costs 300 kr.", b"Lunch is over.") + b"New.\n")
    lines = tell(story, ARCHIVE)
    for text, replaced in (("Lunch is over.", ["A lunch costs 300 kr."]), ("New.", [])):
        line = lines[text]
        assert (line.sha, line.time, line.op) == (None, None, "uncommitted")
        if text == "Lunch is over.":
            assert line.replaced[:1] == replaced
    assert lines["A dinner costs 995 kr."].actor == "agent:wren"
    story.write(f"{GENERAL}/new.md", "One.\n")
    assert [item.op for item in story.ws.why(f"{GENERAL}/new.md").lines] == ["uncommitted"]


def test_before_the_first_commit(bare: Sandbox) -> None:
    bare.write(INBOX, "One.\n")
    bare.git("init", "-q")
    assert [item.sha for item in bare.ws.why(INBOX).lines] == [None]
    assert bare.ws.log().commits == []
    assert [item.kind for item in bare.ws.diff().changes] == ["added"]
    assert bare.ws.show(INBOX).text == "One.\n"


def test_one_line_and_a_few(story: Sandbox) -> None:
    whole = story.ws.why(ARCHIVE).lines
    assert [item.line for item in whole] == list(range(1, len(whole) + 1))
    assert story.ws.why(f"{ARCHIVE}:3").lines == whole[2:3]
    assert story.ws.why(f"{ARCHIVE}:2-4").lines == whole[1:4]
    for line in ("0", "99", "3-2"):
        with pytest.raises(NotFound):
            story.ws.why(f"{ARCHIVE}:{line}")


def test_a_name_that_ends_like_a_line(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/at 10:30", "One.\n")
    garden.write(f"{GENERAL}/at 10", "Ten.\n")
    garden.ws.commit()
    assert [item.text for item in garden.ws.why(f"{GENERAL}/at 10:30").lines] == ["One."]
    assert [item.text for item in garden.ws.why(f"{GENERAL}/at 10:1").lines] == ["Ten."]


def test_the_lines_that_hold_a_text(story: Sandbox) -> None:
    [line] = story.ws.why("a  DINNER costs").lines
    assert (line.path, line.text, line.actor) == (ARCHIVE, "A dinner costs 995 kr.", "agent:wren")
    assert story.ws.why("no such words").lines == []
    report = story.ws.why("e", limit=2)
    assert len(report.lines) == 2 and report.more > 2
    with pytest.raises(Usage):
        story.ws.why(" ")


@pytest.mark.parametrize(
    "text", ["x" * 5000, "a\0b", "two\nlines", "@", ":1", "*", "-p", "--all", "\udcff", "https://x.y/z"]
)
def test_a_text_of_every_kind(garden: Sandbox, text: str) -> None:
    assert garden.ws.why(text).lines == []


def test_the_generated_block_only_quotes(garden: Sandbox) -> None:
    garden.write("MEMORY.md", b"We said: a dinner costs 895 kr, and no more.\n" + garden.read("MEMORY.md"))
    garden.ws.commit()
    assert b"\npricing: A dinner costs" in garden.read("MEMORY.md")
    assert [(item.path, item.line) for item in garden.ws.why("dinner costs").lines] == [("MEMORY.md", 1), (PRICING, 5)]


def test_what_is_gone_has_a_story_too(story: Sandbox, at) -> None:
    at("2027-03-15T08:15:00Z")
    purged = story.ws.purge()
    assert not story.has(ARCHIVE) and purged.commit
    assert tell(story, ARCHIVE)["A dinner costs 995 kr."].actor == "agent:wren"
    assert tell(story, PRICING)["A dinner costs 995 kr."].actor == "agent:wren", "under its first name too"
    story.ws.restore(ARCHIVE)
    line = tell(story, "memory/domains/legal/pricing.md")["A dinner costs 995 kr."]
    assert line.actor == "agent:wren" and line.via is not None and line.via.op == "restore"


def test_deleted_on_disk_and_not_committed(garden: Sandbox) -> None:
    os.remove(garden.root / INBOX)
    assert tell(garden, INBOX)["Sort me."].op == "edit"
    assert garden.ws.show(INBOX).text == "# Inbox\n\nSort me.\n"


@pytest.mark.parametrize(
    "target", ["../secret.md:1", "../secret.md", "/etc/passwd:1", "memory/../../secret.md", "../x"]
)
def test_nothing_outside_is_read(garden: Sandbox, target: str) -> None:
    (garden.root.parent / "secret.md").write_text("secret\n")
    for call in (
        lambda: garden.ws.why(target),
        lambda: garden.ws.show(target),
        lambda: garden.ws.diff("HEAD", target),
        lambda: garden.ws.show(target, at="HEAD"),
    ):
        with pytest.raises(Refused):
            call()


def test_what_is_no_part_of_the_memory(garden: Sandbox) -> None:
    garden.write("code.py", "x = 1\n")
    garden.git("add", "code.py")
    garden.git("commit", "-qm", "code")
    for call in (garden.ws.why, garden.ws.show, lambda path: garden.ws.diff("HEAD", path)):
        for path in ("code.py", ".git/config", ".bonsai/journal"):
            with pytest.raises(Refused):
                call(path)


def test_a_link_is_not_followed(garden: Sandbox) -> None:
    (garden.root / GENERAL / "link.md").symlink_to("/etc/hostname")
    for call in (garden.ws.why, garden.ws.show):
        with pytest.raises(Refused):
            call(f"{GENERAL}/link.md")
    assert garden.ws.diff().changes == []


def test_what_is_no_text_has_no_lines(garden: Sandbox) -> None:
    garden.write("memory/b.png", b"\x89PNG\0\n")
    garden.ws.commit()
    with pytest.raises(BadData):
        garden.ws.why("memory/b.png")
    assert garden.ws.show("memory/b.png").text.encode("utf-8", "surrogateescape") == b"\x89PNG\0\n"


def test_odd_bytes_and_an_empty_note(garden: Sandbox) -> None:
    garden.write(INBOX, b"one\r\n\xff two\nthree")
    garden.write("memory/empty.md", b"")
    garden.ws.commit()
    assert [item.text for item in garden.ws.why(INBOX).lines] == ["one", "\udcff two", "three"]
    assert garden.ws.why("memory/empty.md").lines == []


@pytest.mark.parametrize("target", ["memory/never.md", "memory/never.md:3", "never.md", "a/b"])
def test_a_path_that_never_was(garden: Sandbox, target: str) -> None:
    with pytest.raises((NotFound, Refused)):
        garden.ws.why(target)
    assert garden.ws.why(target, text=True).lines == []


def test_looking_back_changes_nothing(story: Sandbox) -> None:
    story.write(INBOX, "pending\n")
    before = story.files(), story.head(), story.git("status", "--porcelain")
    story.ws.why(ARCHIVE)
    story.ws.why("dinner")
    story.ws.show(ARCHIVE, at="2026-03-17")
    story.ws.diff("2026-03-16")
    story.ws.log(ARCHIVE, since="2026-03-16")
    assert (story.files(), story.head(), story.git("status", "--porcelain")) == before


# -- show ----------------------------------------------------------------------------------------------------


def test_a_file_as_it_was(story: Sandbox) -> None:
    now, then = story.ws.show(ARCHIVE), story.ws.show(PRICING, at="2026-03-16")
    assert (now.commit, now.text.encode()) == (None, story.read(ARCHIVE))
    assert then.text == "---\ntitle: Pricing\n---\n\nA dinner costs 895 kr.\nA lunch costs 300 kr.\n"
    assert (then.time or "").startswith("2026-03-16")
    assert story.ws.show(PRICING, at=then.commit or "").text == then.text
    run = story.ws.log(actor="wren").commits[0].run
    assert "995" in story.ws.show(PRICING, at=run).text
    assert story.ws.show(PRICING, at="2026-03-17T08:14:59Z").text == then.text
    moved = story.ws.show(ARCHIVE, at="2026-03-16")
    assert (moved.path, moved.text) == (PRICING, then.text), "under the name that it had then"
    assert "995" in story.ws.show(PRICING).text, "gone under this name: as it was last"


@pytest.mark.parametrize(
    "at_",
    [
        "2020-01-01",
        "nope",
        "--all",
        "-p",
        "^HEAD",
        "HEAD..HEAD",
        "a\0b",
        "\udcff",
        "HEAD:memory",
        "HEAD~99",
        "0" * 40,
        "2026-03-19",
    ],
)
def test_a_time_or_revision_without_the_file(story: Sandbox, at_: str) -> None:
    with pytest.raises(NotFound):
        story.ws.show(PRICING, at=at_)


def test_the_end_of_the_local_day(garden: Sandbox, at, monkeypatch: pytest.MonkeyPatch) -> None:
    for when, text in (("2026-04-11T15:59:00Z", "eleventh\n"), ("2026-04-11T16:01:00Z", "twelfth\n")):
        at(when)
        garden.write(INBOX, text)
        garden.ws.commit()
    assert garden.ws.show(INBOX, at="2026-04-11").text == "twelfth\n"
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    assert garden.ws.show(INBOX, at="2026-04-11").text == "eleventh\n"


def test_restore_as_it_was_on_a_day(garden: Sandbox, at) -> None:
    for day in (0, 1):
        at(DAYS[day])
        garden.write(INBOX, f"{day}\n")
        garden.ws.commit()
    assert garden.ws.restore(f"{INBOX}@2026-03-16").restored == [INBOX]
    assert garden.read(INBOX) == b"0\n"
    for when, error in (("2026-02-30", BadData), ("2020-01-01", NotFound)):
        with pytest.raises(error):
            garden.ws.restore(f"{INBOX}@{when}")


# -- diff ----------------------------------------------------------------------------------------------------


def test_what_is_not_committed(garden: Sandbox) -> None:
    assert garden.ws.diff().changes == []
    garden.write(INBOX, "# Inbox\n\nSort us.\n")
    garden.write(f"{GENERAL}/new.md", "One.\nTwo.\n")
    os.remove(garden.root / "memory/dates.md")
    found = {item.path: (item.kind, item.old, item.added, item.removed) for item in garden.ws.diff().changes}
    assert found == {
        INBOX: ("edited", INBOX, 1, 1),
        f"{GENERAL}/new.md": ("added", "", 2, 0),
        "memory/dates.md": ("deleted", "memory/dates.md", 0, 3),
    }
    [edit] = garden.ws.diff("HEAD", INBOX).changes
    assert edit.diff == f"--- a/{INBOX}\n+++ b/{INBOX}\n@@ -1,3 +1,3 @@\n # Inbox\n \n-Sort me.\n+Sort us.\n"


def test_since_a_day(story: Sandbox) -> None:
    report = story.ws.diff("2026-03-15")
    notes = [item for item in report.changes if not item.generated]
    assert [(item.path, item.old, item.kind) for item in notes] == [
        (WORDS, WORDS, "edited"),
        (ARCHIVE, PRICING, "renamed"),
    ]
    assert "-A dinner costs 895 kr." in notes[1].diff and "+A lunch costs 300 kr." in notes[1].diff
    assert all(item.path.endswith(("_index.md", "MEMORY.md")) for item in report.changes if item.generated)
    assert story.ws.diff("HEAD").changes == []
    assert [item.path for item in story.ws.diff("2026-03-15", "memory/domains/legal/").changes][-1] == ARCHIVE


def test_git_applies_what_differs(story: Sandbox) -> None:
    commit = story.ws.diff("2026-03-16").commit or ""
    story.write(INBOX, b"other\r\n\xff\nend")
    report = story.ws.diff("2026-03-16")
    patch = "".join(item.diff for item in report.changes if item.kind != "renamed")
    (story.root.parent / "p").write_bytes(patch.encode("utf-8", "surrogateescape"))
    story.git("worktree", "add", "-q", "--detach", "../then", commit)
    story.git("-C", "../then", "apply", "../p")
    assert (story.root.parent / "then" / INBOX).read_bytes() == story.read(INBOX)


def test_what_may_not_be_committed_is_left_out(garden: Sandbox) -> None:
    garden.write(".gitignore", "private.md\n")
    garden.write(f"{GENERAL}/private.md", "x\n")
    garden.write("memory/.hidden", "x\n")
    garden.write("memory/draft.md~", "x\n")
    assert garden.ws.diff().changes == []


def test_in_a_folder_of_a_larger_repository(bare: Sandbox) -> None:
    bare.git("init", "-q")
    bare.write("src/code.py", "x\n")
    inner = Sandbox(bare.root / "deep [x]")
    inner.root.mkdir()
    type(inner.ws).init(inner.root)
    inner.write(INBOX, "One.\n")
    inner.ws.commit()
    inner.write(INBOX, "One.\nTwo.\n")
    assert [item.path for item in inner.ws.diff().changes] == [INBOX]
    assert [item.op for item in inner.ws.why(INBOX).lines] == ["edit", "uncommitted"]
    assert inner.ws.show(INBOX, at="HEAD").text == "One.\n"
    inner.close()


@pytest.mark.parametrize(
    ("point", "path"), [("nope", None), ("--all", None), ("HEAD", "memory/never.md"), ("2020-01-01", None)]
)
def test_a_point_or_path_that_never_was(garden: Sandbox, point: str, path: str | None) -> None:
    with pytest.raises(NotFound):
        garden.ws.diff(point, path)


def test_where_a_shallow_clone_begins_nobody_is_credited_for_sure(garden: Sandbox) -> None:
    """Its first commit seems to have written all that is older."""
    garden.write(INBOX, garden.read(INBOX) + b"\nA new line.\n")
    garden.ws.commit()
    garden.write(INBOX, garden.read(INBOX) + b"\nThe newest line.\n")
    garden.ws.commit()
    copy = garden.root.with_name("shallow")
    garden.git("clone", "-q", "--depth", "2", f"file://{garden.root}", str(copy))
    shallow = Sandbox(copy)
    told = tell(shallow, INBOX)
    assert (told["A new line."].cut, told["The newest line."].cut) == (True, False)
    words = "\n".join(str(row) for row in render_story.why(shallow.ws.why(INBOX), "", lambda when: when))
    assert words.count("or earlier") == 1
    assert not any(item.cut for item in tell(garden, INBOX).values())
