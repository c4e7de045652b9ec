"""What the verbs between devices answer: the keys of `--json`."""

from dataclasses import dataclass, field

from bonsai.notes.problem import Problem


@dataclass(slots=True)
class SyncReport:
    """`sync`; `pulled` and `pushed` are numbers of commits, `commit` is the one that joins both histories.

    `merged` are notes that both sides had changed, `kept_both` those in which two versions of something stand now (or
    that one side had deleted). `waiting`: why nothing was pushed, "" where it was, or nothing had to be.
    """

    remote: str
    pulled: int = 0
    pushed: int = 0
    merged: list[str] = field(default_factory=list)
    kept_both: list[str] = field(default_factory=list)
    commit: str | None = None
    waiting: str = ""
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class TrustReport:
    """`trust`: the keys that can make git run a program, and whether the person has agreed to them."""

    keys: list[str]
    trusted: bool
    helpers: list[str] = field(default_factory=list)
