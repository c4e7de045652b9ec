"""An embedder for tests: words of one meaning share a direction, any other word has one of its own."""

from collections.abc import Sequence
from hashlib import sha256
from math import sqrt
from typing import ClassVar

MEANINGS = ("sedan car vehicle", "doctor physician", "coffee tea drink", "sea ocean")
SIZE = 96  # the directions of the meanings, and as many others as keep strangers apart


class Thesaurus:
    seen: ClassVar[list[str]] = []

    def __init__(self, name: str = "thesaurus 1") -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.seen.extend(texts)
        return [self._vector(text.split()) for text in texts]

    def _vector(self, words: list[str]) -> bytes:
        held = [0.0] * SIZE
        for word in words:
            held[_direction(word)] += 1
        size = sqrt(sum(value * value for value in held)) or 1.0
        return bytes(round(value / size * 127) & 0xFF for value in held)


def _direction(word: str) -> int:
    for at, meaning in enumerate(MEANINGS):
        if word in meaning.split():
            return at
    return len(MEANINGS) + int.from_bytes(sha256(word.encode()).digest()[:4]) % (SIZE - len(MEANINGS))
