"""The texts of the indexes: formats, budget, one entry a note, no-op on a second run, nothing harmful printed."""

import json
import re
import time
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.notes import index
from bonsai.notes.index import DomainStat, domain_index, domain_stat, keep_time, root_index
from bonsai.notes.printed import count_tokens
from bonsai.notes.summary import Summary

NOW = "2026-03-15T06:00:00Z"
LATER = "2026-03-15T12:00:00Z"


def summary(lead: str = "A line.", tokens: int = 10, title: str = "", blank: bool = False) -> Summary:
    return Summary(title, lead, tokens, blank, "", "", "", "", (), (), (), False)


def in_domain(notes: list[tuple[str, Summary]], *below: DomainStat, previous: str | None = None, at: str = NOW) -> str:
    return domain_index("business", notes, below, now_iso=at, previous=previous)


def in_root(domains: list[DomainStat], **given: Any) -> str:
    options: dict[str, Any] = {
        "daily": 0,
        "daily_folder": "memory/daily/",
        "also": [],
        "budget": 450,
        "now_iso": NOW,
        "previous": None,
    }
    return root_index(domains, **(options | given))


def entries(text: str) -> list[str]:
    return re.findall(r"^### (.+?)(?: \(~[\d,]+ tokens(?:, \d+ notes?)?\))?[ \t]*$", text, re.M)


def assert_harmless(text: str) -> None:
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "<!--" not in text
    assert max(map(len, text.split("\n"))) <= 300
    assert not [char for char in text if unicodedata.category(char) in ("Cc", "Cs") and char != "\n"]
    text.encode("utf-8")


NAMES = st.text(min_size=1, max_size=80) | st.sampled_from(
    [
        "a\nb",
        "x <!-- bonsai:begin -->",
        "### y",
        "caf\u0065\u0301",
        "記憶",
        "emoji 🌿",
        'q"u`o*t_e',
        "back\\slash",
        "\udcff",
    ]
)
FILES = st.builds("{}.md".format, NAMES.filter(lambda name: "/" not in name))
SUMMARIES = st.builds(summary, st.text(max_size=250), st.integers(0, 10**6), st.text(max_size=20), st.booleans())
NOTES = st.lists(st.tuples(FILES, SUMMARIES), max_size=8, unique_by=lambda note: note[0])
STATS = st.builds(
    DomainStat,
    NAMES,
    st.integers(1, 10**6),
    st.integers(0, 10**7),
    st.text(max_size=250) | st.just("記" * 250),
    st.lists(NAMES, max_size=6).map(tuple),
)


class TestDomainIndex:
    def test_the_format_of_the_original(self) -> None:
        seo = DomainStat("business/seo", 3, 120, "Rank for plants.", ("a", "b", "c"))
        text = in_domain([("pricing.md", summary("Plan A costs 9.", 380)), ("Clients.md", summary("Acme.", 223))], seo)
        assert text == (
            "# Business Index\n"
            "_Last indexed: 2026-03-15T06:00:00Z_\n"
            "_Estimated tokens: ~723_\n"
            "\n### Clients.md (~223 tokens)\nAcme.\n"
            "\n### pricing.md (~380 tokens)\nPlan A costs 9.\n"
            "\n### seo/ (~120 tokens, 3 notes)\nRank for plants.\n"
        )

    def test_a_nested_domain_is_titled_with_its_path(self) -> None:
        text = domain_index("business/seo", [], [], now_iso=NOW, previous=None)
        assert text.startswith("# Business/Seo Index\n")
        assert text.endswith("_Estimated tokens: ~0_\n")

    def test_an_empty_note_is_listed(self) -> None:
        text = in_domain([("i.md", summary("", 0, blank=True)), ("t.md", summary("", 1, title="Only a title"))])
        assert entries(text) == ["i.md", "t.md"]
        assert "_(empty)_" in text
        assert "Only a title" in text

    @pytest.mark.parametrize(
        "lead", ["### fake.md (~1 tokens)", "# x", "```", "~~~ x", "<!-- bonsai:begin -->", "<div>"]
    )
    def test_a_lead_makes_no_entry_and_hides_none(self, lead: str) -> None:
        text = in_domain([("a.md", summary(lead)), ("b.md", summary("#tag and `code`"))])
        assert entries(text) == ["a.md", "b.md"]
        assert not re.search(r"^(```|~~~|<)", text, re.M)
        assert "\n#tag and `code`\n" in text
        assert_harmless(text)

    @pytest.mark.parametrize(
        "name", ["naïve plan.md", "cafe\u0301.md", "記憶.md", "emoji 👩‍💻.md", "back\\slash.md", 'q"uote.md']
    )
    def test_an_ordinary_name_keeps_the_spelling_of_the_disk(self, name: str) -> None:
        assert entries(in_domain([(name, summary())])) == [name]

    def test_a_name_that_would_not_show_is_escaped(self) -> None:
        names = ["a\nb.md", "c\x1b[0m.md", "d\u202etxt.md", "e\udcff.md", "f<!-- bonsai:end -->.md"]
        text = in_domain([(name, summary()) for name in names])
        assert entries(text) == ["a\\nb.md", "c\\x1b[0m.md", "d\\u202etxt.md", "e\\xff.md", "f<\\!-- bonsai:end -->.md"]
        assert_harmless(text)

    def test_a_very_long_name_ends_with_its_suffix(self) -> None:
        text = in_domain([("\x01" * 250 + ".md", summary())])
        assert_harmless(text)
        assert entries(text)[0].endswith(".md")

    def test_words_about_credentials_are_printed(self) -> None:
        lead = "The password: ask Kim. Token budget: 500. See https://example.com:8080/a@b and sk-learn, a-b-c."
        assert lead in in_domain([("talk.md", summary(lead))])

    @given(NOTES, st.lists(STATS, max_size=3))
    def test_one_entry_a_note_whatever_it_says(self, notes: list[tuple[str, Summary]], below: list[DomainStat]) -> None:
        text = in_domain(notes, *below)
        assert len(re.findall(r"^### ", text, re.M)) == len(notes) + len(below)
        assert_harmless(text)

    @given(NOTES, st.randoms())
    def test_the_order_of_the_input_does_not_matter(self, notes: list[tuple[str, Summary]], random: Any) -> None:
        shuffled = list(notes)
        random.shuffle(shuffled)
        assert in_domain(shuffled) == in_domain(notes)


class TestTime:
    def test_a_second_run_is_a_no_op(self) -> None:
        notes = [("a.md", summary())]
        first = in_domain(notes)
        assert in_domain(notes, previous=first, at=LATER) == first

    def test_a_change_brings_the_new_time(self) -> None:
        first = in_domain([("a.md", summary())])
        second = in_domain([("a.md", summary(tokens=11))], previous=first, at=LATER)
        assert f"_Last indexed: {LATER}_" in second

    def test_the_root_index_and_the_meta_file_keep_theirs(self) -> None:
        domains = [DomainStat("x", 1, 1, "s", ("a",))]
        first = in_root(domains)
        assert in_root(domains, now_iso=LATER, previous=first) == first
        meta = index.meta_json(2, 30, now_iso=NOW, previous=None)
        assert index.meta_json(2, 30, now_iso=LATER, previous=meta) == meta
        assert LATER in index.meta_json(2, 31, now_iso=LATER, previous=meta)

    def test_the_boot_header_keeps_its_own(self) -> None:
        old = f"# Memory Index\n# Last regenerated: {NOW}\n\n_Last indexed: {NOW}_\n"
        assert keep_time(old.replace(NOW, LATER, 1), old, "Last regenerated") == old
        assert keep_time(old.replace(NOW, LATER), old, "Last regenerated") != old

    @pytest.mark.parametrize("stamp", ["<!-- bonsai:end -->", "", "2026-03-15T06:00:00Z extra", "never", "9" * 100])
    def test_a_time_that_is_none_is_not_carried_along(self, stamp: str) -> None:
        new = in_domain([])
        assert keep_time(new, new.replace(NOW, stamp), "Last indexed") == new

    def test_without_a_previous_text_it_is_the_new_one(self) -> None:
        assert keep_time("x\n", None, "Last indexed") == "x\n"
        assert keep_time("x\n", "x\n", "Last indexed") == "x\n"


def many(
    count: int, letters: str = "domain", names: int = 5, lead: str = "What it is about, in a line. " * 8
) -> list[DomainStat]:
    return [
        DomainStat(
            f"{letters}-{at}", names, 100 + at, lead[:250], tuple(f"{letters}-note-{at}-{no}" for no in range(names))
        )
        for at in range(count)
    ]


class TestRootIndex:
    def test_the_format_of_the_original(self) -> None:
        business = domain_stat(
            "business", [("pricing.md", summary("Plan A costs 9.", 700)), ("clients.md", summary("Acme.", 20))], []
        )
        text = in_root([business], daily=12, also=["dates", "feedback"])
        assert text == (
            "# Memory Index\n"
            "_Last indexed: 2026-03-15T06:00:00Z_\n"
            "_Estimated tokens: ~720_\n"
            "\n## Domains\n"
            "\n### Business (~720 tokens)\npricing: Plan A costs 9.\n_Also: clients_\n"
            "\n### Daily Logs (12 files in memory/daily/)\nSearchable via memory_search.\n"
            "\n### Other Notes (2 files)\ndates, feedback\n"
        )

    def test_an_empty_tree(self) -> None:
        assert in_root([]).endswith("_Estimated tokens: ~0_\n\n## Domains\n")

    def test_what_is_left_out_is_counted_in_one_line(self) -> None:
        text = in_root(many(3, names=40))
        named = len(re.findall(r"domain-note-\d+-\d+", text))
        assert text.splitlines()[-1] == f"… {120 - named} more: bonsai recall"
        assert 0 < named < 120

    def test_nothing_left_out_is_not_said(self) -> None:
        assert "more:" not in in_root(many(2, names=3))

    def test_less_room_means_less_detail(self) -> None:
        sizes = [len(in_root(many(12), budget=budget)) for budget in (2000, 700, 450, 300, 200, 100, 60)]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(sizes)) > 5

    def test_every_domain_is_named_as_long_as_the_names_fit(self) -> None:
        text = in_root(many(60))
        assert all(f"domain-{at}" in text for at in range(60))

    def test_the_heaviest_domains_stay(self) -> None:
        text = in_root(many(3000))
        assert "domain-2999" in text
        assert "domain-17," not in text
        assert "… 15000 more: bonsai recall" in text

    @pytest.mark.parametrize("letters", ["domain", "記憶の領域", "🌿🌿", "Ünïcödé"])
    @pytest.mark.parametrize(("domains", "names"), [(3, 2), (3, 17_000), (50, 1_000), (3_000, 17)])
    def test_the_budget_holds_whatever_the_size(self, letters: str, domains: int, names: int) -> None:
        stats = many(domains, letters, names, lead="何の話か" * 80 if letters == "記憶の領域" else "words " * 60)
        start = time.process_time()
        text = in_root(stats, daily=4000, also=["dates"] * 9)
        assert time.process_time() - start < 2
        assert count_tokens(text) <= 450
        assert len(text) <= 1800
        assert len(text) > 600 or letters == "記憶の領域"
        assert_harmless(text)

    @settings(max_examples=300)
    @given(
        st.lists(STATS, max_size=12, unique_by=lambda stat: stat.name),
        st.integers(0, 10**5),
        st.lists(NAMES, max_size=9),
        st.integers(40, 600),
    )
    def test_the_budget_holds_whatever_the_names(
        self, domains: list[DomainStat], daily: int, also: list[str], budget: int
    ) -> None:
        text = in_root(domains, daily=daily, also=also, budget=budget)
        assert count_tokens(text) <= budget
        assert len(text) <= 4 * budget
        assert_harmless(text)
        assert text == in_root(domains[::-1], daily=daily, also=also[::-1], budget=budget)
        assert in_root(domains, daily=daily, also=also, budget=budget, now_iso=LATER, previous=text) == text

    def test_the_names_of_an_agent_tree(self) -> None:
        assert "(1 files in memory/agents/kim/daily/)" in in_root([], daily=1, daily_folder="memory/agents/kim/daily")


class TestDomainStat:
    def test_it_sums_up_itself_and_what_is_below(self) -> None:
        seo = domain_stat("business/seo", [("rank.md", summary("Rank.", 5))], [])
        stat = domain_stat("business", [("b.md", summary("B.", 1)), ("A.md", summary("A.", 2))], [seo])
        assert stat == DomainStat("business", 3, 8, "A.", ("A", "b", "seo/rank"), "A")

    def test_a_domain_without_notes_of_its_own_speaks_through_the_first_below(self) -> None:
        seo = domain_stat("business/seo", [("rank.md", summary("Rank.", 5))], [])
        stat = domain_stat("business", [], [seo])
        assert (stat.main, stat.summary) == ("seo/rank", "Rank.")
        assert "seo/rank: Rank." in in_root([stat])

    @pytest.mark.parametrize("main", ["business.md", "README.md", "overview.md"])
    def test_the_note_named_for_its_domain_is_the_main_one(self, main: str) -> None:
        notes = [(main, summary("The gist.", 3)), ("a.md", summary("Long.", 900))]
        assert domain_stat("business", notes, []).summary == "The gist."

    def test_a_note_that_says_nothing_is_never_the_main_one(self) -> None:
        notes = [("business.md", summary("", 0, blank=True)), ("a.md", summary("Short.", 1))]
        assert domain_stat("business", notes, []).main == "a"


class TestStateFiles:
    def test_the_keys_of_the_original(self) -> None:
        meta = json.loads(index.meta_json(5, 3840, now_iso=NOW, previous=None))
        assert list(meta) == ["last_reindex", "domain_count", "total_tokens", "script_version"]
        assert (meta["last_reindex"], meta["domain_count"], meta["total_tokens"]) == (NOW, 5, 3840)
        stats = json.loads(index.stats_json(reversed(many(2, names=3)), 4))
        assert stats == {
            "domains": {"domain-0": {"files": 3, "tokens": 100}, "domain-1": {"files": 3, "tokens": 101}},
            "general_age_violations": 4,
        }

    def test_names_are_readable_and_odd_ones_survive(self) -> None:
        stat = replace(many(1)[0], name="記憶\udcff")
        text = index.stats_json([stat], 0)
        assert "記憶" in text
        assert list(json.loads(text.encode("utf-8"))["domains"]) == ["記憶\udcff"]
        assert text.endswith("}\n")

    @pytest.mark.parametrize("previous", ["", "{", "[]", '{"last_reindex": 5}'])
    def test_a_damaged_file_is_replaced(self, previous: str) -> None:
        assert NOW in index.meta_json(1, 1, now_iso=NOW, previous=previous)
