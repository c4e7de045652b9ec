"""What `reindex` renders: only what differs, each index in its place, and the same whether or not it had a memory."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bonsai.config import defaults
from bonsai.notes.change import Row, Stat
from bonsai.notes.layout import Kind, Tree, kind_of
from bonsai.notes.shape import count, shape
from bonsai.notes.summary import summarise
from bonsai.notes.view import EVERYTHING, View, touch
from bonsai.passes.reindex import render

NOW, LATER = "2026-03-15T08:15:00Z", "2026-03-16T08:15:00Z"
IGNORE = "_meta.json\n_stats.json\n"


class Desk:
    """Files with the view of a look at them, kept over several reindexes as in one process."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files: dict[str, bytes] = {}
        self.view = View({}, "head", dirty={EVERYTHING})
        for path, data in files.items():
            self.write(path, data)

    def write(self, path: str, data: bytes | None) -> None:
        """A save, and the look that finds it."""
        if data is None:
            self.files.pop(path, None)
            self.view.rows.pop(path, None)
        else:
            self.files[path] = data
            summary = summarise(path, data, len(data)) if kind_of(path) in (Kind.NOTE, Kind.BOOT) else None
            self.view.rows[path] = Row(path, Stat(len(data), 1, 1, 1, 0o100644), "1", "1", 0, summary)
        touch(self.view, path)

    def render(self, now: str = NOW, tree: Tree | None = None) -> dict[str, bytes | None]:
        found = shape(self.view, tree or Tree())
        return render(self.view, found, self.files.get, defaults(), now, 0, IGNORE)

    def reindex(self, now: str = NOW) -> list[str]:
        """Render and write; returns the paths that changed."""
        changed = []
        for tree in self.view.trees():
            out = self.render(now, tree)
            changed += sorted(out)
            for path, data in out.items():
                self.write(path, data)
        self.view.dirty = set()
        return changed


GARDEN = {
    "memory/domains/a/one.md": b"# One\n\nThe first.\n",
    "memory/domains/a/b/two.md": b"# Two\n",
    "memory/domains/c/three.md": b"# Three\n",
    "memory/dates.md": b"# Dates\n",
    "memory/2026-03-15.md": b"- x\n",
}


def test_everything_is_rendered_once() -> None:
    desk = Desk(GARDEN)
    assert desk.reindex() == [
        "MEMORY.md",
        "memory/.gitignore",
        "memory/_index.md",
        "memory/_meta.json",
        "memory/_stats.json",
        "memory/domains/a/_index.md",
        "memory/domains/a/b/_index.md",
        "memory/domains/c/_index.md",
    ]
    assert desk.reindex(LATER) == []
    desk.view.dirty = {EVERYTHING}
    assert desk.reindex(LATER) == []


def test_one_edit_renders_what_shows_it() -> None:
    desk = Desk(GARDEN)
    desk.reindex()
    desk.write("memory/domains/a/b/two.md", b"# Two\n\nAnother text.\n")
    assert set(desk.reindex(LATER)) >= {
        "memory/domains/a/b/_index.md",
        "memory/domains/a/_index.md",
        "memory/_index.md",
    }
    assert NOW.encode() in desk.files["memory/domains/c/_index.md"]


def test_an_edit_that_no_index_shows_changes_nothing() -> None:
    desk = Desk({**GARDEN, "memory/domains/c/three.md": b"# Three\n\nThe lead.\n\nmore AAAA\n"})
    desk.reindex()
    desk.write("memory/domains/c/three.md", b"# Three\n\nThe lead.\n\nmore BBBB\n")
    assert desk.reindex(LATER) == []


def test_an_emptied_domain_loses_its_indexes_up_to_where_notes_are() -> None:
    desk = Desk(GARDEN)
    desk.reindex()
    desk.write("memory/domains/a/b/two.md", None)
    assert desk.render()["memory/domains/a/b/_index.md"] is None
    desk.reindex()
    desk.write("memory/domains/a/one.md", None)
    assert desk.render()["memory/domains/a/_index.md"] is None
    desk.reindex()
    assert [path for path in desk.files if path.startswith("memory/domains/a")] == []


def test_a_stale_index_of_a_folder_without_notes_is_found_by_a_full_look() -> None:
    desk = Desk(GARDEN)
    desk.reindex()
    desk.write("memory/domains/gone/_index.md", desk.files["memory/domains/c/_index.md"])
    desk.view.memo.clear()
    desk.view.dirty = {EVERYTHING}
    assert desk.render() == {"memory/domains/gone/_index.md": None}


def test_a_persons_gitignore_keeps_its_lines() -> None:
    desk = Desk({**GARDEN, "memory/.gitignore": b"*.pdf\r\n_meta.json\nno end"})
    desk.reindex()
    assert desk.files["memory/.gitignore"] == b"*.pdf\r\n_meta.json\nno end\n_stats.json\n"


def test_a_boot_file_that_is_held_or_cannot_be_read_is_left_out() -> None:
    held = b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
    assert "MEMORY.md" not in Desk({**GARDEN, "MEMORY.md": held}).render()
    desk = Desk(GARDEN)
    desk.view.unread.add("MEMORY.md")
    assert "MEMORY.md" not in desk.render()


def test_private_notes_are_named_but_not_quoted() -> None:
    desk = Desk(GARDEN)
    desk.view.private = {"memory/domains/a/one.md"}
    desk.reindex()
    index = desk.files["memory/domains/a/_index.md"]
    assert b"one.md" in index
    assert not [path for path, data in desk.files.items() if b"The first." in data and path not in GARDEN]


def test_agents_have_their_own() -> None:
    desk = Desk({**GARDEN, "memory/agents/w/domains/x/n.md": b"# Song\n"})
    changed = desk.reindex()
    assert {"MEMORY-w.md", "memory/agents/w/_index.md", "memory/agents/w/domains/x/_index.md"} <= set(changed)
    assert "memory/agents/w/.gitignore" not in desk.files
    assert b"Song" not in desk.files["MEMORY.md"]
    assert count(desk.view, Tree("w")) == (1, 1, 1)
    assert count(desk.view, Tree()) == (3, 2, 7)


NAMES = st.sampled_from(["a/x.md", "a/y.md", "a/b/x.md", "a/b/c/x.md", "d/x.md", "d/x__DELETE.md", "d/pic.png"])
PLACES = NAMES.map("memory/domains/{}".format) | st.sampled_from(
    [
        "memory/dates.md",
        "memory/2026-01-01.md",
        "memory/daily/2026-01-01.md",
        "memory/agents/w/domains/a/x.md",
        "MEMORY.md",
    ]
)
SAVES = st.lists(st.tuples(PLACES, st.none() | st.sampled_from([b"", b"# T\n", b"text\n", b"---\ntitle: T\n---\n"])))


@settings(max_examples=60)
@given(st.lists(SAVES, min_size=1, max_size=4))
def test_what_is_kept_between_runs_never_shows(batches: list[list[tuple[str, bytes | None]]]) -> None:
    """A process that saw every save renders what a process without any memory renders."""
    desk = Desk(GARDEN)
    desk.reindex()
    for batch in batches:
        for path, data in batch:
            desk.write(path, data)
        desk.reindex(LATER)
    fresh = Desk(dict(desk.files))
    assert fresh.reindex(LATER) == []
    assert desk.reindex(LATER) == []
