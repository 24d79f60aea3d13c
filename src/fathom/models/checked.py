"""An embedder that is not trusted: what it gives is checked before it ranks or enters an index."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.errors import FathomError, ModelError, culprit
from fathom.models.base import Embedder, Matrix, for_many

_LENGTH_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class CheckedEmbedder:
    """An `Embedder` whose faults are all of one type, and named."""

    embedder: Embedder

    @property
    def dimension(self) -> int:
        """See `Embedder.dimension`."""
        return self.embedder.dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """See `Embedder.identity`."""
        return self.embedder.identity

    @property
    def in_bulk(self) -> "CheckedEmbedder":
        """See `Bulk.in_bulk`."""
        return CheckedEmbedder(for_many(self.embedder))

    def count(self, text: str) -> int:
        """See `Embedder.count`."""
        return self.embedder.count(text)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed`.

        Raises:
            ModelError: Also if it breaks off, or gives another shape, no numbers, or vectors
                that are not of unit length.
        """
        try:
            vectors = self.embedder.embed(texts)
        except FathomError:
            raise
        except Exception as error:
            raise ModelError(f"the embedder {self._name} broke off: {culprit(error)}") from error
        wanted = (len(texts), self.dimension)
        if vectors.shape != wanted:
            raise self._wrong(f"gives vectors of shape {vectors.shape}, expected {wanted}")
        lengths = np.linalg.norm(vectors, axis=1)
        if not np.isfinite(lengths).all():
            raise self._wrong("gives vectors that are not numbers")
        if np.abs(lengths - 1.0).max(initial=0.0) > _LENGTH_SLACK:
            raise self._wrong("gives vectors that are not of unit length")
        return vectors

    @property
    def _name(self) -> str:
        return repr(self.identity.get("model", type(self.embedder).__name__))

    def _wrong(self, what: str) -> ModelError:
        return ModelError(f"the embedder {self._name} {what}; choose another in models.embedder")
