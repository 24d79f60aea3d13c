"""Readings of rows and their figures, for a network in training and for a file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from training.cross_reader.rows import Row
from training.cross_reader.squad import (
    compute_auroc,
    compute_balanced_accuracy,
    compute_exact,
    compute_f1,
)


@dataclass(frozen=True, slots=True)
class Read:
    """A row as a model reads it.

    Attributes:
        row: What was read.
        answer: The best span's text, also where there is no answer; empty without any token.
        margin: Logit of that span minus the one of "no answer here".
        scores: Logits of the pair by name; see `model.SCORES`.
    """

    row: Row
    answer: str
    margin: float
    scores: Mapping[str, float]

    @property
    def golds(self) -> list[str]:
        """The acceptable answers; the empty one if there is none."""
        return [self.row.text[start:end] for start, end in self.row.spans] or [""]


Sure = Callable[[Read], float]
"""A function that returns how sure a model is that a row has an answer, or that a claim holds."""


def sum_margin_and_score(read: Read) -> float:
    """Return the uncalibrated sum of the margin and the score for an answer."""
    return read.margin + read.scores["answerable"]


def compute_answer_figures(
    reads: Sequence[Read], sure: Sure = sum_margin_and_score
) -> dict[str, float]:
    """Return F1 and EM of the best spans, and the separation of answerable rows.

    Figures that there are no rows for are left out.
    """
    figures: dict[str, float] = {}
    has = [read for read in reads if read.row.answerable and read.row.spans]
    if has:
        figures["has-answer F1"] = fmean(compute_f1(read.answer, read.golds) for read in has)
        figures["has-answer EM"] = fmean(compute_exact(read.answer, read.golds) for read in has)
    right = [sure(read) for read in reads if read.row.answerable]
    wrong = [sure(read) for read in reads if read.row.answerable is False]
    if right and wrong:
        figures["AUROC answerable"] = compute_auroc(right, wrong)
    return figures


def compute_claim_figures(
    reads: Sequence[Read], sure: Sure, least: float = 0.5
) -> dict[str, float]:
    """Return figures of supported claims against the rest, by `sure` and its floor `least`."""
    claims = [read for read in reads if read.row.support]
    true = [read.row.support == (0,) for read in claims]
    if len(set(true)) < 2:
        return {}
    values = [sure(read) for read in claims]
    return {
        "claims": len(claims),
        "supported, balanced accuracy": compute_balanced_accuracy(
            [v >= least for v in values], true
        ),
        "supported, AUROC": compute_auroc(
            [value for value, right in zip(values, true, strict=True) if right],
            [value for value, right in zip(values, true, strict=True) if not right],
        ),
    }


def compute_yesno_figures(reads: Sequence[Read]) -> dict[str, float]:
    """Return figures of yes against no, and of decided rows against the rest."""
    decided = [read for read in reads if read.row.yesno in (0, 1)]
    figures: dict[str, float] = {}
    if len({read.row.yesno for read in decided}) == 2:
        predictions = [read.scores["yes"] > read.scores["no"] for read in decided]
        figures["yes or no"] = len(decided)
        figures["yes, balanced accuracy"] = compute_balanced_accuracy(
            predictions, [read.row.yesno == 0 for read in decided]
        )
    none = [_measure_decision(read) for read in reads if read.row.yesno == 2]
    if decided and none:
        figures["decided, AUROC"] = compute_auroc(
            [_measure_decision(read) for read in decided], none
        )
    return figures


def _measure_decision(read: Read) -> float:
    return max(read.scores["yes"], read.scores["no"]) - read.scores["none"]


def round_figures(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the figures rounded for people."""
    return {name: round(float(value), 4) for name, value in figures.items()}
