"""What the verbs that edit files answer: typed results whose attributes are the keys of their `--json`."""

from dataclasses import dataclass, field
from typing import Literal

from bonsai.passes.cared import Absolute


@dataclass(slots=True)
class Written:
    """A file that was made, changed, renamed (`old` is the name that it had) or put away (`to` is its archive).

    `dates` were relative in what was written, and made absolute.
    """

    path: str
    commit: str | None
    old: str = ""
    to: str = ""
    dates: list[Absolute] = field(default_factory=list)


@dataclass(slots=True)
class PromoteReport:
    """`promote`: the note and where it came from."""

    path: str
    source: str
    commit: str | None = None


@dataclass(slots=True)
class Text:
    """A file as an agent may see it. `lines` are those shown, 1-based and inclusive, of `total` (0, 0 for none)."""

    path: str
    text: str
    lines: tuple[int, int]
    total: int
    source: str = ""
    untrusted: bool = False


@dataclass(slots=True)
class FileDiff:
    """A file of another agent that changes: its absolute path, and how, as a unified diff."""

    path: str
    kind: Literal["added", "edited", "deleted"]
    diff: str


@dataclass(slots=True)
class ConnectReport:
    """`connect`. `notice`: what the agent will say of a boot file that is longer than it loads."""

    agent: str
    changes: list[FileDiff]
    notice: str
    dry_run: bool
    removed: bool
