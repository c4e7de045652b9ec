"""The tree as a look found it: what is pending, whose notes are whose, what has to be rendered again."""

import pytest

from bonsai.notes.change import Row, Stat
from bonsai.notes.layout import Tree
from bonsai.notes.summary import Summary
from bonsai.notes.view import View, index_folders, is_inside, touch

STAT = Stat(1, 1, 1, 1, 0o100644)
SHORT = Summary("T", "A line.", 3, False, "", "", "", "", (), (), (), False)


def row(path: str, blob: str = "1", head: str = "1", *, disk: bool = True) -> Row:
    note = path.endswith(".md") and not path.endswith("_index.md")
    return Row(path, STAT if disk else None, blob if disk else "", head, 0o100644, SHORT if note and disk else None)


def view(*rows: Row, **fields: set[str]) -> View:
    return View({item.path: item for item in rows}, "head", **fields)  # type: ignore[arg-type]


def paths(rows: list[Row]) -> list[str]:
    return [item.path for item in rows]


def test_pending_is_what_differs() -> None:
    found = view(
        row("memory/same.md"),
        row("memory/edited.md", "2"),
        row("memory/new.md", "2", ""),
        row("memory/gone.md", disk=False),
        row("memory/unread.md", "2"),
        row("memory/big.bin", "", ""),
        unread={"memory/unread.md"},
    )
    assert paths(found.pending()) == ["memory/edited.md", "memory/gone.md", "memory/new.md"]


def test_pending_below_some_paths() -> None:
    found = view(row("memory/a/x.md", "2"), row("memory/ab/x.md", "2"), row("memory/a.md", "2"), row("memory/s.md"))
    assert paths(found.pending(["memory/a"])) == ["memory/a/x.md"]
    assert paths(found.pending(["memory/a.md"])) == ["memory/a.md"]
    assert paths(found.pending(["memory/a.md", "memory/ab"])) == ["memory/a.md", "memory/ab/x.md"]
    assert paths(found.pending(["memory/a.md", "memory/a.md", "memory/s.md"])) == ["memory/a.md"]
    assert paths(found.pending(["memory/none.md"])) == []


def test_the_notes_of_a_tree() -> None:
    found = view(
        row("memory/domains/a/n.md"),
        row("memory/domains/a/o__DELETE.md"),
        row("memory/domains/a/_index.md"),
        row("memory/domains/a/gone.md", disk=False),
        row("memory/agents/w/domains/a/n.md"),
        row("memory/agents/w/domains/a/o__DELETE.md"),
        row("memory/agents/loose.md"),
        row("MEMORY.md"),
    )
    assert paths(list(found.notes(Tree()))) == ["memory/domains/a/n.md", "memory/agents/loose.md"]
    assert paths(list(found.notes(Tree(), archived=True))) == ["memory/domains/a/o__DELETE.md"]
    assert paths(list(found.notes(Tree("w")))) == ["memory/agents/w/domains/a/n.md"]
    assert paths(list(found.notes(Tree("w"), archived=True))) == ["memory/agents/w/domains/a/o__DELETE.md"]


def test_trees_are_those_with_something_on_disk() -> None:
    found = view(
        row("memory/agents/wren/domains/a/n.md"),
        row("MEMORY-robin.md"),
        row("memory/agents/owl/domains/a/n.md", disk=False),
        row("memory/agents/loose.md"),
        row("memory/agents/pics/a.png"),
    )
    assert found.trees() == [Tree(), Tree("robin"), Tree("wren")]


def test_a_touched_path_makes_every_index_that_shows_it_dirty() -> None:
    found = view(row("memory/agents/w/domains/a/b/n.md"))
    touch(found, "memory/domains/a/b/n.md")
    assert found.dirty == {"memory", "memory/domains/a/b", "memory/domains/a"}
    assert found.trees() == [Tree(), Tree("w")]
    del found.rows["memory/agents/w/domains/a/b/n.md"]
    touch(found, "memory/agents/w/domains/a/b/n.md")
    assert found.trees() == [Tree()], "the trees are counted again"
    assert "memory/agents/w/domains/a" in found.dirty


@pytest.mark.parametrize(
    ("path", "folders"),
    [
        ("memory/domains/a/n.md", {"memory", "memory/domains/a"}),
        ("memory/daily/2026-03-15.md", {"memory"}),
        ("memory/dates.md", {"memory"}),
        ("MEMORY.md", {"memory"}),
        ("MEMORY-w.md", {"memory/agents/w"}),
        ("memory/domains/loose.md", {"memory"}),
        ("memory/agents/w/domains/x/y/n.md", {f"memory/agents/w{end}" for end in ("", "/domains/x", "/domains/x/y")}),
    ],
)
def test_the_folders_whose_index_shows_a_path(path: str, folders: set[str]) -> None:
    assert index_folders(path) == folders


def test_inside() -> None:
    assert is_inside("a/b", ["a"]) and is_inside("a", ["x", "a"])
    assert not is_inside("ab", ["a"]) and not is_inside("a", ["a/b"]) and not is_inside("a", [])
