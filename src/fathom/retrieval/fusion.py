"""Fusion of several rankings into one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from fathom.index.base import Match
from fathom.types import Hit

Ranking = Sequence[Match]
Normaliser = Literal["min_max", "max", "z_score", "none"]


class Fusion(Protocol):
    """A deterministic fusion of rankings; ties go by best rank, then by chunk id."""

    def __call__(self, rankings: Sequence[Ranking], weights: Sequence[float]) -> list[Match]:
        """Fuse rankings, each best first, with one weight each."""
        ...


@dataclass(frozen=True, slots=True)
class ReciprocalRank:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).

    score(chunk) = sum over rankings of weight / (rrf_k + rank), with ranks from 1; a ranking
    that does not hold the chunk adds nothing.

    Attributes:
        rrf_k: At least 0; larger values flatten the differences between ranks.
    """

    rrf_k: int = 60

    def __call__(self, rankings: Sequence[Ranking], weights: Sequence[float]) -> list[Match]:
        """Fuse `rankings`, each best first, with one weight each.

        Ties are broken by the best single rank, then by chunk id.
        """
        gains = [
            [weight / (self.rrf_k + rank) for rank in range(1, len(ranking) + 1)]
            for ranking, weight in zip(rankings, weights, strict=True)
        ]
        return _sum_gains(rankings, gains)


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """Weighted sum of normalised scores; a chunk that a ranking does not hold gets 0 there.

    Attributes:
        normaliser: `min_max` maps a ranking's scores to [0, 1], `max` divides by the best,
            `z_score` centres and scales them, `none` leaves them.
    """

    normaliser: Normaliser = "min_max"

    def __call__(self, rankings: Sequence[Ranking], weights: Sequence[float]) -> list[Match]:
        """Fuse `rankings`, each best first, with one weight each.

        Ties are broken by the best single rank, then by chunk id.
        """
        normalise = NORMALISERS[self.normaliser]
        gains = [
            [weight * value for value in normalise([match.score for match in ranking])]
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


def divide_by_max(scores: Sequence[float]) -> list[float]:
    """Divide the scores by the best one; without a positive score all become 0."""
    high = max(scores, default=0.0)
    return [score / high if high > 0 else 0.0 for score in scores]


def standardise_scores(scores: Sequence[float]) -> list[float]:
    """Subtract the mean and divide by the standard deviation; equal scores become 0."""
    if not scores:
        return []
    mean = sum(scores) / len(scores)
    deviation = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    return [(score - mean) / deviation if deviation > 0 else 0.0 for score in scores]


NORMALISERS: Mapping[Normaliser, Callable[[Sequence[float]], list[float]]] = {
    "min_max": scale_min_max,
    "max": divide_by_max,
    "z_score": standardise_scores,
    "none": list,
}
