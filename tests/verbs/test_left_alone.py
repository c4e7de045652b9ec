"""What bonsai does not look after stays in git; what it cannot look into or read is neither deleted nor overwritten."""

import pytest

from bonsai.cli.main import run
from verbs.sandbox import GENERAL, Sandbox

OTHERS = ("MEMORY_OLD.md", "memory/.obsidian/app.json", "memory/daily/.gitkeep", "memory/old.bak", "memory/_meta.json")


@pytest.mark.parametrize("path", OTHERS)
def test_a_tracked_file_that_is_no_note_stays_in_git(bare: Sandbox, path: str) -> None:
    bare.git("init", "-q")
    bare.write("memory/domains/a/n.md", "# N\n")
    bare.write(path, "{}\n")
    bare.git("add", "-A")
    bare.git("commit", "-qm", "before bonsai")
    bare.ws.init(bare.root)
    bare.write("memory/domains/a/n.md", "# N\n\nMore.\n")
    bare.ws.archive("memory/domains/a/n.md")
    assert bare.committed(path) == b"{}\n"


def test_notes_in_a_folder_that_cannot_be_looked_into_stay_in_git(garden: Sandbox, tmp_path) -> None:
    (garden.root / "memory/domains/business").rename(tmp_path / "elsewhere")
    (garden.root / "memory/domains/business").symlink_to(tmp_path / "elsewhere")
    garden.write("memory/dates.md", "# Dates\n")
    assert "memory/dates.md" in garden.ws.commit().paths
    assert (
        garden.committed("memory/domains/business/pricing.md") and garden.committed("memory/dates.md") == b"# Dates\n"
    )
    (garden.root / "memory/domains/business").unlink()
    assert "memory/domains/business/pricing.md" in garden.ws.commit().paths
    assert garden.committed("memory/domains/business/pricing.md") is None


def test_a_folder_of_many_notes_that_cannot_be_looked_into_is_no_mass_deletion(box: Sandbox, tmp_path) -> None:
    for number in range(9):
        box.write(f"memory/domains/a/n{number}.md", f"# N{number}\n")
    box.ws.commit()
    (box.root / "memory/domains/a").rename(tmp_path / "elsewhere")
    (box.root / "memory/domains/a").symlink_to(tmp_path / "elsewhere")
    assert {"mass-deletion"}.isdisjoint(item.code for item in box.ws.status().problems)
    box.write("memory/domains/b/m.md", "# M\n")
    assert "memory/domains/b/m.md" in box.ws.commit().paths


def test_no_note_is_merged_into_an_archive(garden: Sandbox) -> None:
    [archive] = garden.ws.archive("memory/domains/business/pricing.md").archived
    note = f"{GENERAL}/inbox.md"
    decision = {
        "file": note,
        "hash": garden.git("rev-parse", f"HEAD:{note}").strip(),
        "decision": "merge",
        "into": archive,
    }
    report = garden.ws.reflect_apply({"candidates": [decision]})
    assert not report.applied and [item.file for item in report.refused] == [note]
    assert garden.has(note)


def test_a_purge_log_that_cannot_be_read_is_kept_beside_the_new_one(garden: Sandbox, at) -> None:
    garden.write("memory/_purge_log.json", "[" * 100_000)
    garden.ws.archive("memory/dates.md")
    at("2028-01-01T00:00:00Z")
    assert garden.ws.purge().commit
    assert garden.read("memory/_purge_log.damaged-1.json") == b"[" * 100_000


@pytest.mark.parametrize("place", ["memory/domains/a", "memory/domains/empty", "memory"])
def test_an_index_that_a_person_wrote_is_not_overwritten(bare: Sandbox, place: str) -> None:
    bare.write("memory/domains/a/n.md", "# N\n")
    bare.write(f"{place}/_index.md", "# Mine\n\nNever in git.\n")
    bare.ws.init(bare.root)
    bare.ws.reindex(full=True)
    bare.ws.commit()
    assert bare.read(f"{place}/_index.md") == b"# Mine\n\nNever in git.\n"
    assert ("stale-index", f"{place}/_index.md") in {(item.code, item.path) for item in bare.ws.status().problems}
    (bare.root / place / "_index.md").rename(bare.root / place / "about.md")
    bare.ws.reindex()
    assert bare.has(f"{place}/_index.md")


@pytest.mark.parametrize("verb", ["archive", "show", "why", "erase", "move"])
def test_a_folder_where_a_file_is_meant_is_named_as_one(garden: Sandbox, verb: str, capsys) -> None:
    more = {"move": ["tech"], "erase": ["--yes"]}.get(verb, [])
    before = garden.files()
    assert run(["-C", str(garden.root), verb, GENERAL, *more]) == 66
    assert "is a folder" in capsys.readouterr().err
    assert garden.files() == before


def test_a_next_step_can_be_typed_as_it_is_told(garden: Sandbox, capsys) -> None:
    path = f"{GENERAL}/two words.md"
    garden.write(path, "# Two\n")
    assert run(["-C", str(garden.root), "restore", path]) == 64
    assert f"`bonsai restore '{path}@REV'`" in capsys.readouterr().err
