"""The package's own BM25 compared with tantivy's."""

import numpy as np
import pytest

from fathom.index.bm25 import Statistics, compute_norms, compute_query_weights, quantise_lengths
from fathom.index.embedded.keyword import KeywordEntry, KeywordIndex

WORDS = [f"w{number}" for number in range(60)]


def test_lengths_are_rounded_as_in_tantivy() -> None:
    lengths = np.array([0, 1, 39, 40, 41, 42, 55, 56, 59, 60, 87, 88, 95, 96, 1000, 70_000])
    expected = [0, 1, 39, 40, 40, 42, 54, 56, 56, 60, 84, 88, 88, 96, 984, 65_560]
    assert quantise_lengths(lengths).tolist() == expected


@pytest.mark.parametrize("seed", [1, 2])
def test_scores_equal_those_of_the_embedded_index(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    shares /= shares.sum()
    texts = [rng.choice(WORDS, size=rng.integers(1, 400), p=shares).tolist() for _ in range(300)]
    index = KeywordIndex(None, create=True)
    index.apply((KeywordEntry(n, n, terms) for n, terms in enumerate(texts)), [], "x.1")
    lengths = quantise_lengths(np.array([len(terms) for terms in texts]))
    for query in ({"w1": 1, "w7": 1, "w40": 1}, {"w59": 1, "none": 1}, {"w0": 3, "w3": 1}):
        frequencies = {term: sum(term in text for text in texts) for term in query}
        statistics = Statistics(len(texts), sum(map(len, texts)), frequencies)
        weights = compute_query_weights(query, statistics)
        assert set(weights) == {term for term in query if term != "none"}
        below = compute_norms(lengths, statistics.mean_length)
        scores = np.zeros(len(texts))
        for term, weight in weights.items():
            counts = np.array([text.count(term) for text in texts])
            scores += weight * counts / (counts + below)
        hits = index.search(query, k=len(texts), allowed=None)
        assert {number for number, _ in hits} == set(np.flatnonzero(scores).tolist())
        for number, score in hits:
            assert score == pytest.approx(scores[number], rel=2e-6)
