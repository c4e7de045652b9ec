"""The six commands of Anthropic's memory tool (`memory_20250818`) on a workspace, in the words that Claude knows.

`/memories` is the folder of the memory, `/memories/MEMORY.md` its boot file. What is deleted becomes an archive.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bonsai.errors import BonsaiError, CannotCreate, NotFound, Usage
from bonsai.notes import layout
from bonsai.workspace import Workspace

ROOT = "/memories"
MAX_LINES = 999_999
WIDTH = len(str(MAX_LINES))
AROUND = 2  # lines of a snippet above and below the change
DEPTH = 2  # levels of a listing
MISSING = "The path {path} does not exist"
NO_PATH = f"{MISSING}. Please provide a valid path."


class ToolFailed(Usage):
    """A command that failed; the cause is the whole text that the model is to see."""

    code = 65


def call(workspace: Workspace, command: Mapping[str, Any]) -> str:
    """Carry out one command, `{"command": "view", "path": "/memories"}`; returns what the model is told.

    Raises ToolFailed with the words of the tool, whatever went wrong with the command; other BonsaiErrors (a lock, a
    full disk) as they are.
    """
    name = command.get("command")
    if not isinstance(name, str) or name not in COMMANDS:
        raise ToolFailed(f"Unknown command: {name}", hint=f"Commands are {', '.join(COMMANDS)}.")
    function, keys = COMMANDS[name]
    given = {}
    for key, kind in keys.items():
        value = command.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            what = {str: "text", int: "a number"}[kind]
            raise ToolFailed(f"The command {name} needs `{key}` as {what}.")
        given[key] = value
    if name == "view":
        given["view_range"] = _range(command.get("view_range"))
    return function(workspace, **given)


def view(workspace: Workspace, path: str, view_range: tuple[int, int] | None) -> str:
    """A listing of a folder, or a file with numbered lines."""
    place = _place(workspace, path)
    found = _found(workspace, place)
    if place in found:
        return _file(workspace, path, place, view_range)
    if not found and place != workspace.tree.memory:
        raise ToolFailed(NO_PATH.format(path=path))
    sizes: dict[str, int] = {}
    for name, size in found.items():
        parts = name[len(place) + 1 :].split("/") if name.startswith(f"{place}/") else [name]
        for depth in range(1, min(len(parts), DEPTH) + 1):
            folder = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[folder] = sizes.get(folder, 0) + size
    rows = [f"{_size(sum(found.values()))}\t{path}"]
    rows += [f"{_size(sizes[name])}\t{path.rstrip('/')}/{name}" for name in sorted(sizes)]
    head = f"Here're the files and directories up to {DEPTH} levels deep in {path}, "
    return f"{head}excluding hidden items and node_modules:\n" + "\n".join(rows)


def create(workspace: Workspace, path: str, file_text: str) -> str:
    """A new file; one that is there is never overwritten."""
    place = _place(workspace, path)
    if place == workspace.tree.memory:
        raise ToolFailed(f"Error: File {path} already exists")
    try:
        _done(path, lambda: workspace.create(place, file_text))
    except CannotCreate as error:
        taken = f"Error: File {path} already exists"
        raise ToolFailed(taken if _found(workspace, place) else _told(path, error)) from error
    return f"File created successfully at: {path}"


def str_replace(workspace: Workspace, path: str, old_str: str, new_str: str) -> str:
    """Replace the one place that says `old_str`."""
    made = ""

    def change(text: str) -> str:
        nonlocal made
        lines = _occurrences(text, old_str)
        if not lines:
            what = f"old_str `{old_str}` did not appear verbatim in {path}."
            raise ToolFailed(f"No replacement was performed, {what}")
        if len(lines) > 1:
            many = f"Multiple occurrences of old_str `{old_str}` in lines: {', '.join(map(str, lines))}."
            raise ToolFailed(f"No replacement was performed. {many} Please ensure it is unique")
        new = text.replace(old_str, new_str)
        made = _numbered(new.split("\n"), max(1, lines[0] - AROUND), lines[0] + AROUND)
        return new

    _edited(workspace, path, change)
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{made}"


def insert(workspace: Workspace, path: str, insert_line: int, insert_text: str) -> str:
    """Put lines after line `insert_line` (0: at the top)."""

    def change(text: str) -> str:
        rows = text.split("\n")
        if rows[-1] == "":
            rows.pop()
        if not 0 <= insert_line <= len(rows):
            what = "It should be within the range of lines of the file"
            raise ToolFailed(f"Error: Invalid `insert_line` parameter: {insert_line}. {what}: [0, {len(rows)}]")
        rows.insert(insert_line, insert_text.removesuffix("\n"))
        return "\n".join(rows) + "\n"

    _edited(workspace, path, change)
    return f"The file {path} has been edited."


def delete(workspace: Workspace, path: str) -> str:
    """Put a file or a folder away: notes become archives, which `bonsai restore` brings back."""
    place = _place(workspace, path)
    if place == workspace.tree.memory:
        raise ToolFailed(f"Cannot delete the {ROOT} directory itself")
    try:
        _done(path, lambda: workspace.put_away(place))
    except NotFound as error:
        raise ToolFailed(f"Error: {MISSING.format(path=path)}") from error
    return f"Successfully deleted {path}"


def rename(workspace: Workspace, old_path: str, new_path: str) -> str:
    """Give a file or a folder another name; nothing is overwritten."""
    old, new = _place(workspace, old_path), _place(workspace, new_path)
    if old == workspace.tree.memory:
        raise ToolFailed(f"Cannot rename the {ROOT} directory itself")
    try:
        if _found(workspace, new) and _found(workspace, old):
            raise CannotCreate("the name is taken", path=new)
        _done(old_path, lambda: workspace.rename(old, new), {new: new_path})
    except NotFound as error:
        raise ToolFailed(f"Error: {MISSING.format(path=old_path)}") from error
    except CannotCreate as error:
        taken = f"Error: The destination {new_path} already exists"
        raise ToolFailed(taken if _found(workspace, new) else _told(new_path, error)) from error
    return f"Successfully renamed {old_path} to {new_path}"


COMMANDS: dict[str, tuple[Callable[..., str], dict[str, type]]] = {
    "view": (view, {"path": str}),
    "create": (create, {"path": str, "file_text": str}),
    "str_replace": (str_replace, {"path": str, "old_str": str, "new_str": str}),
    "insert": (insert, {"path": str, "insert_line": int, "insert_text": str}),
    "delete": (delete, {"path": str}),
    "rename": (rename, {"old_path": str, "new_path": str}),
}


def _place(workspace: Workspace, path: str) -> str:
    """A path of the tool as one of the workspace. Raises ToolFailed where it is none below /memories."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolFailed(f"Path must start with {ROOT}, got: {layout.printable(path)}")
    inside = path[len(ROOT) :].strip("/")
    if not inside:
        return workspace.tree.memory
    if layout.path_fault(inside):
        raise ToolFailed(f"Path {layout.printable(path)} would escape {ROOT} directory")
    return workspace.tree.boot if inside == "MEMORY.md" else workspace.tree.at(inside)


def _found(workspace: Workspace, place: str) -> dict[str, int]:
    """The files at or below a place, with their sizes; the boot file is the first of all."""
    found = workspace.files(place)
    if place == workspace.tree.memory:
        boot = workspace.files(workspace.tree.boot)
        return {**dict(zip(["MEMORY.md"], boot.values(), strict=False)), **found}
    return found


def _file(workspace: Workspace, path: str, place: str, view_range: tuple[int, int] | None) -> str:
    text = _done(path, lambda: workspace.read(place)).text
    rows = text.split("\n")
    if len(rows) > MAX_LINES:
        raise ToolFailed(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = view_range or (1, -1)
    shown = _numbered(rows, max(1, first), len(rows) if last == -1 else last)
    return f"Here's the content of {path} with line numbers:\n{shown}"


def _edited(workspace: Workspace, path: str, change: Callable[[str], str]) -> None:
    place = _place(workspace, path)
    if place == workspace.tree.memory:
        raise ToolFailed(f"Error: {NO_PATH.format(path=path)}")
    try:
        _done(path, lambda: workspace.edit(place, change))
    except NotFound as error:
        raise ToolFailed(f"Error: {NO_PATH.format(path=path)}") from error


def _done(path: str, verb: Callable[[], Any], others: Mapping[str, str] | None = None) -> Any:
    """What a verb answers; where it refuses a path or a text, the model is told why.

    `others`: more places that it may refuse, with their paths in the tool.
    """
    try:
        return verb()
    except (ToolFailed, NotFound, CannotCreate):
        raise
    except BonsaiError as error:
        if error.code not in (Usage.code, 65, 77):
            raise
        raise ToolFailed(_told((others or {}).get(error.path or "", path), error)) from error


def _told(path: str, error: BonsaiError) -> str:
    return f"Error: {path} {error.cause}. {error.hint}".rstrip()


def _range(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) and len(value) == 2 and all(type(item) is int for item in value):
        return value[0], value[1]
    raise ToolFailed("`view_range` must be two line numbers, [first, last], -1 being the end of the file.")


def _occurrences(text: str, old: str) -> list[int]:
    """The lines (1-based) in which a text begins; each once more for each time."""
    lines, at, line, seen = list[int](), text.find(old) if old else -1, 1, 0
    while at >= 0:
        line += text.count("\n", seen, at)
        seen = at
        lines.append(line)
        at = text.find(old, at + len(old))
    return lines


def _numbered(rows: list[str], first: int, last: int) -> str:
    return "\n".join(
        f"{number:>{WIDTH}}\t{row.removesuffix(chr(13))}" for number, row in enumerate(rows[first - 1 : last], first)
    )


def _size(size: int) -> str:
    """A size as `du -h` prints it: `0B`, `512B`, `5.5K`, `1.2M`."""
    value, units = float(size), "BKMG"
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.1f}".removesuffix(".0") + units[0]
