"""What the verbs of the tiers answer: typed results whose attributes are the keys of their `--json`."""

from dataclasses import dataclass, field
from typing import Any

from bonsai.facts.archive import ColdRow
from bonsai.facts.distill import Distilled
from bonsai.facts.extract import Metadata
from bonsai.facts.fact import Fact
from bonsai.facts.score import DAY, Rules, score, tier
from bonsai.passes.cared import Absolute
from bonsai.passes.found import Hit
from bonsai.passes.reports import Skipped


@dataclass(slots=True)
class RememberReport:
    """`remember`; `category` is the domain, `cold_synced` whether the cold tier has it too, `new` whether it was made.

    `commit` is None where the note said so already. `dates` were made absolute; `flags` say what is likely no memory.
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
    dates: list[Absolute] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TreeReport:
    """`tree --add` and `tree --remove`; `reason` says why nothing was done."""

    path: str
    added: bool = False
    removed: bool = False
    reason: str = ""
    commit: str | None = None


@dataclass(slots=True)
class TreeShown:
    """`tree --show`: the text within its limits, and its nodes as other tools know them."""

    text: str
    nodes: dict[str, dict[str, Any]]
    node_count: int
    max_nodes: int
    size_bytes: int
    max_bytes: int
    hidden: int


@dataclass(slots=True)
class PruneReport:
    """`tree --prune`."""

    pruned: list[str]
    commit: str | None = None


@dataclass(slots=True)
class RebuildReport:
    """`tree --rebuild`: what is proposed; `applied` with where the notes are now, once it is done.

    `tree_rebuilt`: "llm" where a proposal was applied, "counts-only" where no model was asked; of so many `nodes`.
    """

    moves: list[dict[str, str]]
    descriptions: dict[str, str]
    applied: bool = False
    paths: list[str] = field(default_factory=list)
    commit: str | None = None
    tree_rebuilt: str = ""
    nodes: int = 0


@dataclass(slots=True)
class HotReport:
    """`hot --update` and `hot --rebuild`; `moved` are the notes that what was pruned is in now."""

    updated: str
    output: str
    size_bytes: int
    max_bytes: int
    moved: list[str] = field(default_factory=list)
    commit: str | None = None


@dataclass(slots=True)
class ConsolidateReport:
    """`consolidate`; `evicted` are the notes that left the tree, `cold_synced` the rows that waited to be sent.

    `tree_rebuilt` (monthly, full): "counts-only", "llm" where a model reshaped it (`moved`: where the notes are now),
    "failed" where it could not.
    """

    mode: str
    agent_id: str
    timestamp: str
    evicted_warm: int = 0
    archived_cold: int = 0
    pruned_nodes: int = 0
    tree_rebuilt: str = ""
    cold_deleted: int = 0
    hot_size_bytes: int = 0
    tiers: dict[str, int] = field(default_factory=dict)
    evicted: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    cold_synced: int = 0
    analysis: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    report: str = ""
    commit: str | None = None


@dataclass(slots=True)
class ColdHit:
    """A row of `cold --query`; `tier` is what its score says, `created_at` in Unix seconds."""

    id: str
    text: str
    category: str
    importance: float
    created_at: int
    access_count: int
    score: float
    tier: str
    path: str

    @classmethod
    def of(cls, row: ColdRow, rules: Rules, now: float) -> "ColdHit":
        """A row as it is worth at a time (Unix seconds)."""
        value = score(row.importance, (now - row.created_at) / DAY, row.accesses, rules)
        name = tier(value, rules)
        return cls(
            row.id,
            row.text,
            row.category,
            row.importance,
            row.created_at,
            row.accesses,
            round(value, 4),
            name if name == "frozen" else "cold",
            row.path,
        )


@dataclass(slots=True)
class SyncedReport:
    """`sync-critical`; `synced` is False where a newer state is there."""

    synced: bool
    timestamp: str
    size_bytes: int


@dataclass(slots=True)
class FromCloudReport:
    """`restore --from-cloud`: the notes that stand again; `cold` rows stay in the cold tier."""

    restored: list[str]
    cold: int
    hot_state: dict[str, Any]
    commit: str | None


@dataclass(slots=True)
class Metrics:
    """`metrics`: of the agent's tree; sizes of the warm tier are those of facts that may leave it."""

    tree_index_size_bytes: int
    tree_node_count: int
    hot_memory_size_bytes: int
    warm_memory_count: int
    warm_memory_size_kb: float
    retrieval_count: int
    evictions_today: int
    reinforcements_today: int
    consolidation_count: int
    last_consolidation: int
    context_tokens_saved: int
    timestamp: str


@dataclass(slots=True)
class DistillReport:
    """`distill`; sizes in bytes; `metadata` is what was kept word for word."""

    distilled: Distilled
    mode: str
    original_size: int
    distilled_size: int
    metadata: Metadata
    core_summary: str | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Ingested:
    """A fact out of a daily note."""

    id: str
    text: str
    category: str
    importance: float
    metadata: Metadata


@dataclass(slots=True)
class IngestReport:
    """`ingest-daily`: the daily notes that were read, and the notes that are new (or would be, in a dry run).

    `skipped`: facts that were known; `warnings`: what the notes lack, see `validate`.
    """

    files: list[str]
    created: list[str]
    commit: str | None
    facts: list[Ingested] = field(default_factory=list)
    skipped: int = 0
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ValidateReport:
    """`validate`."""

    status: str
    warnings_count: int
    warnings: list[str]
    suggestions: list[str]
    file: str


@dataclass(slots=True)
class ExtractReport:
    """`extract-metadata`."""

    file: str
    metadata: Metadata
    summary: dict[str, int]


@dataclass(slots=True)
class UrlHit:
    """A fact with a URL that was looked for."""

    id: str
    text: str
    category: str
    metadata: Metadata
    path: str


@dataclass(slots=True)
class UrlReport:
    """`search-url`; `urls` are all that hold the fragment, also those beyond the limit of facts."""

    query: str
    results_count: int
    results: list[UrlHit]
    urls: list[str]


@dataclass(slots=True)
class Retrieved:
    """`retrieve`: a hit of recall as a fact."""

    id: str
    text: str
    category: str
    importance: float
    created_at: int
    access_count: int
    score: float
    tier: str
    relevance: float
    path: str
    metadata: Metadata

    @classmethod
    def of(cls, hit: Hit, fact: Fact, accesses: int, rules: Rules, now: float) -> "Retrieved":
        """A hit with what its note says of itself. Hot and warm are what its score says; cold is where it is."""
        age = (now - fact.created_at) / DAY if fact.created_at else 0.0
        value = score(fact.importance, age, accesses, rules)
        name = hit.tier if hit.tier != "warm" else "hot" if tier(value, rules) == "hot" else "warm"
        return cls(
            id=fact.id,
            text=hit.text,
            category=fact.category,
            importance=fact.importance,
            created_at=fact.created_at,
            access_count=accesses,
            score=round(value, 4),
            tier=name,
            relevance=round(hit.score, 4),
            path=hit.path,
            metadata=fact.metadata,
        )


@dataclass(slots=True)
class AdoptReport:
    """What was taken over from the files of the original: the new notes, and what could not be read."""

    created: list[str]
    skipped: list[Skipped]
    commit: str | None
