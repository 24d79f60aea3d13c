"""An embedder with an ONNX model; a text has the same unit vector in any batch."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fathom.errors import ModelError
from fathom.models.base import Matrix
from fathom.models.runtime import Runtime, choose_lanes, group_batches
from fathom.models.tokens import Tokens


class OnnxEmbedder:
    """An embedder that runs an ONNX model on the processor.

    Only texts of equal token count share a batch, so no text is ever padded. The vector of a text
    is the same to the last bit alone and in any batch and order. This was measured for the shipped
    model with OpenVINO and with ONNX Runtime (there with any number of threads), on one machine.
    On another processor or with another version of the runtime, the last bits may differ.
    """

    def __init__(
        self,
        runtime: Runtime,
        tokens: Tokens,
        identity: Mapping[str, str],
        *,
        limit: int,
        lanes: int = 1,
        dimension: int = 0,
    ) -> None:
        """Take a loaded model.

        Args:
            runtime: The runtime of the model.
            tokens: The tokenizer of the model.
            identity: The identity, with `model` and `sha256`; the runtime's components are added.
            limit: The number of tokens, marks included, at which texts are cut.
            lanes: The number of batches that are run at the same time.
            dimension: The length of a vector; 0 to find it out by embedding a text.
        """
        self._runtime = runtime
        self._tokens = tokens
        self._limit = limit
        self._identity = {**identity, "runtime": runtime.name, "precision": runtime.precision}
        self._lanes = ThreadPoolExecutor(lanes, "embedding") if lanes > 1 else None
        self._dimension: int = dimension or self.embed(["dimension"]).shape[1]

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """The identity: `model`, its file's `sha256`, `runtime` and `precision` of products."""
        return self._identity

    @cached_property
    def bulk_embedder(self) -> "OnnxEmbedder":
        """The embedder for many texts, with one thread for each run and several runs at once."""
        runtime, lanes = choose_lanes(self._runtime)
        if lanes == 1:
            return self
        return OnnxEmbedder(
            runtime,
            self._tokens,
            self._identity,
            limit=self._limit,
            lanes=lanes,
            dimension=self._dimension,
        )

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector for each text, as (texts, dimension) float32.

        Raises:
            ModelError: If the model cannot be loaded, or gives numbers that are not finite.
        """
        ids = [self._tokens.encode(text, self._limit) for text in texts]
        if not ids:
            return np.zeros((0, self._dimension), dtype=np.float32)
        places = list(group_batches([len(row) for row in ids]))
        rows = ([ids[place] for place in batch] for batch in places)
        results = list((self._lanes.map if self._lanes else map)(self._run_batch, rows))
        vectors = np.empty((len(ids), results[0].shape[1]), dtype=np.float32)
        for batch, batch_vectors in zip(places, results, strict=True):
            vectors[batch] = batch_vectors
        return vectors

    def count(self, text: str) -> int:
        """Return the number of tokens of the whole `text`, without the model's own marks."""
        return self._tokens.count(text)

    def _run_batch(self, ids: Sequence[Sequence[int]]) -> Matrix:
        """Return the vectors of rows of token ids, which all have the same length."""
        rows: NDArray[np.int64] = np.asarray(ids, dtype=np.int64)
        inputs = {
            "input_ids": rows,
            "attention_mask": np.ones_like(rows),
            "token_type_ids": np.zeros_like(rows),
        }
        vectors = self._runtime.run({name: inputs[name] for name in self._runtime.inputs})
        if not np.isfinite(vectors).all():
            raise ModelError(f"model {self._identity['model']!r} gives numbers that are not finite")
        return vectors
