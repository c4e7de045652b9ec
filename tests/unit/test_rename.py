"""Notes that get another name: bytes change in the lines of one key, links follow, no name is ever taken twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai.errors import BadData, CannotCreate, NotFound, Usage
from bonsai.notes.change import Row, Stat
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree, fold
from bonsai.notes.rename import domain_on_disk, put_away, relink, relocate, with_domain, without_archive_keys
from bonsai.notes.summary import summarise
from bonsai.notes.view import View

NOW = "2026-03-15T08:15:00Z"
A, B = "memory/domains/a/n.md", "memory/domains/b/n.md"
STAT = Stat(1, 1, 1, 1, 0o100644)


def tree(files: dict[str, bytes]) -> tuple[View, Draft]:
    def read(path: str) -> bytes:
        if path not in files:
            raise NotFound("no such file", path=path)
        return files[path]

    rows = {path: Row(path, STAT, "1", "1", 0, summarise(path, data, len(data))) for path, data in files.items()}
    names = {fold(path) for path in files}
    return View(rows, "head"), Draft(read, lambda path: fold(path) in names)


def test_relocate_sets_the_domain() -> None:
    view, draft = tree({A: b"---\ntitle: T\n---\nText"})
    assert relocate(view, draft, A, "B/New Things") == "memory/domains/b/new-things/n.md"
    assert draft.get("memory/domains/b/new-things/n.md") == b"---\ntitle: T\ndomain: b/new-things\n---\nText"
    assert draft.get(A) is None


@pytest.mark.parametrize(
    ("file", "domain", "error"),
    [
        ("memory/domains/a/none.md", "b", NotFound),
        ("MEMORY.md", "b", Usage),
        ("memory/domains/a/_index.md", "b", Usage),
        (A, "a", Usage),
        (A, "A", Usage),
        (A, "b", CannotCreate),
        (A, "con", BadData),
        (A, "..", BadData),
    ],
)
def test_what_cannot_be_relocated(file: str, domain: str, error: type[Exception]) -> None:
    view, draft = tree({A: b"a", "memory/domains/b/N.md": b"b", "MEMORY.md": b"m", "memory/domains/a/_index.md": b"i"})
    with pytest.raises(error):
        relocate(view, draft, file, domain)
    assert draft.plan("move", "").paths == []


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("business", "business"),
        ("legal", "Legal"),
        ("LEGAL/Past Cases", "Legal/Past Cases"),
        ("legal/past cases/x y", "Legal/Past Cases/x-y"),
        ("legal/new", "Legal/new"),
        ("new/legal", "new/legal"),
        ("old", "old"),
        ("legal/", "Legal"),
    ],
)
def test_the_folder_that_is_there_is_meant(given: str, found: str) -> None:
    view, _ = tree({"memory/domains/Legal/Past Cases/n.md": b"", "memory/domains/a.md": b"", "memory/Old/n.md": b""})
    assert domain_on_disk(view, Tree(), given) == found


def test_a_folder_of_another_tree_says_nothing() -> None:
    view, _ = tree({"memory/agents/w/domains/Legal/n.md": b""})
    assert domain_on_disk(view, Tree(), "legal") == "legal"
    assert domain_on_disk(view, Tree("w"), "legal") == "Legal"


def test_links_follow_in_their_lines_only() -> None:
    note = b"one [n](../a/n.md)\r\ntwo [[domains/a/n]] [m](m.md)\r\nthree ../a/n.md `[n](../a/n.md)`\r\n"
    view, draft = tree({A: b"[c](../c/x.md)\n", "memory/domains/c/x.md": note, "memory/domains/c/m.md": b""})
    to = relocate(view, draft, A, "deep/er")
    assert relink(view, draft, {A: to}) == ["memory/domains/c/x.md"]
    assert draft.get("memory/domains/c/x.md") == note.replace(
        b"one [n](../a/n.md)", b"one [n](../deep/er/n.md)"
    ).replace(b"[[domains/a/n]]", b"[[domains/deep/er/n]]")
    assert (draft.get(to) or b"").endswith(b"[c](../../c/x.md)\n")


def test_a_link_between_two_notes_that_both_move() -> None:
    files = {A: b"[b](../b/m.md)\n", "memory/domains/b/m.md": b"[a](../a/n.md)\n"}
    view, draft = tree(files)
    moved = {path: relocate(view, draft, path, "c/d") for path in files}
    relink(view, draft, moved)
    assert (draft.get("memory/domains/c/d/n.md") or b"").endswith(b"[b](m.md)\n")
    assert (draft.get("memory/domains/c/d/m.md") or b"").endswith(b"[a](n.md)\n")


def test_a_note_with_conflict_markers_is_not_relinked() -> None:
    held = b"<<<<<<< HEAD\n[n](../a/n.md)\n=======\nb\n>>>>>>> x\n"
    view, draft = tree({A: b"", "memory/domains/c/x.md": held})
    assert relink(view, draft, {A: relocate(view, draft, A, "b")}) == []


def test_an_archive_takes_the_next_free_name() -> None:
    _, draft = tree({A: b"1", "memory/domains/a/N__DELETE.md": b"2", "memory/domains/a/n-2__DELETE.md": b"3"})
    assert put_away(draft, A, "", NOW) == "memory/domains/a/n-3__DELETE.md"


def test_an_archive_is_dated_and_says_why() -> None:
    _, draft = tree({A: b"Text"})
    assert draft.get(put_away(draft, A, "old: 'x'\n# y", NOW)) == (
        b"---\narchived: 2026-03-15T08:15:00Z\narchive_reason: \"old: 'x'\\n# y\"\n---\nText"
    )


def test_archives_and_long_names_are_refused() -> None:
    long = f"memory/domains/a/{'é' * 124}.md"
    _, draft = tree({"memory/domains/a/x__DELETE.md": b"", long: b""})
    with pytest.raises(Usage):
        put_away(draft, "memory/domains/a/x__DELETE.md", "", NOW)
    with pytest.raises(CannotCreate):
        put_away(draft, long, "", NOW)


TEXTS = st.sampled_from(
    [
        *(
            b"",
            b"\n",
            b"Text",
            b"Text\r\n",
            b"\xef\xbb\xbfText",
            b"---\n",
            b"---\n---\n",
            b"---\na: 1\n---",
            b"\xff\xfea\0",
        ),
        *(
            b"---\r\na: 1\r\n---\r\nx",
            b"---\na: [\n---\n",
            b"---\na: 1\na: 2\n---\n",
            b"---\n# c\n---\nx",
            b"--- \na: 1\n---",
        ),
        *(b"---\n{a: 1}\n---\nx", b"---\n- a\n---\nx", b"---\na: |\n  b\n\n---\nx", b"---\narchived_by: me\n---\n"),
    ]
) | st.binary(max_size=60)


@given(TEXTS, st.sampled_from(["", "why", "a\nb", "#", "- x", "é日"]))
def test_archiving_and_taking_the_keys_away_gives_the_bytes_back(data: bytes, reason: str) -> None:
    _, draft = tree({A: data})
    put_away(draft, A, reason, NOW)
    archived = draft.need("memory/domains/a/n__DELETE.md")
    assert without_archive_keys(archived) == data


@given(TEXTS)
def test_a_domain_is_set_or_the_bytes_stay(data: bytes) -> None:
    changed = with_domain(data, "b")
    assert changed == data or b"domain: b" in changed
    assert with_domain(changed, "b") == changed
