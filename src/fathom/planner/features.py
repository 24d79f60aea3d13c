"""What a planner knows when it chooses: numbers about the question, the first look and the draft.

No text of a document is among them, so none can tell the planner what to do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fathom.planner.actions import ACTIONS, ENDING, Action
from fathom.planner.question_features import Situation
from fathom.types import Draft

Vector = NDArray[np.float64]

_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFigures:
    """A draft in numbers.

    Attributes:
        answered: 1 if there is evidence for an answer at all.
        confidence: Of the reader, in [0, 1].
        support: Of the best evidence, in [0, 1].
        margin: How far the second evidence is behind the best, as a share of it; 1 without one.
        rival: Support of the best other answer as a share of the best, in [0, 1]; 0 without one.
        alternatives: How many other answers the evidence gives.
        documents: How many documents the evidence is from.
        short: 1 if the answer could be told in a few words.
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
    def of(cls, draft: Draft) -> Self:
        """The figures of a draft, refuted alternatives left out."""
        supports = [each.support for each in draft.evidence]
        best = max(supports, default=0.0)
        second = sorted(supports)[-2] if len(supports) > 1 else 0.0
        rivals = [each for each in draft.alternatives if not each.refuted]
        others = [supports[at] for each in rivals for at in each.evidence if at < len(supports)]
        return cls(
            answered=float(bool(draft.evidence)),
            confidence=draft.confidence,
            support=best,
            margin=1.0 - second / best if best > 0 else 1.0,
            rival=min(1.0, max(others, default=0.0) / best) if best > 0 else 0.0,
            alternatives=float(len(rivals)),
            documents=float(len({each.hit.chunk.document_id for each in draft.evidence})),
            short=float(bool(draft.short_answer)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All that a policy is told.

    Attributes:
        situation: The question and the first look.
        drafts: The draft of the first look, then that of each executor; never empty.
        tried: The executors that have worked; one fewer than drafts.
        indonesian: Whether the question is in Indonesian; else it is taken for English.
        agreement: Share of the first look's hits that more than one retriever found.
        new_hits: Share of the last executor's hits that had not been read before; 1 after the
            first look.
        same: Whether the last executor left the short answer as it was; `True` after the first
            look.
        left: Share of the run's budget that is left, the scarcest of its kinds; 1 without a cap.
    """

    situation: Situation
    drafts: tuple[DraftFigures, ...]
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
    def draft(self) -> DraftFigures:
        """The last draft."""
        return self.drafts[-1]


COLUMNS: Mapping[str, str] = {
    "words": "length of the question in words, as a share of 40, at most 1",
    "names": "names, quoted words and slots in the question",
    "serial": "questions the clause rules make of it, one after the other",
    "parallel": "questions they make of it, side by side",
    "yes_no": "1 if yes or no would answer",
    "kind": "1 if the question tells whether a name, a number or a time is wanted",
    "filler": "share of its words that the rewriting rules drop",
    "hits": "hits of the first look",
    "top": "score of the best of them",
    "gap": "how far the second hit is behind the best, as a share of it",
    "fall": "how far the last hit is behind the best, as a share of it",
    "coverage": "share of the question's terms that the best hit holds",
    "reach": "share of them that all hits together hold",
    "found_in": "documents the hits are from",
    "indonesian": "1 if the question is in Indonesian",
    "agreement": "share of the first look's hits that more than one retriever found",
    "answered": "1 if the draft has evidence",
    "confidence": "of the draft, in [0, 1]",
    "support": "of the draft's best evidence, in [0, 1]",
    "margin": "how far the second evidence is behind the best, as a share of it",
    "rival": "support of the best other answer, as a share of the best answer's",
    "alternatives": "other answers the evidence gives",
    "cited": "documents the evidence is from",
    "short": "1 if the answer could be told in a few words",
    "first_confidence": "of the first look's draft, in [0, 1]",
    "gain": "confidence of the draft less that of the draft before it",
    "new_hits": "share of the last executor's hits that had not been read before",
    "same": "1 if the last executor left the short answer as it was",
    "left": "share of the budget that is left",
    **{
        f"tried_{action}": f"1 if `{action}` has worked"
        for action in ACTIONS
        if action not in ENDING
    },
}
"""Every column of `features`: its name and what it means."""


_ASKED = tuple(name for name in COLUMNS if name in Situation.names_of_values())


def features(observation: Observation) -> Vector:
    """The numbers of an observation, in the order of `COLUMNS`."""
    seen, draft = observation.situation, observation.draft
    steps = [after.confidence - before.confidence for before, after in pairwise(observation.drafts)]
    values = {
        "words": seen.words,
        "names": seen.names,
        "serial": seen.serial,
        "parallel": seen.parallel,
        "yes_no": seen.yes_no,
        "kind": seen.kind,
        "filler": seen.filler,
        "hits": seen.hits,
        "top": seen.top,
        "gap": seen.gap,
        "fall": seen.fall,
        "coverage": seen.coverage,
        "reach": seen.reach,
        "found_in": seen.documents,
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
        **_tried(observation.tried),
    }
    return np.array([round(float(values[name]), _DIGITS) for name in COLUMNS])


def recalled(values: Mapping[str, float]) -> Observation:
    """An observation with these features; what they do not tell, such as an order, is made up.

    Args:
        values: By the names of `COLUMNS`.
    """
    tried = tuple(action for action in ACTIONS if values.get(f"tried_{action}"))
    last = DraftFigures(
        answered=values["answered"],
        confidence=values["confidence"],
        support=values["support"],
        margin=values["margin"],
        rival=values["rival"],
        alternatives=values["alternatives"],
        documents=values["cited"],
        short=values["short"],
    )
    before = DraftFigures(confidence=last.confidence - values["gain"])
    first = DraftFigures(confidence=values["first_confidence"])
    earlier = (first, *[before] * (len(tried) - 1))[: len(tried)]
    asked = {each: values[each] for each in _ASKED}
    return Observation(
        situation=Situation(first=1.0, documents=values["found_in"], **asked),
        drafts=(*earlier, last),
        tried=tried,
        indonesian=bool(values["indonesian"]),
        agreement=values["agreement"],
        new_hits=values["new_hits"],
        same=bool(values["same"]),
        left=values["left"],
    )


def _tried(tried: Sequence[Action]) -> dict[str, float]:
    return {f"tried_{action}": float(action in tried) for action in ACTIONS if action not in ENDING}
