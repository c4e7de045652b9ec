"""What `erase` answers."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Told:
    """A remote that still has what was erased, and what makes it forget."""

    remote: str
    command: str


@dataclass(slots=True)
class Asked:
    """A server, how many of its rows held what was erased, and why it could not be asked ("" where it was)."""

    server: str
    rows: int
    cause: str = ""
    hint: str = ""


@dataclass(slots=True)
class EraseReport:
    """`erase`: the files that held it, by each name that they had, and how much of history was written anew.

    `shared` lines stay, since others hold them too; `refs` moved; `remotes` must be told, with the command for it;
    `found` is the proof: where something of it is left (nowhere, else the command fails). `rows` in `.bonsai`, of the
    conversation and of the cold tier, held it, and those of `servers`.
    """

    paths: list[str]
    commits_rewritten: int
    objects_scanned: int
    commit: str | None
    shared: int = 0
    refs: list[str] = field(default_factory=list)
    remotes: list[Told] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    dry_run: bool = False
    rows: int = 0
    servers: list[Asked] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every server that is set was asked."""
        return not any(item.cause for item in self.servers)
