"""What a reflection asks about, near-duplicates, decisions, splits, the guard and the staging file."""

import json
import random
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai import config
from bonsai.errors import BadData
from bonsai.notes import note, review
from bonsai.notes.decision import Decision, Part, parse_decisions, split_note, suggest_parts
from bonsai.notes.review import Candidate, NoteView, candidates, guard, read_staging, staging_json, with_duplicates
from bonsai.notes.similar import near_duplicates

DOMAINS = "memory/domains"
LIMITS = config.defaults()


def view(name: str, age: int = 0, tokens: int = 10) -> NoteView:
    return NoteView(f"{DOMAINS}/{name}.md", name.rpartition("/")[0], age, tokens, f"blob-{name}")


def reasons(*notes: NoteView) -> dict[str, str]:
    return {item.file: item.reason for item in candidates(notes, DOMAINS, LIMITS)}


class TestCandidates:
    def test_an_old_note_in_general(self) -> None:
        found = candidates([view("general/old", 22, 120)], DOMAINS, LIMITS)
        reason = "general/ file older than 15 days (22d)"
        assert found == [Candidate(f"{DOMAINS}/general/old.md", "general", 22, 120, reason, "blob-general/old")]
        assert reasons(view("general/new", 15), view("business/old", 400)) == {}
        assert list(reasons(view("general/inbox/old", 16))) == [f"{DOMAINS}/general/inbox/old.md"]

    def test_a_domain_with_many_notes(self) -> None:
        notes = [view(f"business/n{number}") for number in range(21)]
        assert reasons(*notes) == {f"{DOMAINS}/business": "domain has 21 files (more than 20)"}
        assert reasons(*notes[1:]) == {}
        assert reasons(*notes[1:], view("business/seo/x")) == {}  # a split into sub-domains helps

    def test_a_domain_with_much_text(self) -> None:
        found = candidates([view("legal/a", 3, 300), view("legal/b", 3, 201)], DOMAINS, LIMITS)
        assert found == [Candidate(f"{DOMAINS}/legal", "legal", 0, 501, "domain has 501 tokens (more than 500)", "")]

    def test_a_large_note_and_all_reasons_in_one_candidate(self) -> None:
        found = reasons(view("general/big", 30, 501))
        assert found == {
            f"{DOMAINS}/general": "domain has 501 tokens (more than 500)",
            f"{DOMAINS}/general/big.md": "general/ file older than 15 days (30d); file has 501 tokens (more than 500)",
        }

    def test_a_note_outside_the_domains_has_no_domain_to_be_full(self) -> None:
        notes = [NoteView(f"memory/topics/{number}.md", "", 0, 400, "b") for number in range(30)]
        assert candidates(notes, DOMAINS, LIMITS) == []

    @given(
        st.permutations([view("general/b", 30), view("general/a", 30), view("legal/x", 0, 900), view("legal/y", 0, 1)])
    )
    def test_the_order_is_that_of_the_paths(self, notes: list[NoteView]) -> None:
        files = [item.file for item in candidates(notes, DOMAINS, LIMITS)]
        assert files == sorted(files)
        assert len(files) == len(set(files)) == 4


WORDS = [f"word{at}" for at in range(5_000)]


def sentence(number: int) -> str:
    words = random.Random(number).choices(WORDS, k=12)
    return f"- {' '.join(words)}."


def text(*numbers: int) -> str:
    return "\n".join(map(sentence, numbers))


class TestNearDuplicates:
    def test_equal_texts_are_found_however_short(self) -> None:
        assert near_duplicates([("b.md", "Hi"), ("a.md", "hi!\n"), ("c.md", "ho")], 0.8) == [("a.md", "b.md", 1.0)]
        assert near_duplicates([("a.md", "記憶"), ("b.md", "記憶")], 1) == [("a.md", "b.md", 1.0)]

    def test_blank_notes_are_no_duplicates(self) -> None:
        assert near_duplicates([("a.md", ""), ("b.md", " \n---\n"), ("c.md", "")], 0.1) == []

    def test_nine_of_ten_lines_are_enough_and_seven_are_not(self) -> None:
        whole = text(*range(10))
        pairs = near_duplicates(
            [("a", whole), ("b", text(*range(9), 99)), ("c", text(*range(3, 10), 7, 8, 97, 98, 96))], 0.8
        )
        assert pairs == [("a", "b", 0.9)]

    def test_a_line_more_is_still_a_duplicate_and_a_part_of_a_long_note_is_not(self) -> None:
        assert near_duplicates([("a", text(*range(9))), ("b", text(*range(10)))], 0.8) == [("a", "b", 0.9)]
        assert near_duplicates([("a", text(0, 1)), ("b", text(*range(10)))], 0.8) == []

    def test_a_changed_word_in_a_long_line_is_still_a_duplicate(self) -> None:
        line = text(1, 2, 3, 4).replace("\n", " ")
        assert [
            pair[:2] for pair in near_duplicates([("a", line), ("b", line.replace(" word", " other", 1))], 0.8)
        ] == [("a", "b")]

    def test_scripts_without_spaces(self) -> None:
        one, two = (
            "デプロイは毎週金曜日に自動で実行されるので注意すること",
            "デプロイは毎週金曜日に自動で実行されるので注意する",
        )
        assert [pair[:2] for pair in near_duplicates([("a", one), ("b", two)], 0.8)] == [("a", "b")]

    def test_a_template_alone_makes_no_duplicates(self) -> None:
        template = text(*range(1000, 1012))
        assert near_duplicates([(f"{at}", f"{template}\n{sentence(at)}") for at in range(40)], 0.8) == []

    def test_many_equal_notes_are_each_named_once(self) -> None:
        assert len(near_duplicates([(f"{at:03}", "The same.") for at in range(300)], 0.8)) == 299

    def test_the_order_of_the_notes_does_not_matter(self) -> None:
        notes = [(f"{at}", text(at // 2, at, 5, 6, 7)) for at in range(40)]
        shuffled = random.Random(1).sample(notes, len(notes))
        assert near_duplicates(notes, 0.4) == near_duplicates(shuffled, 0.4) != []

    def test_ten_thousand_notes_take_seconds(self) -> None:
        notes = [(f"{at:05}", text(*range(at * 20, at * 20 + 18), 1, 2)) for at in range(9_900)]
        notes += [(f"{at:05}-copy", body.replace("word1 ", "changed ")) for at, (_, body) in enumerate(notes[:100])]
        start = time.process_time()
        pairs = near_duplicates(notes, 0.8)
        assert time.process_time() - start < 10
        assert {f"{at:05}-copy" for at in range(100)} <= {path for pair in pairs for path in pair[:2]}
        assert len(pairs) == 100

    @settings(max_examples=50)
    @given(st.lists(st.text(max_size=30), max_size=12), st.sampled_from([0.1, 0.5, 0.8, 1.0]))
    def test_any_text_is_fine(self, texts: list[str], similarity: float) -> None:
        for one, two, score in near_duplicates([(f"{at}", said) for at, said in enumerate(texts)], similarity):
            assert one != two
            assert similarity <= score + 0.001 <= 1.001

    def test_the_shorter_note_is_to_go_into_the_longer(self) -> None:
        notes = [view("general/a", 30, 10), view("legal/b", 0, 12), view("legal/c", 0, 9)]
        a, b, c = (item.path for item in notes)
        found = with_duplicates(candidates(notes, DOMAINS, LIMITS), notes, [(a, b, 0.912), (a, c, 1.0), (b, c, 0.8)])
        assert [(item.file, item.suggest, item.reason) for item in found] == [
            (a, {"into": b}, f"general/ file older than 15 days (30d); near-duplicate of {b} (91%)"),
            (c, {"into": a}, f"near-duplicate of {a} (100%)"),
        ]
        assert found[1].hash == "blob-legal/c"

    def test_of_two_equal_notes_the_longer_name_goes(self) -> None:
        notes = [view("general/inbox 2"), view("general/inbox")]
        found = with_duplicates([], notes, near_duplicates([(item.path, "same") for item in notes], 0.8))
        assert [(item.file, item.suggest["into"]) for item in found] == [(notes[0].path, notes[1].path)]


OLD = f"{DOMAINS}/general/old-note.md"


def decide(**given: Any) -> Decision:
    return parse_decisions({"candidates": [{"file": OLD, "domain": "general", "hash": "h", "reason": "old"} | given]})[
        0
    ]


class TestDecisions:
    def test_the_five_decisions(self) -> None:
        assert decide(decision="keep").action == "keep"
        assert (decide(decision="migrate", domain="business").to, decide(decision="Keep ").action) == (
            "business",
            "keep",
        )
        assert decide(decision="archive", reason="obsolete").reason == "obsolete"
        merge = decide(decision="merge", into="memory/domains/business/x.md", text="all")
        assert (merge.to, merge.text, merge.reason) == ("memory/domains/business/x.md", "all", "")
        parts = [{"name": "a", "lines": [1, 2]}, {"name": "b", "text": "x"}, "Heading"]
        assert decide(decision="split", parts=parts).parts == (Part("a", (1, 2)), Part("b", None, "x"), Part("Heading"))

    @pytest.mark.parametrize("given", [{}, {"decision": None}, {"decision": ""}])
    def test_without_a_decision_it_is_pending(self, given: dict[str, Any]) -> None:
        assert (decide(**given).action, decide(**given).hash, decide(**given).file) == ("", "h", OLD)

    def test_the_target_of_a_migrate(self) -> None:
        assert decide(decision="migrate", to="business/seo").to == "business/seo"
        assert decide(decision="migrate", target="legal").to == "legal"
        assert decide(decision="migrate", to="legal", domain="legal").to == "legal"

    def test_unknown_keys_and_a_bare_list_are_fine(self) -> None:
        assert parse_decisions([{"file": OLD, "decision": "keep", "comment": {"x": [1]}}])[0].action == "keep"
        assert parse_decisions({"candidates": []}) == []

    def test_a_staged_file_can_be_sent_back_as_it_is(self) -> None:
        staged = staging_json([Candidate(OLD, "general", 22, 120, "why", "h", {"parts": []})], "2026-03-15T08:00:00Z")
        assert [item.action for item in parse_decisions(json.loads(staged))] == [""]

    @pytest.mark.parametrize(
        ("given", "fault"),
        [
            ({"decision": "delete"}, "must be one of"),
            ({"decision": 5}, "must be one of"),
            ({"decision": "migrate"}, "another `domain`"),
            ({"decision": "migrate", "to": "a", "domain": "b"}, "differ"),
            ({"decision": "migrate", "to": ["a"]}, "must be text"),
            ({"decision": "merge"}, "`into`"),
            ({"decision": "merge", "into": OLD}, "`into`"),
            ({"decision": "merge", "into": "memory/../../etc/passwd"}, "`into`"),
            ({"decision": "merge", "into": "memory/x.md", "text": 5}, "`text`"),
            ({"decision": "merge", "into": "memory/x.md", "text": "\ud800"}, "no valid text"),
            ({"decision": "split"}, "list `parts`"),
            ({"decision": "split", "parts": []}, "list `parts`"),
            ({"decision": "split", "parts": [{"lines": [1, 2]}]}, "part 1"),
            ({"decision": "split", "parts": ["a", {"name": "x", "lines": [2, 1]}]}, "part 2"),
            ({"decision": "split", "parts": [{"name": "x", "lines": [0, 1]}]}, "counted from 1"),
            ({"decision": "split", "parts": [{"name": "x", "lines": [True, 1]}]}, "counted from 1"),
            ({"decision": "split", "parts": [{"name": "x", "lines": "1-2"}]}, "counted from 1"),
            ({"decision": "split", "parts": [{"name": "x", "lines": [1, 2], "text": "y"}]}, "both"),
            ({"file": "/etc/passwd"}, "below memory/"),
            ({"file": "memory/../x"}, "below memory/"),
            ({"file": ""}, "below memory/"),
            ({"file": 5}, "must be text"),
        ],
    )
    def test_a_fault_names_the_candidate(self, given: dict[str, Any], fault: str) -> None:
        with pytest.raises(BadData, match="candidate 1") as caught:
            decide(**given)
        assert fault in str(caught.value)

    @pytest.mark.parametrize("data", [None, {}, {"candidates": {}}, "x", {"candidates": ["x"]}, [[]]])
    def test_what_is_no_staging_object_is_bad_data(self, data: Any) -> None:
        with pytest.raises(BadData):
            parse_decisions(data)

    def test_two_decisions_for_one_file_are_a_fault(self) -> None:
        with pytest.raises(BadData, match=r"candidate 2.*two decisions"):
            parse_decisions([{"file": OLD, "decision": "keep"}, {"file": OLD, "decision": "archive"}])


NOTE = b"""---
title: All of it
created: 2026-01-02
type: project
---
# All of it
Intro.

## Pricing
Plan A.
### Old
Plan 0.
## Clients
Acme.
"""


class TestSplit:
    def test_by_headings_with_what_stands_above_them(self) -> None:
        found = split_note(NOTE, [Part("Clients"), Part("## pricing")])
        head = b"---\ncreated: 2026-01-02\ntype: project\n---\n"
        assert found == [
            ("Clients", head + b"## Clients\nAcme.\n"),
            ("## pricing", head + b"# All of it\nIntro.\n\n## Pricing\nPlan A.\n### Old\nPlan 0.\n"),
        ]

    def test_by_the_line_numbers_of_the_file(self) -> None:
        found = split_note(NOTE, [Part("a", (1, 8)), Part("b", (9, 14))])
        assert [data.partition(b"---\n")[2].partition(b"---\n")[2] for _, data in found] == [
            b"# All of it\nIntro.\n\n",
            b"## Pricing\nPlan A.\n### Old\nPlan 0.\n## Clients\nAcme.\n",
        ]

    def test_by_given_texts(self) -> None:
        data = b"one\r\ntwo\r\n"
        assert split_note(data, [Part("a", None, "# New title\n\none"), Part("b", (2, 2))]) == [
            ("a", b"# New title\r\n\r\none\r\n"),
            ("b", b"two\r\n"),
        ]

    @pytest.mark.parametrize(
        ("parts", "fault"),
        [
            ([Part("Pricing")], "two parts"),
            ([Part("Pricing"), Part("Nowhere")], "no heading 'Nowhere'"),
            ([Part("Pricing"), Part("Old")], "line 11 is in more than one part"),
            ([Part("Clients"), Part("Old")], "line 6 is in no part"),
            ([Part("a", (6, 9)), Part("b", (11, 14))], "line 10 is in no part"),
            ([Part("a", (6, 10)), Part("b", (10, 14))], "line 10 is in more than one part"),
            ([Part("a", (6, 10)), Part("b", (11, 15))], "last line, 14"),
            ([Part("a", (1, 5)), Part("b", (6, 14))], "'a' is empty"),
            ([Part("Pricing"), Part("b", None, "Acme.")], "in no part"),
            ([Part("All of it"), Part("b", None, "x\nAcme.")], "line 14 is in more than one part"),
        ],
    )
    def test_every_line_is_in_exactly_one_part(self, parts: list[Part], fault: str) -> None:
        with pytest.raises(BadData, match=fault):
            split_note(NOTE, parts)

    def test_a_heading_that_stands_twice(self) -> None:
        assert split_note(b"## A\n1\n## A\n2\n", [Part("A"), Part("A")]) == [("A", b"## A\n1\n"), ("A", b"## A\n2\n")]

    def test_broken_frontmatter_is_text_that_must_not_get_lost(self) -> None:
        data = b"---\na: [\n---\n## A\n1\n## B\n2\n"
        assert b"".join(body for _, body in split_note(data, [Part("A"), Part("B")])) == data

    def test_suggestions_follow_the_headings(self) -> None:
        assert suggest_parts(NOTE) == [
            {"name": "Pricing", "lines": [6, 12]},
            {"name": "Clients", "lines": [13, 14]},
        ]
        assert suggest_parts(b"# One\n\n## Two\ntext\n") == []
        assert suggest_parts(b"") == []
        assert suggest_parts(b"\xef\xbb\xbf## A\n```\n## no\n```\n# B\n## C\n## D\n")[1] == {
            "name": "B",
            "lines": [5, 5],
        }

    @settings(max_examples=300)
    @given(
        st.lists(
            st.sampled_from(
                [
                    "# T",
                    "## A",
                    "## B",
                    "### C",
                    "A\n===",
                    "B\n---",
                    "text",
                    "",
                    "```",
                    "- ## no",
                    "\u2028x\x0cy",
                    "caf\udce9",
                    "##",
                ]
            ),
            max_size=14,
        ),
        st.sampled_from(["\n", "\r\n", "\r"]),
        st.sampled_from(["", "---\ntype: fact\nid: 1\n---\n", "\ufeff", "---\nx\n---\n", "---\na: 1\na: 2\n---\n"]),
    )
    def test_a_suggestion_can_always_be_carried_out(self, rows: list[str], eol: str, head: str) -> None:
        data = (head + eol.join(rows)).encode("utf-8", "surrogateescape")
        parts = suggest_parts(data)
        if parts:
            given = parse_decisions([{"file": OLD, "decision": "split", "parts": json.loads(json.dumps(parts))}])[
                0
            ].parts
            found = split_note(data, given)
            bodies = b"".join(body[note.parse(body).body_start :] for _, body in found)
            assert bodies == data[note.parse(data).body_start :]
            assert Counter(name for name, _ in found) == Counter(part["name"] for part in parts)


@pytest.mark.parametrize(
    ("dropped", "before", "after", "refused"),
    [
        ({}, 0, 0, None),
        ({}, 1000, 750, None),
        ({}, 1000, 749, "the memory"),
        ({"memory/a.md": (100, 75)}, 1000, 975, None),
        ({"memory/a.md": (100, 74)}, 1000, 974, "memory/a.md"),
        ({"memory/a.md": (100, 500)}, 1000, 1400, None),
        ({"memory/a.md": (0, 0)}, 1000, 1000, None),
    ],
)
def test_the_guard(dropped: dict[str, tuple[int, int]], before: int, after: int, refused: str | None) -> None:
    reason = guard(dropped, before, after, 0.25)
    assert (reason is None) is (refused is None)
    assert refused is None or (reason or "").startswith(refused)


class TestStaging:
    ITEM = Candidate("memory/domains/general/記憶\udcff.md", "general", 22, 120, "why", "abc")

    def test_it_reads_what_it_wrote(self) -> None:
        other = Candidate("memory/domains/legal", "legal", 0, 900, "large", "", {"into": "x"})
        text = staging_json([self.ITEM, other], "2026-03-15T08:00:00Z")
        assert list(json.loads(text)["candidates"][0]) == ["file", "domain", "age_days", "tokens", "reason", "hash"]
        assert "記憶" in text
        staging = read_staging(text.encode("utf-8"))
        assert staging["triggered_at"] == "2026-03-15T08:00:00Z"
        assert review.staged_candidates(staging) == [self.ITEM, other]

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\0" * 50,
            b"{",
            b"[]",
            b"5",
            b'{"candidates": 5}',
            b'{"candidates": [{"file": 5}]}',
            b"\xff",
            b"[" * 99_999,
            b'{"candidates": ["x"]}',
            b'{"candidates": [{"file": "x", "age_days": ' + b"9" * 5000 + b"}]}",
        ],
    )
    def test_a_damaged_file_is_bad_data(self, data: bytes) -> None:
        with pytest.raises(BadData):
            read_staging(data)

    def test_values_of_the_wrong_kind_are_as_if_missing(self) -> None:
        item = {"file": "x", "age_days": "5", "tokens": True, "domain": None, "suggest": [], "hash": 5}
        staging = read_staging(json.dumps({"triggered_at": 5, "candidates": [item]}).encode())
        assert staging["triggered_at"] is None
        assert review.staged_candidates(staging) == [Candidate("x", "", 0, 0, "", "")]

    def test_what_waits_is_kept_as_it_was_sent(self) -> None:
        staging = {"triggered_at": "t", "by": "kim", "candidates": [{"file": "a", "x": 1}, {"file": "b"}]}
        left = review.left_over(staging, {"a", "c"})
        assert json.loads(left or "") == {"triggered_at": "t", "by": "kim", "candidates": [{"file": "a", "x": 1}]}
        assert review.left_over(staging, set()) is None
