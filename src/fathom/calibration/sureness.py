"""How likely an answer is right, by a law of its signals: logistic regression, cross-fitted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fathom.jsonable import Json

Matrix = NDArray[np.float64]
Signals = Mapping[str, float]
"""The numbers of one answer, by name."""

RIDGES = (1.0, 10.0, 100.0, 1000.0, 10000.0)
"""What is tried of the pull on the weights; the one that foretells best counts."""
FOLDS = 10
_EASE = 0.1
"""The pull on the offset, and on how far the law before counts: next to none."""
_ROUNDS = 50
_FLAT = 1e-9
_BOUND = 30.0
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SurenessLaw:
    """The logit of being right is a weighted sum of signals.

    Attributes:
        weights: By the name of the signal; a signal that is not named counts nothing.
        offset: Is added.
    """

    weights: Mapping[str, float]
    offset: float

    def __call__(self, signals: Signals) -> float:
        """The probability that the answer with these signals is right."""
        return float(self.all([signals])[0])

    def all(self, rows: Sequence[Signals]) -> Matrix:
        """The probabilities of several."""
        logits = self.logits(rows)
        shares: Matrix = np.round(1 / (1 + np.exp(-np.clip(logits, -_BOUND, _BOUND))), _DIGITS)
        return shares

    def logits(self, rows: Sequence[Signals]) -> Matrix:
        """The weighted sums."""
        names = list(self.weights)
        values = _matrix(rows, names)
        sums: Matrix = values @ np.array([self.weights[name] for name in names]) + self.offset
        return sums

    def to_json(self) -> Json:
        """As `from_json` takes it."""
        return {"offset": self.offset, "weights": dict(self.weights)}

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """The law of an object.

        Raises:
            KeyError, TypeError, ValueError: If it is none.
        """
        weights = {str(name): float(value) for name, value in given["weights"].items()}
        return cls(weights=weights, offset=float(given["offset"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A law and what it says of the answers that it was fitted on.

    Attributes:
        held_out: For each answer the probability by a law that had not seen it.
        ridge: The pull on the weights that was chosen.
    """

    law: SurenessLaw
    held_out: tuple[float, ...]
    ridge: float


def fit(
    rows: Sequence[Signals],
    right: Sequence[bool],
    *,
    before: SurenessLaw | None = None,
    seed: int = 0,
) -> Fitted:
    """Fit a law to answers.

    The weights are pulled towards those of the law before, or else towards 0, the more the fewer
    answers there are to say otherwise; how much is chosen by how well held out answers are
    foretold. So a few dozen answers adjust a law, and thousands make their own.

    Args:
        rows: The signals of each answer; at least one, all with the same names.
        right: Whether it was right.
        before: What was known before.
        seed: Of the folds.
    """
    design = _Design.of(rows, before)
    values = design.of_rows(rows)
    targets = np.asarray(right, dtype=np.float64)
    folds = np.random.default_rng(seed).permutation(len(rows)) % min(FOLDS, len(rows))
    tried = {ridge: _held_out(values, targets, folds, design, ridge) for ridge in RIDGES}
    ridge = min(tried, key=lambda each: _loss(tried[each], targets))
    return Fitted(
        law=design.law(_newton(values, targets, design, ridge)),
        held_out=tuple(np.round(tried[ridge], _DIGITS).tolist()),
        ridge=ridge,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """What the regression sees: 1, the logit of the law before, and the scaled signals."""

    names: tuple[str, ...]
    means: Matrix
    scales: Matrix
    before: SurenessLaw | None

    @classmethod
    def of(cls, rows: Sequence[Signals], before: SurenessLaw | None) -> Self:
        names = tuple(sorted(rows[0]))
        values = _matrix(rows, names)
        scales = values.std(axis=0)
        kept = [at for at, scale in enumerate(scales) if scale > _FLAT]
        return cls(
            names=tuple(names[at] for at in kept),
            means=values.mean(axis=0)[kept],
            scales=scales[kept],
            before=before,
        )

    def of_rows(self, rows: Sequence[Signals]) -> Matrix:
        scaled = (_matrix(rows, self.names) - self.means) / self.scales
        logits = self.before.logits(rows) if self.before else np.zeros(len(rows))
        return np.column_stack([np.ones(len(rows)), logits, scaled])

    @property
    def start(self) -> Matrix:
        return np.array([0.0, float(self.before is not None), *np.zeros(len(self.names))])

    def pull(self, ridge: float) -> Matrix:
        return np.array([_EASE, _EASE if self.before else 1.0, *np.full(len(self.names), ridge)])

    def law(self, found: Matrix) -> SurenessLaw:
        """The law that the coefficients stand for."""
        own = found[2:] / self.scales
        weights = dict.fromkeys(self.names, 0.0)
        offset = float(found[0] - own @ self.means)
        if self.before:
            weights |= {name: found[1] * value for name, value in self.before.weights.items()}
            offset += float(found[1]) * self.before.offset
        for name, value in zip(self.names, own, strict=True):
            weights[name] += value
        rounded = {name: round(float(value), _DIGITS) for name, value in sorted(weights.items())}
        return SurenessLaw(weights=rounded, offset=round(offset, _DIGITS))


def _held_out(
    values: Matrix, targets: Matrix, folds: NDArray[np.int64], design: _Design, ridge: float
) -> Matrix:
    found = np.full(len(targets), targets.mean())
    for fold in range(int(folds.max()) + 1 if len(targets) > 1 else 0):
        own = folds == fold
        found[own] = _share(values[own] @ _newton(values[~own], targets[~own], design, ridge))
    return found


def _newton(values: Matrix, targets: Matrix, design: _Design, ridge: float) -> Matrix:
    """The coefficients with the highest penalised likelihood; the penalty makes it one point."""
    pull, start = design.pull(ridge), design.start
    found = start.copy()
    for _ in range(_ROUNDS):
        shares = _share(values @ found)
        slope = values.T @ (targets - shares) - pull * (found - start)
        bend = (values * (shares * (1 - shares))[:, None]).T @ values + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        found = found + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < _FLAT:
            break
    return found


def _share(logits: Matrix) -> Matrix:
    shares: Matrix = 1 / (1 + np.exp(-np.clip(logits, -_BOUND, _BOUND)))
    return shares


def _loss(shares: Matrix, targets: Matrix) -> float:
    bounded = np.clip(shares, _FLAT, 1 - _FLAT)
    return float(-(targets * np.log(bounded) + (1 - targets) * np.log(1 - bounded)).mean())


def _matrix(rows: Sequence[Signals], names: Sequence[str]) -> Matrix:
    return np.array([[row.get(name, 0.0) for name in names] for row in rows], dtype=np.float64)
