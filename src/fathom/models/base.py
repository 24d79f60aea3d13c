"""What a local model promises."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
MANY = 16
"""From so many texts on they are worth that the model is loaded in another way too."""


class Embedder(Protocol):
    """Turns texts into unit vectors; equal texts give equal vectors, whatever the batch.

    Every implementation passes `testing.EmbedderConformance`.
    """

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """What must agree between index and query: `model`, `sha256`, `runtime`, `precision`."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed `texts`, each cut at the model's limit.

        Returns:
            (len(texts), dimension) float32, rows of unit length, in the order given.

        Raises:
            ModelError: If the model cannot be loaded.
        """
        ...

    def count(self, text: str) -> int:
        """Number of tokens of `text`, uncut, without the model's own marks."""
        ...


@runtime_checkable
class TwoSided(Protocol):
    """An embedder of a model that is told whether a text is searched or asked."""

    @property
    def questions(self) -> Embedder:
        """Embeds what is asked, where the embedder itself embeds what is searched."""
        ...


def for_questions(embedder: Embedder) -> Embedder:
    """The embedder whose vectors of questions are compared with those of `embedder`."""
    return embedder.questions if isinstance(embedder, TwoSided) else embedder


@runtime_checkable
class Bulk(Protocol):
    """An embedder that makes the vectors of many texts sooner in another way; the same vectors."""

    @property
    def in_bulk(self) -> Embedder:
        """The way for many texts."""
        ...


def for_many(embedder: Embedder) -> Embedder:
    """The embedder whose vectors are those of `embedder`, sooner where the texts are many."""
    return embedder.in_bulk if isinstance(embedder, Bulk) else embedder


def embed_many(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """See `Embedder.embed`; in bulk where the texts are many."""
    return (for_many(embedder) if len(texts) >= MANY else embedder).embed(texts)
