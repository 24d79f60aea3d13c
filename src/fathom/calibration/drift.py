"""Drift: a comparison of the signals of recent answers with those of a calibration."""

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
"""The largest probability of a warning if nothing has changed."""
_KNOTS = 50
"""The largest number of values that describe a distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalDistribution:
    """The empirical distribution of a signal.

    Attributes:
        values: Up to `_KNOTS` of the values that the signal has, rising.
        below: The share of the answers with a smaller value, for each of `values`.
        upto: The share of the answers with at most this value, for each of `values`.
    """

    values: tuple[float, ...]
    below: tuple[float, ...]
    upto: tuple[float, ...]

    @classmethod
    def from_sample(cls, sample: Sequence[float]) -> Self:
        """Build the distribution of a sample of at least one value."""
        ordered = np.sort(np.asarray(sample, dtype=np.float64))
        knots = np.unique(np.quantile(ordered, np.linspace(0, 1, _KNOTS), method="lower"))
        below, upto = _compute_shares(ordered, knots)
        return cls(
            values=_round_values(knots), below=_round_values(below), upto=_round_values(upto)
        )

    def measure_distance(self, sample: Sequence[float]) -> float:
        """Return the Kolmogorov distance of a sample from this distribution, in [0, 1].

        It is the largest difference between the shares of the two, measured at `values` only.
        """
        ordered = np.sort(np.asarray(sample, dtype=np.float64))
        below, upto = _compute_shares(ordered, np.asarray(self.values))
        return float(max(np.abs(below - self.below).max(), np.abs(upto - self.upto).max()))


def _compute_shares(ordered: Sample, knots: Sample) -> tuple[Sample, Sample]:
    """Return, for each knot, the share of a sorted sample below it and the share up to it."""
    below = np.searchsorted(ordered, knots, side="left") / len(ordered)
    return below, np.searchsorted(ordered, knots, side="right") / len(ordered)


def _round_values(values: Sample) -> tuple[float, ...]:
    """Return the values as rounded numbers for JSON."""
    return tuple(np.round(values, DIGITS).tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The distributions of the signals of the answers that a calibration was learned from.

    Attributes:
        answers: The number of these answers.
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
        """Return the signals whose distribution has changed, the most changed first.

        A signal has changed if its Kolmogorov distance exceeds the bound of Dvoretzky, Kiefer and
        Wolfowitz for two samples of one distribution. The bound holds for all signals together, for
        any distribution, and a few outliers do not exceed it.

        Args:
            recent: The signals of each recent answer; one that an answer lacks counts as 0.

        Returns:
            The names of the signals; empty for fewer than `FEWEST` recent answers.
        """
        if len(recent) < FEWEST or not self.spreads:
            return ()
        # The union bound divides `LEVEL` among all signals, both samples and both sides.
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
