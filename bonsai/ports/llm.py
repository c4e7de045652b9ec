"""What is needed of a language model."""

from __future__ import annotations

from typing import Protocol


class Llm(Protocol):
    """A language model."""

    def complete(self, prompt: str) -> str:
        """The answer to a prompt. Raises Unavailable, Refused."""
