"""The `Reader` protocol, the null reader, and the types and functions that readers share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.types import Draft, Hit

_LARGEST_LOGIT = 10.0
"""The largest absolute logit, so that the logits of 0 and 1 stay finite."""


class Reader(Protocol):
    """A role that drafts an answer from hits; every reader passes `ReaderConformance`."""

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        """Read the hits, which are in rank order, as one step of the run.

        Returns:
            A draft with its evidence best first; empty if there was nothing to read.

        Raises:
            BudgetRefused: If there was no time for the step.
        """
        ...


@dataclass(frozen=True, slots=True)
class NullReader:
    """A `Reader` that reads nothing: it records the hits, and its draft is always empty."""

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        """Record the hits and return an empty draft."""
        inputs = {"question": question.text, "chunks": [hit.chunk.id for hit in hits]}
        with context.step("list", agent="reader", inputs=inputs) as step:
            step.set_outcome(reason=f"{len(hits)} chunks, none read")
        return Draft()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHit:
    """A hit with the reading of its chunk.

    Attributes:
        trust: The factor on its scores, in (0, 1]; it falls with the rank of the hit.
    """

    hit: Hit
    reading: Reading
    trust: float


def outline_draft(draft: Draft) -> dict[str, object]:
    """Return the summary of a draft for the trace: spans and numbers instead of texts."""
    return {
        "evidence": [
            [item.hit.chunk.id, item.span.start, item.span.end, item.support]
            for item in draft.evidence
        ],
        "confidence": draft.confidence,
    }


def compute_logit(share: float) -> float:
    """Return the logit of a probability, bounded to 10 either way."""
    if not 0 < share < 1:
        return _LARGEST_LOGIT if share >= 1 else -_LARGEST_LOGIT
    return max(-_LARGEST_LOGIT, min(_LARGEST_LOGIT, math.log(share / (1 - share))))
