"""Frontmatter and headings: nothing is lost, one key is one line, hostile YAML is refused at once."""

import time
import tracemalloc

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bonsai.errors import BadData
from bonsai.notes.note import Note, can_splice, headings, parse, set_fields
from bonsai.notes.prose import conflict_line, conflicted, lines, prose_lines

# -- parse -----------------------------------------------------------------------------------------------


def test_scalars_stay_as_they_are_written():
    note = parse(b"---\na: 2026\nb: 12:30\nc: 007\nd: true\ne: 1.10\nf: 2026-03-04\ng: 'it''s'\nh: on\n---\nx")
    assert note.fields == {
        "a": "2026", "b": "12:30", "c": "007", "d": "true", "e": "1.10", "f": "2026-03-04", "g": "it's", "h": "on"
    }  # fmt: skip


def test_nothing_is_none_and_the_empty_text_is_text():
    assert parse(b"---\na:\nb: ~\nc: null\nd: ''\ne: '~'\n---\n").fields == {
        "a": None, "b": None, "c": None, "d": "", "e": "~"
    }  # fmt: skip


def test_lists_and_mappings():
    note = parse(b"---\ntags: [a, 1]\nmetadata:\n  type: user\n  deep: {x: [y]}\n---\n")
    assert note.fields == {"tags": ["a", "1"], "metadata": {"type": "user", "deep": {"x": ["y"]}}}


@pytest.mark.parametrize(
    ("data", "block", "body"),
    [
        (b"---\na: b\n---\nbody", (0, 13), b"body"),
        (b"---\r\na: b\r\n---\r\nbody", (0, 16), b"body"),
        (b"\xef\xbb\xbf---\na: b\n---\nbody", (3, 16), b"body"),
        (b"--- \t\na: b\n---  \nbody", (0, 17), b"body"),
        (b"---\na: b\n---", (0, 12), b""),
        (b"---\n---\nbody", (0, 8), b"body"),
        (b"---\n# only a comment\n---\nbody", (0, 25), b"body"),
        (b"---\na: b\nno end", None, b"---\na: b\nno end"),
        (b"\n---\na: b\n---\n", None, b"\n---\na: b\n---\n"),
        (b"---- \na: b\n---\n", None, b"---- \na: b\n---\n"),
        (b"---", None, b"---"),
        (b"", None, b""),
        (b"\xef\xbb\xbfbody", None, b"body"),
    ],
)
def test_where_the_block_ends(data: bytes, block: tuple[int, int] | None, body: bytes):
    note = parse(data)
    assert (note.block, note.data[note.body_start :], note.fault) == (block, body, None)


@pytest.mark.parametrize(
    ("data", "code", "severity"),
    [
        (b"---\n\nFirst block about invoices.\n\n---\n\nSecond.\n", "bad-frontmatter", "info"),
        (b"---\ntitle: a: b\n---\nx", "bad-frontmatter", "warning"),
        (b"---\npath: `C:\\tools\\agent: main`\n---\nx", "bad-frontmatter", "warning"),
        (b"---\ntags:\n\t- one\n---\nx", "bad-frontmatter", "warning"),
        (b"---\n- a\n- b\n---\nx", "bad-frontmatter", "warning"),
        (b"---\ntitle: caf\xe9\n---\nx", "bad-frontmatter", "warning"),
        (b"---\na: 1\n? [b]\n: c\n---\nx", "bad-frontmatter", "warning"),
        (b"---\na: 1\n...\n---\nx", "bad-frontmatter", "warning"),
        (b"---\n<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> x\n---\nx", "bad-frontmatter", "warning"),
        (b"---\na: 1\na: 2\n---\nx", "duplicate-key", "warning"),
        (b"---\nm: {a: 1, a: 2}\n---\nx", "duplicate-key", "warning"),
    ],
)
def test_what_is_no_plain_mapping_is_refused_with_the_reason(data: bytes, code: str, severity: str):
    note = parse(data)
    assert note.fault is not None
    assert (note.fault.code, note.fault.severity, note.fields) == (code, severity, {})
    assert ": " in note.fault.message and note.fault.message.endswith(".")
    assert not can_splice(note)
    if code == "bad-frontmatter":
        assert (note.block, note.data[note.body_start :]) == (None, data)
    with pytest.raises(BadData):
        set_fields(data, {"domain": "x"})


def test_the_message_names_the_line_of_the_file():
    fault = parse(b"---\ntitle: fine\nbad: a: b\n---\n").fault
    assert fault and "line 3" in fault.message


# -- splice ----------------------------------------------------------------------------------------------


def test_setting_a_key_leaves_order_comments_and_other_values_alone():
    old = b"---\nzeta: 1.10   # first\ndomain:   general  # where\n# note\nalpha: {b: 007}\n---\n\n\n  body \n\n"
    assert set_fields(old, {"domain": "business"}) == old.replace(b"general", b"business")


@pytest.mark.parametrize(
    "value", ["general", "'general'", '"general"', "", "~", "[a, b]", "[a,\n  b]", "\n  - a\n  - b", "\n- a",
              "|\n  t\n\n  u",
              ">-\n  folded", "plain\n  goes on", "{a: b}", '"two\n  lines"', "\n  general", "|+\n  keep\n\n"]
)  # fmt: skip
def test_every_kind_of_value_is_replaced_whole(value: str):
    old = f"---\na: 1\ndomain: {value}\nz: 2\n---\nbody".encode()
    new = set_fields(old, {"domain": "x"})
    assert parse(new).fields == {"a": "1", "domain": "x", "z": "2"}
    assert new.startswith(b"---\na: 1\ndomain:") and new.endswith(b"z: 2\n---\nbody")


def test_setting_the_value_that_is_there_changes_no_byte():
    old = b"---\ndomain: 'general' # x\n---\n"
    assert set_fields(old, {"domain": "general"}) == old


def test_a_missing_key_becomes_the_last_line_of_the_block():
    assert set_fields(b"---\r\na: b\r\n---\r\nx", {"c": "d"}) == b"---\r\na: b\r\nc: d\r\n---\r\nx"
    assert set_fields(b"---\na: b\n---", {"c": "d"}) == b"---\na: b\nc: d\n---"
    assert set_fields(b"---\n# c\n---\n", {"c": "d"}) == b"---\n# c\nc: d\n---\n"


def test_a_note_without_a_block_gets_one_with_its_own_line_ends_and_behind_its_bom():
    assert set_fields(b"\xef\xbb\xbfone\r\ntwo\n", {"a": "b"}) == b"\xef\xbb\xbf---\r\na: b\r\n---\r\none\r\ntwo\n"
    assert set_fields(b"", {"a": "b"}) == b"---\na: b\n---\n"


def test_the_block_goes_with_its_last_key_but_not_with_a_comment():
    assert set_fields(b"---\na: b\n---\nbody", {"a": None}) == b"body"
    assert set_fields(b"---\n# keep\na: b\n---\nbody", {"a": None}) == b"---\n# keep\n---\nbody"


def test_taking_the_block_away_never_makes_frontmatter_of_the_body():
    old = b"---\na: b\n---\n---\nc: d\n---\nbody"
    assert set_fields(old, {"a": None}) == b"---\n---\n---\nc: d\n---\nbody"
    assert set_fields(b"---\na: b\n---\n\xef\xbb\xbfbody", {"a": None}) == b"---\n---\n\xef\xbb\xbfbody"


@pytest.mark.parametrize(
    "data", [b"---\nno end\n", b"---\n", b"---\n{a: b}\n---\n", b"---\n? a\n: b\n---\n", b"---\n- a\n---\n"]
)
def test_no_second_block_is_put_on_top_of_what_looks_like_one(data: bytes):
    with pytest.raises(BadData):
        set_fields(data, {"domain": "x"})


@pytest.mark.parametrize(
    "value",
    ["plain", "two words", "a: b", "a #b", "#x", "- x", "[x]", "{x}", "true", "no", "NULL", "~", "", " x ", "2026",
     "1e3",
     "0x1f", "2026-03-04", "2026-03-04T10:00:00+00:00", "12:30", 'say "hi"', "back\\slash", "a\nb", "a\r\nb", "\ttab",
     "naïve café", "日本語", "😀", "\u2028", "\x85", "\ufeff", "\x7f", "\x1b[31m", "@x", "`x`", "%x", "&x", "*x", "!x",
     "|", ">", "'", "x:", "x'y", "C:\\tools", "a, b", "\u200d"],
)  # fmt: skip
def test_any_text_comes_back_as_it_was_set(value: str):
    for old in (b"body", b"---\nk: old # c\nz: 1\n---\nbody", b"---\nz: 1\n---\n"):
        assert parse(set_fields(old, {"k": value})).fields["k"] == value


def test_another_reader_of_yaml_sees_a_text_too():
    import yaml

    for value in ("2026", "true", "null", "12:30", "0o17", "1_000", ".5", "yes", "a: b # c"):
        block = set_fields(b"", {"k": value}).split(b"---\n")[1]
        assert yaml.safe_load(block) == {"k": value}


def test_a_value_that_no_utf8_can_hold_is_refused():
    with pytest.raises(BadData):
        set_fields(b"body", {"k": "\udcff"})


KEYS = ["title", "domain", "tags", "k 1", "été"]
PLAIN = st.sampled_from(["x", "Some words", "2026", "12:30", "007", "true", "a-b", "é"])


@st.composite
def entries(draw: st.DrawFn, key: str) -> str:
    """One key with its value in any of the styles that people and editors write."""
    word, other = draw(PLAIN), draw(PLAIN)
    ending = draw(st.sampled_from(["", "  ", " # why: not", "\t# c"]))
    name = draw(st.sampled_from([key, f'"{key}"', f"'{key}'", f"{key} "]))
    one_line = [word, f'"{word}: {other}"', f"'{word} # {other}'", "", "~", f"[{word}, {other}]", f"{{a: {word}}}"]
    many = [f"\n  - {word}\n  - {other}", f"\n- {word}", f"|\n  {word}\n\n  {other}", f">-\n  {word}"]
    many += [f"{word}\n  {other}", f"[{word},\n  {other}]", f'"{word}\n  {other}"', f"\n  a: {word}\n  b: {word}"]
    if draw(st.booleans()):
        return f"{name}: {draw(st.sampled_from(one_line))}{ending}\n"
    return f"{name}: {draw(st.sampled_from(many))}\n"


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[tuple[str | None, bytes]], bytes, bytes]:
    """(parts of the block as (key or None, bytes), what stands before them, what stands after them)."""
    eol = draw(st.sampled_from(["\n", "\r\n"]))
    parts: list[tuple[str | None, str]] = []
    for key in draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=4)):
        parts += draw(st.lists(st.sampled_from([(None, "# comment: x\n"), (None, "\n"), (None, "  \n")]), max_size=2))
        parts.append((key, draw(entries(key))))
    rule = st.sampled_from(["---", "--- ", "---\t"])
    before = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + (draw(rule) + eol).encode()
    body = draw(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "ignore")))
    last = (draw(rule) + eol).encode() + body
    return [(key, text.replace("\n", eol).encode()) for key, text in parts], before, last


@settings(max_examples=2000, deadline=None)
@given(documents(), st.sampled_from(KEYS), st.text(max_size=20))
def test_setting_a_key_touches_only_its_lines(
    document: tuple[list[tuple[str | None, bytes]], bytes, bytes], key: str, value: str
):
    parts, before, after = document
    data = before + b"".join(text for _, text in parts) + after
    old = parse(data)
    assert old.fault is None and can_splice(old)
    try:
        new = set_fields(data, {key: value})
    except BadData:
        assert any(0xD800 <= ord(char) < 0xE000 for char in value)
        return
    assert parse(new).fields == {**old.fields, key: value}
    place = next((at for at, (name, _) in enumerate(parts) if name == key), len(parts))
    head = before + b"".join(text for _, text in parts[:place])
    tail = b"".join(text for _, text in parts[place + 1 :]) + after
    assert new.startswith(head) and new.endswith(tail)
    changed = new[len(head) : len(new) - len(tail)]
    assert changed.count(b"\n") == 1 and changed.endswith(b"\r\n" if b"\r\n" in before else b"\n")


@settings(max_examples=2000, deadline=None)
@given(documents(), st.sampled_from(KEYS))
def test_removing_a_key_takes_only_its_lines(document: tuple[list[tuple[str | None, bytes]], bytes, bytes], key: str):
    parts, before, after = document
    data = before + b"".join(text for _, text in parts) + after
    new = set_fields(data, {key: None})
    rest = [text for name, text in parts if name != key]
    kept = before + b"".join(rest) + after
    assert key not in parse(new).fields
    body = data[parse(data).body_start :]
    if new == kept:
        return
    assert not b"".join(rest).strip() and len(rest) < len(parts)  # the block went with its last key
    assert new == data[: 3 if data.startswith(b"\xef") else 0] + body


@settings(max_examples=2000, deadline=None)
@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore")),
    st.text(max_size=30),
)
def test_adding_and_removing_gives_the_bytes_back(data: bytes, value: str):
    note = parse(data)
    assume(can_splice(note) and note.block is None)
    assume(not any(0xD800 <= ord(char) < 0xE000 for char in value))
    added = set_fields(data, {"archived": "2026-03-04", "archive_reason": value})
    assert added.endswith(data[note.body_start :])
    assert set_fields(added, {"archived": None, "archive_reason": None}) == data


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_parse_and_are_all_there(data: bytes):
    for variant in (data, b"---\n" + data, b"---\n" + data + b"\n---\n" + data):
        note = parse(variant)
        assert note.data == variant
        assert 0 <= note.body_start <= note.prose_start <= len(variant)


# -- hostile YAML ----------------------------------------------------------------------------------------

SIZE = 64 * 1024
PIECES = [
    "[", "{", "[[", "{a: ", "- ", "? ", "- - - ", "a: [", "!!python/object/apply:os.system [id] ", "!x ", "&a ", "*a ",
    "&a [*a] ", "a: &b c\n", "a:\n", "a: b\n", "- a\n", "'", '"', "|\n", ">\n", "|+\n \n", "#", "# c\n", "%YAML 9.9\n",
    "%TAG ! x\n", "...\n", "a: b: c\n", "\t", " ", "\n", "\r", "\x85", "\u2028", "a\n\n", ", ", ": ", "é", "😀", "\\",
    '"\\U0010FFFF"\n', '"\\x', "a: 'b\n", "<<: *a\n", "-\n", "?\n", "[],", "{},", "a: 1e999999\n", "a: 0b1\n",
    "a: 2026-99-99\n", "@", "`", "]", "}",
]  # fmt: skip


def _bombs() -> list[str]:
    laughs = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))
    nested = "".join(" " * depth + "a:\n" for depth in range(300))
    wide = "".join(f"k{number}: v\n" for number in range(7000))
    return [laughs, nested, wide, "k: " + "x" * SIZE, "x" * SIZE + ": y\n", "k: [" + "a, " * 20000 + "]\n"]


CORPUS = [*(piece * (SIZE // len(piece.encode())) for piece in PIECES), *_bombs()]


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_hostile_yaml_is_read_or_refused_at_once(number: int):
    text = CORPUS[number].encode()[:SIZE]
    data = b"---\n" + text + b"\n---\nbody\n"
    times = []
    for _ in range(3):
        start = time.process_time()
        note = parse(data)
        times.append(time.process_time() - start)
    assert isinstance(note, Note)
    assert min(times) < 0.05
    tracemalloc.start()
    parse(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 2**20


def test_the_corpus_is_large_enough():
    assert len(CORPUS) >= 40


@pytest.mark.parametrize(
    "block",
    ["a: !!python/object/apply:os.getcwd []", "a: &x 1\nb: *x", "!!map {a: b}", "a: !secret x", "<<: {a: b}\n<<: c"],
)
def test_nothing_is_built_or_followed(block: str):
    assert parse(f"---\n{block}\n---\n".encode()).fault is not None


def test_a_block_of_more_than_64_kib_is_refused():
    assert parse(b"---\nk: " + b"x" * SIZE + b"\n---\n").fault is not None
    assert parse(b"---\nk: " + b"x" * (SIZE - 10) + b"\n---\n").fault is None


# -- lines, headings, conflicts --------------------------------------------------------------------------


def test_lines_split_where_markdown_does():
    text = "a\rb\r\nc\x0cd\u2028e\x85f\x0bg\nend"
    assert lines(text) == ["a\r", "b\r\n", "c\x0cd\u2028e\x85f\x0bg\n", "end"]
    assert lines("") == []


@settings(max_examples=500, deadline=None)
@given(st.text(alphabet="ab# -=>\n\r\x0c\u2028`\x00\udc80", max_size=80))
def test_line_numbers_of_headings_are_those_of_lines(text: str):
    rows = lines(text)
    assert "".join(rows) == text
    for heading in headings(text):
        assert 0 <= heading.line < heading.end <= len(rows)
        if heading.end == heading.line + 1:
            assert rows[heading.line].lstrip(" ").startswith("#")
        else:
            assert rows[heading.end - 1].strip(" \t\r\n")[0] in "=-"


def test_headings_are_those_of_commonmark():
    text = (
        "# One #\n\nTwo\n===\n\nThree\nover two lines\n---\n```\n# fenced\n```\n- ## in a list\n> # quoted\n"
        "<!--\n# hidden\n-->\n    # code\n\n#no space\n###### Six\n##\n"
    )
    assert [(item.level, item.line, item.end, item.text) for item in headings(text)] == [
        (1, 0, 1, "One"), (1, 2, 4, "Two"), (2, 5, 8, "Three\nover two lines"), (6, 19, 20, "Six"), (2, 20, 21, "")
    ]  # fmt: skip


def test_a_text_without_any_heading():
    assert headings("") == headings("- a\n- b\n") == headings("plain\n") == []


CONFLICT = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> side\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (CONFLICT, 0),
        ("text\r\n" + CONFLICT.replace("\n", "\r\n"), 1),
        ("<<<<<<< HEAD\n```sh\nx\n=======\ny\n>>>>>>> side\n", 0),
        ("<<<<<<< HEAD\na\n||||||| base\nb\n=======\nc\n>>>>>>> side\n", 0),
        ("<<<<<<<\n=======\n>>>>>>>", 0),
        ("```\n" + CONFLICT + "```\n", None),
        ("Title\n=======\n", None),
        ("> <<<<<<< HEAD\n=======\n>>>>>>> x\n", None),
        ("<<<<<<< HEAD\n", None),
        (">>>>>>> x\n=======\n<<<<<<< HEAD\n", None),
        ("<<<<<<<<< nine\n=======\n>>>>>>>>> nine\n", None),
        ("about <<<<<<< and ======= and >>>>>>>\n", None),
    ],
)
def test_conflict_markers(text: str, line: int | None):
    assert conflict_line(text) == line
    assert conflicted(text) is (line is not None)


def test_prose_is_what_is_no_code():
    text = (
        "a\n```\nb\n~~~\n```\nc\n\n    code\n\nd\n    lazy\n- item\n\n      in the item\n\n  ```\n  e\n  ```\n"
        "~~~~\nf\n~~~\n~~~~\n`` ` ``\n``` a`b\ng\n"
    )
    said = [row.strip() for _, row in prose_lines(text) if row.strip()]
    assert said == ["a", "c", "d", "lazy", "- item", "in the item", "`` ` ``", "``` a`b", "g"]
