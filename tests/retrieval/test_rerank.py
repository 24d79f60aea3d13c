import asyncio
import math
from dataclasses import replace

import pytest
from tests.factories import hit_of

from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.retrieval.rerank import Reranker, measure_merit
from fathom.testing.doubles import ScriptedCrossReader, reading, run_context
from fathom.types import Chunk, Hit


def make_hits(*scores: float) -> list[Hit]:
    ranked = [hit_of(f"Berth {n}", document=f"d{n}", rank=n) for n in range(1, len(scores) + 1)]
    return [replace(hit, score=score) for hit, score in zip(ranked, scores, strict=True)]


def compute_probability(share: float) -> float:
    """Return the probability that has this merit."""
    return 1 / (1 + math.exp(8 - 16 * share))


def make_reranker(*relevance: float, weight: float = 0.5, most: int = 24) -> Reranker:
    def script(_: str, chunk: Chunk) -> Reading:
        share = compute_probability(relevance[int(chunk.text.split()[1]) - 1])
        return reading(chunk, relevance=share, answerable=share)

    return Reranker(pairs=ScriptedCrossReader(script), weight=weight, most=most)


def list_names(ranked: tuple[Hit, ...]) -> list[str]:
    return [hit.chunk.document_id for hit in ranked]


def test_relevance_is_mixed_with_the_first_stage() -> None:
    read, ranked = make_reranker(0.1, 0.9, 0.8).rerank_hits(
        Question("q"), make_hits(9.0, 8.0, 1.0), keep=2
    )
    assert read == 3
    assert list_names(ranked) == ["d2", "d1"]
    assert [hit.rank for hit in ranked] == [1, 2]
    assert [hit.score for hit in ranked] == pytest.approx([0.8875, 0.55], abs=1e-5)
    assert ranked[0].retriever == "hybrid"


def test_without_weight_nothing_is_read_or_changed() -> None:
    candidates = make_hits(9.0, 8.0, 1.0)
    assert make_reranker(weight=0.0).rerank_hits(Question("q"), candidates, keep=2) == (
        0,
        tuple(candidates[:2]),
    )


def test_with_full_weight_only_relevance_counts() -> None:
    _, ranked = make_reranker(0.1, 0.2, 0.3, weight=1.0).rerank_hits(
        Question("q"), make_hits(9.0, 8.0, 1.0), keep=3
    )
    assert list_names(ranked) == ["d3", "d2", "d1"]


def test_reading_stops_when_the_kept_hits_are_settled() -> None:
    scores = [1.0, 0.9, 0.3, 0.2, *[0.1] * 20]
    relevance = [0.9, 0.9, *[0.0] * 22]
    read, ranked = make_reranker(*relevance).rerank_hits(Question("q"), make_hits(*scores), keep=2)
    assert read == 4
    assert list_names(ranked) == ["d1", "d2"]
    read, _ = make_reranker(*relevance).rerank_hits(Question("q"), make_hits(*scores), keep=3)
    assert read == 24


def test_stopping_early_never_changes_the_kept_hits() -> None:
    for seed in range(40):
        relevance = [(seed * 7 + n * 13) % 101 / 100 for n in range(20)]
        candidates = make_hits(*[1 - (n * (seed % 5 + 1)) / 100 for n in range(20)])
        for keep in (1, 3, 8):
            early = make_reranker(*relevance).rerank_hits(Question("q"), candidates, keep=keep)[1]
            whole = make_reranker(*relevance).rerank_hits(Question("q"), candidates, keep=20)[1]
            assert early == whole[:keep]


def test_reading_stays_within_the_budget_and_the_rest_comes_behind() -> None:
    candidates = make_hits(1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
    read, ranked = make_reranker(*[0.5] * 4, 1.0, 1.0, most=4).rerank_hits(
        Question("q"), candidates, keep=6
    )
    assert read == 4
    assert list_names(ranked) == ["d1", "d2", "d3", "d4", "d5", "d6"]


@pytest.mark.parametrize("scores", [(), (1.0,), (0.5, 0.5, 0.5)])
def test_unusual_lists_are_reranked(scores: tuple[float, ...]) -> None:
    _, ranked = make_reranker(*[0.5] * 3).rerank_hits(Question("q"), make_hits(*scores), keep=8)
    assert list_names(ranked) == [f"d{n}" for n in range(1, len(scores) + 1)]


def test_reranking_is_a_step_of_the_run() -> None:
    candidates = make_hits(1.0, 0.0)
    with run_context() as context:
        ranked = asyncio.run(
            make_reranker(0.0, 1.0)(Question("q"), candidates, keep=1, context=context)
        )
    assert list_names(ranked) == ["d1"]


def test_merit_is_the_mean_of_two_logits() -> None:
    def read_merit(relevance: float, answerable: float) -> float:
        chunk = hit_of().chunk
        return measure_merit(reading(chunk, relevance=relevance, answerable=answerable))

    assert read_merit(0.5, 0.5) == 0.5
    assert read_merit(0.0, 0.0) == pytest.approx(0.0)
    assert read_merit(1.0, 1.0) == pytest.approx(1.0)
    assert read_merit(1.0, 0.0) == pytest.approx(0.5)
    assert read_merit(0.9, 0.5) == pytest.approx(0.5 + math.log(9) / 32)
