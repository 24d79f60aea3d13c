"""The laws that turn scores into probabilities, fitted on unreported development rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from training.cross_reader.figures import Read

from fathom.models.reading import SCORES, ReadingCalibration

Numbers = NDArray[np.float64]
_STEPS = 50
_RIDGE = 1e-2
_MARGIN = 30.0  # as in `Calibration.answers`


def fit_reading_calibration(reads: Sequence[Read]) -> ReadingCalibration:
    """Fit the calibration on readings of gold texts, of wrong texts, and of claims.

    A part of which one label is missing stays as `Calibration` has it.
    """
    law = ReadingCalibration()
    labelled = [read for read in reads if read.row.answerable is not None]
    labels = [bool(read.row.answerable) for read in labelled]
    if len(set(labels)) > 1:
        answers = [(read.scores["answerable"], _limit_margin(read.margin)) for read in labelled]
        slope, margin, offset = fit_logistic(answers, labels)
        law = replace(law, answerable=(slope, margin, offset))
    judged = [read for read in reads if read.row.relevant is not None]
    labels = [bool(read.row.relevant) for read in judged]
    if len(set(labels)) > 1:
        slope, offset = fit_logistic([(read.scores["relevance"],) for read in judged], labels)
        law = replace(law, relevance=(slope, offset))
    claims = [read for read in reads if read.row.support]
    if claims:
        scores = [[read.scores[name] for name in SCORES[5:]] for read in claims]
        law = replace(law, support=fit_temperature(scores, [read.row.support for read in claims]))
    return law


def _limit_margin(margin: float) -> float:
    return max(-_MARGIN, min(_MARGIN, margin))


def fit_logistic(features: Sequence[Sequence[float]], labels: Sequence[bool]) -> tuple[float, ...]:
    """Return slopes and offset of the logistic law, by Newton's method with a small ridge.

    Both labels weigh the same in sum, so that the law does not carry the share of this sample.
    """
    rows = np.column_stack([np.asarray(features, dtype=np.float64), np.ones(len(labels))])
    true = np.asarray(labels, dtype=np.float64)
    share = true.mean()
    weight = np.where(true > 0, 0.5 / share, 0.5 / (1 - share))
    law = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ law, -30, 30)))
        slope = rows.T @ (weight * (true - chance)) - _RIDGE * law
        bend = (rows.T * (weight * chance * (1 - chance))) @ rows + _RIDGE * np.eye(len(law))
        law = law + np.linalg.solve(bend, slope)
    return tuple(round(float(value), 4) for value in law)


def fit_temperature(logits: Sequence[Sequence[float]], allowed: Sequence[Sequence[int]]) -> float:
    """Return the temperature between 0.5 and 4 at which the allowed classes are most likely."""
    scores = np.asarray(logits, dtype=np.float64)
    right = np.zeros(scores.shape, dtype=bool)
    for row, classes in zip(right, allowed, strict=True):
        row[list(classes)] = True
    tried = [round(0.5 + 0.05 * step, 2) for step in range(71)]
    return min(tried, key=lambda value: _compute_surprise(scores / value, right))


def _compute_surprise(logits: Numbers, right: NDArray[np.bool_]) -> float:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    chance = (odds * right).sum(axis=1) / odds.sum(axis=1)
    return float(-np.log(np.maximum(chance, 1e-12)).mean())
