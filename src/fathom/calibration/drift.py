"""Whether the answers given lately are like those of a calibration, signal by signal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fathom.jsonable import Json

Sample = NDArray[np.float64]

FEWEST = 40
"""Of fewer answers nothing is said."""
LEVEL = 0.01
"""How often there is a warning, at most, where nothing has changed."""
_KNOTS = 50
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a signal is spread.

    Attributes:
        values: Some that it has, rising.
        below: The share of the answers in which it is less than each of them.
        upto: In which it is at most that.
    """

    values: tuple[float, ...]
    below: tuple[float, ...]
    upto: tuple[float, ...]

    @classmethod
    def of(cls, sample: Sequence[float]) -> Self:
        """The spread of a sample, at no more than fifty values."""
        ordered = np.sort(np.asarray(sample, dtype=np.float64))
        knots = np.unique(np.quantile(ordered, np.linspace(0, 1, _KNOTS), method="lower"))
        below, upto = _shares(ordered, knots)
        return cls(values=_told(knots), below=_told(below), upto=_told(upto))

    def distance(self, sample: Sequence[float]) -> float:
        """How far a sample is from it: the largest difference of the shares (Kolmogorov)."""
        ordered = np.sort(np.asarray(sample, dtype=np.float64))
        below, upto = _shares(ordered, np.asarray(self.values))
        return float(max(np.abs(below - self.below).max(), np.abs(upto - self.upto).max()))


def _shares(ordered: Sample, knots: Sample) -> tuple[Sample, Sample]:
    below = np.searchsorted(ordered, knots, side="left") / len(ordered)
    return below, np.searchsorted(ordered, knots, side="right") / len(ordered)


def _told(values: Sample) -> tuple[float, ...]:
    return tuple(np.round(values, _DIGITS).tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How the signals of a calibration were spread.

    Attributes:
        answers: How many there were.
        spreads: By signal.
    """

    answers: int
    spreads: Mapping[str, Spread]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, float]]) -> Self:
        """That of the signals of answers, at least one."""
        return cls(
            answers=len(rows),
            spreads={name: Spread.of([row[name] for row in rows]) for name in sorted(rows[0])},
        )

    def moved(self, recent: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
        """The signals that are spread otherwise now, the farthest first.

        A signal counts when its distance is beyond what the inequality of Dvoretzky, Kiefer and
        Wolfowitz allows samples of one and the same kind, for all signals together: it holds
        whatever the spread, and a few outliers do not move it.
        """
        if len(recent) < FEWEST or not self.spreads:
            return ()
        slack = sqrt(log(4 * len(self.spreads) / LEVEL) / 2)
        most = slack * (1 / sqrt(len(recent)) + 1 / sqrt(self.answers))
        far = {
            name: spread.distance([row.get(name, 0.0) for row in recent])
            for name, spread in self.spreads.items()
        }
        return tuple(
            sorted((name for name in far if far[name] > most), key=lambda name: -far[name])
        )

    def to_json(self) -> Json:
        """As `from_json` takes it."""
        spreads = {
            name: [list(spread.values), list(spread.below), list(spread.upto)]
            for name, spread in self.spreads.items()
        }
        return {"answers": self.answers, "spreads": spreads}

    @classmethod
    def from_json(cls, given: Json) -> Self:
        """The spreads of an object.

        Raises:
            KeyError, TypeError, ValueError: If it is none.
        """
        spreads = {
            str(name): Spread(values=tuple(values), below=tuple(below), upto=tuple(upto))
            for name, (values, below, upto) in given["spreads"].items()
        }
        return cls(answers=int(given["answers"]), spreads=spreads)
