"""What looks like a credential is found and never quoted; what only talks of one, or is an id, is left alone."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.credentials import ALNUM, NEGATIVES, POSITIVES, made

from bonsai.notes.secret_shapes import RULES
from bonsai.notes.secrets import find, find_in, without
from bonsai.notes.summary import summarise

EVERY = [text for texts in POSITIVES.values() for text in texts]
GITHUB = "ghp_" + "b" * 36
PROSE = ["Kim said:", "- ", "> ", "密码:", "| a | b |", "`code`", "(see", "key:", "token ", "https://example.org/x "]


def test_there_is_enough_to_tell() -> None:
    assert len(POSITIVES) >= 25 and len(EVERY) >= 60 and len(NEGATIVES) >= 200
    assert len(set(EVERY)) == len(EVERY) and len(set(NEGATIVES)) == len(NEGATIVES)


@pytest.mark.parametrize("kind", POSITIVES)
@pytest.mark.parametrize(
    "around", ["{}", "Kim said: {}\nmore", "- {}\n", "```\n{}\n```", '"{}"', "日本 {} 語", "| {} |"]
)
def test_every_kind_is_found_wherever_it_stands(kind: str, around: str) -> None:
    for text in POSITIVES[kind]:
        assert find(around.replace("{}", text)), text[:12]


def test_nothing_else_is_found() -> None:
    assert [text for text in NEGATIVES if find(text)] == []
    assert find("\n".join(NEGATIVES)) == []


@pytest.mark.parametrize("text", EVERY)
def test_a_finding_quotes_at_most_four_characters(text: str) -> None:
    for item in find(text):
        shown = item.masked.removesuffix("…")
        assert len(shown) <= 4 and "\n" not in shown
        assert re.fullmatch(r"[0-9a-f]{12}", item.fingerprint)
    for item in find("postgres://app:abcdefg@db/x"):
        assert item.masked == "ab…"  # never more than a third


def test_where_it_stands_and_what_it_is() -> None:
    text = f"one\r\ntwo {GITHUB}\n\npostgres://app:hunter2-fake@db.example.com/x\n"
    assert [(item.line, item.kind, item.masked) for item in find(text)] == [
        (2, "GitHub token", "ghp_…"),
        (4, "connection string", "hunt…"),
    ]


def test_the_fingerprint_is_that_of_the_secret_alone() -> None:
    [one], [two] = find(f"a {GITHUB}"), find(f"\n\n- `{GITHUB}`\n")
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != find("ghp_" + "c" * 36)[0].fingerprint


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_the_encoding_does_not_matter(encoding: str) -> None:
    [found] = find_in(f"café {GITHUB}\n".encode(encoding))
    assert found.fingerprint == find(GITHUB)[0].fingerprint
    shown, _ = without(f"café {GITHUB}\n".encode(encoding))
    assert shown == "café (secret)\n".encode(encoding)


def test_nul_bytes_do_not_hide_one() -> None:
    assert find_in(b"\0" + GITHUB.encode())
    assert find_in(b"\0".join(bytes([byte]) for byte in GITHUB.encode()))


@pytest.mark.parametrize("text", EVERY)
def test_nothing_of_it_is_left_and_lines_stay_lines(text: str) -> None:
    data = f"---\ntitle: x {text.splitlines()[0]}\n---\nbefore\n{text}\nafter\n".encode()
    shown, found = without(data)
    assert found and find_in(shown) == []
    assert shown.count(b"\n") == data.count(b"\n")
    assert shown.startswith(b"---\n") and shown.endswith(b"\nafter\n")


def test_a_text_without_one_stays_the_same_object() -> None:
    data = "\n".join(NEGATIVES).encode()
    assert without(data) == (data, ())
    assert without(data)[0] is data


@given(st.lists(st.sampled_from(EVERY + PROSE), max_size=6))
def test_what_is_found_is_hidden_whatever_is_around(parts: list[str]) -> None:
    text = " ".join(parts)
    shown, found = without(text.encode())
    assert len(found) == len(find(text))
    assert not [item for item in find_in(shown) if item.fingerprint in {one.fingerprint for one in found}]


ATTACKS = [hint for rule in RULES for hint in rule.hints]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.kind}-{rule.hints[0]}")
def test_no_text_makes_a_rule_slow(rule) -> None:
    pattern = re.compile(rule.pattern)
    for hint in rule.hints[:3]:
        for tail in ("", "a", "-", "_", "A1", "a" * 50, " ", "=", ".", ": a1", "\n"):
            for text in (
                (hint + tail) * (100_000 // len(hint + tail)),
                hint + (tail or "a") * (100_000 // len(tail or "a")),
            ):
                start = time.process_time()
                for _ in pattern.finditer(text):
                    pass
                assert time.process_time() - start < 0.5, f"{text[:30]!r}…"


@pytest.mark.parametrize(
    "piece",
    ["://a:b@", "eyJaaaaaaaa.", "-eyJ", "-----BEGIN PRIVATE KEY-----\naaaaaaaaaaaaaaaa\n", "password: a1", "key ", "A"],
)
def test_a_megabyte_of_anything_takes_a_moment(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    find(text)
    assert time.process_time() - start < 2


def test_many_are_told_in_time_by_the_length() -> None:
    text = "\n".join(f"ghp_{made(36, ALNUM, str(number))}" for number in range(5000))
    start = time.process_time()
    assert [item.line for item in find(text)] == list(range(1, 5001))
    assert time.process_time() - start < 2


def test_a_hundred_kilobytes_of_prose_take_little() -> None:
    text = "\n".join(NEGATIVES) * 20
    start = time.process_time()
    find(text[:100_000])
    assert time.process_time() - start < 0.5


def test_a_usual_note_takes_less_than_its_summary() -> None:
    data = ("---\ntitle: A\n---\n\n# A\n\n" + "The boathouse costs 895 kr a day, from May to October.\n" * 30).encode()

    def spent(work) -> float:
        start = time.process_time()
        for _ in range(200):
            work()
        return time.process_time() - start

    find_in(data)
    assert min(spent(lambda: find_in(data)) for _ in range(3)) < min(
        spent(lambda: summarise("memory/a.md", data, len(data))) for _ in range(3)
    )
