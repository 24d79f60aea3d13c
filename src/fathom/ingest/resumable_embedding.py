"""Embedding that survives interruptions, because the index keeps the vectors of a long batch."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from fathom.index.base import IndexWriter, Matrix
from fathom.ingest.step_size import adapt_size
from fathom.models.base import Embedder, embed_many

KEEP_SECONDS = 2.0
"""The longest work that an interruption loses, in seconds."""
SLICE_SECONDS = 0.5
"""The time that a slice should take, in seconds."""
_FIRST_SLICE_TEXTS = 1
_MAX_SLICE_TEXTS = 4096


class ResumableEmbedder:
    """An embedder that works in slices and continues interrupted work.

    A slice takes about half a second; that of a slow embedder up to two seconds.
    """

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
        self._size = _FIRST_SLICE_TEXTS

    def embed(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] = lambda _texts: None
    ) -> Matrix:
        """Embed texts; kept vectors of an interrupted call are used.

        Args:
            texts: The texts.
            on_progress: A callback after each slice, with the number of finished texts.

        Returns:
            A unit vector for each text, (texts, dimension) float32.

        Raises:
            FathomError: If the embedder fails.
        """
        kept = self._writer.get_kept_vectors(texts, space=self._space)
        remaining = [text for text in dict.fromkeys(texts) if text not in kept]
        vectors, since = dict(kept), self._clock()
        fresh: list[str] = []
        while remaining:
            started = self._clock()
            slice_texts, remaining = remaining[: self._size], remaining[self._size :]
            vectors.update(zip(slice_texts, embed_many(self._embedder, slice_texts), strict=True))
            fresh += slice_texts
            seconds = self._adapt(len(slice_texts), self._clock() - started)
            on_progress(len(texts) - len(remaining))
            # The next slice counts too, so that vectors are kept before the limit is reached.
            if remaining and self._clock() - since + seconds > KEEP_SECONDS:
                self._writer.keep_vectors(
                    {text: vectors[text] for text in fresh}, space=self._space
                )
                fresh, since = [], self._clock()
        if not texts:
            return np.zeros((0, self._embedder.dimension), dtype=np.float32)
        return np.stack([vectors[text] for text in texts])

    def _adapt(self, texts: int, seconds: float) -> float:
        """Adapt the size of a slice to the time of the last one; return the time of the next.

        Args:
            texts: The number of texts in the last slice.
            seconds: The seconds that it took.
        """
        self._size = adapt_size(
            self._size,
            texts=texts,
            took=seconds,
            seconds=SLICE_SECONDS,
            bulk_seconds=KEEP_SECONDS,
            most=_MAX_SLICE_TEXTS,
        )
        return self._size * seconds / texts
