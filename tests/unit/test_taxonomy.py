"""Headings find their domain by whole words, and every heading has a file name that every system can hold."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.errors import BadData, Usage
from bonsai.notes.layout import fold
from bonsai.notes.taxonomy import MAX_NAME, agent_id, classify, domain_path, slug, unique

WINDOWS = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}


@pytest.mark.parametrize(
    ("heading", "domain"),
    [
        ("Key Identity Facts", "identity"),
        ("Professional Network", "identity"),
        ("Pricing", "business"),
        ("client", "business"),
        ("API quirks", "infrastructure"),
        ("API文档", "infrastructure"),
        ("Local Meetups", "community"),
        ("Sub-agent roster", "agents"),
        ("Non-Compete", "legal"),
        ("non compete clause", "legal"),
        ("Important Dates", "dates"),
        ("Things to remember", "dates"),
        ("SEO_plan", "business"),
        ("🔐", "general"),
        ("", "general"),
    ],
)
def test_a_keyword_anywhere_in_the_heading_decides(heading: str, domain: str):
    assert classify(heading) == domain


@pytest.mark.parametrize("heading", ["Capital ideas", "Brandy", "Clientele", "Voicemail", "Noncompete", "Updates"])
def test_a_part_of_a_word_is_no_keyword(heading: str):
    assert classify(heading) == "general"


def test_the_longest_keyword_wins_and_the_table_breaks_ties():
    assert classify("Company contract") == "legal"
    assert classify("Contract company") == "legal"
    assert classify("Brand voice") == "business"
    assert classify("Voice of the brand") == "business"


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Key Identity Facts", "key-identity-facts"),
        ("neuro: theory, vol. 1\\2 <draft> | x *", "neuro-theory-vol-1-2-draft-x"),
        ("../../escape", "escape"),
        ("trailing dots...", "trailing-dots"),
        ("snake_case name", "snake-case-name"),
        ("日本語メモ", "日本語メモ"),
        ("인증 구조", "인증-구조"),
        ("ภาษาไทย นี้", "ภาษาไทย-นี้"),
        ("हिन्दी", "हिन्दी"),
        ("Cafe\u0301", "caf\u00e9"),
        ("❤️ Health", "health"),
        ("1️⃣ Plan", "1-plan"),
        ("CON", "note-con"),
        ("com¹", "note-com¹"),
        ("_index", "note-index"),
    ],
)
def test_a_slug_keeps_the_letters_of_every_script(heading: str, name: str):
    assert slug(heading) == name


def test_headings_without_letters_get_different_names():
    assert slug("🔐").startswith("note-")
    assert slug("🔐") != slug("???")
    assert slug("🔐") == slug("🔐")


def test_a_long_name_is_not_cut_between_a_letter_and_its_mark():
    name = slug("a" * 59 + "नि")
    assert name == "a" * 59


@settings(max_examples=2000)
@given(st.text(max_size=90) | st.text(alphabet="aé़नि\u0301_- 🔐.", max_size=90) | st.sampled_from(sorted(WINDOWS)))
def test_every_heading_has_a_name_that_every_system_can_hold(heading: str):
    name = slug(heading)
    assert 0 < len(name) <= MAX_NAME
    assert len(f"{name}__DELETE.md".encode()) <= 255
    assert name == unicodedata.normalize("NFC", name)
    assert any(character.isalnum() for character in name)
    assert not set(name) & set('\\/:*?"<>|._ \0')
    assert name.strip("-") == name
    assert name not in WINDOWS | {"index"}


@settings(max_examples=300)
@given(st.text(min_size=1, max_size=70).map(slug), st.integers(1, 30))
def test_a_name_that_is_taken_gets_the_next_number(name: str, times: int):
    taken: set[str] = set()
    for _ in range(times):
        found = unique(name, taken)
        assert fold(found) not in taken
        assert len(found) <= MAX_NAME
        taken.add(fold(found))


def test_an_archive_keeps_its_old_name_for_its_return():
    assert unique("plan", {fold("plan__DELETE")}) == "plan-2"


def test_names_that_differ_in_case_or_composition_clash():
    assert unique("strasse", {fold("Straße")}) == "strasse-2"
    assert unique("caf\u00e9", {fold("Cafe\u0301")}) == "caf\u00e9-2"


@pytest.mark.parametrize(
    ("given_as", "domain"),
    [("business", "business"), ("Business/SEO", "business/seo"), ("Key Clients/", "key-clients"), ("家庭", "家庭")],
)
def test_a_domain_is_slugified_segment_by_segment(given_as: str, domain: str):
    assert domain_path(given_as) == domain


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "/",
        "/etc",
        "a//b",
        ".",
        "..",
        "../x",
        "a/../b",
        ".git",
        "CON",
        "a/nul",
        "_index",
        "???",
        "a/b/c/d/e/f/g/h/i",
    ],
)
def test_a_domain_that_names_no_folder_below_domains_is_refused(bad: str):
    with pytest.raises(BadData):
        domain_path(bad)


@pytest.mark.parametrize("good", ["juno", "a-1", "x_y.z", "münchen", "日本", "7"])
def test_an_agent_id_is_taken_as_it_is(good: str):
    assert agent_id(good) == good


@pytest.mark.parametrize(
    "bad", ["", "a/b", "..", "a..b", "-a", ".a", "a.", "Juno", "con", "con.x", "a b", "x" * 61, "a\0", "a\u200bb"]
)
def test_other_agent_ids_are_refused(bad: str):
    with pytest.raises(Usage):
        agent_id(bad)
