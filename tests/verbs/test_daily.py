"""Daily notes: one file a local day, where it already stands; appended to, never rewritten."""

import pytest

from bonsai.errors import BadData, NotFound, Refused, Usage
from verbs.sandbox import Sandbox

TODAY = "memory/daily/2026-03-15.md"
LOOSE = "memory/2026-03-15.md"


def test_the_first_entry_makes_the_note(box: Sandbox) -> None:
    before = box.count()
    report = box.ws.daily_add("Called the plumber.")
    assert (report.path, report.text) == (TODAY, "# 2026-03-15\n\n- Called the plumber.\n")
    assert box.read(TODAY) == report.text.encode()
    assert report.commit == box.head()
    assert box.count() == before + 1
    assert box.last()[0].op == "daily"
    box.assert_clean()


def test_the_second_goes_below(box: Sandbox) -> None:
    box.ws.daily_add("One.")
    box.ws.daily_add("Two\nand more.")
    assert box.read(TODAY) == b"# 2026-03-15\n\n- One.\n- Two\n  and more.\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"# Day\r\n\r\n- a\r\n", b"# Day\r\n\r\n- a\r\n- b\r\n"),
        (b"no end", b"no end\n- b\n"),
        (b"", b"- b\n"),
        (b"\xef\xbb\xbf# Day\n", b"\xef\xbb\xbf# Day\n- b\n"),
        (b"caf\xe9\n", b"caf\xe9\n- b\n"),
        (b"---\na: [\n---\n", b"---\na: [\n---\n- b\n"),
    ],
)
def test_what_is_there_stays_byte_for_byte(box: Sandbox, old: bytes, new: bytes) -> None:
    box.write(LOOSE, old)
    box.ws.daily_add("b")
    assert box.read(LOOSE) == new
    assert box.committed(LOOSE, "HEAD~1") == old


def test_it_stays_where_the_day_already_stands(box: Sandbox) -> None:
    box.write(LOOSE, "- by OpenClaw\n")
    assert box.ws.daily_add("b").path == LOOSE
    assert not box.has(TODAY)
    assert box.ws.daily_show().text == "- by OpenClaw\n- b\n"


def test_a_utf16_note_is_not_spoilt(box: Sandbox) -> None:
    box.write(LOOSE, "Text\n".encode("utf-16"))
    with pytest.raises(BadData):
        box.ws.daily_add("b")
    assert box.read(LOOSE) == "Text\n".encode("utf-16")


@pytest.mark.parametrize(
    ("zone", "now", "day"),
    [
        ("Pacific/Auckland", "2026-03-15T12:30:00Z", "2026-03-16"),
        ("America/Los_Angeles", "2026-03-15T06:59:00Z", "2026-03-14"),
        ("UTC", "2026-03-15T23:59:59Z", "2026-03-15"),
        ("Asia/Kathmandu", "2026-03-15T18:15:00Z", "2026-03-16"),
        ("Europe/Berlin", "2026-03-29T22:30:00Z", "2026-03-30"),
        ("Pacific/Kiritimati", "2026-12-31T10:00:00Z", "2027-01-01"),
        ("UTC", "2026-03-15T23:00:00-03:00", "2026-03-16"),
    ],
)
def test_the_day_is_the_local_one(
    box: Sandbox, at, monkeypatch: pytest.MonkeyPatch, zone: str, now: str, day: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    at(now)
    report = box.ws.daily_add("x")
    assert report.path == f"memory/daily/{day}.md"
    assert report.text.startswith(f"# {day}\n")
    assert box.ws.daily_show().path == report.path
    assert box.ws.daily_show(day).text == report.text


def test_what_is_no_entry_and_no_day(box: Sandbox) -> None:
    for text in ("", "  ", "\n\r\n"):
        with pytest.raises(Usage):
            box.ws.daily_add(text)
    for day in ("yesterday", "2026-02-30", "2026-3-1", "../../etc/passwd", "20260315", "2026-W11-1", ""):
        if day:
            with pytest.raises(BadData):
                box.ws.daily_show(day)
    with pytest.raises(NotFound):
        box.ws.daily_show("2020-01-01")
    assert not box.has("memory/daily")


def test_a_daily_note_that_is_held_is_not_touched(box: Sandbox) -> None:
    held = b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
    box.write(TODAY, held)
    with pytest.raises(Refused):
        box.ws.daily_add("x")
    assert box.read(TODAY) == held


def test_daily_notes_count_in_the_root_index(box: Sandbox) -> None:
    box.ws.daily_add("x")
    box.write("memory/2026-03-14.md", "x\n")
    box.ws.commit()
    assert b"### Daily Logs (2 files in memory/daily/)" in box.read("memory/_index.md")
    assert box.ws.status().notes == 0


def test_an_entry_of_any_text(box: Sandbox) -> None:
    for text in ("# Not a heading?", "- a bullet", "<!-- bonsai:begin -->", "caf\udce9", "日記", "```", "a\tb"):
        box.ws.daily_add(text)
        assert text.encode("utf-8", "surrogateescape") in box.read(TODAY)
    box.assert_clean()
