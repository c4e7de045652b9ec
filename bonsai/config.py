"""Settings: one table makes the defaults, the checks and the documentation of `bonsai.toml`."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from bonsai.errors import Misconfigured


class Setting(NamedTuple):
    """One key of bonsai.toml."""

    default: int | float | bool | str
    least: float  # of a text: its characters
    most: float
    about: str
    choices: tuple[str, ...] = ()  # of a text, where it is one of a few

    @property
    def allowed(self) -> str:
        """What it may be, in words."""
        if self.choices:
            return ", ".join(self.choices)
        span = f"{self.least:g} – {self.most:g}"
        return f"{span} characters" if isinstance(self.default, str) else span

    @property
    def shown(self) -> str:
        """The default as it stands in bonsai.toml."""
        import json

        return json.dumps(self.default) if isinstance(self.default, str) else str(self.default)


TABLE: dict[str, dict[str, Setting]] = {
    "index": {
        "block_tokens": Setting(500, 100, 5000, "budget of the generated block in MEMORY.md, in tokens"),
        "overdue_hours": Setting(7, 1, 1000, "a reindex is overdue after so many hours with changes pending"),
    },
    "boot": {
        "max_bytes": Setting(10_000, 1000, 1_000_000, "budget of the whole MEMORY.md, in bytes"),
        "max_lines": Setting(200, 10, 10_000, "budget of the whole MEMORY.md, in lines"),
        "hot_bytes": Setting(5_000, 100, 1_000_000, "budget of the hot-state sections, in bytes"),
    },
    "general": {
        "max_age_days": Setting(30, 1, 100_000, "a note in general/ that is older is a violation"),
        "critical": Setting(5, 1, 100_000, "so many violations make status CRITICAL"),
    },
    "reflect": {
        "general_days": Setting(15, 0, 100_000, "a note in general/ that is older becomes a candidate"),
        "domain_files": Setting(20, 1, 100_000, "a domain with more notes becomes a candidate"),
        "domain_tokens": Setting(500, 1, 10_000_000, "a domain with more tokens becomes a candidate"),
        "file_tokens": Setting(500, 1, 10_000_000, "a note with more tokens becomes a candidate"),
        "similarity": Setting(0.8, 0.1, 1, "notes that share this part of their lines are near-duplicates"),
        "max_loss": Setting(0.25, 0, 1, "a run may drop at most this part of a note's or the tree's tokens"),
    },
    "purge": {
        "grace_days": Setting(180, 1, 100_000, "days between archiving a note and its purge"),
        "ask_over": Setting(20, 0, 1_000_000, "a purge of more files needs --yes"),
    },
    "tiers": {
        "decay_days": Setting(30.0, 0.1, 100_000, "a score falls to 1/e in so many days"),
        "boost": Setting(0.1, 0, 10, "each time a fact is recalled adds this part to its score"),
        "hot": Setting(0.7, 0, 1000, "a fact with at least this score stands in the boot file"),
        "warm": Setting(0.3, 0, 1000, "with at least this score it is warm"),
        "cold": Setting(0.05, 0, 1000, "with at least this score it is cold, below it is frozen"),
        "warm_kb": Setting(50.0, 0, 1_000_000, "evictable facts in the tree may take so many KiB"),
        "warm_days": Setting(30.0, 0, 100_000, "an older fact leaves the tree when its score is low"),
        "evict_below": Setting(0.3, 0, 1000, "which is below this"),
        "cold_years": Setting(10.0, 0.1, 1000, "a frozen fact is deleted from the cold tier after so many years"),
    },
    "hot": {
        "max_lessons": Setting(
            20, 0, 1000, "lessons that `hot` keeps in the boot file; the least important leave first"
        ),
        "max_events": Setting(10, 0, 1000, "events that it keeps; the oldest leave first"),
        "max_tasks": Setting(10, 0, 1000, "pending tasks that it keeps; the oldest leave first"),
    },
    "tree": {
        "max_nodes": Setting(50, 1, 10_000, "nodes of the tree index that are shown"),
        "max_depth": Setting(4, 1, 8, "levels of it"),
        "max_children": Setting(10, 1, 1000, "children of one node"),
        "max_bytes": Setting(2048, 200, 1_000_000, "size of it as shown"),
        "dead_days": Setting(60, 1, 100_000, "an empty node is dead when nothing happened in it for so long"),
    },
    "distill": {
        "max_bytes": Setting(100, 20, 100_000, "what a turn is distilled to, if its meaning fits"),
        "summary_bytes": Setting(30, 8, 1000, "a core summary is shorter"),
        "short_chars": Setting(200, 0, 1_000_000, "turns up to this length are distilled by rules, also with an LLM"),
    },
    "recall": {
        "mode": Setting(
            "auto",
            0,
            20,
            "lexical, hybrid, or auto: hybrid where the extra embed is installed",
            choices=("auto", "lexical", "hybrid"),
        ),
    },
    "llm": {
        "fast_model": Setting("", 0, 200, "the model that is asked often: distil, tree search"),
        "rebuild_model": Setting("", 0, 200, "the model that is asked for a better shape of the tree"),
    },
    "cold": {
        "batch": Setting(100, 1, 10_000, "rows that are sent to the database at once"),
        "retry_seconds": Setting(5.0, 0, 3600, "wait before the second try; it doubles for each further one"),
        "retries": Setting(4, 0, 20, "tries after the first"),
    },
    "commit": {
        "lock_seconds": Setting(30, 0, 3600, "how long to wait for another bonsai at work in the workspace"),
        "max_deleted": Setting(0.3, 0.01, 1, "when a larger part of the notes vanishes at once nothing is committed"),
    },
    "watch": {
        "debounce_seconds": Setting(0.5, 0.3, 60, "the daemon commits when nothing was saved for so long"),
        "most_seconds": Setting(3.0, 0.3, 600, "under constant saving it commits so often all the same"),
        "reconcile_minutes": Setting(10, 1, 1440, "it looks at everything so often, whatever it was told"),
    },
    "schedule": {
        "reindex_hours": Setting(6, 0, 8760, "the daemon checks every index so often; 0 is never"),
        "status_hours": Setting(6, 0, 8760, "it logs what is wrong so often; 0 is never"),
        "verify_days": Setting(1, 0, 3650, "it looks for damage in git, in the background, so often; 0 is never"),
        "reflect_days": Setting(7, 0, 3650, "it stages a reflection so often; 0 is never"),
        "purge_days": Setting(0, 0, 3650, "it purges archives whose grace is over so often; 0 is never"),
        "consolidate_hours": Setting(0, 0, 8760, "it consolidates the tiers (quick) so often; 0 is never"),
        "consolidate_days": Setting(0, 0, 3650, "it does so more thoroughly (daily) so often; 0 is never"),
        "consolidate_months": Setting(0, 0, 120, "it does so with the cold tier (monthly) so often; 0 is never"),
    },
}


@dataclass(frozen=True)
class Settings:
    """The settings in force; `settings["purge", "grace_days"]`."""

    values: dict[tuple[str, str], int | float | bool | str]

    def __getitem__(self, key: tuple[str, str]) -> int | float:
        value = self.values[key]
        assert not isinstance(value, str), key
        return value

    def text(self, part: str, key: str) -> str:
        """A setting that is a text."""
        return str(self.values[part, key])


def defaults() -> Settings:
    """The settings of a workspace without bonsai.toml."""
    return Settings({(part, key): item.default for part, keys in TABLE.items() for key, item in keys.items()})


#: Keys of the original's config.json → ours; None: known there, without a meaning here.
ORIGINAL: dict[str, tuple[str, str] | None] = {
    "agent_id": None,
    "hot.max_bytes": ("boot", "hot_bytes"),
    "hot.max_lessons": ("hot", "max_lessons"),
    "hot.max_events": ("hot", "max_events"),
    "hot.max_tasks": ("hot", "max_tasks"),
    "warm.max_kb": ("tiers", "warm_kb"),
    "warm.retention_days": ("tiers", "warm_days"),
    "warm.eviction_threshold": ("tiers", "evict_below"),
    "cold.backend": None,
    "cold.retention_years": ("tiers", "cold_years"),
    "scoring.half_life_days": ("tiers", "decay_days"),
    "scoring.reinforcement_boost": ("tiers", "boost"),
    "tree.max_nodes": ("tree", "max_nodes"),
    "tree.max_depth": ("tree", "max_depth"),
    "tree.max_size_bytes": ("tree", "max_bytes"),
    "distillation.aggression": None,
    "distillation.max_distilled_bytes": ("distill", "max_bytes"),
    "distillation.mode": None,
    "consolidation.warm_eviction": None,
    "consolidation.tree_prune": None,
    "consolidation.tree_rebuild": None,
}


def original(data: bytes, path: str = "memory/config.json") -> tuple[Settings, list[str]]:
    """The settings that config.json of the original tiered memory says, and a warning for each key that says none."""
    import json

    try:
        given = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return defaults(), [f"{path} is no JSON object, so it is passed over"]
    values, warnings = dict(defaults().values), []
    pairs = {
        f"{part}.{key}": value for part, keys in given.items() if isinstance(keys, dict) for key, value in keys.items()
    }
    pairs |= {part: value for part, value in given.items() if not isinstance(value, dict)}
    for name, value in pairs.items():
        ours = ORIGINAL.get(name)
        if ours is None:
            warnings += [] if name in ORIGINAL else [f"{path}: {name} is no setting"]
            continue
        number = type(TABLE[ours[0]][ours[1]].default)(value) if isinstance(value, int | float) else value
        if fault := _fault(*ours, number):
            warnings.append(f"{path}: {name}: {fault}")
        else:
            values[ours] = number
    return Settings(values), warnings


def parse(data: bytes, path: str = "bonsai.toml", base: Settings | None = None) -> Settings:
    """Read bonsai.toml over `base` (the defaults).

    Raises Misconfigured that names every unknown key and every bad value at once.
    """
    import tomllib

    try:
        given = tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"not valid TOML: {error}", path=path, hint="Correct the file.") from error
    values, wrong = dict((base or defaults()).values), []
    for part, keys in given.items():
        if part not in TABLE or not isinstance(keys, dict):
            wrong.append(f"[{part}] is no section (there are {', '.join(TABLE)})")
            continue
        for key, value in keys.items():
            fault = _fault(part, key, value)
            if fault:
                wrong.append(fault)
            else:
                values[part, key] = value
    if wrong:
        raise Misconfigured("; ".join(wrong), path=path, hint="Correct the file, or delete the lines.")
    return Settings(values)


def _fault(part: str, key: str, value: Any) -> str:
    item = TABLE[part].get(key)
    if item is None:
        return f"{part}.{key} is no setting (there are {', '.join(TABLE[part])})"
    if item.choices:
        return "" if value in item.choices else f"{part}.{key} must be one of {item.allowed}"
    if isinstance(item.default, str):
        good = isinstance(value, str) and item.least <= len(value) <= item.most and value.isprintable()
        return "" if good else f"{part}.{key} must be a text of at most {item.most:g} characters"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{part}.{key} must be a number"
    if isinstance(item.default, int) and not isinstance(value, int):
        return f"{part}.{key} must be a whole number"
    if not item.least <= value <= item.most:
        return f"{part}.{key} must be between {item.least:g} and {item.most:g}"
    return ""
