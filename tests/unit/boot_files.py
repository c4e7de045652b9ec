"""Boot files for property tests: every construct that has ever misled a splitter, in any order."""

from hypothesis import strategies as st

LINES = [
    *("# Memory", "# Tasks", "# Chapter Two", "## User", "## API quirks", "## Meeting notes", "## meeting   Notes!"),
    *("## Tasks", "## Birthdays", "### Sub", "### Sub <!-- optional -->", "## Reference <!-- links -->", "##", "#"),
    *("## 🔐", "## 家庭", "## CON", "## ../../x", "## " + "long " * 20, "##\ttab ##", "##no", "  ## in", "    ## code"),
    *(
        "Pets",
        "----",
        "===",
        "---",
        "text",
        "- item",
        "- ## in a list",
        "> ## in a quote",
        "  more",
        "> quote",
        "1. one",
    ),
    *("```", "```sh", "~~~", "- ```", "  ```", "> ```", "<!--", "-->", "<!-- note -->", "<div>", "</div>", "<pre>"),
    *("", "", "", " ", "\t", "\f", "a\u2028b", "\u2028## x", "\x0c## y", "nul \0 x", "a: 1", "title: b: c", "[x]: y"),
]
_line = st.sampled_from([line.encode() for line in LINES]) | st.binary(max_size=6)
_end = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r"])


def _joined(parts: tuple[bytes, list[tuple[bytes, bytes]], bytes]) -> bytes:
    top, rows, tail = parts
    return top + b"".join(line + end for line, end in rows) + tail


def boot_files() -> st.SearchStrategy[bytes]:
    """Files with the line ends mixed; some with a BOM or frontmatter, some without a final newline."""
    top = st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b"---\na: 1\n---\n", b"\xef\xbb\xbf---\r\n---\r\n"])
    rows = st.lists(st.tuples(_line, _end), max_size=20)
    return st.tuples(top, rows, st.sampled_from([b"", b"last", b"## Last"])).map(_joined)
