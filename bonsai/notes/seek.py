"""Many texts looked for at once, in time that depends on the bytes alone and not on how many texts there are."""

from collections.abc import Iterable
from operator import itemgetter
from struct import iter_unpack

_BLOCK = 6  # bytes
_HEAD = 2 * _BLOCK - 1  # bytes: of a text that is shorter no block may be covered whole
_FEW = 16  # texts: so few are found faster one by one


class Seeker:
    """Finds which of some texts (bytes) stand in other bytes.

    A text that stands in bytes covers one of their blocks of six whole, which begins within the first six bytes of the
    text. So where a block is known, the head of a text may begin a few bytes before it.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        every = list(texts)
        self._plain = [text for text in every if len(text) < _HEAD or len(every) <= _FEW]
        self._offsets: dict[bytes, set[int]] = {}
        self._heads: dict[bytes, list[bytes]] = {}
        for text in every if len(every) > _FEW else ():
            if len(text) >= _HEAD:
                self._heads.setdefault(text[:_HEAD], []).append(text)
                for offset in range(_BLOCK):
                    self._offsets.setdefault(text[offset : offset + _BLOCK], set()).add(offset)

    def found(self, data: bytes) -> set[bytes]:
        """The texts that stand in the bytes."""
        there = {text for text in self._plain if text in data}
        whole = len(data) - len(data) % _BLOCK if self._offsets else 0
        blocks = map(itemgetter(0), iter_unpack(f"{_BLOCK}s", data[:whole]))
        for number, block in enumerate(blocks):
            for offset in self._offsets.get(block, ()):
                start = number * _BLOCK - offset
                if start >= 0 and (texts := self._heads.get(data[start : start + _HEAD])):
                    there.update(text for text in texts if data.startswith(text, start))
        return there
