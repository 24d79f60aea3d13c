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
    """A deterministic fusion of rankings; ties go by best single rank, then by chunk id."""

    def __call__(self, rankings: Sequence[Ranking], weights: Sequence[float]) -> list[Match]:
        """Fuse rankings, each best first, with one weight each."""
        ...


@dataclass(frozen=True, slots=True)
class ReciprocalRank(Fusion):
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).

    score(chunk) = sum over rankings of weight / (rrf_k + rank), with ranks from 1; a ranking
    that does not hold the chunk adds nothing.

    Attributes:
        rrf_k: At least 0; larger values flatten the differences between ranks.
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
    """Weighted sum of scores in [0, 1]; a chunk that a ranking does not hold gets 0 there."""

    @override
    def __call__(self, rankings: Sequence[Ranking], weights: Sequence[float]) -> list[Match]:
        gains = [
            [weight * value for value in scale_min_max([match.score for match in ranking])]
            for ranking, weight in zip(rankings, weights, strict=True)
        ]
        return _sum_gains(rankings, gains)


def _sum_gains(rankings: Sequence[Ranking], gains: Sequence[Sequence[float]]) -> list[Match]:
    """Return the chunks of all rankings by the sum of the gains of their places."""
    # By chunk: its best rank, then its gains.
    entries: dict[str, list[float]] = {}
    for ranking, ranking_gains in zip(rankings, gains, strict=True):
        for rank, (match, gain) in enumerate(zip(ranking, ranking_gains, strict=True)):
            entry = entries.get(match.chunk_id)
            if entry is None:
                entries[match.chunk_id] = [rank, gain]
            else:
                entry[0] = min(rank, entry[0])
                entry.append(gain)
    # fsum, since the sum must not depend on the order of the rankings.
    order = sorted(
        [(-math.fsum(entry[1:]), entry[0], chunk_id) for chunk_id, entry in entries.items()]
    )
    return [Match(chunk_id, -score) for score, _, chunk_id in order]


def fuse_hits(
    rankings: Sequence[Sequence[Hit]], weights: Sequence[float], fusion: Fusion, name: str
) -> tuple[Hit, ...]:
    """Return one ranking of several, each best first, with one weight each.

    Scores are those of the fusion; `name` is the retriever of the new hits.
    """
    matches = [[Match(hit.chunk.id, hit.score) for hit in ranking] for ranking in rankings]
    chunks = {hit.chunk.id: hit.chunk for ranking in rankings for hit in ranking}
    return tuple(
        Hit(chunk=chunks[match.chunk_id], score=match.score, rank=rank, retriever=name)
        for rank, match in enumerate(fusion(matches, weights), start=1)
    )


def scale_min_max(scores: Sequence[float]) -> list[float]:
    """Map the scores to [0, 1]; equal scores all become 1."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if high == low:
        # 1 rather than 0, which is the score of a chunk that the ranking lacks.
        return [1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]
