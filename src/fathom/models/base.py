"""The protocols of the local embedders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
BULK_MINIMUM = 16
"""The number of texts from which it pays to load the model in its faster way too."""


class Embedder(Protocol):
    """A model of unit vectors; equal texts get equal vectors, whatever the batch.

    Every implementation passes `testing.EmbedderConformance`.
    """

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """The keys that index and query must share: `model`, `sha256`, `runtime`, `precision`.

        An embedder that comes close to the vectors of a model in fp32 may name the `sha256` of that
        one as `space`; each may then search an index that the other made.
        """
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
        """Return the number of tokens of `text`, uncut, without the model's own marks."""
        ...


@runtime_checkable
class AsymmetricEmbedder(Protocol):
    """An embedder whose model is told whether a text is searched or is a question."""

    @property
    def questions(self) -> Embedder:
        """The embedder of questions; the embedder itself embeds the texts that are searched."""
        ...


def get_question_embedder(embedder: Embedder) -> Embedder:
    """Return the embedder of the questions that are compared with vectors of `embedder`."""
    return embedder.questions if isinstance(embedder, AsymmetricEmbedder) else embedder


@runtime_checkable
class BulkEmbedder(Protocol):
    """An embedder with a second way that is faster for many texts and gives the same vectors."""

    @property
    def bulk_embedder(self) -> Embedder:
        """The embedder for many texts."""
        ...


def get_bulk_embedder(embedder: Embedder) -> Embedder:
    """Return the embedder with the vectors of `embedder` that is faster for many texts."""
    return embedder.bulk_embedder if isinstance(embedder, BulkEmbedder) else embedder


@dataclass(frozen=True, slots=True)
class EmbedderWrapper:
    """An `Embedder` around another one, whose vectors are those of the other."""

    embedder: Embedder

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.embedder.dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of the embedder's vectors."""
        return self.embedder.identity

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector for each text."""
        return self.embedder.embed(texts)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, uncut, without the model's own marks."""
        return self.embedder.count(text)


def embed_many(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Embed texts as `Embedder.embed` does, in bulk if there are many."""
    return (get_bulk_embedder(embedder) if len(texts) >= BULK_MINIMUM else embedder).embed(texts)
