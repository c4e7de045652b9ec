"""What the verbs of the tiers answer: typed results whose attributes are the keys of their `--json`."""

from dataclasses import dataclass

from bonsai.facts.extract import Metadata


@dataclass(slots=True)
class RememberReport:
    """`remember`; `category` is the domain, `cold_synced` whether the cold tier has it too, `new` whether it was made.

    `commit` is None where the note said so already.
    """

    id: str
    path: str
    tier: str
    metadata: Metadata
    commit: str | None
    category: str = ""
    cold_synced: bool = False
    version: int = 1
    new: bool = True
