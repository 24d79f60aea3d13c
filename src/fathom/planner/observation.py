"""The observation of `adaptive`'s policies: numbers about the question, the first look, the drafts.

It contains no text of a document, so no document can instruct the planner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fathom.planner.actions import ACTIONS, END_ACTIONS, Action
from fathom.planner.question_features import QuestionFeatures
from fathom.types import DIGITS, Draft

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFeatures:
    """The features of a draft.

    Attributes:
        answered: 1 if there is evidence for an answer, else 0.
        confidence: The confidence of the reader, in [0, 1].
        support: The support of the best evidence, in [0, 1].
        margin: The difference in support between the best and the second evidence, as a share of
            the best; 1 without a second one.
        rival: The support of the best other answer, as a share of the best support, in [0, 1]; 0
            without one.
        alternatives: The number of other answers in the evidence.
        documents: The number of documents of the evidence.
        short: 1 if the answer has a short form of a few words, else 0.
    """

    answered: float = 0.0
    confidence: float = 0.0
    support: float = 0.0
    margin: float = 1.0
    rival: float = 0.0
    alternatives: float = 0.0
    documents: float = 0.0
    short: float = 0.0

    @classmethod
    def from_draft(cls, draft: Draft) -> Self:
        """Build the features of a draft; refuted alternatives do not count."""
        supports = [evidence.support for evidence in draft.evidence]
        best = max(supports, default=0.0)
        second = sorted(supports)[-2] if len(supports) > 1 else 0.0
        rivals = [rival for rival in draft.alternatives if not rival.refuted]
        others = [supports[at] for rival in rivals for at in rival.evidence if at < len(supports)]
        return cls(
            answered=float(bool(draft.evidence)),
            confidence=draft.confidence,
            support=best,
            margin=1.0 - second / best if best > 0 else 1.0,
            rival=min(1.0, max(others, default=0.0) / best) if best > 0 else 0.0,
            alternatives=float(len(rivals)),
            documents=float(len({evidence.hit.chunk.document_id for evidence in draft.evidence})),
            short=float(bool(draft.short_answer)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The input of a policy.

    Attributes:
        situation: The features of the question and the first look.
        drafts: The features of the first look's draft, then of each executor's draft.
        tried: The executors that have worked, in order.
        indonesian: Whether the question is in Indonesian; otherwise it counts as English.
        agreement: The share of the first look's hits that more than one retriever found.
        new_hits: The share of the last executor's hits that were not read before; 1 after the first
            look.
        same: Whether the last executor left the short answer unchanged; `True` after the first
            look.
        left: The share of the run's budget that is left, of its scarcest kind; 1 without a limit.

    Raises:
        ValueError: If there is not exactly one draft more than executors.
    """

    situation: QuestionFeatures
    drafts: tuple[DraftFeatures, ...]
    tried: tuple[Action, ...] = field(default=())
    indonesian: bool = False
    agreement: float = 0.0
    new_hits: float = 1.0
    same: bool = True
    left: float = 1.0

    def __post_init__(self) -> None:
        if len(self.drafts) != len(self.tried) + 1:
            raise ValueError(
                f"{len(self.drafts)} drafts after {len(self.tried)} executors: each gives one"
            )

    @property
    def draft(self) -> DraftFeatures:
        """The features of the last draft."""
        return self.drafts[-1]


COLUMNS: Mapping[str, str] = {
    "words": "length of the question in words, as a share of 40, at most 1",
    "names": "names, quoted words and slots in the question",
    "serial": "serial sub-questions that the clause rules make of the question",
    "parallel": "parallel sub-questions that the clause rules make of the question",
    "yes_no": "1 if yes or no would answer",
    "kind": "1 if the question's words tell the kind of its answer: a name, a number or a time",
    "filler": "share of the question's words that the rewriting rules drop",
    "hits": "hits of the first look",
    "top": "score of the best hit",
    "gap": "distance of the second hit's score from the best, as a share of the best",
    "fall": "distance of the last hit's score from the best, as a share of the best",
    "coverage": "share of the question's terms that the best hit holds",
    "reach": "share of the question's terms that all hits together hold",
    "found_in": "documents of the hits",
    "indonesian": "1 if the question is in Indonesian",
    "agreement": "share of the first look's hits that more than one retriever found",
    "answered": "1 if the draft has evidence",
    "confidence": "confidence of the draft, in [0, 1]",
    "support": "support of the draft's best evidence, in [0, 1]",
    "margin": "distance of the second evidence from the best, as a share of the best",
    "rival": "support of the best other answer, as a share of the best answer's",
    "alternatives": "other answers in the evidence",
    "cited": "documents of the evidence",
    "short": "1 if the answer has a short form of a few words",
    "first_confidence": "confidence of the first look's draft, in [0, 1]",
    "gain": "confidence of the draft minus that of the draft before it",
    "new_hits": "share of the last executor's hits that had not been read before",
    "same": "1 if the last executor left the short answer as it was",
    "left": "share of the budget that is left",
    **{
        f"tried_{action}": f"1 if `{action}` has worked"
        for action in ACTIONS
        if action not in END_ACTIONS
    },
}
"""The meaning of each column of `build_features`, by its name."""

_QUESTION_COLUMNS = tuple(name for name in COLUMNS if name in QuestionFeatures.list_names())
"""The columns that have the same name in `QuestionFeatures`."""


def build_features(observation: Observation) -> Vector:
    """Return the numbers of an observation, in the order of `COLUMNS`."""
    situation, draft = observation.situation, observation.draft
    steps = [after.confidence - before.confidence for before, after in pairwise(observation.drafts)]
    values = {
        "words": situation.words,
        "names": situation.names,
        "serial": situation.serial,
        "parallel": situation.parallel,
        "yes_no": situation.yes_no,
        "kind": situation.kind,
        "filler": situation.filler,
        "hits": situation.hits,
        "top": situation.top,
        "gap": situation.gap,
        "fall": situation.fall,
        "coverage": situation.coverage,
        "reach": situation.reach,
        # The name differs, because `cited` below also counts documents: those of the draft.
        "found_in": situation.documents,
        "indonesian": observation.indonesian,
        "agreement": observation.agreement,
        "answered": draft.answered,
        "confidence": draft.confidence,
        "support": draft.support,
        "margin": draft.margin,
        "rival": draft.rival,
        "alternatives": draft.alternatives,
        "cited": draft.documents,
        "short": draft.short,
        "first_confidence": observation.drafts[0].confidence,
        "gain": steps[-1] if steps else 0.0,
        "new_hits": observation.new_hits,
        "same": observation.same,
        "left": observation.left,
        **_flag_tried(observation.tried),
    }
    return np.array([round(float(values[name]), DIGITS) for name in COLUMNS])


def restore_observation(values: Mapping[str, float]) -> Observation:
    """Return an observation whose features are these values, by column.

    The columns do not tell everything: the executors get the order of `ACTIONS`, and the drafts
    between the first and the last get the confidence of the last but one.
    """
    tried = tuple(action for action in ACTIONS if values.get(f"tried_{action}"))
    last = DraftFeatures(
        answered=values["answered"],
        confidence=values["confidence"],
        support=values["support"],
        margin=values["margin"],
        rival=values["rival"],
        alternatives=values["alternatives"],
        documents=values["cited"],
        short=values["short"],
    )
    before = DraftFeatures(confidence=last.confidence - values["gain"])
    first = DraftFeatures(confidence=values["first_confidence"])
    # There is one draft more than executors. Of the earlier ones, only the confidence of the first
    # and of the last but one is known.
    earlier = (first, *[before] * (len(tried) - 1))[: len(tried)]
    question_values = {name: values[name] for name in _QUESTION_COLUMNS}
    return Observation(
        situation=QuestionFeatures(first=1.0, documents=values["found_in"], **question_values),
        drafts=(*earlier, last),
        tried=tried,
        indonesian=bool(values["indonesian"]),
        agreement=values["agreement"],
        new_hits=values["new_hits"],
        same=bool(values["same"]),
        left=values["left"],
    )


def _flag_tried(tried: Sequence[Action]) -> dict[str, float]:
    """Return a column for each executor: 1 if it has worked, else 0."""
    return {
        f"tried_{action}": float(action in tried) for action in ACTIONS if action not in END_ACTIONS
    }
