"""Whether recall asks what passages mean, and the model that it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bonsai.errors import Unavailable
from bonsai.story import Story

if TYPE_CHECKING:
    from bonsai.notes.meaning import Embedder


class Embedding(Story):
    """A workspace that can have an embedding model."""

    _embedder: Embedder | None = None

    def _embedding_model(self, mode: str, warnings: list[str]) -> Embedder | None:
        """The model for a mode of recall, None where only words count. "" is the mode that the settings choose.

        Raises Unavailable where mode hybrid is asked for and there is no model. Where only the settings want it, which
        travel between machines, that is a warning.
        """
        from bonsai.adapters import word_vectors

        wanted = mode or self.settings.text("recall", "mode")
        if wanted not in ("auto", "hybrid") or (wanted == "auto" and not word_vectors.is_there()):
            return None
        try:
            self._embedder = self._embedder or word_vectors.WordVectors()
        except Unavailable as error:
            if mode:
                raise
            warnings.append(f"{error}; it was searched by words. {error.hint}")
        return self._embedder
