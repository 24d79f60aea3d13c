"""Fusion by hand: small rankings, expectations as arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.factories import hit_of

from fathom.index.base import Match
from fathom.retrieval.fusion import (
    ReciprocalRank,
    WeightedSum,
    fuse_hits,
    scale_min_max,
)


def make_ranking(*ids: str) -> list[Match]:
    return [Match(chunk_id, float(len(ids) - place)) for place, chunk_id in enumerate(ids)]


def test_rrf_is_as_computed_by_hand() -> None:
    fused = ReciprocalRank(rrf_k=60)([make_ranking("a", "b"), make_ranking("b", "c")], [1.0, 1.0])
    assert [match.chunk_id for match in fused] == ["b", "a", "c"]
    assert [match.score for match in fused] == [1 / 62 + 1 / 61, 1 / 61, 1 / 62]


def test_rrf_weights_count_per_ranking() -> None:
    fused = ReciprocalRank(rrf_k=0)([make_ranking("a"), make_ranking("b")], [1.0, 3.0])
    assert fused == [Match("b", 3.0), Match("a", 1.0)]


def test_rrf_ties_go_to_the_best_single_rank_then_to_the_id() -> None:
    # With rrf_k = 0: a = 1/1, b = c = 1/2 + 1/2; d and e tie on score and rank.
    first, second = make_ranking("a", "b", "d"), make_ranking("x", "b", "e")
    fused = ReciprocalRank(rrf_k=0)([first, second], [1.0, 1.0])
    assert [match.chunk_id for match in fused] == ["a", "x", "b", "d", "e"]


def test_the_weighted_sum_is_as_computed_by_hand() -> None:
    near = [Match("a", 0.9), Match("b", 0.5), Match("c", 0.1)]
    worded = [Match("c", 12.0), Match("b", 4.0)]
    fused = WeightedSum()([near, worded], [0.7, 0.3])
    assert [match.chunk_id for match in fused] == ["a", "b", "c"]
    assert [match.score for match in fused] == pytest.approx([0.7, 0.35, 0.3])


def test_scores_are_scaled_between_the_lowest_and_the_highest() -> None:
    assert scale_min_max([3.0, 2.0, 1.0]) == [1.0, 0.5, 0.0]
    assert scale_min_max([2.0, 2.0]) == [1.0, 1.0]
    assert scale_min_max([]) == []


RANKINGS = st.lists(st.permutations("abcdef").map(lambda ids: make_ranking(*ids[:4])), max_size=4)


@given(RANKINGS, st.randoms(use_true_random=False))
def test_the_order_of_the_rankings_does_not_matter(rankings, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(rankings)
    random.shuffle(shuffled)
    ones = [1.0] * len(rankings)
    fuse = ReciprocalRank()
    assert [m.chunk_id for m in fuse(rankings, ones)] == [m.chunk_id for m in fuse(shuffled, ones)]


def test_each_ranking_needs_one_weight() -> None:
    with pytest.raises(ValueError, match="zip"):
        ReciprocalRank()([make_ranking("a")], [])


A, B, C = (hit_of(document=name, rank=n) for n, name in enumerate("abc", start=1))


def test_hits_keep_their_chunks_and_get_new_ranks() -> None:
    hits = fuse_hits([[A, B], [B, C]], [1.0, 1.0], ReciprocalRank(60), "sum")
    assert [hit.chunk for hit in hits] == [B.chunk, A.chunk, C.chunk]
    assert [(hit.rank, hit.retriever) for hit in hits] == [(1, "sum"), (2, "sum"), (3, "sum")]
    assert hits[0].score == 1 / 61 + 1 / 62


def test_fusing_nothing_gives_nothing() -> None:
    assert fuse_hits([], [], ReciprocalRank(60), "sum") == ()
    assert fuse_hits([[]], [1.0], ReciprocalRank(60), "sum") == ()
