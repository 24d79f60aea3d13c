from collections.abc import Sequence

import numpy as np
import pytest

from fathom.errors import ModelError
from fathom.models.base import Matrix
from fathom.models.embedder_check import CheckedEmbedder
from fathom.testing.doubles import HashingEmbedder


class FaultyEmbedder(HashingEmbedder):
    """Returns or raises the given value."""

    def __init__(self, gives: Matrix | Exception) -> None:
        super().__init__(8)
        self.gives = gives

    def embed(self, texts: Sequence[str]) -> Matrix:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


def test_a_sound_embedder_is_passed_on() -> None:
    plain = HashingEmbedder()
    checked = CheckedEmbedder(plain)
    assert (checked.embed(["a word"]) == plain.embed(["a word"])).all()
    assert checked.embed([]).shape == (0, 256)
    assert (checked.dimension, checked.identity) == (plain.dimension, plain.identity)
    assert checked.count("a word") == 2


@pytest.mark.parametrize(
    ("gives", "part"),
    [
        (np.ones((1, 7), dtype=np.float32), "shape (1, 7), expected (1, 8)"),
        (np.ones((2, 8), dtype=np.float32), "shape (2, 8)"),
        (np.full((1, 8), np.nan, dtype=np.float32), "not numbers"),
        (np.full((1, 8), np.inf, dtype=np.float32), "not numbers"),
        (np.zeros((1, 8), dtype=np.float32), "not of unit length"),
        (LookupError("a text of the user"), "LookupError in models/test_embedder_check.py"),
    ],
)
def test_a_fault_is_typed_and_names_the_embedder(gives: Matrix | Exception, part: str) -> None:
    with pytest.raises(ModelError) as caught:
        CheckedEmbedder(FaultyEmbedder(gives)).embed(["x"])
    assert part in str(caught.value)
    assert "'hashing-8'" in str(caught.value)
    assert "a text" not in str(caught.value)


def test_a_typed_fault_is_raised_unchanged() -> None:
    with pytest.raises(ModelError, match=r"^gone$"):
        CheckedEmbedder(FaultyEmbedder(ModelError("gone"))).embed(["x"])
