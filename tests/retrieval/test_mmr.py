"""Maximal marginal relevance, on numbers worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.calm import CALM
from tests.retrieval.hits import hit, words

from fathom.retrieval.mmr import build_term_similarity, select_by_mmr
from fathom.types import Hit

ONE = hit("a", document="one", score=0.9, rank=1)
TWIN = hit("b", document="twin", score=0.85, rank=2)
FAR = hit("c", document="far", score=0.5, rank=3)
LIKENESS = {frozenset({"a", "b"}): 0.95, frozenset({"a", "c"}): 0.1, frozenset({"b", "c"}): 0.1}


def alike(one: Hit, other: Hit) -> float:
    return LIKENESS[frozenset({one.chunk.text, other.chunk.text})]


def names(hits: tuple[Hit, ...]) -> list[str]:
    return [each.chunk.document_id for each in hits]


def test_a_twin_waits_for_what_is_new() -> None:
    # Second place: 0.55 * 0.85 - 0.45 * 0.95 = 0.04 against 0.55 * 0.5 - 0.45 * 0.1 = 0.23.
    found = select_by_mmr([ONE, TWIN, FAR], alike, k=3, diversity=0.45)
    assert names(found) == ["one", "far", "twin"]
    assert [(each.rank, each.score) for each in found] == [(1, 0.9), (2, 0.5), (3, 0.85)]


@pytest.mark.parametrize(("diversity", "second"), [(0.0, "twin"), (0.2, "twin"), (0.4, "far")])
def test_the_knob(diversity: float, second: str) -> None:
    # They draw level where (1 - d) * 0.35 = d * 0.85, at d = 0.29.
    assert names(select_by_mmr([ONE, TWIN, FAR], alike, k=2, diversity=diversity)) == [
        "one",
        second,
    ]


@CALM
@given(scores=st.lists(st.floats(0, 1), max_size=8), k=st.integers(0, 10))
def test_without_diversity_the_order_stays(scores: list[float], k: int) -> None:
    ordered = sorted(scores, reverse=True)
    hits = [hit("x", document=f"d{n}", score=s, rank=n + 1) for n, s in enumerate(ordered)]
    assert select_by_mmr(hits, lambda *_: 1.0, k=k, diversity=0.0) == tuple(hits[:k])


def test_ties_go_to_the_better_rank() -> None:
    hits = [hit("x", document=name, score=0.5, rank=n) for n, name in enumerate("ab", start=1)]
    assert names(select_by_mmr(hits, lambda *_: 0.5, k=2, diversity=1.0)) == ["a", "b"]


@pytest.mark.parametrize("diversity", [-0.1, 1.1])
def test_the_knob_has_ends(diversity: float) -> None:
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        select_by_mmr([ONE], alike, k=1, diversity=diversity)


def test_shared_words() -> None:
    one, other = hit("the blue boat", document="x"), hit("the red boat", document="y")
    blank = hit("", document="z")
    likeness = build_term_similarity([one, other, blank], words)
    assert likeness(one, other) == likeness(other, one) == 0.5
    assert likeness(one, one) == likeness(blank, blank) == 1.0
    assert likeness(one, blank) == 0.0
