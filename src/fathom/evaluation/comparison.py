"""Paired comparisons of two systems on the same questions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from statistics import fmean
from typing import Any

from fathom.errors import UsageError
from fathom.evaluation.measures import LOWER_IS_BETTER, get_bounds
from fathom.evaluation.records import Record
from fathom.evaluation.rows import score_questions
from fathom.evaluation.statistics import (
    SIGNIFICANT,
    bca_interval,
    detectable_difference,
    effect_size,
    holm,
    mcnemar_p,
    randomisation_p,
    t_test_p,
)

COMPARED_MEASURES = (
    "EM",
    "F1",
    "RAMDocs-EM",
    "CRAG-truthfulness",
    "wrong-on-answerable",
    "no-answer-F1",
    "R@5",
    "support",
    "citation-precision",
)
"""The measures that a comparison of strategies tests, if the data set has them."""
COMPARED_RANKING_MEASURES = ("nDCG@10", "R@10", "RR@10", "Hit@10", "F1@10")
"""The measures that a comparison with a retriever tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """The test of one measure of two systems, `first` minus `second`.

    Attributes:
        queries: The number of questions for which both systems have a value.
        difference: The mean difference.
        interval: The 95 % paired interval (BCa) of the difference.
        test: `McNemar` if every value is 0 or 1, else `randomisation`.
        p: The two-sided p of this test alone.
        p_holm: The p, corrected for all tests that were made together.
        detectable: The smallest true difference that so many questions would show with probability
            0.8.
        effect: The difference in units of its spread, as `effect_size` computes it.
        p_t: The p of the paired t-test, which papers report; no decision depends on it.
    """

    dataset: str
    measure: str
    first: str
    second: str
    queries: int
    difference: float
    interval: tuple[float, float]
    test: str
    p: float
    p_holm: float
    detectable: float
    effect: float | None = None
    p_t: float = 1.0

    @property
    def sentence(self) -> str:
        """The outcome of the test in one sentence."""
        low, high = self.interval
        figures = (
            f"{self.difference:+.3f} [{low:+.3f}, {high:+.3f}], p = {self.p:.3g} ({self.test}; "
            f"{self.p_holm:.3g} by Holm), {self.queries} questions"
        )
        place = f"in {self.measure} on {self.dataset}"
        if self.p_holm >= SIGNIFICANT:
            tie = f"{self.first} and {self.second} cannot be told apart {place}: {figures}"
            # Without spread, or with a single question, the detectable difference is unknown.
            if not 0 < self.detectable < inf:
                return tie
            return f"{tie}; a difference of {self.detectable:.3f} would probably have been seen"
        # Lower values of some measures, such as failures, are better.
        better = (self.difference > 0) != (self.measure in LOWER_IS_BETTER)
        word = "better" if better else "worse"
        return f"{self.first} is {word} than {self.second} {place}: {figures}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the sentence as plain values; an infinite difference is `None`."""
        fields = {**asdict(self), "sentence": self.sentence}
        return fields | ({} if isfinite(self.detectable) else {"detectable": None})


def compare(
    pairs: Sequence[tuple[Sequence[Record], Sequence[Record]]],
    measures: Sequence[str] = (),
) -> list[PairedTest]:
    """Test each measure on each data set; correct each p for all tests.

    Args:
        pairs: The records of the first and of the second system on each data set.
        measures: The measures to test; by default `COMPARED_MEASURES`, or
            `COMPARED_RANKING_MEASURES` if one of the two is a retriever.

    Raises:
        UsageError: If two systems were not asked the same questions.
    """
    return correct_for_all([test for pair in pairs for test in _compare_pair(*pair, measures)])


def correct_for_all(tests: Sequence[PairedTest]) -> list[PairedTest]:
    """Return the tests with each p corrected for all tests (Holm)."""
    ps = holm([test.p for test in tests])
    return [replace(test, p_holm=p) for test, p in zip(tests, ps, strict=True)]


def _compare_pair(
    first: Sequence[Record], second: Sequence[Record], measures: Sequence[str]
) -> list[PairedTest]:
    if not first or {record.question for record in first} != {record.question for record in second}:
        raise UsageError("a comparison needs two systems that were asked the same questions")
    tests = []
    ranking = first[0].is_ranking or second[0].is_ranking
    for name in measures or (COMPARED_RANKING_MEASURES if ranking else COMPARED_MEASURES):
        ours, theirs = score_questions(name, first), score_questions(name, second)
        shared = [question for question in ours if question in theirs]
        if shared:
            sides = (first[0].system, second[0].system)
            paired = _pair_values(ours, theirs, shared)
            tests.append(contrast(first[0].dataset, name, sides, paired))
    return tests


def _pair_values(
    ours: Mapping[str, float], theirs: Mapping[str, float], shared: Sequence[str]
) -> list[tuple[float, float]]:
    return [(ours[question], theirs[question]) for question in shared]


def contrast(
    dataset: str, measure: str, sides: tuple[str, str], paired: Sequence[tuple[float, float]]
) -> PairedTest:
    """Test one measure of two systems on at least one pair of values, without correction."""
    differences = [ours - theirs for ours, theirs in paired]
    low, high = get_bounds(measure)
    binary = all(value in (0.0, 1.0) for pair in paired for value in pair)
    # The exact test uses only the questions on which exactly one system is right.
    if binary:
        p = mcnemar_p(differences.count(1.0), differences.count(-1.0))
    else:
        p = randomisation_p(differences)
    return PairedTest(
        dataset=dataset,
        measure=measure,
        first=sides[0],
        second=sides[1],
        queries=len(paired),
        difference=round(fmean(differences), 6),
        # The difference of two values in [low, high] is in [low - high, high - low].
        interval=bca_interval(differences, bounds=(low - high, high - low)),
        test="McNemar" if binary else "randomisation",
        p=p,
        # A single test needs no correction; `correct_for_all` replaces this value.
        p_holm=p,
        detectable=detectable_difference(differences),
        effect=effect_size(differences),
        p_t=t_test_p(differences),
    )
