"""`reindex` writes the generated files that differ, and nothing else: a second one is a no-op, byte for byte."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from bonsai.errors import Busy, Misconfigured, Refused
from verbs.sandbox import GENERAL, STATE, Sandbox, outside_block

BUSINESS = "memory/domains/business/_index.md"
LATER = "2026-03-15T20:00:00Z"


def everything(box: Sandbox) -> dict[str, tuple[bytes, int]]:
    """All files but git's and the cache, state included, with their times."""
    found = [path for path in box.root.rglob("*") if path.is_file() and not {".git", ".bonsai"} & set(path.parts)]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def test_it_commits_nothing(garden: Sandbox) -> None:
    before = garden.head()
    garden.write(f"{GENERAL}/new.md", "new\n")
    report = garden.ws.reindex()
    assert report.changed == ["MEMORY.md", "memory/_index.md", f"{GENERAL}/_index.md"]
    assert garden.head() == before
    assert garden.git("diff", "--cached", "--name-only") == ""


@pytest.mark.parametrize("full", [False, True])
def test_a_second_one_changes_no_byte(garden: Sandbox, at, full: bool) -> None:
    garden.write(f"{GENERAL}/new.md", "new\n")
    garden.ws.reindex()
    before = everything(garden)
    at(LATER)
    assert garden.ws.reindex(full=full).changed == []
    shutil.rmtree(garden.root / ".bonsai")
    assert garden.ws.reindex().changed == []
    assert everything(garden) == before


def test_it_writes_no_note(garden: Sandbox) -> None:
    notes = {path: data for path, data in garden.files().items() if not path.endswith(("_index.md", "MEMORY.md"))}
    garden.write(f"{GENERAL}/broken.md", b"\xff\xfe---\r\n: [\n---")
    garden.ws.reindex(full=True)
    now = garden.files()
    assert {path: now[path] for path in notes} == notes
    assert now[f"{GENERAL}/broken.md"] == b"\xff\xfe---\r\n: [\n---"


def test_the_time_changes_only_where_the_rest_does(garden: Sandbox, at) -> None:
    at(LATER)
    business, general = garden.read(BUSINESS), garden.read(f"{GENERAL}/_index.md")
    garden.write("memory/domains/business/pricing.md", "# Other words\n")
    garden.ws.reindex()
    assert garden.read(f"{GENERAL}/_index.md") == general
    assert b"_Last indexed: 2026-03-15T08:15:00Z_" in general
    assert b"_Last indexed: 2026-03-15T20:00:00Z_" in garden.read(BUSINESS)
    garden.git("checkout", "-q", "memory/domains/business/pricing.md")
    garden.ws.reindex()
    assert garden.read(BUSINESS).replace(b"T20:00", b"T08:15") == business


def test_formats_of_the_original(garden: Sandbox) -> None:
    text = garden.read(BUSINESS).decode()
    assert text == (
        "# Business Index\n"
        "_Last indexed: 2026-03-15T08:15:00Z_\n"
        "_Estimated tokens: ~21_\n\n"
        "### pricing.md (~11 tokens)\nA dinner costs 895 kr.\n\n"
        "### seo/ (~10 tokens, 1 note)\nSee [the price](../pricing.md).\n"
    ), text
    root = garden.read("memory/_index.md").decode()
    assert "## Domains\n\n### Business (~21 tokens)\npricing: A dinner costs 895 kr.\n_Also: seo/words_\n" in root


def test_check_tells_and_writes_nothing(garden: Sandbox) -> None:
    assert not garden.ws.reindex(check=True).stale
    garden.write("memory/domains/new/a/deep.md", "new\n")
    before = everything(garden)
    report = garden.ws.reindex(check=True)
    assert report.stale
    assert report.changed == [
        *("MEMORY.md", "memory/_index.md", "memory/domains/new/_index.md", "memory/domains/new/a/_index.md"),
    ]
    assert everything(garden) == before
    garden.ws.reindex()
    assert not garden.ws.reindex(check=True).stale


def test_what_check_names_is_what_reindex_writes(garden: Sandbox) -> None:
    for number, change in enumerate(
        [
            lambda: garden.write(f"{GENERAL}/a.md", "a\n"),
            lambda: os.rename(garden.root / GENERAL / "a.md", garden.root / GENERAL / "b__DELETE.md"),
            lambda: os.remove(garden.root / "memory/domains/business/seo/words.md"),
            lambda: garden.write("memory/daily/2026-03-14.md", "- x\n"),
            lambda: garden.write(BUSINESS, "by hand\n"),
            lambda: os.remove(garden.root / "memory/_index.md"),
            lambda: garden.write("MEMORY.md", "# Mine\n"),
            lambda: os.remove(garden.root / "MEMORY.md"),
            lambda: os.remove(garden.root / "memory/.gitignore"),
        ]
    ):
        change()
        wanted = garden.ws.reindex(check=True).changed
        assert wanted, number
        assert garden.ws.reindex().changed == wanted, number
        assert garden.ws.reindex().changed == [], number


def test_a_hand_edited_index_is_made_again(garden: Sandbox) -> None:
    good = garden.read(BUSINESS)
    garden.write(BUSINESS, good + b"mine\n")
    assert garden.ws.reindex().changed == [BUSINESS]
    assert garden.read(BUSINESS) == good


def test_nested_domains_each_have_an_index(box: Sandbox) -> None:
    box.write("memory/domains/a/b/c/deep.md", "# Deep\n\nDown here.\n")
    box.ws.reindex()
    for folder, child in (("a", "b"), ("a/b", "c")):
        assert (
            f"### {child}/ (~4 tokens, 1 note)\nDown here.\n" in box.read(f"memory/domains/{folder}/_index.md").decode()
        )
    assert b"### deep.md (~4 tokens)" in box.read("memory/domains/a/b/c/_index.md")
    assert box.ws.reindex().domains == 1


def test_the_index_of_an_emptied_domain_goes(garden: Sandbox) -> None:
    os.remove(garden.root / "memory/domains/business/seo/words.md")
    assert "memory/domains/business/seo/_index.md" in garden.ws.reindex().changed
    assert not garden.has("memory/domains/business/seo")
    assert b"seo" not in garden.read(BUSINESS)
    os.remove(garden.root / "memory/domains/business/pricing.md")
    garden.ws.commit()
    assert not garden.has("memory/domains/business")
    assert not [path for path in garden.tree() if "business" in path]
    garden.assert_clean()


def test_a_domain_of_archives_alone_has_no_index(garden: Sandbox) -> None:
    os.rename(garden.root / GENERAL / "inbox.md", garden.root / GENERAL / "inbox__DELETE.md")
    garden.ws.reindex()
    assert not garden.has(f"{GENERAL}/_index.md")
    assert garden.has(f"{GENERAL}/inbox__DELETE.md")


def test_a_folder_that_holds_something_else_stays(garden: Sandbox) -> None:
    garden.write("memory/domains/business/seo/pic.png", b"x")
    os.remove(garden.root / "memory/domains/business/seo/words.md")
    garden.ws.reindex()
    assert os.listdir(garden.root / "memory/domains/business/seo") == ["pic.png"]


def test_what_does_not_count(box: Sandbox) -> None:
    for name in ("x__DELETE.md", "x.md~", ".x.md", "x.md.bak", "_index.md", "x.txt"):
        box.write(f"{GENERAL}/{name}", "# Not a live note\n")
    box.write(f"{GENERAL}/x__DELETE2.md", "one\n")
    box.write(f"{GENERAL}/__delete.md", "two\n")
    assert box.ws.reindex().notes == 2


def test_numbers(garden: Sandbox) -> None:
    report = garden.ws.reindex()
    assert (report.notes, report.domains, report.tokens) == (3, 2, 25)
    meta, stats = (json.loads(garden.read(f"memory/{name}")) for name in ("_meta.json", "_stats.json"))
    assert (meta["domain_count"], meta["total_tokens"]) == (2, 25)
    assert stats["domains"] == {"business": {"files": 2, "tokens": 21}, "general": {"files": 1, "tokens": 4}}


def test_state_that_was_deleted_or_damaged_is_made_again(garden: Sandbox) -> None:
    for name in sorted(STATE - {"_reflect_staging.json"}):
        good = garden.read(f"memory/{name}")
        for damage in (b"", b"{", b"[]", b"\xff\0"):
            garden.write(f"memory/{name}", damage)
            garden.ws.reindex(full=True)
            assert json.loads(garden.read(f"memory/{name}")) == json.loads(good)
        os.remove(garden.root / "memory" / name)
        garden.ws.reindex()
        assert garden.has(f"memory/{name}")


def test_bad_notes_are_problems_and_the_others_are_indexed(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/yaml.md", "---\na: [\n---\nThe text.\n")
    garden.write(f"{GENERAL}/twice.md", "---\na: 1\na: 2\n---\nThe text.\n")
    garden.write(f"{GENERAL}/latin.md", b"caf\xe9\n")
    os.symlink("inbox.md", garden.root / GENERAL / "link.md")
    os.mkfifo(garden.root / GENERAL / "pipe.md")
    (garden.root / GENERAL / "folder.md").mkdir()
    report = garden.ws.reindex()
    found = {(item.code, item.path) for item in report.problems}
    assert found >= {
        ("bad-frontmatter", f"{GENERAL}/yaml.md"),
        ("duplicate-key", f"{GENERAL}/twice.md"),
        ("not-utf8", f"{GENERAL}/latin.md"),
        ("symlink", f"{GENERAL}/link.md"),
        ("special-file", f"{GENERAL}/pipe.md"),
    }
    index = garden.read(f"{GENERAL}/_index.md").decode()
    names = re.findall(r"^### (\S+) \(~", index, re.M)
    assert names == ["inbox.md", "latin.md", "twice.md", "yaml.md"]


# -- MEMORY.md -----------------------------------------------------------------------------------------------

BOOTS = {
    "plain": b"# Me\n\n## User\n\n- likes tea\n",
    "crlf": b"# Me\r\n\r\n## User\r\n",
    "bom": b"\xef\xbb\xbf# Me\n",
    "no-end": b"# Me",
    "cr": b"# Me\rtext\r",
    "blank": b"\n\n  \n",
    "frontmatter": b"---\ntitle: Me\n---\n\n# Me\n",
    "broken": b"---\na: [\n---\ntext\n",
    "latin": b"caf\xe9\n",
    "open-fence": b"# Me\n\n```\ncode\n",
    "open-comment": b"# Me\n\n<!-- note\n",
    "nul": b"a\0b\n",
    "quoted-marker": b"# Me\n\n```\n<!-- bonsai:begin -->\nold\n<!-- bonsai:end -->\n```\n",
}


@pytest.mark.parametrize("name", BOOTS)
def test_what_stands_outside_the_block_is_kept(garden: Sandbox, name: str) -> None:
    old = BOOTS[name]
    garden.write("MEMORY.md", old)
    garden.ws.reindex()
    new = garden.read("MEMORY.md")
    assert new.startswith(old)
    block = new[len(old) :]
    eol = b"\r\n" if name == "crlf" else b"\r\n" if name == "cr" else b"\n"
    assert block.strip().startswith(b"<!-- bonsai:begin -->")
    assert block.endswith(b"<!-- bonsai:end -->" + (eol if name != "cr" else b"\n"))
    garden.write(f"{GENERAL}/more.md", "# More\n")
    garden.ws.reindex()
    newer = garden.read("MEMORY.md")
    assert newer.startswith(old)
    assert newer.count(b"<!-- bonsai:begin -->") == new.count(b"<!-- bonsai:begin -->")
    assert newer != new


def test_text_behind_the_block_stays_behind_it(garden: Sandbox) -> None:
    boot = garden.read("MEMORY.md")
    garden.write("MEMORY.md", b"above\n\n" + boot + b"\n## Tasks\n\n- below")
    before = outside_block(garden.read("MEMORY.md"))
    garden.write(f"{GENERAL}/more.md", "# More\n")
    assert "MEMORY.md" in garden.ws.reindex().changed
    assert outside_block(garden.read("MEMORY.md")) == before


def test_a_second_block_and_lone_markers_go(garden: Sandbox) -> None:
    boot = garden.read("MEMORY.md")
    garden.write("MEMORY.md", boot + b"mine\n" + boot)
    garden.ws.reindex()
    assert garden.read("MEMORY.md").count(b"bonsai:begin") == 1
    garden.write("MEMORY.md", b"mine\n<!-- bonsai:begin -->\nthe end was cut off\n")
    garden.ws.reindex()
    text = garden.read("MEMORY.md")
    assert (text.count(b"bonsai:begin"), text.count(b"bonsai:end")) == (1, 1)
    assert b"mine\n" in text and b"the end was cut off\n" in text


def test_a_boot_file_with_conflict_markers_is_left_alone(garden: Sandbox) -> None:
    text = b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n" + garden.read("MEMORY.md")
    garden.write("MEMORY.md", text)
    garden.write(f"{GENERAL}/more.md", "# More\n")
    garden.ws.reindex()
    assert garden.read("MEMORY.md") == text
    assert garden.ws.commit().held == ["MEMORY.md"]
    garden.write("MEMORY.md", "a\nb\n")
    garden.ws.commit()
    assert b"more: More" in garden.read("MEMORY.md") or b"more" in garden.read("MEMORY.md")
    garden.assert_clean()


@pytest.mark.parametrize("notes", [0, 1, 60, 600])
def test_the_block_stays_within_its_budget(box: Sandbox, notes: int) -> None:
    for number in range(notes):
        box.write(f"memory/domains/d{number % 40}/note-{number}.md", f"# Note {number}\n\n{'Long words here. ' * 20}\n")
    box.ws.reindex()
    block = box.read("MEMORY.md").decode().partition("<!-- bonsai:begin -->")[2]
    assert len(block) // 4 <= 500
    assert not box.problems("boot-over-budget")
    if notes == 600:
        assert re.search(r"… \d+ more: bonsai recall", block)


def test_the_budget_is_a_setting(box: Sandbox) -> None:
    for number in range(60):
        box.write(f"memory/domains/d{number}/note.md", "# Note\n\nLong words here.\n")
    box.write("bonsai.toml", "[index]\nblock_tokens = 100\n")
    box.ws.reindex(full=True)
    assert len(box.read("MEMORY.md").decode().partition("<!-- bonsai:begin -->")[2]) // 4 <= 105


# -- what stands in the way ----------------------------------------------------------------------------------


def test_without_a_repository_it_is_misconfigured(bare: Sandbox) -> None:
    bare.write(f"{GENERAL}/a.md", "x\n")
    with pytest.raises(Misconfigured):
        bare.ws.reindex()


def test_during_a_merge_it_writes_nothing(garden: Sandbox) -> None:
    garden.write(".git/MERGE_HEAD", garden.head() + "\n")
    garden.write(f"{GENERAL}/new.md", "new\n")
    before = everything(garden)
    with pytest.raises(Busy):
        garden.ws.reindex()
    assert everything(garden) == before
    os.remove(garden.root / ".git/MERGE_HEAD")
    assert garden.ws.reindex().changed


ODD_PLACES = [
    *("MEMORY.md", "memory/_index.md", f"{GENERAL}/_index.md", "memory/_meta.json", "memory/_stats.json"),
    *("memory/.gitignore", f"{GENERAL}/inbox.md", "memory/dates.md", "memory/MEMORY.md.bak"),
    *("memory/_reflect_staging.json", "memory/_purge_log.json"),
]


@pytest.mark.parametrize("path", ODD_PLACES)
@pytest.mark.parametrize("odd", ["symlink", "dangling", "folder", "fifo"])
def test_odd_things_in_our_places_harm_nobody_else(garden: Sandbox, path: str, odd: str) -> None:
    """A link, a folder or a pipe where bonsai reads or writes: nothing outside is touched, all the rest is served."""
    if (path, odd) == ("memory/.gitignore", "fifo"):
        pytest.skip("git itself waits for ever for such a pipe")
    outside = garden.root.parent / "outside.txt"
    outside.write_bytes(b"not yours\n")
    place = garden.root / path
    if place.exists():
        place.unlink()
    if odd == "symlink":
        place.symlink_to(outside)
    elif odd == "dangling":
        place.symlink_to(garden.root.parent / "nothing")
    elif odd == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    garden.write("memory/domains/business/new.md", "# New\n\nA fresh note.\n")
    fresh = garden.ws
    status = fresh.status()
    assert status.notes >= 3
    if odd != "folder" or path in ("MEMORY.md", "memory/_index.md"):
        assert status.status != "HEALTHY", status.problems
    assert fresh.recall("fresh note").hits[0].path == "memory/domains/business/new.md"
    garden.ws.reindex()
    assert b"new.md" in garden.read(BUSINESS)
    if "staging" not in path and "purge_log" not in path and "bak" not in path:
        named = {item.path for item in garden.problems()}
        assert path in named or (odd == "folder" and "_index" not in path and path != "MEMORY.md"), named
    report = garden.ws.commit()
    assert "memory/domains/business/new.md" in report.paths
    garden.ws.archive("memory/domains/business/new.md")
    assert outside.read_bytes() == b"not yours\n"
    assert not (garden.root.parent / "nothing").exists()
    assert not [name for name in garden.tree() if name.startswith(f"{path}/")]


@pytest.mark.parametrize("odd", ["symlink", "dangling", "fifo"])
def test_settings_that_cannot_be_read_stop_everything(garden: Sandbox, odd: str) -> None:
    place = garden.root / "bonsai.toml"
    if odd == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to("MEMORY.md" if odd == "symlink" else "nothing")
    with pytest.raises(Refused) as caught:
        garden.ws.status()
    assert caught.value.path == "bonsai.toml"


def test_a_symlinked_root_is_a_workspace(garden: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(garden.root)
    box = Sandbox(tmp_path / "link")
    box.write(f"{GENERAL}/a.md", "x\n")
    assert f"{GENERAL}/a.md" in box.ws.commit().paths
    box.close()
