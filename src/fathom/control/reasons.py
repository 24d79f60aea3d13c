"""The actions of BAUG, the gate of `anchor`, and every reason that it can give."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from fathom.types import AbstentionReason

GateAction = Literal["STOP", "RETRIEVE_MORE", "REFLECT", "ABSTAIN"]
GateReason = Literal[
    # The draft is shown.
    "STOP_OVERLAP_OK",  # nothing is lacking
    "STOP_JUDGE_OK",  # nothing is lacking, and the judge agrees
    "STOP_NO_NEW_HITS",  # something minor is lacking; the last round found no new hits
    "STOP_NO_GAIN",  # something minor is lacking; the last round raised no support or coverage
    "STOP_LAST_ROUND",  # something minor is lacking; no round is left
    "STOP_PARTIAL_LIST",  # fewer things than the question asks for, and the answer says so
    "LOW_BUDGET",  # something minor is lacking; the budget does not allow another round
    "STOP_NO_GATE",  # the gate is off
    # The gate searches again; the name gives the lack.
    "MORE_NO_EVIDENCE",
    "MORE_MISSING_ANCHOR",
    "MORE_LOW_OVERLAP",
    "MORE_CONFLICT",
    "MORE_MISSING_UNIT",
    "MORE_PARTIAL_LIST",
    "MORE_JUDGE_UNSURE",
    "RETRY_MISSING_ANCHOR",  # round 1b: once, with the missing anchors in the query
    # The draft is edited.
    "REFLECT_MISSING_ANCHOR",  # another hit that was read meets all requirements
    "REFLECT_MISSING_UNIT",  # the same
    "REFLECT_JUDGE_UNSURE",
    "REFLECT_LOW_OVERLAP",  # no round is left, and some of the draft is supported
    # The draft is withheld; the name gives the lack.
    "ABSTAIN_NO_EVIDENCE",
    "ABSTAIN_MISSING_ANCHOR",
    "ABSTAIN_MISSING_UNIT",
    "ABSTAIN_LOW_OVERLAP",
    "ABSTAIN_CONFLICT",
    "ABSTAIN_JUDGE_UNSURE",
    "ABSTAIN_LOW_BUDGET",  # any of these lacks, and the budget does not allow another round
]

REASONS: tuple[GateReason, ...] = get_args(GateReason)
"""All reasons of the gate."""
ABSTENTION_REASONS: Mapping[GateReason, AbstentionReason] = {
    "ABSTAIN_NO_EVIDENCE": "no_evidence",
    "ABSTAIN_MISSING_ANCHOR": "missing_anchor",
    "ABSTAIN_MISSING_UNIT": "missing_anchor",
    "ABSTAIN_LOW_OVERLAP": "low_confidence",
    "ABSTAIN_CONFLICT": "conflict",
    "ABSTAIN_JUDGE_UNSURE": "low_confidence",
    "ABSTAIN_LOW_BUDGET": "budget",
}
"""The reason that the answer gives for an abstention, by the gate's reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """The gate's action, and its reason."""

    action: GateAction
    reason: GateReason

    @property
    def abstention_reason(self) -> AbstentionReason | None:
        """The reason that the answer gives; `None` unless the gate abstains."""
        return ABSTENTION_REASONS.get(self.reason)
