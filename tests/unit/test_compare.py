"""Two versions of a text: git takes the diff, and no text takes long."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai.notes import compare

LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"d\r", b"\xff"]), max_size=12).map(b"\n".join)
MANY = 40_000


@given(LINES, LINES)
def test_the_lines_that_stayed_are_equal_and_in_order(one: bytes, two: bytes) -> None:
    old, new = compare.split(one), compare.split(two)
    known = compare.stayed(old, new)
    assert all(old[here] == new[there] for there, here in known.items())
    in_order = [known[there] for there in sorted(known)]
    assert in_order == sorted(set(in_order))


@given(LINES, LINES)
def test_the_changes_make_the_new_text_of_the_old(one: bytes, two: bytes) -> None:
    old, new = compare.split(one), compare.split(two)
    made, at = [], 0
    for change in compare.changes(old, new):
        made += [*old[at : change.first], *new[change.start : change.end]]
        at = change.last
    assert b"".join([*made, *old[at:]]) == two


def test_git_applies_the_diff(tmp_path: Path) -> None:
    draw = random.Random(3)
    for _ in range(40):
        rows = [draw.choice(["a", "b", "", "ü", "long line"]) for _ in range(draw.randint(1, 40))]
        other = [row for row in rows if draw.random() > 0.2]
        for _ in range(draw.randint(0, 4)):
            other.insert(draw.randint(0, len(other)), draw.choice(["x", "y", "a"]))
        old, new = "\n".join(rows).encode(), "\n".join(other).encode()
        if not old or old == new:
            continue
        (tmp_path / "n.md").write_bytes(old)
        patch = compare.unified(old, new, "n.md", "n.md" if new else "")
        done = subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, (patch, done.stderr)
        assert ((tmp_path / "n.md").read_bytes() if os.path.exists(tmp_path / "n.md") else b"") == new


def test_what_it_looks_like() -> None:
    old, new = b"one\ntwo\nthree\n", b"one\n2\nthree"
    assert compare.unified(old, new, "a.md", "b.md") == (
        "--- a/a.md\n+++ b/b.md\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+three\n\\ No newline at end of file\n"
    )
    assert compare.unified(b"", b"x\n", "", "n.md") == "--- /dev/null\n+++ b/n.md\n@@ -0,0 +1,1 @@\n+x\n"
    assert compare.unified(old, old, "a.md", "b.md") == ""
    assert compare.unified(b"\0", b"x", "a", "a") == "Binary files a/a and b/a differ\n"
    assert "\udcff" in compare.unified(b"\xff\n", b"", "a", "")


def test_far_changes_stand_in_hunks_of_their_own() -> None:
    rows = [b"%d\n" % number for number in range(40)]
    other = [*rows[:5], b"x\n", *rows[6:30], *rows[31:]]
    assert compare.unified(b"".join(rows), b"".join(other), "a", "a").count("@@ -") == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([b"%d\n" % at for at in range(MANY)], [b"%d\n" % at if at % 2 else b"x\n" for at in range(MANY)]),
        ([b"%d\n" % (at % 99) for at in range(MANY)], [b"%d\n" % (at % 98) for at in range(MANY)]),
        ([b"%d\n" % at for at in range(MANY)], [b"%d\n" % -at for at in range(MANY)]),
        ([b"%d\n" % at for at in range(MANY)], [b"%d\n" % at for at in reversed(range(MANY))]),
        ([b"a\n", b"b\n"] * MANY, [b"b\n", b"a\n", b"a\n"] * MANY),
    ],
    ids=["every second line", "few lines", "nothing in common", "backwards", "two lines"],
)
def test_no_text_takes_long(old: list[bytes], new: list[bytes]) -> None:
    began = time.process_time()
    compare.changes(old, new)
    assert time.process_time() - began < 3
