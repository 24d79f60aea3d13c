"""An embedder that does not embed a text twice while it remembers it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fathom.models.base import Embedder, Matrix
from fathom.models.memory import Memory

_TEXTS = 8192  # about 16 MB with the shipped model


def _room() -> Memory[str, NDArray[np.float32]]:
    return Memory(_TEXTS, lambda _vector: 1)


@dataclass(frozen=True, slots=True)
class RememberingEmbedder:
    """An `Embedder` with a memory; for texts that come again, as sentences of an index do."""

    embedder: Embedder
    memory: Memory[str, NDArray[np.float32]] = field(default_factory=_room)

    @property
    def dimension(self) -> int:
        """See `Embedder.dimension`."""
        return self.embedder.dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """See `Embedder.identity`."""
        return self.embedder.identity

    def count(self, text: str) -> int:
        """See `Embedder.count`."""
        return self.embedder.count(text)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed`."""
        known = self.memory.known(texts)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        fresh = dict(zip(new, self.embedder.embed(new), strict=True)) if new else {}
        self.memory.keep(fresh)
        vectors = known | fresh
        return np.stack([vectors[text] for text in texts]) if texts else self.embedder.embed([])
