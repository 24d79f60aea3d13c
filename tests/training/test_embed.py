from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="torch is needed for training only")

from tests.training import tiny  # noqa: E402
from training.cross_reader.embed import make_embedder  # noqa: E402
from training.cross_reader.model import Encoder  # noqa: E402

TEXTS = ["one two three", "the town lies on the Rhine", "it"]


def test_vectors_are_the_mean_of_all_tokens_at_unit_length(tmp_path: Path) -> None:
    network, tokens = Encoder(tiny.make_weights(), 0.3), tiny.write_tokenizer(tmp_path)
    embed = make_embedder(network, tokens, "cpu")

    vectors = embed(TEXTS)

    assert vectors.dtype == np.float32
    for text, vector in zip(TEXTS, vectors, strict=True):
        ids = torch.tensor([[tokens.start, *tokens.locate_tokens(text).ids, tokens.end]])
        with torch.no_grad():
            mean = network(ids, torch.zeros_like(ids), torch.ones_like(ids).bool()).mean(1)[0]
        np.testing.assert_allclose(vector, (mean / mean.norm()).numpy(), atol=1e-5)


def test_many_texts_keep_their_order(tmp_path: Path) -> None:
    embed = make_embedder(Encoder(tiny.make_weights(), 0.0), tiny.write_tokenizer(tmp_path), "cpu")
    texts = ["one " * (1 + n % 40) for n in range(300)]

    vectors = embed(texts)

    np.testing.assert_allclose(vectors[250], embed([texts[250]])[0], atol=1e-5)
    np.testing.assert_allclose(vectors[3], vectors[43], atol=1e-5)


def test_long_texts_are_cut(tmp_path: Path) -> None:
    network, tokens = (
        Encoder(tiny.make_weights() | _make_places(300), 0.0),
        tiny.write_tokenizer(tmp_path),
    )

    vectors = make_embedder(network, tokens, "cpu")(["one " * 254, "one " * 1000])

    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


def _make_places(count: int) -> dict[str, NDArray[np.float32]]:
    return {"embeddings.position_embeddings.weight": np.zeros((count, tiny.WIDTH), np.float32)}
