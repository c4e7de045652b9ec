"""`move`: a note gets another domain and its `domain:`; every link to it still leads there; nothing else changes."""

import pytest

from bonsai.errors import BadData, CannotCreate, NotFound, Refused, Usage
from verbs.sandbox import GENERAL, Sandbox

PRICING = "memory/domains/business/pricing.md"
MOVED = "memory/domains/legal/pricing.md"

SPLICED = {
    "plain": (b"Text", b"---\ndomain: legal\n---\nText"),
    "crlf": (b"---\r\na: 1\r\n---\r\nText\r\n", b"---\r\na: 1\r\ndomain: legal\r\n---\r\nText\r\n"),
    "bom": (b"\xef\xbb\xbf---\na: 1\n---\nText", b"\xef\xbb\xbf---\na: 1\ndomain: legal\n---\nText"),
    "set": (b"---\ndomain: general # here\na: 1\n---\n", b"---\ndomain: legal # here\na: 1\n---\n"),
    "quoted": (b"---\ndomain: 'x y'\n---\nText\n\n\n", b"---\ndomain: legal\n---\nText\n\n\n"),
    "body-line": (b"---\na: 1\n---\ndomain: keepme\n", b"---\na: 1\ndomain: legal\n---\ndomain: keepme\n"),
    "broken": (b"---\na: [\n---\nText\n", None),
    "twice": (b"---\na: 1\na: 2\n---\nText\n", None),
    "ruler": (b"---\n\nText\n\n---\nmore\n", None),
    "utf16": ("Text\n".encode("utf-16"), None),
    "latin": (b"caf\xe9\n", b"---\ndomain: legal\n---\ncaf\xe9\n"),
}


@pytest.mark.parametrize("name", SPLICED)
def test_only_the_line_of_the_domain_changes(box: Sandbox, name: str) -> None:
    old, new = SPLICED[name]
    box.write(f"{GENERAL}/a.md", old)
    report = box.ws.move(f"{GENERAL}/a.md", "legal")
    assert (report.from_, report.to) == (f"{GENERAL}/a.md", "memory/domains/legal/a.md")
    assert box.read(report.to) == (old if new is None else new)
    assert box.committed(report.to) == box.read(report.to)
    assert box.committed(report.from_) is None
    box.assert_clean()


def test_one_commit_with_the_links_and_the_indexes(garden: Sandbox) -> None:
    garden.write("memory/dates.md", "See [it](domains/business/pricing.md#a 'T') and [[pricing]].\r\n")
    garden.write("MEMORY.md", b"See [p](memory/domains/business/pricing.md).\n\n" + garden.read("MEMORY.md"))
    garden.write(
        PRICING, b"---\ntitle: P\n---\nSee [w](seo/words.md), [out](https://x.example), ![p](../../pic.png).\n"
    )
    garden.ws.commit()
    before = garden.count()
    report = garden.ws.move(PRICING, "legal")
    assert garden.count() == before + 1
    assert sorted(report.links) == ["MEMORY.md", "memory/dates.md", "memory/domains/business/seo/words.md"]
    assert garden.read("memory/dates.md") == b"See [it](domains/legal/pricing.md#a 'T') and [[pricing]].\r\n"
    assert (
        garden.read("memory/domains/business/seo/words.md") == b"# Words\n\nSee [the price](../../legal/pricing.md).\n"
    )
    assert garden.read("MEMORY.md").startswith(b"See [p](memory/domains/legal/pricing.md).\n\n")
    assert garden.read(MOVED) == (
        b"---\ntitle: P\ndomain: legal\n---\n"
        b"See [w](../business/seo/words.md), [out](https://x.example), ![p](../../pic.png).\n"
    )
    assert [item.path for item in garden.problems("broken-link")] == [MOVED], "the picture never was there"
    assert garden.last()[0].subject == "move: business/pricing to legal"
    garden.assert_clean()


def test_there_and_back_is_as_before(garden: Sandbox) -> None:
    garden.write(PRICING, b"---\ntitle: P\ndomain: business\n---\nSee [d](/memory/dates.md).\n")
    garden.ws.commit()
    files = garden.files()
    garden.ws.move(PRICING, "legal")
    garden.ws.move(MOVED, "business")
    assert garden.files() == files


def test_a_domain_is_slugified_segment_by_segment(garden: Sandbox) -> None:
    assert garden.ws.move(PRICING, "Legal Affairs/Ünïted Kingdom").to == (
        "memory/domains/legal-affairs/ünïted-kingdom/pricing.md"
    )


@pytest.mark.parametrize(
    "domain", ["", "/", "..", "../x", "a/../b", "_index", "con", "a/nul", ".git", "/etc", "a//../..", "!!!/.."]
)
def test_a_domain_that_may_not_be(garden: Sandbox, domain: str) -> None:
    files, head = garden.files(), garden.head()
    with pytest.raises((BadData, Usage, Refused)):
        garden.ws.move(PRICING, domain)
    assert (garden.files(), garden.head()) == (files, head)


@pytest.mark.parametrize(
    ("folder", "given", "to"),
    [
        ("Rechtliches", "Rechtliches", "Rechtliches"),
        ("Rechtliches", "rechtliches", "Rechtliches"),
        ("Rechtliches", "RECHTLICHES/Neue Sachen", "Rechtliches/neue-sachen"),
        ("My Plans/Of Old", "My Plans/Of Old", "My Plans/Of Old"),
        ("My Plans/Of Old", "my plans/of old/x", "My Plans/Of Old/x"),
        ("a_b", "a_b", "a_b"),
        ("caf\u0065\u0301", "caf\u00e9", "caf\u0065\u0301"),
    ],
)
def test_folders_that_people_made_keep_their_name(garden: Sandbox, folder: str, given: str, to: str) -> None:
    garden.write(f"memory/domains/{folder}/a.md", "x\n")
    garden.ws.commit()
    assert garden.ws.move(PRICING, given).to == f"memory/domains/{to}/pricing.md"
    assert not garden.problems("case-clash")


def test_what_cannot_be_moved(garden: Sandbox) -> None:
    garden.write("memory/domains/legal/Pricing.md", "taken, but for the case\n")
    garden.write(f"{GENERAL}/pic.png", b"x")
    garden.ws.commit()
    files, head = garden.files(), garden.head()
    for file, domain, error in (
        (PRICING, "business", Usage),
        (PRICING, "legal", CannotCreate),
        ("memory/domains/x/none.md", "legal", NotFound),
        ("MEMORY.md", "legal", Usage),
        (f"{GENERAL}/_index.md", "legal", Usage),
        (f"{GENERAL}/pic.png", "legal", Usage),
        ("../elsewhere.md", "legal", Refused),
    ):
        with pytest.raises(error):
            garden.ws.move(file, domain)
    assert (garden.files(), garden.head()) == (files, head)


def test_notes_outside_the_domains_can_be_moved_into_one(garden: Sandbox) -> None:
    assert garden.ws.move("memory/dates.md", "events").to == "memory/domains/events/dates.md"
    garden.write("memory/topics/t.md", "x\n")
    assert garden.ws.move("memory/topics/t.md", "events").to == "memory/domains/events/t.md"
    garden.assert_clean()


def test_an_archive_stays_an_archive(garden: Sandbox) -> None:
    [archive] = garden.ws.archive(PRICING).archived
    assert garden.ws.move(archive, "legal").to == "memory/domains/legal/pricing__DELETE.md"
    assert garden.ws.purge().waiting[0].days_left == 180


def test_pending_edits_go_first_and_by_themselves(garden: Sandbox) -> None:
    garden.write(PRICING, "edited\n")
    garden.write(f"{GENERAL}/new.md", "new\n")
    garden.ws.move(PRICING, "legal")
    move, edit = garden.last(2)
    assert (move.op, edit.op) == ("move", "edit")
    assert set(edit.paths) == {PRICING, f"{GENERAL}/new.md"}
    assert garden.committed(PRICING, "HEAD~1") == b"edited\n"
    assert set(move.paths) >= {PRICING, MOVED, "memory/domains/legal/_index.md"}


def test_a_linking_note_that_is_held_stays_as_it_is(garden: Sandbox) -> None:
    held = b"<<<<<<< HEAD\n[p](domains/business/pricing.md)\n=======\nb\n>>>>>>> x\n"
    garden.write("memory/dates.md", held)
    garden.ws.move(PRICING, "legal")
    assert garden.read("memory/dates.md") == held
    assert [item.path for item in garden.problems("broken-link")] == ["memory/dates.md"]


def test_two_notes_of_one_name_keep_their_links_apart(garden: Sandbox) -> None:
    garden.write("memory/domains/legal/a/pricing.md", "another\n")
    garden.write("memory/dates.md", "[one](domains/business/pricing.md) [two](domains/legal/a/pricing.md)\n")
    garden.ws.move("memory/domains/legal/a/pricing.md", "x")
    assert garden.read("memory/dates.md") == b"[one](domains/business/pricing.md) [two](domains/x/pricing.md)\n"
