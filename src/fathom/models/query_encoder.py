"""The combination of an embedder of texts with a faster one for questions.

The vector of a question is compared with vectors that the shipped embedder made of the chunks. So
the faster embedder must give nearly the vector that the shipped one would give.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.errors import SettingsError
from fathom.models.base import Embedder, EmbedderWrapper, get_bulk_embedder
from fathom.models.cache import ModelCache
from fathom.models.embedder import SHIPPED, SHIPPED_INT8, SHIPPED_SHA256, load_int8

SHA256: Mapping[str, str] = {"rounded": SHIPPED_SHA256[f"{SHIPPED_INT8}.onnx"]}
"""The digests of the query encoders, by the name in the setting `models.query_encoder`."""


@dataclass(frozen=True, slots=True)
class DualEmbedder(EmbedderWrapper):
    """An embedder of texts with another one for questions, whose vectors are nearly the same.

    Attributes:
        embedder: The embedder of texts, whose identity is that of the pair, because an index holds
            only its vectors.
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
    """Combine the shipped embedder with a query encoder.

    The embedder with products of 8 bits is its own query encoder.

    Args:
        name: The name of the query encoder, for messages.
        texts: The shipped embedder, in fp32 or with products of 8 bits.
        cache: A cache of the files' contents; by default nothing is cached.

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
