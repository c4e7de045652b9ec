"""What the indexes, status and the passes need to know of a note, from one scan of its lines."""

from dataclasses import dataclass

from bonsai.notes.problem import Problem


@dataclass(frozen=True, slots=True)
class Summary:
    """One note in short. Dates are ISO 8601 texts as parsed (`2026-03-04` or with a time), "" where there is none."""

    title: str  # frontmatter title, else first heading, else ""
    lead: str  # first meaningful line, at most 250 characters, safe to print in an index
    tokens: int
    blank: bool  # nothing but white space
    dated: str  # the later of `updated` and `created`
    archived: str
    type: str
    key: str
    names: tuple[str, ...]  # what a wiki link may call it besides its file name: title, `name:`, aliases
    links: tuple[str, ...]  # targets of relative links and `[[wiki]]` links, as written
    problems: tuple[Problem, ...]
    held: bool  # conflict markers: may not be committed
