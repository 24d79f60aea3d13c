"""Embedding that may be broken off: what was computed of a long batch is kept with the index."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from fathom.index.base import IndexWriter, Matrix
from fathom.models.base import Embedder, embed_many

KEEP_SECONDS = 2.0
"""So much computing is lost at most."""
SLICE_SECONDS = 0.5
_FIRST = 1
_MOST = 4096


class PatientEmbedder:
    """Embeds in slices of about half a second; whoever asks for the same texts again goes on."""

    def __init__(
        self,
        embedder: Embedder,
        writer: IndexWriter,
        clock: Callable[[], float] = time.monotonic,
        *,
        space: str = "",
    ) -> None:
        self._embedder = embedder
        self._writer = writer
        self._space = space
        self._clock = clock
        self._size = _FIRST

    def embed(
        self, texts: Sequence[str], *, told: Callable[[int], None] = lambda _texts: None
    ) -> Matrix:
        """One unit vector a text, (texts, dimension) float32.

        Args:
            texts: What to embed.
            told: Told after each slice how many are done.
        """
        kept = self._writer.kept_vectors(texts, space=self._space)
        wanted = [text for text in dict.fromkeys(texts) if text not in kept]
        found, since = dict(kept), self._clock()
        fresh: list[str] = []
        while wanted:
            begun = self._clock()
            part, wanted = wanted[: self._size], wanted[self._size :]
            found.update(zip(part, embed_many(self._embedder, part), strict=True))
            fresh += part
            self._adapt(self._clock() - begun)
            told(len(texts) - len(wanted))
            if wanted and self._clock() - since + SLICE_SECONDS > KEEP_SECONDS:
                self._writer.keep_vectors({text: found[text] for text in fresh}, space=self._space)
                fresh, since = [], self._clock()
        if not texts:
            return np.zeros((0, self._embedder.dimension), dtype=np.float32)
        return np.stack([found[text] for text in texts])

    def _adapt(self, seconds: float) -> None:
        factor = min(2.0, SLICE_SECONDS / max(seconds, 1e-3))
        self._size = max(1, min(_MOST, int(self._size * factor)))
