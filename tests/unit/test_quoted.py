"""What is code, a quotation, a link, a comment or math keeps its words; what stands beside it does not."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bonsai.notes.dates import absolute, find
from bonsai.notes.quoted import masked

WEDNESDAY = date(2026, 3, 18)
HELD = [  # `yesterday` in each is nobody's own words
    "run `git log\n--since yesterday` now",
    "run ``a ` b\nyesterday`` now",
    "- run `since\n  yesterday` now",
    "- one\n  ```\n  yesterday\n  ```",
    "1. one\n\n   ~~~sh\n   yesterday\n\n   yesterday\n   ~~~",
    "> - a\n>   ```\n>   yesterday\n>   ```",
    "> quoted\nyesterday, as its paragraph goes on",
    "- said:\n  > it broke yesterday",
    "- a\n\n      yesterday",
    "<div>\nyesterday\n</div>",
    "<pre>\n\nyesterday\n</pre>",
    "<details>\nyesterday\n</details>",
    "see <code>since\nyesterday</code>",
    "see <kbd>yesterday</kbd> and <q>it broke yesterday</q>",
    'see <a title="yesterday"\nhref=x>this</a>',
    "<!-- since\n\nyesterday -->",
    "text <!-- since\nyesterday --> text",
    "| a | b |\n|---|---|\n| ` | `yesterday` |",
    "| since `yesterday` | b |\n|---|---|",
    'he said "it broke\nyesterday" again',
    "$$\ny_{yesterday}\n\nyesterday\n$$",
    "where $x_{yesterday}$ is \\(yesterday\\) and \\[\nyesterday\n\\]",
    "%%\nyesterday\n\nyesterday\n%%",
    "{{ date:yesterday }} {% if yesterday %}",
    "a [note][yesterday], [yesterday][], [^yesterday]\n\n[yesterday]: /x",
    '[ref]: /x "since yesterday"',
    "---\ntitle: yesterday\n---\ntext",
    "---\ntitle: [yesterday\n---\ntext",
]
OWN = [  # here it is
    "a ` lone backtick, yesterday",
    "an escaped \\` backtick yesterday \\`",
    "it cost $5 yesterday and $6 before",
    "a < b yesterday > c",
    "# Yesterday",
    "A heading yesterday\n===",
    "| a | yesterday |\n|---|---|",
    "- item\n\n  yesterday in its second paragraph",
    "a paragraph\n    that began yesterday",
    "`code\n\n yesterday` is no code, for there is an empty line",
    "> quoted\n\nyesterday",
    "<b>yesterday</b> it broke",
    "100%% done yesterday",
    "$$ is a lot of money, yesterday",
]
PIECES = [
    *(
        "yesterday",
        "next Friday",
        "昨天",
        "x",
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "    ",
        "\t",
        "> ",
        "- ",
        "1. ",
        "# ",
        "---\n",
    ),
    *(
        "`",
        "``",
        "```\n",
        "```",
        "~~~\n",
        "\\",
        "|",
        "|--|--|\n",
        "| a |",
        "$",
        "$$",
        "[",
        "]",
        "(",
        ")",
        "]: /u ",
        "'",
    ),
    *("<b>", "</b>", "<div>\n", "<code>", "</code>", "<pre>\n", "</pre>\n", '<a b="', '">', "<", "<!-- x", "<http://"),
]


def _held(text: str) -> list[tuple[str, str]]:
    """What the parser itself takes for code, HTML, a quote or the target of a link."""
    found, quotes = [], 0
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(block.type, 0)
        if block.type in ("fence", "code_block", "html_block") or (quotes and block.type == "inline"):
            found.append((block.type, block.info + block.content))
        for item in block.children or []:
            if item.type in ("code_inline", "html_inline"):
                found.append((item.type, item.content))
            elif item.type in ("link_open", "image"):
                found.append((item.type, str(item.attrs.get("href", item.attrs.get("src")))))
    return found


@pytest.mark.parametrize("text", HELD)
def test_what_is_quoted_keeps_its_words(text: str) -> None:
    assert find(text, WEDNESDAY) == []
    assert len(find(f"{text}\n\nAnd yesterday it worked.\n", WEDNESDAY)) == 1  # so it was looked at


@pytest.mark.parametrize("text", OWN)
def test_what_is_not_quoted_does_not(text: str) -> None:
    assert len(find(text, WEDNESDAY)) == 1


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map(lambda pieces: "a" + "".join(pieces)))
def test_nothing_changes_inside_code(text: str) -> None:
    assert _held(absolute(text, WEDNESDAY)[0]) == _held(text)


@given(st.lists(st.sampled_from([*PIECES, "\0", "\udcff", "\f", "\u2028"]), max_size=30).map("".join))
def test_places_and_line_ends_stay(text: str) -> None:
    own = masked(text)
    assert len(own) == len(text)
    assert all(mine in (theirs, "\0") for mine, theirs in zip(own, text, strict=True))
    assert [char for char in own if char in "\r\n"] == [char for char in text if char in "\r\n"]


def test_a_phrase_behind_bytes_that_are_no_utf8_stands_where_it_says() -> None:
    text = b"---\ntitle: \xff\xfe yesterday\n---\n\xff yesterday\n".decode("utf-8", "surrogateescape")
    [phrase] = find(text, WEDNESDAY)
    assert (phrase.line, text[phrase.start : phrase.end]) == (4, "yesterday")
