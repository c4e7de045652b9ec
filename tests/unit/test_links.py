"""Links: found where CommonMark and editors see them, rewritten each in its own line."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.notes.links import broken, find, known_names, leads_to, relative, resolve, rewrite, targets
from bonsai.notes.prose import lines
from bonsai.notes.summary import summarise

HERE = "memory/domains/general/n.md"
THERE = "memory/domains/business/n.md"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](b.md)", ["b.md"]),
        ("![a](img/b.png)", ["img/b.png"]),
        ("[![a](b.png)](c.md)", ["b.png", "c.md"]),
        ("[a](b.md \"title\") [c](d.md 't')", ["b.md", "d.md"]),
        ("[a](<b c.md>) [d](<e.md> 't')", ["b c.md", "e.md"]),
        ("[a](b%20c.md#frag)", ["b%20c.md#frag"]),
        ("[a](b(1).md)", ["b(1).md"]),
        ("[a](b\\).md)", ["b\\).md"]),
        ("[a over\ntwo lines](b.md)", ["b.md"]),
        ("[a]: b.md\n[c]: <d e.md> 'title'\n", ["b.md", "d e.md"]),
        ("[^1]: a footnote\n[note]: some words of prose", []),
        ("[[a]] [[b|alias]] ![[c.png]] [[d#frag]] [[e/f]]", ["[[a]]", "[[b]]", "[[c.png]]", "[[d#frag]]", "[[e/f]]"]),
        ("| [[a\\|b]] |", ["[[a]]"]),
        ("[[ -f x ]] [[#here]] [[]]", []),
        ("[a](https://x.org/a.md) <https://x/b.md> [m](mailto:a@b) [f](#f) [p](//x/y)", []),
        ("`[a](b.md)` ``x ` [c](d.md)`` [e](f.md)", ["f.md"]),
        ("a ` alone [b](c.md)", ["c.md"]),
        ("```\n[a](b.md)\n```\n[c](d.md)", ["d.md"]),
        ("text\n\n    [a](b.md)\n\n[c](d.md)", ["d.md"]),
        ("- item\n\n    [a](b.md)", ["b.md"]),
        ("<!-- [a](b.md) --> [c](d.md)", ["d.md"]),
        ("<!--\n[a](b.md)\n--> [c](d.md)", ["d.md"]),
        ("1 <!-- 2 [a](b.md)", ["b.md"]),
        ("a\n<!-- never closed\n[a](b.md)", []),
        ("[a](b c) [a]( ) [a]() \\[a\\](b.md)", []),
        ("[a]: b](c.md)\n[a]([[b]])", ["b](c.md)", "[[b]]"]),
        ("no links", []),
    ],
)
def test_what_is_a_link(text: str, found: list[str]):
    assert list(targets(text)) == found


@settings(max_examples=1000)
@given(st.text(alphabet="ab[]()<>!`\\ \n\r|#./\"'-:", max_size=60))
def test_a_link_stands_where_it_says(text: str):
    rows, found = lines(text), find(text)
    for link in found:
        assert rows[link.line][link.start : link.end] == link.target != ""
    for one, two in pairwise(found):
        assert one.line < two.line or one.end <= two.start


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("o.md", "memory/domains/general/o.md"),
        ("./o.md#h", "memory/domains/general/o.md"),
        ("../x/o.md", "memory/domains/x/o.md"),
        ("../../../MEMORY.md", "MEMORY.md"),
        ("/memory/o.md", "memory/o.md"),
        ("my%20note.md", "memory/domains/general/my note.md"),
        ("a\\(b.md", "memory/domains/general/a(b.md"),
        ("../../../../etc/passwd", None),
        ("/../x", None),
        ("%2e%2e/%2e%2e/%2e%2e/%2e%2e/x", None),
        ("a%00b", None),
        ("#only", None),
        ("", None),
        ("/", None),
    ],
)
def test_where_a_target_leads(target: str, path: str | None):
    assert resolve(HERE, target) == path


def test_a_moved_note_takes_its_relative_links_along():
    text = (
        b"![f](img/face.gif) and [other](./o.md#h) [abs](/memory/domains/general/o.md) <https://example.com/a.md>\n"
        b"```\n[code](img/face.gif)\n```\n[ref]: o.md 'T'\n[me](n.md) [sp](<a b.md>) [pc](a%20b.md) \xff\r\n"
    )
    assert rewrite(text, HERE, THERE, {HERE: THERE}) == (
        b"![f](../general/img/face.gif) and [other](../general/o.md#h) [abs](/memory/domains/general/o.md) "
        b"<https://example.com/a.md>\n```\n[code](img/face.gif)\n```\n[ref]: ../general/o.md 'T'\n"
        b"[me](n.md) [sp](<../general/a b.md>) [pc](../general/a%20b.md) \xff\r\n"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[n](n.md)", "[n](../business/n.md)"),
        ("[n](./n.md#a 'b')", "[n](../business/n.md#a 'b')"),
        ("[n](n)", "[n](../business/n)"),
        ("[n](/memory/domains/general/n.md)", "[n](/memory/domains/business/n.md)"),
        ("[n]: n.md", "[n]: ../business/n.md"),
        ("[[n]] [[n|x]]", "[[n]] [[n|x]]"),
        ("[[general/n]]", "[[business/n]]"),
        ("![[domains/general/n.md#h|x]]", "![[domains/business/n.md#h|x]]"),
        ("[o](o.md) [[general/o]] `[n](n.md)`", "[o](o.md) [[general/o]] `[n](n.md)`"),
    ],
)
def test_links_to_a_moved_note_follow_it(old: str, new: str):
    back = "memory/domains/general/back.md"
    assert rewrite(old.encode(), back, back, {HERE: THERE}).decode() == new


def test_names_that_markdown_would_break_are_encoded():
    back, to = "memory/domains/general/b.md", "memory/domains/a b (c)/n.md"
    assert rewrite(b"[n](n.md) [m](<n.md>)", back, back, {HERE: to}) == (
        b"[n](../a%20b%20%28c%29/n.md) [m](<../a b (c)/n.md>)"
    )


def test_what_was_percent_encoded_stays_so():
    old = "[c](caf%C3%A9%20x.md#a%20b) [d](d%2Ee.md)"
    new = "[c](../general/caf%C3%A9%20x.md#a%20b) [d](../general/d%2Ee.md)"
    assert rewrite(old.encode(), HERE, THERE, {HERE: THERE}).decode() == new


def test_a_composed_link_finds_a_decomposed_name():
    back, old, new = "memory/a.md", "memory/cafe\u0301.md", "memory/x/cafe\u0301.md"
    assert rewrite("[c](caf\u00e9.md)".encode(), back, back, {old: new}) == "[c](x/cafe\u0301.md)".encode()


NAME = st.text(alphabet="ab é()%#<>'\"\\&?", min_size=1, max_size=6).filter(lambda name: name.strip() == name)


@settings(max_examples=500)
@given(NAME, NAME, st.booleans())
def test_a_rewritten_link_leads_to_the_new_place(folder: str, name: str, angles: bool):
    source, new = "memory/domains/s/b.md", f"memory/domains/{folder}/{name}.md"
    text = b"[a](<n.md>)" if angles else b"[a](n.md)"
    after = rewrite(text, source, source, {"memory/domains/s/n.md": new}).decode()
    (link,) = find(after)
    assert resolve(source, link.target) == new


@settings(max_examples=500)
@given(st.binary(max_size=100) | st.text(alphabet="ab[]()/.md#|<>!` \n", max_size=80).map(str.encode))
def test_nothing_moved_is_nothing_changed(data: bytes):
    assert rewrite(data, HERE, HERE, {}) == data
    assert rewrite(data, HERE, HERE, {"memory/z.md": "memory/y/z.md"}) == data or b"/" in data


def test_relative():
    assert relative("memory/a.md", "memory/b.md") == "b.md"
    assert relative("MEMORY.md", "memory/b.md") == "memory/b.md"
    assert relative("memory/x/y/a.md", "memory/b.md") == "../../b.md"
    assert relative("memory/x/a.md", "memory/x") == "../x"


def test_broken_links():
    text = (
        "[limits](router-limitations.md) [[never-written]] [p](present-note.md) [[Present Note]] "
        "[[general/present-note]] [code](../../../src/x.py) [out](../../../../../x) [[general/gone]] "
        "[dir](../other/) [noend](present-note) [[pic.png]] [img](img/pic.png) [lost](img/lost.png)"
    )
    paths = {"memory/domains/general/present-note.md", "memory/domains/general/img/pic.png"}
    summary = summarise("memory/domains/general/present-note.md", b"# Present note\n", 15)
    names = known_names(paths, [summary])
    assert broken("memory/domains/general/a.md", targets(text), paths, names) == [
        "router-limitations.md", "[[never-written]]", "[[general/gone]]", "img/lost.png"
    ]  # fmt: skip
    assert broken("MEMORY.md", targets("[Gone](memory/domains/general/gone.md)"), paths, names) != []


def test_an_archived_note_is_no_name_to_link_to():
    assert known_names(["memory/a__DELETE.md", "memory/B.md"], []) == {"b", "b.md"}


def test_which_links_a_move_has_to_look_at():
    assert leads_to("memory/domains/general/b.md", "n.md", {HERE})
    assert leads_to("memory/x.md", "[[general/n]]", {HERE})
    assert not leads_to("memory/x.md", "[[n]]", {HERE})
    assert not leads_to("memory/x.md", "o.md", {HERE})
