"""Anthropic's memory tool: the six commands, word for word; what is deleted can be brought back."""

import json
import subprocess
import sys
from typing import Any

import pytest
from verbs.sandbox import Sandbox

from bonsai import memory_tool
from bonsai.memory_tool import ToolFailed

OUTSIDE = ["/etc/passwd", "/memoriesx/a.md", "memories/a.md", "", "/memories/../a.md", "/memories/a/../../b.md"]
HIDDEN = [
    "/memories/.git/config",
    "/memories/_index.md",
    "/memories/_meta.json",
    "/memories/x__DELETE.md",
    "/memories/.gitignore",
]


def call(box: Sandbox, command: str, **given: Any) -> str:
    return memory_tool.call(box.ws, {"command": command, **given})


def fails(box: Sandbox, command: str, **given: Any) -> str:
    before = box.files()
    with pytest.raises(ToolFailed) as caught:
        call(box, command, **given)
    assert box.files() == before
    return caught.value.cause


def test_a_folder_is_listed_two_levels_deep(box: Sandbox) -> None:
    call(box, "create", path="/memories/a.md", file_text="x" * 5632)
    call(box, "create", path="/memories/one/two/three.md", file_text="deep\n")
    head, *rows = call(box, "view", path="/memories").split("\n")
    told = "Here're the files and directories up to 2 levels deep in /memories, "
    assert head == f"{told}excluding hidden items and node_modules:"
    assert rows[0].endswith("\t/memories")
    names = [row.split("\t")[1] for row in rows]
    assert "5.5K\t/memories/a.md" in rows
    assert {"/memories/one/", "/memories/one/two/", "/memories/MEMORY.md"} <= set(names)
    assert not [name for name in names if "three" in name or "_meta" in name or "/." in name]
    assert "5B\t/memories/one/two/three.md" in call(box, "view", path="/memories/one")


def test_a_file_is_shown_with_numbered_lines(box: Sandbox) -> None:
    call(box, "create", path="/memories/a.md", file_text="one\ntwo\nthree")
    shown = "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree"
    assert call(box, "view", path="/memories/a.md") == shown
    assert call(box, "view", path="/memories/a.md", view_range=[2, -1]).endswith("numbers:\n     2\ttwo\n     3\tthree")
    assert call(box, "view", path="/memories/a.md", view_range=[2, 2]).endswith("numbers:\n     2\ttwo")
    missing = "The path /memories/b.md does not exist. Please provide a valid path."
    assert fails(box, "view", path="/memories/b.md") == missing


def test_create_never_overwrites(box: Sandbox) -> None:
    assert call(box, "create", path="/memories/a.md", file_text="1") == "File created successfully at: /memories/a.md"
    again = fails(box, "create", path="/memories/a.md", file_text="2")
    assert again == "Error: File /memories/a.md already exists"
    assert box.committed("memory/a.md") == b"1"


def test_a_name_that_cannot_be_is_not_told_as_one_that_is_there(box: Sandbox) -> None:
    call(box, "create", path="/memories/a/b.md", file_text="1")
    assert "too long" in fails(box, "create", path=f"/memories/{'n' * 300}.md", file_text="2")
    assert "already exists" in fails(box, "create", path="/memories/a", file_text="2")
    assert "into itself" in fails(box, "rename", old_path="/memories/a", new_path="/memories/a/c")


def test_str_replace_takes_exactly_one_place(box: Sandbox) -> None:
    call(box, "create", path="/memories/a.md", file_text="1\n2\n3\nold\n5\n6\n7\n")
    told = call(box, "str_replace", path="/memories/a.md", old_str="old", new_str="new")
    head, *rows = told.split("\n")
    assert head == "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    assert rows == ["     2\t2", "     3\t3", "     4\tnew", "     5\t5", "     6\t6"]
    none = "No replacement was performed, old_str `gone` did not appear verbatim in /memories/a.md."
    assert fails(box, "str_replace", path="/memories/a.md", old_str="gone", new_str="x") == none
    call(box, "insert", path="/memories/a.md", insert_line=0, insert_text="new")
    many = "No replacement was performed. Multiple occurrences of old_str `new` in lines: 1, 5."
    assert fails(box, "str_replace", path="/memories/a.md", old_str="new", new_str="x") == (
        f"{many} Please ensure it is unique"
    )
    missing = fails(box, "str_replace", path="/memories/none.md", old_str="a", new_str="b")
    assert missing == "Error: The path /memories/none.md does not exist. Please provide a valid path."
    assert fails(box, "str_replace", path="/memories", old_str="a", new_str="b").startswith(
        "Error: The path /memories "
    )


@pytest.mark.parametrize(("line", "text"), [(0, "new\n1\n2\n"), (1, "1\nnew\n2\n"), (2, "1\n2\nnew\n")])
def test_insert_puts_lines_after_a_line(box: Sandbox, line: int, text: str) -> None:
    call(box, "create", path="/memories/a.md", file_text="1\n2\n")
    told = call(box, "insert", path="/memories/a.md", insert_line=line, insert_text="new\n")
    assert told == "The file /memories/a.md has been edited."
    assert box.committed("memory/a.md") == text.encode()


@pytest.mark.parametrize("line", [-1, 3])
def test_insert_knows_its_range(box: Sandbox, line: int) -> None:
    call(box, "create", path="/memories/a.md", file_text="1\n2\n")
    told = fails(box, "insert", path="/memories/a.md", insert_line=line, insert_text="new")
    wrong = f"Error: Invalid `insert_line` parameter: {line}."
    assert told == f"{wrong} It should be within the range of lines of the file: [0, 2]"


def test_windows_line_ends_are_not_seen_and_stay(box: Sandbox) -> None:
    """No model writes a CR: a text of two lines was never found, and what was inserted had other ends."""
    box.write("memory/tea.md", "# Tea\r\n\r\nGreen,\r\nno sugar.\r\n")
    box.ws.commit()
    assert "\r" not in call(box, "view", path="/memories/tea.md")
    call(box, "str_replace", path="/memories/tea.md", old_str="Green,\nno", new_str="Black,\nlittle")
    call(box, "insert", path="/memories/tea.md", insert_line=2, insert_text="- hot\n- strong\n")
    assert box.read("memory/tea.md") == b"# Tea\r\n\r\n- hot\r\n- strong\r\nBlack,\r\nlittle sugar.\r\n"
    box.write("memory/mixed.md", "a\r\nb\nc\r\n")
    box.ws.commit()
    call(box, "str_replace", path="/memories/mixed.md", old_str="b", new_str="d")
    assert box.read("memory/mixed.md") == b"a\r\nd\nc\r\n"


def test_what_is_deleted_is_archived_and_comes_back(box: Sandbox) -> None:
    call(box, "create", path="/memories/trip/a.md", file_text="Lisbon\n")
    call(box, "create", path="/memories/trip/list.txt", file_text="socks\n")
    assert call(box, "delete", path="/memories/trip") == "Successfully deleted /memories/trip"
    assert fails(box, "delete", path="/memories/trip") == "Error: The path /memories/trip does not exist"
    assert fails(box, "view", path="/memories/trip") == (
        "The path /memories/trip does not exist. Please provide a valid path."
    )
    assert box.has("memory/trip/a__DELETE.md")
    box.ws.restore("memory/trip/a__DELETE.md")
    box.ws.restore("memory/trip/list.txt")
    assert (box.read("memory/trip/a.md"), box.read("memory/trip/list.txt")) == (b"Lisbon\n", b"socks\n")
    assert fails(box, "delete", path="/memories") == "Cannot delete the /memories directory itself"


def test_a_deleted_name_can_be_used_again(box: Sandbox) -> None:
    for text in ("one", "two"):
        call(box, "create", path="/memories/a.md", file_text=text)
        call(box, "delete", path="/memories/a.md")
    assert {"memory/a__DELETE.md", "memory/a-2__DELETE.md"} <= set(box.files())


def test_a_name_that_is_refused_is_the_one_that_is_named(garden: Sandbox) -> None:
    """It told that the note which was to be renamed is state of bonsai."""
    old = "/memories/domains/business/pricing.md"
    for new in HIDDEN[2:]:
        assert fails(garden, "rename", old_path=old, new_path=new).startswith(f"Error: {new} ")


def test_no_file_is_made_deeper_than_bonsai_looks(box: Sandbox) -> None:
    """One in 200 folders was made, never committed, and could not be deleted."""
    deepest = "/memories/" + "d/" * 64 + "x.md"
    call(box, "create", path=deepest, file_text="deep\n")
    assert "deep" in call(box, "view", path=deepest)
    assert "64 folders" in fails(box, "create", path="/memories/" + "d/" * 65 + "y.md", file_text="deeper\n")
    assert "64 folders" in fails(box, "rename", old_path=deepest, new_path="/memories/" + "e/" * 65 + "x.md")
    box.assert_clean()
    call(box, "delete", path=deepest)


def test_rename_overwrites_nothing_and_keeps_links(garden: Sandbox) -> None:
    start = "/memories/domains/business"
    told = call(garden, "rename", old_path=f"{start}/pricing.md", new_path=f"{start}/rates.md")
    assert told == f"Successfully renamed {start}/pricing.md to {start}/rates.md"
    assert b"](../rates.md)" in garden.read("memory/domains/business/seo/words.md")
    taken = fails(garden, "rename", old_path=f"{start}/rates.md", new_path="/memories/dates.md")
    assert taken == "Error: The destination /memories/dates.md already exists"
    gone = fails(garden, "rename", old_path=f"{start}/pricing.md", new_path="/memories/x.md")
    assert gone == f"Error: The path {start}/pricing.md does not exist"
    call(garden, "rename", old_path=start, new_path="/memories/domains/work")
    assert garden.has("memory/domains/work/seo/words.md")


@pytest.mark.parametrize("path", OUTSIDE + HIDDEN)
def test_no_path_leaves_the_memory(box: Sandbox, path: str) -> None:
    for command, given in {
        "create": {"path": path, "file_text": "x"},
        "insert": {"path": path, "insert_line": 0, "insert_text": "x"},
        "delete": {"path": path},
        "rename": {"old_path": "/memories/MEMORY.md", "new_path": path},
    }.items():
        fails(box, command, **given)
    assert not (box.root.parent / "a.md").exists()


def test_a_link_is_not_followed(box: Sandbox) -> None:
    (box.root.parent / "secret.md").write_text("outside")
    (box.root / "memory/link.md").symlink_to(box.root.parent / "secret.md")
    (box.root / "memory/out").symlink_to(box.root.parent)
    for path in ("/memories/link.md", "/memories/out/secret.md"):
        assert "outside" not in fails(box, "view", path=path)
    with pytest.raises(Exception, match="link"):
        call(box, "create", path="/memories/out/new.md", file_text="x")
    assert not (box.root.parent / "new.md").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"command": "explode"},
        {},
        {"command": "view"},
        {"command": "view", "path": 7},
        {"command": "view", "path": "/memories", "view_range": "1"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": "1", "insert_text": "x"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": True, "insert_text": "x"},
        {"command": "create", "path": "/memories/a\0.md", "file_text": "x"},
    ],
)
def test_a_command_that_makes_no_sense_is_told(box: Sandbox, given: dict[str, Any]) -> None:
    with pytest.raises(ToolFailed):
        memory_tool.call(box.ws, given)


def test_a_credential_is_refused(box: Sandbox) -> None:
    key = "AKIA" + "Z7Q4M2N8P5R3T6V9"
    told = fails(box, "create", path="/memories/keys.md", file_text=f"aws_access_key_id = {key}\n")
    assert "credential" in told and key not in told


def test_each_write_says_who_and_in_which_session(box: Sandbox) -> None:
    memory_tool.call(
        box.opened(actor="agent:claude", session="s-42"),
        {"command": "create", "path": "/memories/a.md", "file_text": "x"},
    )
    last = box.last()[0]
    assert (last.op, last.actor, last.session) == ("create", "agent:claude", "s-42")


def test_the_command_line_says_the_same(box: Sandbox) -> None:
    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "bonsai", "-C", str(box.root), "memory-tool", *words], capture_output=True, text=True
        )
        return done.returncode, done.stdout

    made = json.dumps({"command": "create", "path": "/memories/a.md", "file_text": "x"})
    assert run(made) == (0, "File created successfully at: /memories/a.md\n")
    code, out = run(made, "--json")
    assert (code, json.loads(out)) == (65, {"content": "Error: File /memories/a.md already exists", "is_error": True})
    assert run("no json")[0] == 64
