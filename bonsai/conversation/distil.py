"""What a turn comes to, in one line: by rules, without a model."""

from bonsai.facts.distill import distill

DECISION, TALK = 0.7, 0.5  # importance


def distilled(said: str, answered: str) -> tuple[str, float]:
    """The fact of a turn ("" where there is none), and how important it is: a decision counts for more than talk."""
    found = distill("\n".join(f"{who}: {text}" for who, text in (("User", said), ("Agent", answered)) if text))
    return found.fact, DECISION if "decided" in found.fact.casefold() else TALK
