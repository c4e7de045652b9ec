"""FILE arguments find what is meant and nothing outside; recall serves every note and is fresh without a reindex."""

import os
import unicodedata

import pytest

from bonsai import Workspace
from bonsai.errors import NotFound, Refused, Usage
from verbs.sandbox import GENERAL, Sandbox

PRICING = "memory/domains/business/pricing.md"


# -- locate --------------------------------------------------------------------------------------------------


def test_from_the_current_folder_then_from_the_workspace(garden: Sandbox) -> None:
    ws, here = garden.ws, str(garden.root / "memory/domains/business")
    assert ws.locate("pricing.md", here) == PRICING
    assert ws.locate("seo/../pricing.md", here) == PRICING
    assert ws.locate(PRICING, here) == PRICING
    assert ws.locate(PRICING) == PRICING
    assert ws.locate(str(garden.root / PRICING), "/") == PRICING
    assert ws.locate("memory", here) == "memory"
    garden.write("memory/domains/business/memory/domains/business/pricing.md", "the nearer one\n")
    assert ws.locate(PRICING, here) == f"memory/domains/business/{PRICING}"


def test_a_name_that_is_not_there_is_taken_as_the_workspaces(garden: Sandbox) -> None:
    assert garden.ws.locate("memory/domains/x/gone.md", str(garden.root / "memory")) == "memory/domains/x/gone.md"
    assert garden.ws.locate("gone.md", str(garden.root / GENERAL)) == f"{GENERAL}/gone.md"


def test_through_a_link_to_the_workspace(garden: Sandbox, tmp_path) -> None:
    (tmp_path / "link").symlink_to(garden.root)
    assert garden.ws.locate("pricing.md", str(tmp_path / "link/memory/domains/business")) == PRICING


@pytest.mark.parametrize("name", ["../x.md", "/etc/passwd", "memory/../../x.md", "..", "../../../../../../etc/passwd"])
def test_nothing_outside(garden: Sandbox, name: str) -> None:
    with pytest.raises(Refused):
        garden.ws.locate(name, str(garden.root))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_another_unicode_form_finds_the_note(garden: Sandbox, form: str) -> None:
    """Also where it is a folder that is spelled otherwise, or is the FILE itself."""
    other = "NFD" if form == "NFC" else "NFC"
    on_disk = unicodedata.normalize(form, "memory/domains/café/Ångström/é.md")
    typed = unicodedata.normalize(other, on_disk)
    garden.write(on_disk, "x\n")
    assert garden.ws.locate(typed) == on_disk
    assert garden.ws.locate(typed.rpartition("/")[0]) == on_disk.rpartition("/")[0]
    assert garden.ws.locate(on_disk) == on_disk
    garden.write(typed, "y\n")
    assert garden.ws.locate(typed) == typed, "exact bytes come first"


def test_open_and_find(garden: Sandbox, tmp_path) -> None:
    with pytest.raises(NotFound):
        Workspace.open(tmp_path / "nothing")
    assert Workspace.find(garden.root / "memory/domains/business") == str(garden.root)
    with pytest.raises(NotFound):
        Workspace.find(tmp_path)


# -- recall --------------------------------------------------------------------------------------------------


def test_a_hit_has_all_that_is_promised(garden: Sandbox) -> None:
    report = garden.ws.recall("what does a dinner cost", limit=5)
    hit = report.hits[0]
    assert (report.query, report.fresh) == ("what does a dinner cost", True)
    assert (hit.path, hit.title, hit.text) == (PRICING, "Pricing", "A dinner costs 895 kr.")
    first, last = hit.lines
    text = garden.read(PRICING).decode().split("\n")[first - 1 : last]
    assert text == ["A dinner costs 895 kr."]
    assert hit.score > 0
    assert hit.why


def test_it_is_fresh_without_a_reindex(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/fresh.md", "The zeppelin lands at noon.\n")
    assert garden.ws.recall("zeppelin").hits[0].path == f"{GENERAL}/fresh.md"
    garden.write(f"{GENERAL}/fresh.md", "It does not.\n")
    assert garden.ws.recall("zeppelin").hits == []
    os.remove(garden.root / PRICING)
    assert garden.ws.recall("dinner 895").hits == []


def test_daily_notes_boot_file_and_loose_notes_are_covered(garden: Sandbox) -> None:
    garden.write("MEMORY.md", b"## Tasks\n\n- water the orchids\n\n" + garden.read("MEMORY.md"))
    garden.write("memory/daily/2026-03-01.md", "- met the cartographer\n")
    garden.write("memory/2026-03-02.md", "- met the falconer\n")
    garden.write("memory/topics/x.md", "The apiary hums.\n")
    for query, path in (
        ("orchids", "MEMORY.md"),
        ("cartographer", "memory/daily/2026-03-01.md"),
        ("falconer", "memory/2026-03-02.md"),
        ("apiary", "memory/topics/x.md"),
        ("fair", "memory/dates.md"),
    ):
        assert garden.ws.recall(query).hits[0].path == path


def test_lines_of_the_boot_file_are_those_of_the_file(garden: Sandbox) -> None:
    garden.write("MEMORY.md", garden.read("MEMORY.md") + b"\n## Tasks\n\n- water the orchids\n")
    [hit] = garden.ws.recall("orchids").hits
    first, last = hit.lines
    assert garden.read("MEMORY.md").decode().split("\n")[first - 1 : last] == ["## Tasks", "", "- water the orchids"]


def test_the_generated_block_and_archives_are_not_found(garden: Sandbox) -> None:
    assert all(hit.path != "MEMORY.md" for hit in garden.ws.recall("Pricing A dinner costs").hits)
    garden.ws.archive(PRICING)
    assert garden.ws.recall("dinner 895").hits == []


def test_limit_domain_and_type(garden: Sandbox) -> None:
    for number in range(15):
        garden.write(f"memory/domains/d{number % 2}/n{number}.md", f"---\ntype: T{number}\n---\nThe kraken wakes.\n")
    assert len(garden.ws.recall("kraken").hits) == 10
    assert len(garden.ws.recall("kraken", limit=3).hits) == 3
    assert {hit.path.split("/")[2] for hit in garden.ws.recall("kraken", domain="d1").hits} == {"d1"}
    assert [hit.path[-6:] for hit in garden.ws.recall("kraken", type="t14").hits] == ["n14.md"]
    with pytest.raises(NotFound, match="no such domain") as caught:
        garden.ws.recall("kraken", domain="d")
    assert "d0, d1" in caught.value.hint


def test_no_hit_is_no_error_and_no_query_is(garden: Sandbox) -> None:
    assert garden.ws.recall("xyzzy").hits == []
    for query, limit in (("", 5), ("  ", 5), ("x", 0), ("x", -1)):
        with pytest.raises(Usage):
            garden.ws.recall(query, limit=limit)


def test_a_lone_mark_is_no_hit(garden: Sandbox) -> None:
    text = "# Kraken\n\n<!--\n\nthe kraken sleeps\n\n-->\n\n---\n\n***\n\nkraken and squid\n"
    garden.write("memory/topics/kraken.md", text)
    shown = [hit.text for hit in garden.ws.recall("kraken").hits]
    assert "the kraken sleeps" in shown
    assert "kraken and squid" in shown
    assert not {"<!--", "-->", "---", "***"}.intersection(shown)


def test_a_section_of_the_boot_file_that_is_still_empty_is_no_hit(garden: Sandbox) -> None:
    told = "<!-- Who you work for: narwhals -->"
    garden.write("MEMORY.md", f"# Memory\n\n## User\n\n{told}\n\n## Project\n\n{told}\n\nAnn.\n\n{told}\n")
    garden.write("memory/topics/hidden.md", "# Hidden\n\n<!-- todo: ask the narwhals -->\n")
    found = [hit.text for hit in garden.ws.recall("narwhals").hits]
    assert not [text for text in found if text.startswith("## User")]
    assert [text for text in found if "Ann." in text]
    assert [text for text in found if "todo" in text]


def test_without_git_and_during_a_merge(garden: Sandbox, tmp_path) -> None:
    garden.write(".git/MERGE_HEAD", garden.head() + "\n")
    assert garden.ws.recall("dinner").hits
    loose = Sandbox(tmp_path / "loose")
    loose.write(f"{GENERAL}/a.md", "The kraken wakes.\n")
    assert loose.ws.recall("kraken").hits
    loose.close()


def test_odd_bytes_are_served(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/latin.md", b"caf\xe9 kraken\n")
    garden.write(f"{GENERAL}/nul.md", b"a\0b kraken\n")
    garden.write(f"{GENERAL}/esc.md", "\x1b[31mkraken\x1b[0m\x07\n")
    garden.write(f"{GENERAL}/long.md", "kraken " * 200_000)
    hits = garden.ws.recall("kraken").hits
    assert {hit.path.rpartition("/")[2] for hit in hits} == {"latin.md", "nul.md", "esc.md", "long.md"}
    for hit in hits:
        assert "\x1b" not in hit.text and "\0" not in hit.text
        assert len(hit.text) <= 2000
