"""The house keeps its shape: imports go one way, each package has one door, modules stay small and say what they do."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
MODULES = {
    str(path.relative_to(TOP / "bonsai").with_suffix("")): path for path in sorted((TOP / "bonsai").rglob("*.py"))
}
#: What each room may import from bonsai, besides itself.
ALLOWED = {
    "errors": [],
    "config": ["errors"],
    "notes": ["errors", "config"],
    "facts": ["notes", "errors", "config"],
    "conversation": ["facts", "notes", "errors"],
    "conversation/__init__": ["talk"],  # the public names, looked up when they are asked for
    "ports": ["facts", "notes", "errors"],
    "adapters": ["ports", "conversation", "facts", "notes", "errors"],
    "passes": ["ports", "conversation", "facts", "notes", "errors", "config"],
    "commits": ["passes", "ports", "notes", "errors", "config"],
    "run": ["commits", "passes", "ports", "notes", "errors", "config"],
    "story": ["place", "adapters", "passes", "ports", "notes", "errors"],
    "erasing": ["servers", "adapters", "passes", "ports", "notes", "errors"],
    "servers": ["adapters", "passes", "notes", "errors"],
    "forgetting": ["erasing", "servers", "place", "run", "adapters", "passes", "ports", "notes", "errors"],
    "pruning": ["place", "run", "adapters", "passes", "ports", "notes", "errors"],
    "committing": ["indexing", "run", "adapters", "passes", "notes", "errors"],
    "checks": ["committing", "watched", "place", "adapters", "passes", "ports", "notes", "errors"],
    "embedding": ["story", "adapters", "notes", "errors"],
    "indexing": ["embedding", "adapters", "passes", "ports", "notes", "errors"],
    "narrowing": ["indexing", "story", "adapters", "passes", "ports", "notes", "errors"],
    "finding": ["narrowing", "adapters", "passes", "ports", "notes", "errors"],
    "joining": ["run", "adapters", "passes", "ports", "notes", "errors"],
    "devices": ["joining", "place", "run", "adapters", "passes", "ports", "notes", "errors"],
    "mcp": [
        "workspace",
        "conversation/prompt",
        "talk",
        "passes/reports",
        "passes/found",
        "notes/layout",
        "notes/taxonomy",
        "errors",
    ],
    "connect": ["notes", "errors"],
    "connecting": ["connect", "place", "adapters", "passes", "notes", "errors"],
    "openclaw": ["workspace", "errors"],
    "editing": ["place", "adapters", "passes", "notes", "errors"],
    "memory_tool": ["workspace", "passes/edited", "notes/layout", "errors"],
    "anthropic_memory": ["memory_tool", "workspace", "errors"],
    "caring": ["place", "run", "adapters", "passes", "ports", "notes", "errors"],
    "counting": ["place", "adapters"],
    "watched": ["place", "commits", "adapters", "passes", "ports", "errors"],
    "reaching": ["counting", "place", "servers", "adapters", "passes", "facts", "notes", "errors"],
    "rescuing": ["reaching", "place", "adapters", "facts", "notes", "errors"],
    "archiving": ["rescuing", "reaching", "finding", "run", "adapters", "passes", "facts", "notes", "errors"],
    "cloud": ["archiving", "place", "run", "adapters", "passes", "facts", "notes", "errors"],
    "remembering": ["cloud", "adapters", "passes", "facts", "notes", "errors"],
    "gleaning": ["remembering", "run", "adapters", "passes", "ports", "facts", "notes", "errors"],
    "tiers": ["gleaning", "run", "adapters", "passes", "ports", "facts", "notes", "errors"],
    "personal": [
        *("cloud", "run", "adapters", "passes", "conversation", "notes", "errors"),
    ],
    "talk": ["personal", "servers", "adapters", "conversation", "notes", "errors"],
    "workspace": [
        *("tiers", "caring", "editing", "connecting"),
        *(
            "watched",
            "devices",
            "finding",
            "narrowing",
            "pruning",
            "checks",
            "forgetting",
            "story",
            "place",
            "run",
            "commits",
            "adapters",
        ),
        *("passes", "ports", "notes", "errors", "config"),
    ],
    "place": ["run", "commits", "adapters", "passes", "ports", "notes", "errors", "config"],
    "schedule": ["config"],
    "watch": ["workspace", "schedule", "errors"],
    "cli": [
        *(
            "workspace",
            "watch",
            "passes/reports",
            "passes/found",
            "passes/plain",
            "passes/tiered",
            "passes/erased",
            "passes/synced",
        ),
        *("passes/cared", "passes/edited", "memory_tool", "openclaw", "mcp", "notes/problem", "notes/printed"),
        *("notes/layout", "errors", "config", "talk", "conversation"),
        *("facts/distill", "passes/tree_search", "notes/secrets", "adapters/llm", "adapters/own_arguments"),
        *(
            "adapters/files",
            "adapters/clock",
            "adapters/service",
            "adapters/detached",
            "adapters/log_file",
            "adapters/git_driver",
        ),
    ],
    "__init__": ["workspace"],
    "__main__": ["cli"],
}
#: Third-party package → the only place that may import it.
DOORS = {
    "frontmatter": "notes/note",
    "yaml": "notes/note",
    "markdown_it": "notes/note",
    "git": "adapters/git_",
    "watchdog": "adapters/watch",
    "filelock": "adapters/lock",
    "git_filter_repo": "adapters/git_rewrite",
    "redis": "adapters/redis_buffer",
    "psycopg": "adapters/postgres",
    "psycopg_pool": "adapters/postgres",
    "detect_secrets": "adapters/secret_audit",
    "numpy": "adapters/",
    "tokenizers": "adapters/word_vectors",
    "wordllama": "adapters/word_vectors",
    "sqlite3": "adapters/",
    "subprocess": "adapters/",
    "fcntl": "adapters/",
    "click": "cli/",
    "rich": "cli/",
    "anthropic": "anthropic_memory",
    "mcp": "mcp/",
    "pydantic": "mcp/",
    "anyio": "mcp/",
    "starlette": "mcp/",
    "uvicorn": "mcp/",
}
#: Nouns know the rules and touch nothing.
OUTSIDE = {"os", "pathlib", "time", "subprocess", "logging", "shutil", "tempfile", "socket", "sqlite3"}
NOUNS = {"notes", "facts", "conversation", "errors", "config", "ports"}
FORBIDDEN = {"utils", "util", "helpers", "common", "misc", "base", "manager", "managers"}


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports anywhere in it (types too), and the level of a relative import."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level
            if (node.module or "").split(".")[0] == "bonsai":
                yield from ((f"{node.module}.{alias.name}", 0) for alias in node.names)


def room(name: str) -> str:
    return name.partition("/")[0]


def is_inside(name: str, places: list[str]) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places)


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_one_way(name: str) -> None:
    here = name if name in ALLOWED else room(name)
    assert here in ALLOWED, f"{name}: a new room needs a line in ALLOWED and in ARCHITECTURE.md"
    for imported, level in imports(MODULES[name]):
        assert not level, f"{name}: relative import"
        target = imported.removeprefix("bonsai.").replace(".", "/")
        if imported.startswith("bonsai.") and (target in MODULES):
            assert is_inside(target, [room(name), *ALLOWED[here]]), f"{name} imports {imported}"


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) == "passes"])
def test_passes_do_not_know_each_other_and_do_not_print(name: str) -> None:
    shared = {
        name,
        "passes",
        "passes/reports",
        "passes/found",
        "passes/plain",
        "passes/recover",
        "passes/tiered",
        "passes/cared",
        "passes/edited",
    }
    used = {imported.removeprefix("bonsai.").replace(".", "/") for imported, _ in imports(MODULES[name])}
    assert not {other for other in used & set(MODULES) if room(other) == "passes"} - shared
    assert "print(" not in MODULES[name].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_each_package_has_one_door(name: str) -> None:
    for imported, _ in imports(MODULES[name]):
        door = DOORS.get(imported.split(".")[0])
        assert door is None or name.startswith(door), f"{name} imports {imported}; its door is {door}"


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) in NOUNS])
def test_nouns_touch_nothing(name: str) -> None:
    touched = {imported.split(".")[0] for imported, _ in imports(MODULES[name])} & OUTSIDE
    assert not touched, f"{name} imports {touched}"


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_small_and_say_what_they_do(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{name} has no docstring"
    assert text.count("\n") <= 400, f"{name} has {text.count(chr(10))} lines"
    assert not FORBIDDEN & set(name.split("/")), f"{name}: name it after what it does"


def test_architecture_names_every_module() -> None:
    text = (TOP / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \|", text, re.M)
    assert len(rows) > 10
    named = set()
    for row in rows:
        place = ""
        for word in re.findall(r"`([^`]+)`", row):
            path = word if "/" in word else f"{place}{word}"
            place = path[: path.rfind("/") + 1]
            named.add(path.rstrip("/"))
    missing = [name for name in MODULES if not name.endswith("__") and not is_inside(name, sorted(named))]
    assert not missing, f"ARCHITECTURE.md has no row for {missing}"
    wrong = [
        name for name in named if not ((TOP / "bonsai" / name).exists() or name in MODULES or (TOP / name).exists())
    ]
    assert not wrong, f"ARCHITECTURE.md names {wrong}, which are not there"
