"""The reader: what the hits say to a question."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fathom.models.reading import Reading
from fathom.runs.context import RunContext
from fathom.types import Draft, Hit

_LOGIT = 10.0


class Reader(Protocol):
    """Finds what supports an answer; every one passes `testing.ReaderConformance`."""

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        """Read the hits, in rank order, as one step of the run.

        Returns:
            Evidence best first, empty when nothing was given to read.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


@dataclass(frozen=True, slots=True)
class NullReader:
    """A `Reader` that reads nothing: it records the hits, and its draft is always empty."""

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        """See `Reader.read`."""
        inputs = {"question": question, "chunks": [hit.chunk.id for hit in hits]}
        with context.step("list", agent="reader", inputs=inputs) as here:
            here.done(reason=f"{len(hits)} chunks, none read")
        return Draft()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHit:
    """A hit that was read.

    Attributes:
        trust: What the first stage's order says of it, in (0, 1]; scores are multiplied by it.
    """

    hit: Hit
    reading: Reading
    trust: float


def outline(draft: Draft) -> dict[str, object]:
    """What a trace keeps of a draft: places and numbers rather than texts."""
    return {
        "evidence": [
            [item.hit.chunk.id, item.span.start, item.span.end, item.support]
            for item in draft.evidence
        ],
        "confidence": draft.confidence,
    }


def logit_of(share: float) -> float:
    """The logit of a probability, bounded."""
    if not 0 < share < 1:
        return _LOGIT if share >= 1 else -_LOGIT
    return max(-_LOGIT, min(_LOGIT, math.log(share / (1 - share))))
