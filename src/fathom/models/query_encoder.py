"""The pairing of an embedder of texts with a faster one for questions.

A question's vector is compared with vectors that the shipped embedder made of the chunks, so it
must be nearly the vector that this embedder would have made of the question.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.errors import SettingsError
from fathom.models.base import Embedder, EmbedderWrapper, get_bulk_embedder
from fathom.models.cache import ModelCache
from fathom.models.embedder import SHIPPED, SHIPPED_INT8, SHIPPED_SHA256, load_int8

SHA256: Mapping[str, str] = {"rounded": SHIPPED_SHA256[f"{SHIPPED_INT8}.onnx"]}
"""The digests of the models of questions, by the name in `models.query_encoder`."""


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

    The embedder with products of 8 bits is its own query encoder.

    Raises:
        SettingsError: If `texts` is another embedder.
        ModelError: If a file is missing or is not the shipped one.
    """
    if texts.identity.get("model") == SHIPPED_INT8:
        return DualEmbedder(texts, texts)
    if texts.identity.get("sha256") != SHIPPED_SHA256[f"{SHIPPED}.onnx"]:
        other = texts.identity.get("model", type(texts).__name__)
        raise SettingsError(
            f"models.query_encoder {name!r} goes with the embedder {SHIPPED!r} only, not with "
            f"{other!r}: set it to 'same'"
        )
    return DualEmbedder(texts, load_int8(cache=cache))
