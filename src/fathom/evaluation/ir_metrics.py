"""Measures of rankings of documents, from 0 to 1, as ir-measures computes them.

Each function takes the number `k` of documents that count, a ranking (document ids, best first,
without duplicates) and the grades of the relevant documents (above 0; at least one).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log2
from types import MappingProxyType

RankedIds = Sequence[str]
Grades = Mapping[str, int]
Measure = Callable[[RankedIds, Grades], float]


def count_relevant(k: int, ranking: RankedIds, grades: Grades) -> int:
    """Return the number of relevant documents among the first `k`."""
    return sum(document in grades for document in ranking[:k])


def recall(k: int, ranking: RankedIds, grades: Grades) -> float:
    """Return the share of the relevant documents that are among the first `k`."""
    return count_relevant(k, ranking, grades) / len(grades)


def precision(k: int, ranking: RankedIds, grades: Grades) -> float:
    """Return the share of `k` places that have a relevant document; missing places have none."""
    return count_relevant(k, ranking, grades) / k


def f1(k: int, ranking: RankedIds, grades: Grades) -> float:
    """Return the harmonic mean of precision and recall: "F1" of the paper `hybrid`."""
    # 2PR / (P + R) reduces to this form, which never divides by 0.
    return 2 * count_relevant(k, ranking, grades) / (k + len(grades))


def hit(k: int, ranking: RankedIds, grades: Grades) -> float:
    """Return 1 if a relevant document is among the first `k`, else 0.

    With `k` = 10 this is "Top-10 accuracy" of the paper `hybrid`.
    """
    return float(count_relevant(k, ranking, grades) > 0)


def reciprocal_rank(k: int, ranking: RankedIds, grades: Grades) -> float:
    """Return 1 / rank of the first relevant document; 0 if there is none among the first `k`."""
    # A generator stops at the first relevant document.
    ranks = (rank for rank, document in enumerate(ranking[:k], start=1) if document in grades)
    return 1 / first if (first := next(ranks, 0)) else 0.0


def average_precision(k: int, ranking: RankedIds, grades: Grades) -> float:
    """Return the mean of the precisions at the ranks of all relevant documents.

    The precision of a relevant document that is missing is 0.
    """
    ranks = [rank for rank, document in enumerate(ranking[:k], start=1) if document in grades]
    return sum(place / rank for place, rank in enumerate(ranks, start=1)) / len(grades)


def ndcg(k: int, ranking: RankedIds, grades: Grades) -> float:
    """Return the discounted cumulative gain, divided by that of the best ranking.

    The gain is the grade, and the discount is log2(rank + 1), as in trec_eval. Source: Järvelin and
    Kekäläinen 2002.
    """
    gains = [grades.get(document, 0) for document in ranking[:k]]
    return _sum_discounted_gains(gains) / _sum_discounted_gains(
        sorted(grades.values(), reverse=True)[:k]
    )


def _sum_discounted_gains(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


DEPTH = 100
"""The number of documents of a ranking that all measures together need."""

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "nDCG@10": partial(ndcg, 10),
        "R@2": partial(recall, 2),
        "R@5": partial(recall, 5),
        "R@10": partial(recall, 10),
        "R@100": partial(recall, DEPTH),
        "P@10": partial(precision, 10),
        "F1@10": partial(f1, 10),
        "RR@10": partial(reciprocal_rank, 10),
        "MAP@10": partial(average_precision, 10),
        "Hit@1": partial(hit, 1),
        "Hit@5": partial(hit, 5),
        "Hit@10": partial(hit, 10),
    }
)
"""The measures by their names in the literature; ir-measures calls MAP@10 of one question AP@10."""
