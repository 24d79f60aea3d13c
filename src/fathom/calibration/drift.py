"""Drift: comparison of the signals of recent answers with those of a calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fathom.jsonable import Json
from fathom.types import DIGITS

Sample = NDArray[np.float64]

FEWEST = 40
"""The least number of recent answers that are compared."""
LEVEL = 0.01
"""The largest probability of a warning where nothing has changed."""
_KNOTS = 50
"""Largest number of values that describe a distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalDistribution:
    """The empirical distribution of a signal.

    Attributes:
        values: Some of the values that the signal has, rising.
        below: For each of them, the share of the answers with a smaller value.
        upto: For each of them, the share of the answers with a value of at most this.
    """

    values: tuple[float, ...]
    below: tuple[float, ...]
    upto: tuple[float, ...]

    @classmethod
    def from_sample(cls, sample: Sequence[float]) -> Self:
        """Build the distribution of a sample, at no more than fifty values."""
        ordered = np.sort(np.asarray(sample, dtype=np.float64))
        knots = np.unique(np.quantile(ordered, np.linspace(0, 1, _KNOTS), method="lower"))
        below, upto = _compute_shares(ordered, knots)
        return cls(
            values=_round_values(knots), below=_round_values(below), upto=_round_values(upto)
        )

    def measure_distance(self, sample: Sequence[float]) -> float:
        """Return the largest difference between the shares of a sample and these (Kolmogorov)."""
        ordered = np.sort(np.asarray(sample, dtype=np.float64))
        below, upto = _compute_shares(ordered, np.asarray(self.values))
        return float(max(np.abs(below - self.below).max(), np.abs(upto - self.upto).max()))


def _compute_shares(ordered: Sample, knots: Sample) -> tuple[Sample, Sample]:
    """Return the shares of a sorted sample that are below each knot, and at most it."""
    below = np.searchsorted(ordered, knots, side="left") / len(ordered)
    return below, np.searchsorted(ordered, knots, side="right") / len(ordered)


def _round_values(values: Sample) -> tuple[float, ...]:
    """Return the values as rounded numbers for JSON."""
    return tuple(np.round(values, DIGITS).tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The distributions of a calibration's signals.

    Attributes:
        answers: The number of answers that they describe.
        spreads: The distribution of each signal, by name.
    """

    answers: int
    spreads: Mapping[str, SignalDistribution]

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, float]]) -> Self:
        """Build the distributions from the signals of answers, at least one."""
        return cls(
            answers=len(rows),
            spreads={
                name: SignalDistribution.from_sample([row[name] for row in rows])
                for name in sorted(rows[0])
            },
        )

    def find_moved_signals(self, recent: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
        """Return the signals whose distribution has changed, the farthest first.

        A signal counts when its distance exceeds what the inequality of Dvoretzky, Kiefer and
        Wolfowitz allows for samples of one distribution, for all signals together. The inequality
        holds for any distribution, and a few outliers do not exceed it.
        """
        if len(recent) < FEWEST or not self.spreads:
            return ()
        # Union bound: `LEVEL` is divided among all signals, and among both samples and both sides.
        width = sqrt(log(4 * len(self.spreads) / LEVEL) / 2)
        bound = width * (1 / sqrt(len(recent)) + 1 / sqrt(self.answers))
        distances = {
            name: spread.measure_distance([row.get(name, 0.0) for row in recent])
            for name, spread in self.spreads.items()
        }
        return tuple(
            sorted(
                (name for name in distances if distances[name] > bound),
                key=lambda name: -distances[name],
            )
        )

    def to_json(self) -> Json:
        """Return the object that `from_json` reads."""
        spreads = {
            name: [list(spread.values), list(spread.below), list(spread.upto)]
            for name, spread in self.spreads.items()
        }
        return {"answers": self.answers, "spreads": spreads}

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """Build the distributions from a JSON object.

        Raises:
            KeyError, TypeError, ValueError: If the object holds no distributions.
        """
        spreads = {
            str(name): SignalDistribution(
                values=tuple(values), below=tuple(below), upto=tuple(upto)
            )
            for name, (values, below, upto) in given["spreads"].items()
        }
        return cls(answers=int(given["answers"]), spreads=spreads)
