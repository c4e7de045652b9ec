"""What a fact is worth, and the tier that this puts it in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from bonsai.config import Settings

Tier = Literal["hot", "warm", "cold", "frozen"]
IMPORTANCE = 0.5  # of a note that says none
CONFIDENCE = 0.8  # of a fact by key that says none
DAY = 86_400  # seconds
_MOST = 1e15  # above every time and count there is; a larger whole number may not even be a float


def finite(value: Any, otherwise: float) -> float:
    """A value that others wrote as a number; `otherwise` for a text, true, NaN, infinity or what is beyond measure."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST  # NaN is not below it
    return float(value) if good else otherwise


@dataclass(frozen=True, slots=True)
class Rules:
    """The constants, as bonsai.toml has them."""

    decay_days: float = 30.0
    boost: float = 0.1
    hot: float = 0.7
    warm: float = 0.3
    cold: float = 0.05
    warm_kb: float = 50.0
    warm_days: float = 30.0
    evict_below: float = 0.3
    cold_years: float = 10.0

    @classmethod
    def of(cls, settings: Settings) -> "Rules":
        """The rules of a workspace."""

        def tiers(key: str) -> float:
            return float(settings["tiers", key])

        return cls(
            decay_days=tiers("decay_days"),
            boost=tiers("boost"),
            hot=tiers("hot"),
            warm=tiers("warm"),
            cold=tiers("cold"),
            warm_kb=tiers("warm_kb"),
            warm_days=tiers("warm_days"),
            evict_below=tiers("evict_below"),
            cold_years=tiers("cold_years"),
        )


class Weighed(NamedTuple):
    """An evictable fact: its path, what it is worth, how old it is (days), how large (bytes)."""

    path: str
    score: float
    age: float
    size: int


def score(importance: float, age_days: float, accesses: int, rules: Rules) -> float:
    """importance × exp(−age/decay) × (1 + boost × accesses). An age below 0 (a clock that went back) counts as 0."""
    return importance * math.exp(-max(0.0, age_days) / rules.decay_days) * (1 + rules.boost * max(0, accesses))


def tier(value: float, rules: Rules) -> Tier:
    """The tier of a score."""
    if value >= rules.hot:
        return "hot"
    if value >= rules.warm:
        return "warm"
    return "cold" if value >= rules.cold else "frozen"


def is_spent(fact: Weighed, rules: Rules) -> bool:
    """Whether a fact leaves for what it is: old, and worth little."""
    return fact.age > rules.warm_days and fact.score < rules.evict_below


def evicted(facts: Sequence[Weighed], rules: Rules) -> list[Weighed]:
    """Those that leave the warm tier: old ones that are worth little, then the lowest until the rest fits its size."""
    out = [fact for fact in facts if is_spent(fact, rules)]
    gone = {fact.path for fact in out}
    stay = sorted((fact for fact in facts if fact.path not in gone), key=lambda fact: (fact.score, fact.path))
    size = sum(fact.size for fact in stay)
    for fact in stay:
        if size <= rules.warm_kb * 1024:
            break
        out.append(fact)
        size -= fact.size
    return out
