from collections.abc import Mapping
from threading import Barrier

import numpy as np
import pytest

from fathom.errors import ModelError
from fathom.models.base import BULK_MINIMUM, embed_many, get_bulk_embedder
from fathom.models.embedder import load_embedder
from fathom.models.embedder_check import CheckedEmbedder
from fathom.models.onnx_embedder import OnnxEmbedder
from fathom.models.runtime import Ids, Output, Runtime
from fathom.models.tokens import WordPiece

TOKENS = WordPiece(["[UNK]", "[CLS]", "[SEP]", "a", "b"])
IDENTITY = {"model": "counting", "sha256": "0" * 64}


class CountingRuntime:
    """Returns (share of `a`, share of `b`) and records the shapes of its inputs."""

    name = "counting"
    precision = "fp32"
    inputs = frozenset({"input_ids", "attention_mask"})

    def __init__(self, fault: float = 0.0) -> None:
        self.shapes: list[tuple[int, ...]] = []
        self._fault = fault

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        assert set(inputs) == self.inputs
        assert inputs["attention_mask"].all()
        ids = inputs["input_ids"]
        self.shapes.append(ids.shape)
        counts = np.stack([(ids == 3).sum(1), (ids == 4).sum(1)], axis=1) + self._fault
        return counts.astype(np.float32)


def test_rows_are_returned_in_the_given_order() -> None:
    embedder = OnnxEmbedder(CountingRuntime(), TOKENS, IDENTITY, limit=9)

    vectors = embedder.embed(["a b b", "a", "b", "a a", "b a b", ""])

    assert vectors.tolist() == [[1, 2], [1, 0], [0, 1], [2, 0], [1, 2], [0, 0]]


def test_only_texts_of_equal_length_share_a_batch() -> None:
    runtime = CountingRuntime()
    embedder = OnnxEmbedder(runtime, TOKENS, IDENTITY, limit=9)
    runtime.shapes.clear()

    embedder.embed(["a b b", "a", "b", "a a", "b a b", ""])

    assert runtime.shapes == [(1, 2), (2, 3), (1, 4), (2, 5)]


def test_batches_keep_to_the_token_budget_and_texts_to_the_limit() -> None:
    runtime = CountingRuntime()
    embedder = OnnxEmbedder(runtime, TOKENS, IDENTITY, limit=300)
    runtime.shapes.clear()

    embedder.embed(["a " * 1000] * 7 + ["b"] * 700)

    assert runtime.shapes == [(341, 3), (341, 3), (18, 3), (3, 300), (3, 300), (1, 300)]


def test_a_text_longer_than_the_budget_goes_alone() -> None:
    runtime = CountingRuntime()
    embedder = OnnxEmbedder(runtime, TOKENS, IDENTITY, limit=5000)
    runtime.shapes.clear()

    embedder.embed(["a " * 4000] * 2)

    assert runtime.shapes == [(1, 4002), (1, 4002)]


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ModelError, match="'counting' gives numbers that are not finite"):
        OnnxEmbedder(CountingRuntime(fault=np.nan), TOKENS, IDENTITY, limit=9)


def test_the_identity_names_the_runtime_and_its_precision() -> None:
    embedder = OnnxEmbedder(CountingRuntime(), TOKENS, IDENTITY, limit=9)

    assert embedder.identity == {**IDENTITY, "runtime": "counting", "precision": "fp32"}
    assert embedder.dimension == 2


class LanedRuntime(CountingRuntime):
    """Counts how many runs are active at once; each waits for another one."""

    def __init__(self) -> None:
        super().__init__()
        self.meeting = Barrier(2)

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        if inputs["input_ids"].shape[1] > 3:
            self.meeting.wait(timeout=30)
        return super().run(inputs)


class SingleRuntime(CountingRuntime):
    def split_lanes(self) -> tuple[Runtime, int]:
        return LanedRuntime(), 2


def test_many_texts_are_embedded_by_parallel_runs_in_order() -> None:
    embedder = OnnxEmbedder(SingleRuntime(), TOKENS, IDENTITY, limit=90)
    texts = ["a " * (2 + number % 16) + "b" for number in range(64)]

    assert (embed_many(embedder, texts) == embedder.embed(texts)).all()
    assert embedder.bulk_embedder is embedder.bulk_embedder
    assert embedder.bulk_embedder.identity == embedder.identity


def test_few_texts_load_no_further_model() -> None:
    embedder = OnnxEmbedder(SingleRuntime(), TOKENS, IDENTITY, limit=90)
    embed_many(embedder, ["a"] * (BULK_MINIMUM - 1))
    assert "in_bulk" not in vars(embedder)


def test_the_shipped_embedder_gives_the_same_bytes_in_bulk() -> None:
    embedder = load_embedder(threads=2)
    texts = [" ".join(["harbour permit 40 crowns"] * (1 + number % 30)) for number in range(40)]
    laned = CheckedEmbedder(embedder)
    assert get_bulk_embedder(laned).embed(texts).tobytes() == embedder.embed(texts).tobytes()
