"""A draft reads through to the disk once, holds changes over it, and becomes a plan of exactly what differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai.errors import CannotCreate, NotFound
from bonsai.notes.draft import FILE, Draft
from bonsai.notes.layout import fold

RUNS = 0o100755


class Disk:
    """Files by path; counts how often each is read."""

    def __init__(self, **files: bytes) -> None:
        self.files = {name.replace("_", "."): data for name, data in files.items()}
        self.reads: list[str] = []

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        if path not in self.files:
            raise NotFound("no such file", path=path)
        return self.files[path]

    def draft(self) -> Draft:
        names = {fold(path) for path in self.files}
        return Draft(self.read, lambda path: fold(path) in names, lambda path: RUNS)

    def carried_out(self, draft: Draft) -> dict[str, bytes]:
        """The files after the plan, which must fit what is there."""
        files = dict(self.files)
        plan = draft.plan("move", "move: x")
        for put in plan.puts:
            assert files.get(put.path) == put.old
            files[put.path] = put.data
        for drop in plan.drops:
            assert files.pop(drop.path) == drop.old
        return files


def test_it_reads_once_and_shows_what_was_drafted() -> None:
    disk = Disk(a_md=b"a")
    draft = disk.draft()
    assert (draft.get("a.md"), draft.get("a.md"), draft.get("b.md"), draft.get("b.md")) == (b"a", b"a", None, None)
    assert disk.reads == ["a.md", "b.md"]
    draft.put("a.md", b"new")
    assert (draft.get("a.md"), draft.original("a.md")) == (b"new", b"a")


def test_nothing_drafted_is_an_empty_plan() -> None:
    draft = Disk(a_md=b"a").draft()
    draft.put("a.md", b"new")
    draft.put("a.md", b"a")
    draft.create("b.md", b"b")
    draft.drop("b.md")
    assert draft.plan("move", "").paths == []


def test_a_put_and_a_drop_name_the_bytes_that_must_stand_there() -> None:
    draft = Disk(a_md=b"a", b_md=b"b").draft()
    draft.put("a.md", b"new")
    draft.drop("b.md")
    plan = draft.plan("archive", "archive: b", "body", {"Bonsai-Undoes": "x"})
    assert [(put.path, put.data, put.old) for put in plan.puts] == [("a.md", b"new", b"a")]
    assert [(drop.path, drop.old) for drop in plan.drops] == [("b.md", b"b")]
    assert (plan.op, plan.subject, plan.body, plan.trailers) == (
        "archive",
        "archive: b",
        "body",
        {"Bonsai-Undoes": "x"},
    )


def test_a_rename_takes_bytes_and_mode_along() -> None:
    disk = Disk(a_md=b"a")
    draft = disk.draft()
    draft.rename("a.md", "b.md")
    draft.rename("b.md", "c.md", b"other")
    plan = draft.plan("move", "")
    assert [(put.path, put.data, put.old, put.mode) for put in plan.puts] == [("c.md", b"other", None, RUNS)]
    assert [drop.path for drop in plan.drops] == ["a.md"]
    assert disk.carried_out(draft) == {"c.md": b"other"}


def test_a_new_file_has_a_plain_mode() -> None:
    draft = Disk().draft()
    draft.create("a.md", b"a")
    draft.create("b.sh", b"b", RUNS)
    assert [put.mode for put in draft.plan("x", "").puts] == [FILE, RUNS]


@pytest.mark.parametrize("name", ["a.md", "A.md", "A.MD"])
def test_a_taken_name_is_not_given_away(name: str) -> None:
    draft = Disk(a_md=b"a").draft()
    assert not draft.free(name)
    with pytest.raises(CannotCreate):
        draft.create(name, b"x")


def test_nor_one_that_the_draft_itself_has_taken() -> None:
    draft = Disk(x_md=b"x").draft()
    draft.create("caf\u00e9.md", b"1")
    for name in ("caf\u00e9.md", "CAF\u00c9.md", "caf\u0065\u0301.md"):
        assert not draft.free(name)
        with pytest.raises(CannotCreate):
            draft.rename("x.md", name)
    assert draft.get("x.md") == b"x", "a rename that fails drops nothing"
    draft.drop("caf\u00e9.md")
    assert draft.free("CAF\u00c9.md")


def test_a_name_that_was_dropped_is_free_again() -> None:
    disk = Disk(a_md=b"a", b_md=b"b")
    draft = disk.draft()
    draft.drop("a.md")
    assert draft.free("a.md")
    draft.rename("b.md", "a.md")
    assert disk.carried_out(draft) == {"a.md": b"b"}


def test_what_is_not_there_is_not_found() -> None:
    draft = Disk(a_md=b"a").draft()
    for verb in (lambda: draft.need("x.md"), lambda: draft.drop("x.md"), lambda: draft.rename("x.md", "y.md")):
        with pytest.raises(NotFound):
            verb()
    draft.drop("a.md")
    with pytest.raises(NotFound):
        draft.need("a.md")


def test_whole_keeps_all_or_nothing() -> None:
    disk = Disk(a_md=b"a", b_md=b"b")
    draft = disk.draft()
    with draft.whole():
        draft.put("a.md", b"kept")
    with pytest.raises(CannotCreate), draft.whole():
        draft.put("a.md", b"lost")
        draft.create("c.md", b"lost")
        draft.drop("b.md")
        draft.create("a.md", b"taken")
    assert disk.carried_out(draft) == {"a.md": b"kept", "b.md": b"b"}
    assert draft.free("c.md") and draft.free("C.md")


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "create", "drop", "rename"]), st.sampled_from("abA"), st.sampled_from("abcC")),
    max_size=12,
)


@given(STEPS)
def test_the_plan_leads_where_the_draft_is(steps: list[tuple[str, str, str]]) -> None:
    disk = Disk(a_md=b"a", b_md=b"b")
    draft = disk.draft()
    for number, (verb, one, two) in enumerate(steps):
        data = f"{number}".encode()
        try:
            if verb == "put":
                draft.put(f"{one}.md", data)
            elif verb == "create":
                draft.create(f"{two}.md", data)
            elif verb == "drop":
                draft.drop(f"{one}.md")
            else:
                draft.rename(f"{one}.md", f"{two}.md")
        except (CannotCreate, NotFound):
            continue
    after = {name: data for name in ("a.md", "b.md", "c.md", "A.md", "C.md") if (data := draft.get(name)) is not None}
    assert disk.carried_out(draft) == after
