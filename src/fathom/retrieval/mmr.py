"""Maximal marginal relevance: hits that are relevant and differ from each other."""

from collections.abc import Callable, Sequence

from fathom.retrieval.base import rank_hits
from fathom.types import Hit

Similarity = Callable[[Hit, Hit], float]
"""A function that returns the likeness of two hits, in [0, 1]; 1 for equal texts."""


def select_by_mmr(
    hits: Sequence[Hit], similarity: Similarity, *, k: int, diversity: float
) -> tuple[Hit, ...]:
    """Choose hits by maximal marginal relevance (Carbonell and Goldstein 1998).

    The next hit is always the one with the highest (1 - diversity) * score - diversity * likeness,
    where the likeness is that to the most similar hit already chosen. The paper's lambda is 1 -
    diversity. Ties go to the better old rank.

    Args:
        hits: The hits in rank order, with scores in [0, 1].
        similarity: A function that returns the likeness of two hits, in [0, 1].
        k: The largest number of hits to choose.
        diversity: The weight of the likeness, in [0, 1]; 0 keeps the order of the hits.

    Returns:
        The hits in the order in which they were chosen, with their old scores and new ranks.

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
    """Return a similarity of these hits: the share of terms that two chunks have in common.

    This is Jaccard's coefficient, 1 for two chunks without terms; it needs no model.

    Args:
        hits: All hits that will be compared.
        terms: A function that returns the distinct content words of a text.
    """
    terms_by_id = {hit.chunk.id: terms(hit.chunk.text) for hit in hits}

    def measure_overlap(first: Hit, second: Hit) -> float:
        terms_1, terms_2 = terms_by_id[first.chunk.id], terms_by_id[second.chunk.id]
        return len(terms_1 & terms_2) / len(terms_1 | terms_2) if terms_1 or terms_2 else 1.0

    return measure_overlap
