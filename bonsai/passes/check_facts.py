"""Check facts: whether what technical notes name is still there. Nothing is run, nothing is changed."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

from bonsai.errors import NotFound
from bonsai.notes import boot, claims, layout, worth
from bonsai.notes.change import Row
from bonsai.notes.claims import Claim
from bonsai.notes.layout import MAX_PARSED, Kind, Tree
from bonsai.notes.problem import Problem, problem
from bonsai.notes.view import View, is_inside
from bonsai.passes.cared import Checked, FactsReport


class Project(Protocol):
    """Where files, functions and versions are looked for."""

    def exists(self, name: str) -> bool | None:
        """Whether a file is there, None where nobody may look."""

    def words(self, wanted: Collection[str]) -> set[str]:
        """Those of the names that stand in some source file."""

    def options(self, wanted: Collection[str]) -> set[str]:
        """Those of the options that stand in some source file."""

    def versions(self, program: str) -> list[str]:
        """What manifests say about a program."""

    def documents(self) -> list[str]:
        """The texts that are read anyway: CLAUDE.md, AGENTS.md, README.md."""


Answers = Callable[[str], bool | None]  # whether a URL answers, None where nobody asked


def check(
    view: View, tree: Tree, read: Callable[[str], bytes], project: Project, answers: Answers, only: Sequence[str] = ()
) -> FactsReport:
    """What the technical notes of a tree and its boot file name, or those at or below `only`; and what is not worth it.

    Raises NotFound.
    """
    documented = {worth.key(line) for text in project.documents() for line in text.splitlines()}
    found: list[tuple[str, Claim]] = []
    flags: list[Problem] = []
    for row in _notes(view, tree, only):
        data = read(row.path)
        if layout.kind_of(row.path) is Kind.BOOT:
            data = _without_block(data)
        flags += unworthy(row.path, data.decode("utf-8", "surrogateescape"), documented)
        if claims.is_technical(row.path, data):
            found += [(row.path, claim) for claim in claims.find(data)]
    return FactsReport(list(checked(found, project, answers)), flags)


def unworthy(path: str, text: str, documented: Collection[str] = frozenset()) -> list[Problem]:
    """A problem for each line that is likely not worth a memory. It advises; nothing is refused."""
    return [
        problem("unworthy", path, f"line {flag.line} ({flag.kind}): {flag.advice}; leave it out unless it must be kept")
        for flag in worth.find(text, documented)
    ]


def checked(found: Sequence[tuple[str, Claim]], project: Project, answers: Answers) -> Iterator[Checked]:
    """What became of the things that notes (by their paths) name."""
    functions = {claim.name.rpartition(".")[2] for _, claim in found if claim.kind == "function"}
    there = project.words(functions) if functions else set()
    options = {claim.name for _, claim in found if claim.kind == "option"}
    known = project.options(options) if options else set()
    for path, claim in found:
        state, detail = "unknown", ""
        if claim.kind == "file":
            state = _word(project.exists(claim.name))
            detail = "outside the folders that are looked at" if state == "unknown" else ""
        elif claim.kind == "function":
            state = _word(claim.name.rpartition(".")[2] in there)
        elif claim.kind == "option":
            state = _word(claim.name in known)
        elif claim.kind == "url":
            state = _word(answers(claim.name))
            detail = "not asked: --online" if state == "unknown" else ""
        else:
            state, detail = _version(claim.name, project)
        yield Checked(path, claim.line, claim.kind, claim.name, state, detail)


def _version(name: str, project: Project) -> tuple[str, str]:
    program, _, number = name.rpartition(" ")
    said = project.versions(program)
    if not said:
        return "unknown", "no manifest names it"
    return ("exists", said[0]) if any(number in line for line in said) else ("differs", said[0])


def _word(found: bool | None) -> str:
    return "unknown" if found is None else "exists" if found else "missing"


def _notes(view: View, tree: Tree, only: Sequence[str]) -> list[Row]:
    rows = [*view.notes(tree), *(row for row in [view.rows.get(tree.boot)] if row and row.stat)]
    for path in only:
        if not any(is_inside(row.path, [path]) for row in rows):
            raise NotFound("there is no such note", path=path, hint="Name a note, or a folder with notes.")
    wanted = [row for row in rows if not only or is_inside(row.path, only)]
    return sorted(
        (row for row in wanted if row.stat and row.stat.size <= MAX_PARSED and not view.is_held(row)),
        key=lambda row: row.path,
    )


def _without_block(data: bytes) -> bytes:
    """A boot file with empty lines for its generated block."""
    start, end = data.find(boot.BEGIN.encode()), data.find(boot.END.encode())
    if not 0 <= start < end:
        return data
    return data[:start] + b"\n" * data.count(b"\n", start, end) + data[end:]
