"""`migrate` through the workspace: every byte of MEMORY.md stands in exactly one place afterwards, as one commit."""

from pathlib import Path

import pytest

from bonsai.errors import BadData, Refused, Usage
from verbs.sandbox import GENERAL, Sandbox, outside_block

MEMORIES = Path(__file__).resolve().parents[2].parent / "shared" / "memories"
BACKUP = "memory/MEMORY.md.bak"
BOOT = (
    b"# Me\n\nAn assistant.\n\n## Key Identity Facts\n\n- Wren\n\n## Pricing\n\n- 895 kr\n\n"
    b"## User\n\n- likes tea\n\n## Pricing\n\n- again\n\n## Important Dates\n\n- 1 May\n"
)


def assert_whole(box: Sandbox, original: bytes) -> None:
    """The bytes of the original are those of the new notes and of what stayed, each once and none besides."""
    stayed = outside_block(box.read("MEMORY.md"))
    created = [path for path in box.files() if path.startswith("memory/") and path not in (BACKUP, "memory/.gitignore")]
    notes = [box.read(path) for path in created if not path.endswith("_index.md")]
    rest = original
    for data in sorted(notes, key=len, reverse=True):
        assert rest.count(data) >= 1, data[:80]
        rest = rest.replace(data, b"", 1)
    for line in rest.splitlines():
        assert line in stayed
    assert len(rest.strip()) == len(stayed.strip()) or rest.strip() == stayed.strip()


@pytest.fixture(params=sorted(path.name for path in MEMORIES.glob("*.md")) or ["(none)"])
def memory(request: pytest.FixtureRequest) -> bytes:
    if request.param == "(none)":
        pytest.skip(f"needs {MEMORIES}")
    return (MEMORIES / request.param).read_bytes()


def test_real_memories_lose_no_byte(box: Sandbox, memory: bytes) -> None:
    box.write("MEMORY.md", memory)
    before = box.count()
    report = box.ws.migrate()
    assert box.count() == before + 2, "the person's file, then the migrate"
    assert box.committed("MEMORY.md", "HEAD~1") == memory
    assert box.read(BACKUP) == memory
    assert box.committed(BACKUP) == memory
    notes = [box.read(item.path) for item in report.created]
    stayed = outside_block(box.read("MEMORY.md"))
    lines = sorted(line for part in [*notes, stayed] for line in part.removeprefix(b"\xef\xbb\xbf").splitlines())
    typed = [line for line in lines if line.startswith(b"type: ") or line == b"---"]
    wanted = sorted(memory.removeprefix(b"\xef\xbb\xbf").splitlines())
    for line in wanted:
        lines.remove(line)
    assert not [line for line in lines if line.strip() and line not in typed], "nothing was added"
    assert b"".join(notes).replace(b"\xef\xbb\xbf", b"").find(b"bonsai:begin") == -1
    assert box.ws.status().boot_tokens == report.boot_tokens.after
    box.assert_clean()
    files, head = box.files(), box.head()
    again = box.ws.migrate()
    assert (again.created, again.commit, again.backup) == ([], None, None)
    assert (box.files(), box.head()) == (files, head)
    assert box.ws.reindex(full=True).changed == []


def test_every_section_of_a_real_memory_is_word_for_word(box: Sandbox, memory: bytes) -> None:
    box.write("MEMORY.md", memory)
    report = box.ws.migrate()
    for item in report.created:
        data = box.read(item.path)
        if data.startswith(b"---") and b"\ntype: " in data[:40] and data not in memory:
            data = data.partition(b"---")[2].partition(b"---")[2].lstrip(b"\r\n")
        assert memory.count(data) >= 1, item.path
    assert len({item.path for item in report.created}) == len(report.created)


def test_what_becomes_what(box: Sandbox) -> None:
    box.write("MEMORY.md", BOOT)
    report = box.ws.migrate()
    assert {item.path: item.heading for item in report.created} == {
        f"{GENERAL}/preamble.md": "Me",
        "memory/domains/identity/key-identity-facts.md": "Key Identity Facts",
        "memory/domains/business/pricing.md": "Pricing",
        f"{GENERAL}/user.md": "User",
        "memory/domains/business/pricing-2.md": "Pricing",
        "memory/dates.md": "Important Dates",
    }
    assert report.backup == BACKUP
    assert report.boot_tokens.before == len(BOOT) // 4
    assert box.read("memory/domains/business/pricing-2.md") == b"## Pricing\n\n- again\n\n"
    assert box.read(f"{GENERAL}/user.md") == b"---\ntype: user\n---\n## User\n\n- likes tea\n\n"
    commit = box.last()[0]
    assert (commit.op, commit.actor) == ("migrate", "import")
    assert box.last(2)[1].actor == "human"
    assert commit.subject == "migrate: MEMORY.md to 6 notes"
    assert b"Original preserved at memory/MEMORY.md.bak" in box.read("MEMORY.md")


def test_an_agent_that_migrates_is_named(box: Sandbox) -> None:
    box.write("MEMORY.md", BOOT)
    box.opened(actor="agent:wren").migrate()
    assert box.last()[0].actor == "agent:wren"


def test_keep_leaves_sections_where_they_are(box: Sandbox) -> None:
    box.write("MEMORY.md", BOOT)
    assert box.ws.outlook().types == ["User"] and box.ws.outlook().first
    report = box.ws.migrate(keep=["user", "KEY identity facts"])
    assert outside_block(box.read("MEMORY.md")).rstrip() == (
        b"## Key Identity Facts\n\n- Wren\n\n## User\n\n- likes tea"
    )
    assert {"User", "Key Identity Facts"} == {item.reason.split("'")[1] for item in report.skipped}
    assert not box.ws.outlook().first
    with pytest.raises(Usage):
        box.ws.migrate(keep=["Nothing"])


def test_sections_added_later_are_split_in_turn(box: Sandbox) -> None:
    box.write("MEMORY.md", BOOT)
    box.ws.migrate()
    box.write("MEMORY.md", b"---\na: 1\n---\n\n## Tasks\n\n- do it\n\n## Recipes\n\n- soup\n\n" + box.read("MEMORY.md"))
    box.write("MEMORY.md", box.read("MEMORY.md") + b"\n## Pricing\n\n- third\n")
    report = box.ws.migrate()
    assert {item.path for item in report.created} == {
        f"{GENERAL}/recipes.md",
        "memory/domains/business/pricing-3.md",
    }
    assert report.backup is None
    assert box.read(BACKUP) == BOOT, "the first original stays"
    assert b"## Tasks\n\n- do it\n" in outside_block(box.read("MEMORY.md"))
    assert box.read("MEMORY.md").startswith(b"---\na: 1\n---\n")
    assert box.ws.migrate().commit is None
    box.assert_clean()


def test_a_dry_run_writes_nothing_and_tells_the_same(box: Sandbox) -> None:
    box.write("MEMORY.md", BOOT)
    box.write("memory/2026-01-01.md", "- old\n")
    files, head = box.files(), box.head()
    trial = box.ws.migrate(dry_run=True)
    assert (box.files(), box.head()) == (files, head)
    assert (trial.dry_run, trial.commit) == (True, None)
    report = box.ws.migrate()
    assert (trial.created, trial.moved, trial.backup) == (report.created, report.moved, report.backup)


def test_a_dry_run_needs_no_repository(bare: Sandbox) -> None:
    bare.write("MEMORY.md", BOOT)
    assert len(bare.ws.migrate(dry_run=True).created) == 6
    assert not bare.has(".git") and not bare.has("memory")


def test_conflict_markers_refuse_it_whole(box: Sandbox) -> None:
    text = BOOT + b"\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
    box.write("MEMORY.md", text)
    files, head = box.files(), box.head()
    with pytest.raises(BadData) as caught:
        box.ws.migrate()
    assert caught.value.path == "MEMORY.md"
    assert (box.files(), box.head()) == (files, head)


@pytest.mark.parametrize("rule", [".gitignore", ".gitattributes"])
def test_a_boot_file_that_may_not_be_committed_refuses_it_whole(bare: Sandbox, rule: str) -> None:
    bare.git("init", "-q")
    bare.write(rule, "MEMORY.md\n" if rule == ".gitignore" else "MEMORY.md filter=git-crypt\n")
    bare.write("MEMORY.md", BOOT)
    bare.ws.init(bare.root)
    before = outside_block(bare.read("MEMORY.md"))
    with pytest.raises(Refused):
        bare.ws.migrate()
    assert outside_block(bare.read("MEMORY.md")) == before
    assert not bare.has(BACKUP) and not bare.has("memory/domains")


def test_an_ignored_place_for_the_notes_refuses_it_whole(box: Sandbox) -> None:
    box.write(".gitignore", "memory/domains/business/\n")
    box.write("MEMORY.md", BOOT)
    with pytest.raises(Refused):
        box.ws.migrate()
    assert outside_block(box.read("MEMORY.md")) if b"bonsai:begin" in box.read("MEMORY.md") else True
    assert box.read("MEMORY.md").startswith(BOOT)
    assert not box.has("memory/domains")


def test_nothing_lands_on_an_existing_note(box: Sandbox) -> None:
    box.write("memory/domains/Business/PRICING.md", "mine\n")
    box.write("memory/dates.md", "mine\n")
    box.write("MEMORY.md", BOOT)
    report = box.ws.migrate()
    assert box.read("memory/domains/Business/PRICING.md") == b"mine\n"
    assert box.read("memory/dates.md") == b"mine\n"
    paths = {item.path for item in report.created}
    assert {"memory/domains/Business/pricing-2.md", "memory/domains/Business/pricing-3.md"} <= paths
    assert f"{GENERAL}/important-dates.md" in paths
    assert not box.problems("case-clash")


def test_loose_daily_notes_find_their_place(box: Sandbox, at, monkeypatch: pytest.MonkeyPatch) -> None:
    days = ["2026-01-01", "2026-03-13", "2026-03-14", "2026-03-15", "2026-03-16"]
    for day in days:
        box.write(f"memory/{day}.md", f"- {day}\n")
    box.write("memory/2026-03-13-trip.md", "- trip\n")
    box.write("memory/daily/2026-03-13.md", "- there already\n")
    at("2026-03-15T12:30:00Z")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    report = box.ws.migrate()
    assert report.moved == [
        ("memory/2026-01-01.md", "memory/daily/2026-01-01.md"),
        ("memory/2026-03-13-trip.md", "memory/daily/2026-03-13-trip.md"),
        ("memory/2026-03-14.md", "memory/daily/2026-03-14.md"),
    ]
    assert [item.path for item in report.skipped] == [f"memory/{day}.md" for day in ("2026-03-13", *days[3:])]
    assert box.read("memory/daily/2026-03-14.md") == b"- 2026-03-14\n"
    box.assert_clean()


def test_an_empty_or_missing_boot_file(box: Sandbox) -> None:
    assert box.ws.migrate().commit is None
    (box.root / "MEMORY.md").unlink()
    assert box.ws.migrate().created == []
    box.write("MEMORY.md", "\n\n")
    report = box.ws.migrate()
    assert (report.created, report.backup) == ([], None)


def test_frontmatter_stays_on_top(box: Sandbox) -> None:
    box.write("MEMORY.md", b"\xef\xbb\xbf---\r\ntitle: Me\r\n---\r\n\r\n## Pricing\r\n\r\nx\r\n")
    box.ws.migrate()
    assert box.read("MEMORY.md").startswith(b"\xef\xbb\xbf---\r\ntitle: Me\r\n---\r\n")
    assert box.read("memory/domains/business/pricing.md") == b"\r\n## Pricing\r\n\r\nx\r\n"


def test_undo_and_a_new_migrate(box: Sandbox) -> None:
    box.write("MEMORY.md", BOOT)
    first = box.ws.migrate()
    box.ws.undo()
    assert outside_block(box.read("MEMORY.md")).rstrip() == BOOT.rstrip()
    assert not box.has(BACKUP)
    second = box.ws.migrate()
    assert second.created == first.created
    box.assert_clean()


def test_a_backup_that_git_ignores_is_no_obstacle(box: Sandbox) -> None:
    box.write(".gitignore", "*.bak\n")
    box.write("MEMORY.md", BOOT)
    assert box.ws.migrate().commit
    assert box.read(BACKUP) == BOOT
    assert box.ws.migrate().commit is None
