"""What recall answers. By itself: a recall is over before the answers of all other verbs would be imported."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Hit:
    """A passage that recall found; `date` is its note's day, `restore` a command, `source` an actor or `web:…`."""

    path: str
    lines: tuple[int, int]
    heading: str
    title: str
    text: str
    score: float
    why: list[str]
    tier: str
    trail: list[str] = field(default_factory=list)
    date: str = ""
    age_days: int | None = None
    restore: str = ""
    source: str = ""


@dataclass(slots=True)
class RecallReport:
    """`recall`; `at` is the commit that was searched, `branches` were chosen by a mode, `warnings` tell of detours."""

    query: str
    hits: list[Hit]
    fresh: bool
    at: str = ""
    branches: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
