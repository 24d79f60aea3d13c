"""The least probabilities with which an answer is given, and with which it is shown as not sure.

A wrong answer costs more to some users than to others, so there are levels. An answer that is shown
as not sure misleads less than one that is given: its bound is lower.
"""

from collections.abc import Mapping
from typing import NamedTuple

from fathom.settings import AskSettings, Caution


class ProbabilityBounds(NamedTuple):
    """The least probabilities of being right, in [0, 1], from which an answer is shown.

    An answer is sure if its draft's confidence or its probability reaches `ask.min_confidence`.

    Attributes:
        given: The least probability of a sure answer that is given.
        tentative: The least probability of a sure answer that is shown as not sure if it is below
            `given`; `None` if no answer is shown as not sure, an unsure one included.
        unsure: The least probability of an unsure answer that is shown as not sure; `None` for
            that of `given`.
    """

    given: float
    tentative: float | None = None
    unsure: float | None = None


LEVELS: Mapping[Caution, ProbabilityBounds] = {
    "cautious": ProbabilityBounds(0.6, 0.3),
    "balanced": ProbabilityBounds(0.4, 0.15, 0.3),
    "eager": ProbabilityBounds(0.1, 0.0),
}
"""The bounds of each level of `ask.caution`; docs/calibration.md explains them."""


def choose_bounds(ask: AskSettings) -> ProbabilityBounds:
    """Return the bounds that the settings choose.

    With `ask.min_probability` or `ask.max_error` no answer is tentative, because whoever sets such
    a bound expects no answer below it.
    """
    level = LEVELS[ask.caution]
    if ask.min_probability is not None:
        return ProbabilityBounds(ask.min_probability)
    return level if ask.max_error is None else level._replace(tentative=None, unsure=None)
