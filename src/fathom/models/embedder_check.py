"""A wrapper that checks the vectors of an embedder, which may be a plug-in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from fathom.errors import FathomError, ModelError, locate_error
from fathom.models.base import EmbedderWrapper, Matrix, get_bulk_embedder

_LENGTH_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class CheckedEmbedder(EmbedderWrapper):
    """An `Embedder` that turns every fault of another one into a `ModelError` that names it.

    Faults are any error that is not Fathom's own, a wrong shape, values that are not finite, and
    vectors that are not of unit length.
    """

    @property
    def bulk_embedder(self) -> "CheckedEmbedder":
        """The embedder for many texts, checked too."""
        return CheckedEmbedder(get_bulk_embedder(self.embedder))

    @override
    def embed(self, texts: Sequence[str]) -> Matrix:
        try:
            vectors = self.embedder.embed(texts)
        except FathomError:
            raise
        # The embedder may be a plug-in, which may raise any error.
        except Exception as error:
            raise ModelError(
                f"the embedder {self._name} broke off: {locate_error(error)}"
            ) from error
        expected_shape = (len(texts), self.dimension)
        if vectors.shape != expected_shape:
            raise self._make_error(
                f"gives vectors of shape {vectors.shape}, expected {expected_shape}"
            )
        lengths = np.linalg.norm(vectors, axis=1)
        if not np.isfinite(lengths).all():
            raise self._make_error("gives vectors that are not numbers")
        if np.abs(lengths - 1.0).max(initial=0.0) > _LENGTH_SLACK:
            raise self._make_error("gives vectors that are not of unit length")
        return vectors

    @property
    def _name(self) -> str:
        return repr(self.identity.get("model", type(self.embedder).__name__))

    def _make_error(self, fault: str) -> ModelError:
        return ModelError(f"the embedder {self._name} {fault}; choose another in models.embedder")
