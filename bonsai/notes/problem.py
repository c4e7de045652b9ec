"""Problems: what status and reindex report, each with a code, a severity, a path and what to do."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "critical"]

#: The severity of each code where the caller names none.
CODES: dict[str, Severity] = {
    "bad-date": "warning",
    "bad-frontmatter": "warning",
    "binary": "warning",
    "boot-over-budget": "warning",
    "broken-link": "info",
    "cache-rebuilt": "info",
    "case-clash": "warning",
    "clock": "warning",
    "conflict-copy": "warning",
    "conflict-markers": "warning",
    "daemon-dead": "warning",
    "daemon-lagging": "warning",
    "duplicate-key": "warning",
    "emptied": "warning",
    "feedback-number": "warning",
    "general-age": "warning",
    "git-blocked": "warning",
    "git-lock": "warning",
    "ignored": "warning",
    "mass-deletion": "critical",
    "not-utf8": "warning",
    "pending-purge": "warning",
    "reflection-waiting": "warning",
    "reindex-overdue": "warning",
    "relative-date": "info",
    "secret": "warning",
    "special-file": "warning",
    "stale-index": "info",
    "symlink": "warning",
    "too-large": "warning",
    "uncommitted": "info",
    "unreadable": "warning",
    "unsigned": "warning",
    "unworthy": "info",
    "watch-limit": "warning",
}
ORDER: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; `message` says what and ends with what to do. `path` is workspace-relative."""

    code: str
    severity: Severity
    path: str
    message: str


def problem(code: str, path: str, message: str, severity: Severity | None = None) -> Problem:
    """A problem with the usual severity of its code. Raises KeyError for a code that is not in CODES."""
    usual = CODES[code]
    return Problem(code, severity or usual, path, message)


def worst(problems: list[Problem]) -> Severity:
    """The highest severity, `info` where there is none."""
    return max((item.severity for item in problems), key=ORDER.__getitem__, default="info")
