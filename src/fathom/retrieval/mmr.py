"""Maximal marginal relevance: hits that are relevant and differ from each other."""

from collections.abc import Callable, Sequence

from fathom.retrieval.base import rank_hits
from fathom.types import Hit

Similarity = Callable[[Hit, Hit], float]
"""Returns the likeness of two hits; 1 for equal texts, on the scale of the hits' scores."""


def select_by_mmr(
    hits: Sequence[Hit], similarity: Similarity, *, k: int, diversity: float
) -> tuple[Hit, ...]:
    """Choose hits one by one, each by (1 - diversity) * score - diversity * likeness.

    Carbonell and Goldstein 1998, with diversity = 1 - lambda; likeness is that to the most alike
    hit already chosen. Scores are kept, ranks are new; ties go to the better old rank.

    Args:
        hits: Hits in rank order, scores in [0, 1].
        similarity: Returns the likeness of two hits.
        k: The number of hits, at most.
        diversity: The weight of the likeness, in [0, 1]; 0 is pure relevance and keeps the order.

    Raises:
        ValueError: If `diversity` is outside [0, 1].
    """
    if not 0 <= diversity <= 1:
        raise ValueError(f"diversity {diversity} must lie in [0, 1]")
    rest, chosen = list(hits), list[Hit]()
    likeness = dict.fromkeys((hit.chunk.id for hit in hits), 0.0)
    while rest and len(chosen) < k:
        best = max(
            rest,
            key=lambda hit: (
                (1 - diversity) * hit.score - diversity * likeness[hit.chunk.id],
                -hit.rank,
            ),
        )
        rest.remove(best)
        chosen.append(best)
        for hit in rest:
            # Only the new choice can raise the maximum, so each pair is compared once.
            likeness[hit.chunk.id] = max(likeness[hit.chunk.id], similarity(hit, best))
    return rank_hits(chosen)


def build_term_similarity(
    hits: Sequence[Hit], terms: Callable[[str], frozenset[str]]
) -> Similarity:
    """Return a similarity by the share of common terms of two chunks (Jaccard); needs no model."""
    terms_by_id = {hit.chunk.id: terms(hit.chunk.text) for hit in hits}

    def measure_overlap(first: Hit, second: Hit) -> float:
        terms_1, terms_2 = terms_by_id[first.chunk.id], terms_by_id[second.chunk.id]
        return len(terms_1 & terms_2) / len(terms_1 | terms_2) if terms_1 or terms_2 else 1.0

    return measure_overlap
