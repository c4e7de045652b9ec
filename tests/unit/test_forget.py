"""What is forgotten leaves no byte in other files, and nothing else is touched."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.errors import Usage
from bonsai.notes import forget
from bonsai.notes.forget import Forget, of_note, of_text
from bonsai.notes.seek import Seeker

WIFI = "memory/domains/general/wifi.md"
TEXT = b"## Wifi\n\nPIN 4711\n- the router stands in the hall\n"


def note(data: bytes = TEXT, rest: bytes = b"# Other\n\nnothing\n") -> Forget:
    return of_note([WIFI], [], [(WIFI, data)], rest)[0]


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=40), st.binary(max_size=400), st.data())
def test_a_seeker_finds_what_stands_in_the_bytes(texts: list[bytes], data: bytes, choose: st.DataObject) -> None:
    if texts:
        place = choose.draw(st.integers(0, len(data)))
        data = data[:place] + choose.draw(st.sampled_from(texts)) + data[place:]
    assert Seeker(texts).found(data) == {text for text in texts if text in data}


def test_a_section_goes_from_the_boot_file_short_lines_too() -> None:
    boot = b"# Mine\n\n## Wifi\n\nPIN 4711\n- the router stands in the hall\n\n## Next\n\nPIN 4711 no\n"
    assert note().scrub("MEMORY.md", boot) == b"# Mine\n\n[erased]\n\n## Next\n\nPIN 4711 no\n"


def test_an_index_says_nothing_of_the_note_and_all_of_others() -> None:
    index = b"# General Index\n_x_\n\n### wifi.md (~10 tokens)\nPIN 4711\n\n### x.md (~3 tokens)\nhello\n"
    assert note().scrub("memory/domains/general/_index.md", index) == (
        b"# General Index\n_x_\n\n### x.md (~3 tokens)\nhello\n"
    )
    root = b"# Memory Index\n\n### General (~13 tokens)\nwifi.md: PIN 4711\n_Also: x.md_\n"
    assert b"4711" not in note().scrub("memory/_index.md", root)


def test_lines_of_notes_that_stay_stay_everywhere() -> None:
    found, shared = of_note([WIFI], [], [(WIFI, TEXT)], b"- the router stands in the hall\n")
    assert shared == 1
    assert not found.found(b"- the router stands in the hall")


def test_what_bonsai_writes_itself_is_no_content() -> None:
    found = note(b"---\ncreated: 2026-01-02T10:00:00Z\ndomain: general/home\n---\n\nThe key is blue-heron\n")
    other = b"---\ncreated: 2026-01-02T10:00:00Z\ndomain: general/home\n---\n\nOther\n"
    assert found.scrub("memory/domains/general/o.md", other) == other


@pytest.mark.parametrize("text", ["erased", "]the end", "[erased", "the [", "sed]", "a[erased]b", "**stars**"])
def test_the_mark_makes_no_text_anew(text: str) -> None:
    found = of_text(text)
    for around in (text, text * 3, f"[{text}]", f"x{text}y", f"{text[1:]}{text}{text[:-1]}"):
        left = found.text_of(found.text_of(around.encode()))
        assert text.encode() not in left


@pytest.mark.parametrize("text", ["", "abc", "a b c", "\n\n\n\n\n"])
def test_a_text_that_is_too_short_is_refused(text: str) -> None:
    with pytest.raises(Usage):
        of_text(text)


@settings(max_examples=30)
@given(st.text(min_size=8, max_size=40).filter(lambda text: len("".join(text.split())) >= forget.SHORTEST))
def test_a_text_leaves_nothing_in_any_form(text: str) -> None:
    data = text.encode("utf-8", "surrogateescape") if text.isprintable() else b""
    found = of_text(text)
    for form in (data, json.dumps(text).encode(), json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")):
        assert not found.found(found.text_of(b"before " + form + b" after"))


def test_what_is_forgotten_survives_a_kill_as_json() -> None:
    for found in (note(), of_text("Zürich 9000")):
        assert Forget.from_json(json.loads(json.dumps(found.to_json()))) == found
