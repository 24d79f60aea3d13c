"""Fusion of several rankings into one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from fathom.index.base import Match
from fathom.types import Hit

Ranking = Sequence[Match]


class Fusion(Protocol):
    """The protocol of deterministic fusions of several rankings into one."""

    def __call__(self, rankings: Sequence[Ranking], weights: Sequence[float]) -> list[Match]:
        """Fuse rankings into one, best first.

        Ties go to the chunk with the best single rank, then to the lower chunk id.

        Args:
            rankings: The rankings, each best first.
            weights: The weight of each ranking, at least 0.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReciprocalRank(Fusion):
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009; the paper of `rrf`).

    score(chunk) = sum over rankings of weight / (rrf_k + rank), with ranks from 1. A ranking
    without the chunk adds nothing.

    Attributes:
        rrf_k: The constant of the formula, at least 0; the larger it is, the less ranks differ.
    """

    rrf_k: int = 60

    @override
    def __call__(self, rankings: Sequence[Ranking], weights: Sequence[float]) -> list[Match]:
        gains = [
            [weight / (self.rrf_k + rank) for rank in range(1, len(ranking) + 1)]
            for ranking, weight in zip(rankings, weights, strict=True)
        ]
        return _sum_gains(rankings, gains)


@dataclass(frozen=True, slots=True)
class WeightedSum(Fusion):
    """The weighted sum of the scores of each ranking, scaled to [0, 1] (agentic-hybrid, step 6).

    A chunk that a ranking does not hold gets 0 there.
    """

    @override
    def __call__(self, rankings: Sequence[Ranking], weights: Sequence[float]) -> list[Match]:
        gains = [
            [weight * value for value in scale_min_max([match.score for match in ranking])]
            for ranking, weight in zip(rankings, weights, strict=True)
        ]
        return _sum_gains(rankings, gains)


def _sum_gains(rankings: Sequence[Ranking], gains: Sequence[Sequence[float]]) -> list[Match]:
    """Return the chunks of all rankings, ordered by the sums of their gains.

    Args:
        rankings: The rankings, each best first.
        gains: The gain of each place of each ranking.
    """
    # The entry of a chunk holds its best rank, then its gains.
    entries: dict[str, list[float]] = {}
    for ranking, ranking_gains in zip(rankings, gains, strict=True):
        for rank, (match, gain) in enumerate(zip(ranking, ranking_gains, strict=True)):
            entry = entries.get(match.chunk_id)
            if entry is None:
                entries[match.chunk_id] = [rank, gain]
            else:
                entry[0] = min(rank, entry[0])
                entry.append(gain)
    # fsum is exact, so the sum does not depend on the order of the rankings.
    order = sorted(
        [(-math.fsum(entry[1:]), entry[0], chunk_id) for chunk_id, entry in entries.items()]
    )
    return [Match(chunk_id, -score) for score, _, chunk_id in order]


def fuse_hits(
    rankings: Sequence[Sequence[Hit]], weights: Sequence[float], fusion: Fusion, name: str
) -> tuple[Hit, ...]:
    """Fuse rankings of hits into one, best first; the scores are those of the fusion.

    Args:
        rankings: The rankings, each best first.
        weights: The weight of each ranking.
        fusion: The fusion.
        name: The name of the retriever in the new hits.
    """
    matches = [[Match(hit.chunk.id, hit.score) for hit in ranking] for ranking in rankings]
    chunks = {hit.chunk.id: hit.chunk for ranking in rankings for hit in ranking}
    return tuple(
        Hit(chunk=chunks[match.chunk_id], score=match.score, rank=rank, retriever=name)
        for rank, match in enumerate(fusion(matches, weights), start=1)
    )


def scale_min_max(scores: Sequence[float]) -> list[float]:
    """Scale scores linearly to [0, 1]; scores that are all equal become 1."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if high == low:
        # 0 would be the score of a chunk that the ranking lacks.
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]
