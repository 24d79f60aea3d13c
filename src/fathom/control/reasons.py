"""What BAUG can decide, and every reason it can give."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from fathom.types import AbstentionReason

GateAction = Literal["STOP", "RETRIEVE_MORE", "REFLECT", "ABSTAIN"]
GateReason = Literal[
    # shown
    "STOP_OVERLAP_OK",  # nothing is lacking
    "STOP_JUDGE_OK",  # nothing is lacking, and the judge agrees
    "STOP_NO_NEW_HITS",  # something minor is lacking; the last look found nothing new
    "STOP_NO_GAIN",  # ... the last round raised neither support nor coverage
    "STOP_LAST_ROUND",  # ... no round is left
    "STOP_PARTIAL_LIST",  # fewer things are given than are asked for, and it is told so
    "LOW_BUDGET",  # ... the budget does not allow another round
    "STOP_NO_GATE",  # nothing was weighed: the gate is off
    # looked for again
    "MORE_NO_EVIDENCE",
    "MORE_MISSING_ANCHOR",
    "MORE_LOW_OVERLAP",
    "MORE_CONFLICT",
    "MORE_MISSING_UNIT",
    "MORE_PARTIAL_LIST",
    "MORE_JUDGE_UNSURE",
    "RETRY_MISSING_ANCHOR",  # round 1b: once, with the missing anchors in the query
    # mended
    "REFLECT_MISSING_ANCHOR",  # another hit that was read holds what is missing
    "REFLECT_MISSING_UNIT",
    "REFLECT_JUDGE_UNSURE",
    "REFLECT_LOW_OVERLAP",
    # withheld
    "ABSTAIN_NO_EVIDENCE",
    "ABSTAIN_MISSING_ANCHOR",
    "ABSTAIN_MISSING_UNIT",
    "ABSTAIN_LOW_OVERLAP",
    "ABSTAIN_CONFLICT",
    "ABSTAIN_JUDGE_UNSURE",
    "ABSTAIN_LOW_BUDGET",
]

REASONS: tuple[GateReason, ...] = get_args(GateReason)
WITHHELD: Mapping[GateReason, AbstentionReason] = {
    "ABSTAIN_NO_EVIDENCE": "no_evidence",
    "ABSTAIN_MISSING_ANCHOR": "missing_anchor",
    "ABSTAIN_MISSING_UNIT": "missing_anchor",
    "ABSTAIN_LOW_OVERLAP": "low_confidence",
    "ABSTAIN_CONFLICT": "conflict",
    "ABSTAIN_JUDGE_UNSURE": "low_confidence",
    "ABSTAIN_LOW_BUDGET": "budget",
}
"""What an abstention is called in the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """What to do next, and why."""

    action: GateAction
    reason: GateReason

    @property
    def withheld(self) -> AbstentionReason | None:
        """Why the answer is withheld, as the finalizer wants it; `None` unless it is."""
        return WITHHELD.get(self.reason)
