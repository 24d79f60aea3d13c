"""Maximal marginal relevance, on numbers worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hypothesis_settings import CALM
from tests.retrieval.hits import make_hit, split_words

from fathom.retrieval.mmr import build_term_similarity, select_by_mmr
from fathom.types import Hit

ONE = make_hit("a", document="one", score=0.9, rank=1)
TWIN = make_hit("b", document="twin", score=0.85, rank=2)
FAR = make_hit("c", document="far", score=0.5, rank=3)
LIKENESS = {frozenset({"a", "b"}): 0.95, frozenset({"a", "c"}): 0.1, frozenset({"b", "c"}): 0.1}


def compute_similarity(first: Hit, other: Hit) -> float:
    return LIKENESS[frozenset({first.chunk.text, other.chunk.text})]


def list_documents(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.chunk.document_id for hit in hits]


def test_a_duplicate_ranks_behind_a_new_hit() -> None:
    # Second place: 0.55 * 0.85 - 0.45 * 0.95 = 0.04 against 0.55 * 0.5 - 0.45 * 0.1 = 0.23.
    selected = select_by_mmr([ONE, TWIN, FAR], compute_similarity, k=3, diversity=0.45)
    assert list_documents(selected) == ["one", "far", "twin"]
    assert [(selected_hit.rank, selected_hit.score) for selected_hit in selected] == [
        (1, 0.9),
        (2, 0.5),
        (3, 0.85),
    ]


@pytest.mark.parametrize(("diversity", "second"), [(0.0, "twin"), (0.2, "twin"), (0.4, "far")])
def test_the_weight_decides_between_score_and_diversity(diversity: float, second: str) -> None:
    # They draw level where (1 - d) * 0.35 = d * 0.85, at d = 0.29.
    assert list_documents(
        select_by_mmr([ONE, TWIN, FAR], compute_similarity, k=2, diversity=diversity)
    ) == [
        "one",
        second,
    ]


@CALM
@given(scores=st.lists(st.floats(0, 1), max_size=8), k=st.integers(0, 10))
def test_without_diversity_the_order_stays(scores: list[float], k: int) -> None:
    ordered = sorted(scores, reverse=True)
    hits = [make_hit("x", document=f"d{n}", score=s, rank=n + 1) for n, s in enumerate(ordered)]
    assert select_by_mmr(hits, lambda *_: 1.0, k=k, diversity=0.0) == tuple(hits[:k])


def test_ties_go_to_the_better_rank() -> None:
    hits = [make_hit("x", document=name, score=0.5, rank=n) for n, name in enumerate("ab", start=1)]
    assert list_documents(select_by_mmr(hits, lambda *_: 0.5, k=2, diversity=1.0)) == ["a", "b"]


@pytest.mark.parametrize("diversity", [-0.1, 1.1])
def test_the_weight_has_two_extremes(diversity: float) -> None:
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        select_by_mmr([ONE], compute_similarity, k=1, diversity=diversity)


def test_similarity_is_the_share_of_shared_words() -> None:
    blue, other = make_hit("the blue boat", document="x"), make_hit("the red boat", document="y")
    blank = make_hit("", document="z")
    likeness = build_term_similarity([blue, other, blank], split_words)
    assert likeness(blue, other) == likeness(other, blue) == 0.5
    assert likeness(blue, blue) == likeness(blank, blank) == 1.0
    assert likeness(blue, blank) == 0.0
