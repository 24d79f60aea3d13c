"""Laws of the probability that an answer is right: cross-fitted logistic regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fathom.jsonable import Json
from fathom.types import DIGITS

Matrix = NDArray[np.float64]
"""An array of any shape; the docstrings give the shapes."""
Signals = Mapping[str, float]
"""The signals of one answer, by name."""

RIDGES = (1.0, 10.0, 100.0, 1000.0, 10000.0)
"""The ridge penalties that are tried; the one with the least held-out loss is used."""
FOLDS = 10
"""The number of folds of cross-fitting."""
_EASE = 0.1
"""The penalty on the offset and on the weight of the earlier law, small so that both can move."""
_ROUNDS = 50
"""The largest number of steps of Newton's method."""
_FLAT = 1e-9
"""The size below which a spread, a step or a probability counts as 0."""
_BOUND = 30.0
"""The largest size of a logit; a larger one changes no probability, but exp() could overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectnessLaw:
    """A logistic law: the logit of being right is a weighted sum of signals.

    Attributes:
        weights: The weight of each signal, by name. Other signals are ignored, and a signal that
            an answer lacks counts as 0.
        offset: The constant term.
    """

    weights: Mapping[str, float]
    offset: float

    def __call__(self, signals: Signals) -> float:
        """Return the probability that the answer with these signals is right."""
        return float(self.predict([signals])[0])

    def predict(self, rows: Sequence[Signals]) -> Matrix:
        """Return the probability that each answer is right, rounded; shape (answers,)."""
        logits = self.compute_logits(rows)
        shares: Matrix = np.round(1 / (1 + np.exp(-np.clip(logits, -_BOUND, _BOUND))), DIGITS)
        return shares

    def compute_logits(self, rows: Sequence[Signals]) -> Matrix:
        """Return the logit of each answer: the weighted sum and the offset; shape (answers,)."""
        names = list(self.weights)
        values = _build_matrix(rows, names)
        sums: Matrix = values @ np.array([self.weights[name] for name in names]) + self.offset
        return sums

    def to_json(self) -> Json:
        """Return the object that `from_json` reads."""
        return {"offset": self.offset, "weights": dict(self.weights)}

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """Build the law from a JSON object.

        Raises:
            KeyError, TypeError, ValueError: If the object is no law.
        """
        weights = {str(name): float(value) for name, value in given["weights"].items()}
        return cls(weights=weights, offset=float(given["offset"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLaw:
    """A law with its held-out probabilities for the answers that it was fitted to.

    Attributes:
        held_out: For each answer the probability by a law that was fitted without it.
        ridge: The ridge penalty that was chosen.
    """

    law: CorrectnessLaw
    held_out: tuple[float, ...]
    ridge: float


def fit_law(
    rows: Sequence[Signals],
    right: Sequence[bool],
    *,
    before: CorrectnessLaw | None = None,
    groups: Sequence[str] = (),
    seed: int = 0,
) -> FittedLaw:
    """Fit a law to answers by penalised logistic regression.

    A ridge penalty pulls the weights towards those of an earlier law, or towards 0 without one. It
    matters less the more answers there are: a few dozen adjust the earlier law, and thousands
    replace it. Of `RIDGES`, the penalty with the least loss on held-out answers is used. With
    groups, the loss on held-out groups is added to it.

    Args:
        rows: The signals of each answer; at least one answer, all with the same names.
        right: Whether each answer was right.
        before: The earlier law; `None` without one.
        groups: The data set of each answer; empty if they need not be told apart. Without groups,
            weights that only tell these data sets apart would look good, but would not serve other
            documents.
        seed: The seed of the folds.
    """
    design = _Design.from_signals(rows, before)
    values = design.build_matrix(rows)
    targets = np.asarray(right, dtype=np.float64)
    foldings = [np.random.default_rng(seed).permutation(len(rows)) % min(FOLDS, len(rows))]
    foldings += [np.unique(groups, return_inverse=True)[1]] if len(set(groups)) > 1 else []

    def compute_losses(ridge: float) -> float:
        return sum(
            _compute_loss(_predict_held_out(values, targets, folds, design, ridge), targets)
            for folds in foldings
        )

    # Ties go to the smallest penalty, which comes first in `RIDGES`.
    ridge = min(RIDGES, key=compute_losses)
    held_out = _predict_held_out(values, targets, foldings[0], design, ridge)
    return FittedLaw(
        law=design.build_law(_maximise_likelihood(values, targets, design, ridge)),
        held_out=tuple(np.round(held_out, DIGITS).tolist()),
        ridge=ridge,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """The columns of the regression: 1, the logit of the earlier law, and the scaled signals.

    Attributes:
        names: The names of the signals that vary.
        means: The mean of each of these signals.
        scales: The standard deviation of each of these signals.
        before: The earlier law; without one its column is 0.
    """

    names: tuple[str, ...]
    means: Matrix
    scales: Matrix
    before: CorrectnessLaw | None

    @classmethod
    def from_signals(cls, rows: Sequence[Signals], before: CorrectnessLaw | None) -> Self:
        """Build the design from the signals of answers; signals that do not vary are left out."""
        names = tuple(sorted(rows[0]))
        values = _build_matrix(rows, names)
        scales = values.std(axis=0)
        # A constant signal cannot be scaled, and the offset covers it.
        varying = [column for column, scale in enumerate(scales) if scale > _FLAT]
        return cls(
            names=tuple(names[column] for column in varying),
            means=values.mean(axis=0)[varying],
            scales=scales[varying],
            before=before,
        )

    def build_matrix(self, rows: Sequence[Signals]) -> Matrix:
        """Return the columns for the signals of answers; answers x columns."""
        scaled = (_build_matrix(rows, self.names) - self.means) / self.scales
        logits = self.before.compute_logits(rows) if self.before else np.zeros(len(rows))
        return np.column_stack([np.ones(len(rows)), logits, scaled])

    @property
    def start(self) -> Matrix:
        """The coefficients that the penalty pulls towards: those of the earlier law, or all 0."""
        return np.array([0.0, float(self.before is not None), *np.zeros(len(self.names))])

    def compute_penalties(self, ridge: float) -> Matrix:
        """Return the penalty on each coefficient."""
        return np.array([_EASE, _EASE if self.before else 1.0, *np.full(len(self.names), ridge)])

    def build_law(self, coefficients: Matrix) -> CorrectnessLaw:
        """Return the law of the coefficients, over the unscaled signals."""
        slopes = coefficients[2:] / self.scales
        weights = dict.fromkeys(self.names, 0.0)
        offset = float(coefficients[0] - slopes @ self.means)
        if self.before:
            weights |= {
                name: coefficients[1] * value for name, value in self.before.weights.items()
            }
            offset += float(coefficients[1]) * self.before.offset
        for name, value in zip(self.names, slopes, strict=True):
            weights[name] += value
        rounded = {name: round(float(value), DIGITS) for name, value in sorted(weights.items())}
        return CorrectnessLaw(weights=rounded, offset=round(offset, DIGITS))


def _predict_held_out(
    values: Matrix, targets: Matrix, folds: NDArray[np.int64], design: _Design, ridge: float
) -> Matrix:
    """Return the probability of each answer by the law that was fitted to the other folds.

    Args:
        values: The design's columns, answers x columns.
        targets: 1 for each right answer, 0 for each wrong one.
        folds: The fold of each answer, from 0.
        design: The design.
        ridge: The ridge penalty.
    """
    probabilities = np.full(len(targets), targets.mean())
    for fold in range(int(folds.max()) + 1 if len(targets) > 1 else 0):
        in_fold = folds == fold
        probabilities[in_fold] = _apply_logistic(
            values[in_fold]
            @ _maximise_likelihood(values[~in_fold], targets[~in_fold], design, ridge)
        )
    return probabilities


def _maximise_likelihood(values: Matrix, targets: Matrix, design: _Design, ridge: float) -> Matrix:
    """Return the coefficients with the highest penalised likelihood, by Newton's method."""
    penalties, start = design.compute_penalties(ridge), design.start
    coefficients = start.copy()
    for _ in range(_ROUNDS):
        shares = _apply_logistic(values @ coefficients)
        gradient = values.T @ (targets - shares) - penalties * (coefficients - start)
        curvature = (values * (shares * (1 - shares))[:, None]).T @ values + np.diag(penalties)
        step = np.linalg.solve(curvature, gradient)
        # No coefficient moves by more than 1, because full steps may overshoot if the signals
        # separate right from wrong answers.
        coefficients = coefficients + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < _FLAT:
            break
    return coefficients


def _apply_logistic(logits: Matrix) -> Matrix:
    """Return the logistic function of the logits."""
    shares: Matrix = 1 / (1 + np.exp(-np.clip(logits, -_BOUND, _BOUND)))
    return shares


def _compute_loss(shares: Matrix, targets: Matrix) -> float:
    """Return the mean log loss of the probabilities `shares`, in nats."""
    bounded = np.clip(shares, _FLAT, 1 - _FLAT)
    return float(-(targets * np.log(bounded) + (1 - targets) * np.log(1 - bounded)).mean())


def _build_matrix(rows: Sequence[Signals], names: Sequence[str]) -> Matrix:
    """Return the signals as a matrix, answers x names; a missing signal is 0."""
    return np.array([[row.get(name, 0.0) for name in names] for row in rows], dtype=np.float64)
