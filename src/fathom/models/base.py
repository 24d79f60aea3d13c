"""The protocols of the local embedders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
BULK_MINIMUM = 16
"""The least number of texts that are embedded in bulk: for fewer, loading the bulk form of the
model takes longer than it saves."""


class Embedder(Protocol):
    """A model that makes unit vectors of texts; equal texts get equal vectors in any batch.

    Every implementation passes `testing.EmbedderConformance`.
    """

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity of the vectors: `model`, `sha256`, `runtime` and `precision`.

        An index and a query must have the same identity. An embedder whose vectors are close to
        those of another model in fp32 may add the `sha256` of that model as `space`; each of the
        two may then search an index that the other made.
        """
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed `texts`, each cut at the model's limit.

        Returns:
            (len(texts), dimension) float32; row i is the vector of text i and has unit length.

        Raises:
            ModelError: If the model cannot be loaded.
        """
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of the whole `text`, without the model's own marks."""
        ...


@runtime_checkable
class AsymmetricEmbedder(Protocol):
    """An embedder that treats questions differently from the texts that are searched."""

    @property
    def questions(self) -> Embedder:
        """The embedder of questions; the object itself embeds the texts that are searched."""
        ...


def get_question_embedder(embedder: Embedder) -> Embedder:
    """Return the embedder for questions that are compared with vectors of `embedder`."""
    return embedder.questions if isinstance(embedder, AsymmetricEmbedder) else embedder


@runtime_checkable
class BulkEmbedder(Protocol):
    """An embedder with a second form that is faster for many texts and gives the same vectors."""

    @property
    def bulk_embedder(self) -> Embedder:
        """The embedder for many texts."""
        ...


def get_bulk_embedder(embedder: Embedder) -> Embedder:
    """Return the form of `embedder` for many texts; itself if it has only one form."""
    return embedder.bulk_embedder if isinstance(embedder, BulkEmbedder) else embedder


@dataclass(frozen=True, slots=True)
class EmbedderWrapper:
    """A base class of embedders that wrap another one and give its vectors."""

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
        """Return the number of tokens of the whole `text`, without the model's own marks."""
        return self.embedder.count(text)


def embed_many(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Embed texts as `Embedder.embed` does, in bulk from `BULK_MINIMUM` texts on."""
    return (get_bulk_embedder(embedder) if len(texts) >= BULK_MINIMUM else embedder).embed(texts)
