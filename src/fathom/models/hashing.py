"""An embedder without weights, for tests and demonstrations; it knows words, not meanings."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from fathom.models.base import Matrix

_WORD = re.compile(r"\w+|[^\w\s]")
_GRAM = 4  # characters


class HashingEmbedder:
    """Signed feature hashing of words, neighbouring words and character 4-grams.

    Weinberger et al. 2009, "Feature hashing for large scale multitask learning". Texts that share
    words or parts of words are near each other. The same on every machine and in every process.
    """

    def __init__(self, dimension: int = 256) -> None:
        """`dimension` at least 8."""
        if dimension < 8:
            raise ValueError(f"dimension {dimension} must be at least 8")
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def identity(self) -> Mapping[str, str]:
        """There are no weights, so `sha256` is that of the name and the dimension."""
        name = f"hashing-{self._dimension}"
        digest = hashlib.sha256(name.encode()).hexdigest()
        return {"model": name, "sha256": digest, "runtime": "numpy", "precision": "fp32"}

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text; see `Embedder.embed`."""
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            for feature, weight in _features(text):
                place, sign = self._place(feature)
                vectors[number, place] += sign * weight
        vectors[~vectors.any(axis=1), 0] = 1.0  # no words, or features that cancel out
        unit: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def count(self, text: str) -> int:
        """Number of words and punctuation marks."""
        return len(_WORD.findall(text))

    def _place(self, feature: str) -> tuple[int, int]:
        digest = hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
        number = int.from_bytes(digest, "little")
        return (number >> 1) % self._dimension, 1 - 2 * (number & 1)


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(text.lower())
    for word in words:
        yield word, 1.0
        edged = f"^{word}$"
        for start in range(len(edged) - _GRAM + 1):
            yield f"gram {edged[start : start + _GRAM]}", 0.5
    for first, second in pairwise(words):
        yield f"pair {first} {second}", 0.5
