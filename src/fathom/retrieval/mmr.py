"""Maximal marginal relevance: hits that are relevant and not all the same."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from fathom.types import Hit

Similarity = Callable[[Hit, Hit], float]
"""How alike two hits are; 1 for equal texts, on the scale of the hits' scores."""


def mmr(
    hits: Sequence[Hit], similarity: Similarity, *, k: int, diversity: float
) -> tuple[Hit, ...]:
    """Choose hits one by one, each by (1 - diversity) * score - diversity * likeness.

    Carbonell and Goldstein 1998, with diversity = 1 - lambda; likeness is that to the most alike
    hit already chosen. Scores are kept, ranks made anew; ties go to the better old rank.

    Args:
        hits: In rank order, scores in [0, 1].
        similarity: Of two hits.
        k: At most so many.
        diversity: In [0, 1]; 0 is pure relevance and keeps the order.

    Raises:
        ValueError: If `diversity` is outside [0, 1].
    """
    if not 0 <= diversity <= 1:
        raise ValueError(f"diversity {diversity} must lie in [0, 1]")
    left, chosen = list(hits), list[Hit]()
    likeness = dict.fromkeys((hit.chunk.id for hit in hits), 0.0)
    while left and len(chosen) < k:
        best = max(
            left,
            key=lambda hit: (
                (1 - diversity) * hit.score - diversity * likeness[hit.chunk.id],
                -hit.rank,
            ),
        )
        left.remove(best)
        chosen.append(best)
        for hit in left:
            likeness[hit.chunk.id] = max(likeness[hit.chunk.id], similarity(hit, best))
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(chosen, start=1))


def by_terms(hits: Sequence[Hit], terms: Callable[[str], frozenset[str]]) -> Similarity:
    """Share of the terms of both chunks that they have in common (Jaccard); needs no model."""
    known = {hit.chunk.id: terms(hit.chunk.text) for hit in hits}

    def similarity(one: Hit, other: Hit) -> float:
        mine, theirs = known[one.chunk.id], known[other.chunk.id]
        return len(mine & theirs) / len(mine | theirs) if mine or theirs else 1.0

    return similarity
