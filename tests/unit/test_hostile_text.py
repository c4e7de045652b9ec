"""No text that somebody wrote can make a pattern take long: every pattern of the package is attacked.

Patterns are found by reading the source, so a new one is attacked without anybody listing it. One that is neither a
module-level name nor a literal cannot be found and fails the test.
"""

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bonsai.notes.links import find, rewrite
from bonsai.notes.note import headings
from bonsai.notes.passage import passages
from bonsai.notes.prose import conflicted
from bonsai.notes.query import index_terms
from bonsai.notes.secret_shapes import RULES
from bonsai.notes.secrets import find as find_secrets
from bonsai.notes.summary import summarise

PACKAGE = Path(__file__).resolve().parents[2] / "bonsai"
SIZE = 100_000  # characters
MOST = 0.5  # seconds for one pattern and one text
CALLS = {"match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split"}
ATOMS = ["a", "0", " ", "\n", "[", "(", "<", "`", "-", "#", "*", ".", "/", "_", "é"]


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        if not name.endswith("__main__"):
            yield name, ast.parse(file.read_text("utf-8"))


def _re_calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        func = node.func if isinstance(node, ast.Call) else None
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "re":
            assert isinstance(node, ast.Call)
            if func.attr == "compile" or func.attr in CALLS:
                yield node, func.attr


def _uses(tree: ast.Module, name: str) -> set[str]:
    """The methods that a pattern is used with; "search" too where it is handed on by name."""
    bases = {id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    loads = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    return {bases.get(id(node), "search") for node in loads if isinstance(node.ctx, ast.Load)}


def _literal(node: ast.expr, module: str) -> str | bytes | None:
    """The pattern that an expression spells; what an f-string takes from a local variable counts as the word `x`."""
    if isinstance(node, ast.Constant):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    names = vars(importlib.import_module(module))
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(part.value)
        elif isinstance(part, ast.FormattedValue):
            parts.append(names.get(part.value.id, "x") if isinstance(part.value, ast.Name) else "x")
    return "".join(parts)


def _patterns() -> dict[str, tuple[re.Pattern, set[str]]]:
    """Every pattern by where it stands, with the methods it is used with."""
    found: dict[str, tuple[re.Pattern, set[str]]] = {}
    for module, tree in _modules():
        names = {
            id(node.value): node.targets[0].id
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for call, method in _re_calls(tree):
            place = f"{module}:{call.lineno}"
            if id(call) in names:
                name = names[id(call)]
                found[f"{module}.{name}"] = (getattr(importlib.import_module(module), name), _uses(tree, name))
            elif module == "bonsai.notes.secrets":  # compiles the rules of a table, which are attacked one by one
                rules = {f"{module}: {rule.kind} {rule.hints[0]}": re.compile(rule.pattern) for rule in RULES}
                found |= {rule: (pattern, {"search"}) for rule, pattern in rules.items()}
            else:
                source = _literal(call.args[0], module)
                assert source is not None, f"{place}: give the pattern a name at module level"
                flags = 0 if len(call.args) == 1 else re.MULTILINE | re.DOTALL
                found[place] = (re.compile(source, flags), {"search" if method == "compile" else method})
    return found


PATTERNS = _patterns()


def _atoms(pattern: re.Pattern) -> list[str]:
    """Characters that the pattern itself names come first: they get furthest into it."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    plain = re.sub(r"\\[a-zA-Z]|\(\?[:!=<P]*", "", source)
    own = [char for char in dict.fromkeys(plain) if char not in "\\^$?+{}|"]
    return list(dict.fromkeys([*own[:10], *ATOMS]))


def _attacks(atoms: list[str]) -> Iterator[str]:
    runs = [atom * SIZE for atom in atoms]
    yield from runs
    yield from (f"{run[:-1]}\x01" for run in runs)
    pairs = [(one, two) for one in atoms[:7] for two in atoms[:7] if one != two]
    yield from ((one + two) * (SIZE // 2) for one, two in pairs)
    yield from (one * (SIZE // 2) + two * (SIZE // 2) for one, two in pairs[:20])
    yield from (f"{one * 50}{two}" * (SIZE // 51) for one, two in pairs[:20])
    head = "".join(atoms[:5])
    yield from ((head + atom) * (SIZE // 6) for atom in atoms)
    yield from (head + atom * (SIZE - 5) for atom in atoms)


def _run(pattern: re.Pattern, methods: set[str], text: str) -> float:
    subject = text if isinstance(pattern.pattern, str) else text.encode()
    start = time.process_time()
    if methods & {"search", "sub", "subn", "findall", "finditer", "split"}:
        for _ in pattern.finditer(subject):
            pass
    if "match" in methods:
        pattern.match(subject)
    if "fullmatch" in methods:
        pattern.fullmatch(subject)
    return time.process_time() - start


def test_the_scan_finds_the_patterns():
    assert len(PATTERNS) > 30 and all(methods for _, methods in PATTERNS.values())


@pytest.mark.parametrize("name", PATTERNS)
def test_no_text_makes_a_pattern_slow(name: str):
    pattern, methods = PATTERNS[name]
    for text in _attacks(_atoms(pattern)):
        spent = _run(pattern, methods, text)
        assert spent < MOST, f"{spent:.1f} s on {text[:20]!r}… ({pattern.pattern!r})"


def test_a_pattern_that_backtracks_is_caught():
    bad = re.compile(r"\[[^\]]*\]\(")
    assert any(_run(bad, {"search"}, text) > MOST for text in _attacks(_atoms(bad)))


MEGABYTE = 1_000_000
LINKS = ["](", "[[a", "](<", "[x](a ", "[a]: ", "[[a|", "](\\(", "[x](((", "[a](b)", "[ ] ", "\\", "`a``"]
BLOCKS = ["```\n", "~~~\n", "    a\n", "- ", "- a\n", "> ", "# ", "# a\n", "a\n===\n", "---\n", "a: b\n", "1. ", "|--"]
MARKS = ["<!--", "<!-- -->", "-->", "<<<<<<< \n", "=======\n", "\x1b[", "\x1b]8;", "\u200b", "\0", "\r", "\t", "*"]
TEXTS = [*LINKS, *BLOCKS, *MARKS, "日", "a-", "aB", "a b "]


JOBS: dict[str, Callable[[bytes], object]] = {
    "summary": lambda data: summarise("memory/x.md", data, len(data)),
    "summary-front": lambda data: summarise("memory/x.md", b"---\n" + data + b"\n---\n" + data, len(data)),
    "links": lambda data: find(data.decode()),
    "rewrite": lambda data: rewrite(data, "memory/x.md", "memory/y/x.md", {}),
    "secrets": lambda data: find_secrets(data.decode()),
    "conflicts": lambda data: conflicted(data.decode()),
    "passages": lambda data: passages("memory/x.md", data),
}


@pytest.mark.parametrize("piece", TEXTS)
@pytest.mark.parametrize("job", JOBS)
def test_a_megabyte_of_anything_is_read_in_seconds(job: str, piece: str):
    """Linear work on a million characters stays far below this; anything worse takes minutes."""
    data = (piece * (MEGABYTE // len(piece))).encode()
    start = time.process_time()
    JOBS[job](data)
    assert time.process_time() - start < 4


@pytest.mark.parametrize("piece", TEXTS)
def test_words_and_headings_take_time_by_length_only(piece: str):
    text = piece * (SIZE // len(piece))
    start = time.process_time()
    index_terms(text)
    headings(text)
    assert time.process_time() - start < 2
