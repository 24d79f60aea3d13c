"""The least probabilities with which an answer is given, and with which it is shown as not sure.

A wrong answer costs more to some users than to others, so there are levels. An answer that is shown
as not sure misleads less than one that is given: its bound is lower.
"""

from collections.abc import Mapping
from typing import NamedTuple

from fathom.settings import AskSettings, Caution


class ProbabilityBounds(NamedTuple):
    """The least probabilities of being right of an answer.

    Attributes:
        given: Of a sure answer that is given.
        tentative: Of a sure answer that is shown as not sure; `None` where none is.
        unsure: Of an unsure answer that is shown as not sure; `None` for that of `given`.
    """

    given: float
    tentative: float | None = None
    unsure: float | None = None


LEVELS: Mapping[Caution, ProbabilityBounds] = {
    "cautious": ProbabilityBounds(0.6, 0.3),
    "balanced": ProbabilityBounds(0.4, 0.15, 0.3),
    "eager": ProbabilityBounds(0.1, 0.0),
}
"""The bounds of the levels of `ask.caution`: docs/calibration.md."""


def choose_bounds(ask: AskSettings) -> ProbabilityBounds:
    """Return the bounds that the settings name.

    With a bound of the user's own, or a certified rate of errors, no answer is tentative: whoever
    sets one expects nothing below it.
    """
    level = LEVELS[ask.caution]
    if ask.min_probability is not None:
        return ProbabilityBounds(ask.min_probability)
    return level if ask.max_error is None else level._replace(tentative=None, unsure=None)
