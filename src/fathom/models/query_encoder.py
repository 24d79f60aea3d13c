"""Encoders of questions that are faster than the shipped embedder, whose vectors of texts stay.

A question's vector is compared with vectors that the shipped embedder made of the chunks, so it
must be nearly the vector that this embedder would have made of the question. Both share the
embedder's file: encoders name places in it (external data of ONNX). They are loaded at the first
question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from fathom.errors import ModelError, SettingsError
from fathom.models.base import Embedder, EmbedderWrapper, Matrix, get_bulk_embedder
from fathom.models.cache import ModelCache, load_through
from fathom.models.embedder import DIMENSION, LIMIT, SHIPPED, SHIPPED_SHA256
from fathom.models.runtime import LazyRuntime, hash_file
from fathom.models.tokens import Tokens, WordPiece

SHA256: Mapping[str, str] = {
    "rounded": "25ffcbe88c2925dbd9450e3f9708049b8be6806e5d446d52f11b9e12ae7e7cc0",
}
"""The digests of `query-encoder-NAME.onnx`, by the name in `models.query_encoder`."""


class QueryEncoder:
    """An embedder of questions, one at a time on one thread, with 8-bit products.

    The values of a run share their steps of rounding, so in a batch a text would have another
    vector in other company. More threads are no faster with so few tokens.
    """

    def __init__(
        self,
        file: Path,
        tokens: Tokens,
        identity: Mapping[str, str],
        *,
        cache: ModelCache | None = None,
    ) -> None:
        """Name the model; it is loaded at the first question.

        Args:
            file: The model, beside the embedder's.
            tokens: The embedder's tokenizer.
            identity: The identity; it holds `model` and `sha256`.
            cache: Keeps what is loaded; by default nothing is kept.
        """
        self._runtime = LazyRuntime(file, 1, frozenset({"input_ids"}), cache=cache)
        self._tokens = tokens
        self.identity: Mapping[str, str] = {
            **identity,
            "runtime": self._runtime.name,
            "precision": "int8",
        }

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return DIMENSION

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector for each text."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        ids = [self._tokens.encode(text, LIMIT) for text in texts]
        rows = [{"input_ids": np.asarray([row], dtype=np.int64)} for row in ids]
        return np.concatenate([self._runtime.run(row) for row in rows])

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, uncut, without marks."""
        return self._tokens.count(text)


@dataclass(frozen=True, slots=True)
class DualEmbedder(EmbedderWrapper):
    """An embedder of texts, with another one for questions whose vectors are nearly the same.

    Attributes:
        embedder: The embedder of texts; its identity counts, as only its vectors are in an index.
        questions: The embedder of questions, as in `AsymmetricEmbedder`.
    """

    questions: Embedder

    @property
    def bulk_embedder(self) -> Embedder:
        """The embedder for many texts."""
        return get_bulk_embedder(self.embedder)


def combine_with_encoder(
    name: str, texts: Embedder, cache: ModelCache | None = None
) -> DualEmbedder:
    """Combine the shipped embedder with the query encoder called `name` for its questions.

    The query encoder always runs on ONNX Runtime, because its products are operators of that
    runtime.

    Raises:
        SettingsError: If `texts` is another embedder.
        ModelError: If a file is missing or is not the shipped one.
    """
    if texts.identity.get("sha256") != SHIPPED_SHA256[f"{SHIPPED}.onnx"]:
        other = texts.identity.get("model", type(texts).__name__)
        raise SettingsError(
            f"models.query_encoder {name!r} goes with the embedder {SHIPPED!r} only, not with "
            f"{other!r}: set it to 'same'"
        )
    return DualEmbedder(texts, load_query_encoder(name, cache=cache))


def load_query_encoder(
    name: str, folder: Path | None = None, *, cache: ModelCache | None = None
) -> QueryEncoder:
    """Load a shipped encoder of questions.

    Args:
        name: One of `SHA256`.
        folder: The folder of the encoder and the embedder; by default the package's own.
        cache: Keeps what is read from the encoder's file; by default nothing is kept.

    Raises:
        ModelError: If a file is missing or is not the shipped one.
    """
    folder = folder or Path(str(resources.files("fathom.models") / "resources"))
    file = folder / f"query-encoder-{name}.onnx"
    if load_through(cache, hash_file, file) != SHA256[name]:
        raise ModelError(f"model file {str(file)!r} is not the shipped one: reinstall fathom")
    tokens = WordPiece.read(folder / "vocab.txt")
    identity = {"model": file.stem, "sha256": SHA256[name]}
    return QueryEncoder(file, tokens, identity, cache=cache)
