"""The vectors of words that the package wordllama ships (its door, the extra `embed`): a text is the sum of its words.

Only its two files are read, the tokenizer and the table of vectors. Its own code would set up logging for the whole
process, import an HTTP client, and weigh every word alike. Here a word weighs more the rarer it is in the language,
which the tokenizer tells: it numbers the pieces of words from the commonest on (docs/ranking.md says what that gives).
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from importlib import util
from math import log
from pathlib import Path
from typing import Any

from bonsai.errors import BadData, Unavailable, install_hint

WEIGHING = 1  # version of how words are weighed
BYTES = 259  # pieces that are no parts of words
COMMON = 5.0  # the logarithm of the number of a word that says nothing
LEAST = 0.3  # what it weighs all the same
_TABLE = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


def is_there() -> bool:
    """Whether the package is installed; nothing is imported."""
    return util.find_spec("wordllama") is not None


class WordVectors:
    """An embedder. Raises Unavailable where the package is not installed, or has other files than are known."""

    def __init__(self) -> None:
        spec = util.find_spec("wordllama")
        if spec is None or not spec.submodule_search_locations:
            raise Unavailable("the embedding model is not installed", hint=install_hint("embed"))
        folder = Path(spec.submodule_search_locations[0])
        try:
            from tokenizers import Tokenizer

            self._table = _table(folder / _TABLE)
            self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # the tokenizer raises nothing more special
            raise Unavailable(f"the embedding model cannot be read: {error}", hint=install_hint("embed")) from error
        self._tokenizer.no_padding()
        self._word = lru_cache(65536)(self._vector)
        from importlib import metadata  # not at the top: every recall asks whether the package is there

        self.name = f"wordllama {metadata.version('wordllama')}, weighed {WEIGHING}"

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """See the port."""
        return [self._embed(text.split()) for text in texts]

    def _embed(self, words: list[str]) -> bytes:
        import numpy

        found = sum((self._word(word) for word in words), numpy.zeros(self._table.shape[1], numpy.float32))
        size = float(numpy.linalg.norm(found))
        return bytes(numpy.rint(found * (127 / size if size else 0.0)).astype(numpy.int8).tobytes())

    def _vector(self, word: str) -> Any:
        """The mean of the pieces of a word, as long as the word is rare."""
        import numpy

        plain = word.encode("utf-8", "replace").decode()  # the tokenizer takes no lone surrogate
        pieces = self._tokenizer.encode(plain, add_special_tokens=False).ids
        if not pieces:
            return numpy.zeros(self._table.shape[1], numpy.float32)
        mean = self._table[pieces].astype(numpy.float32).mean(0)
        number = sum(max(1, piece - BYTES + 1) for piece in pieces)
        return mean * (max(LEAST, log(max(2, number)) - COMMON) / (float(numpy.linalg.norm(mean)) or 1.0))


def _table(path: Path) -> Any:
    """The only tensor of a safetensors file: eight bytes of length, a JSON header of that length, the numbers."""
    import numpy

    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(min(length, 65536)))
    (entry,) = [value for name, value in header.items() if name != "__metadata__"]
    if entry["dtype"] != "F16":
        raise BadData(f"numbers of the form {entry['dtype']}", path=str(path))
    return numpy.memmap(path, numpy.float16, "r", 8 + length + entry["data_offsets"][0], tuple(entry["shape"]))
