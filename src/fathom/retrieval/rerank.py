"""Reranking: hits in the order of what a pair reader makes of them, mixed with their own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fathom.models.reading import CrossReader, Reading, ReadingSession
from fathom.runs.context import RunContext
from fathom.types import Hit

_AT_ONCE = 4
_DIGITS = 6
_LOGIT = 8.0  # about one in three thousand; the model is never surer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranker:
    """Reorders hits by merit x `weight` + the first stage's score x (1 - `weight`).

    See `merit`; the first stage's scores are brought to [0, 1] over the hits given. Hits are read
    in its order, and no further than the ones to keep can still change: a hit that was not read
    has at most merit 1, and no first-stage score above that of the next one. What was not read
    counts with merit 0. Neither clock nor chance decides anything.

    Attributes:
        weight: Of the merit, in [0, 1]; 0 leaves everything as it is and reads nothing.
        most: At most so many hits are read; it bounds the time, with one pass a hit.
    """

    pairs: CrossReader
    weight: float = 0.6
    most: int = 24

    async def __call__(
        self, question: str, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """The `keep` best hits, ranked anew, as one step of the run.

        Args:
            question: What is asked.
            hits: In the order of the first stage.
            keep: So many are given back, at most.
            context: Where it is recorded.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        inputs = {"chunks": [hit.chunk.id for hit in hits], "keep": keep}
        with context.step("rerank", agent="reranker", inputs=inputs) as here:
            read, found = await here.compute(
                "rerank", lambda: self.reranked(question, hits, keep=keep)
            )
            listed = [[hit.chunk.id, hit.score] for hit in found]
            here.done(outputs={"hits": listed}, reason=f"{read} of {len(hits)} chunks read")
        return found

    def reranked(
        self, question: str, hits: Sequence[Hit], *, keep: int
    ) -> tuple[int, tuple[Hit, ...]]:
        """How many hits were read, and what the call gives, at once."""
        if not self.weight:
            return 0, tuple(hits[:keep])
        first = _shares([hit.score for hit in hits])
        scores = self._scores(self.pairs.session(question, spans=0), hits, first, keep)
        rest = [self._mixed(0.0, share) for share in first[len(scores) :]]
        mixed = [*scores, *rest]
        order = sorted(range(len(hits)), key=lambda place: (-mixed[place], place))[:keep]
        found = (
            replace(hits[place], score=mixed[place], rank=rank)
            for rank, place in enumerate(order, start=1)
        )
        return len(scores), tuple(found)

    def _scores(
        self, session: ReadingSession, hits: Sequence[Hit], first: Sequence[float], keep: int
    ) -> list[float]:
        """The scores of the hits that are read, from the first one on."""
        scores: list[float] = []
        for start in range(0, min(self.most, len(hits)), _AT_ONCE):
            if self._settled(scores, first[start], keep):
                break
            part = hits[start : min(self.most, start + _AT_ONCE)]
            read = session.read([hit.chunk for hit in part])
            scores += [
                self._mixed(merit(reading), share)
                for reading, share in zip(read, first[start:], strict=False)
            ]
        return scores

    def _settled(self, scores: Sequence[float], share: float, keep: int) -> bool:
        """Whether no later hit can come before one of the `keep` best so far."""
        if len(scores) < keep:
            return False
        return sorted(scores, reverse=True)[keep - 1] >= self._mixed(1.0, share)

    def _mixed(self, own: float, share: float) -> float:
        return round(self.weight * own + (1 - self.weight) * share, _DIGITS)


def merit(reading: Reading) -> float:
    """How relevant and answering a chunk is, in [0, 1]: the mean of both logits, bounded.

    Probabilities themselves would not do: whatever is sure looks alike, and the second chunk that
    a question of two hops needs, which answers nothing by itself, falls behind everything.
    """
    mean = (_logit(reading.relevance) + _logit(reading.answerable)) / 2
    return (mean + _LOGIT) / (2 * _LOGIT)


def _logit(share: float) -> float:
    low = 1 / (1 + math.exp(_LOGIT))
    bounded = max(low, min(1 - low, share))
    return math.log(bounded / (1 - bounded))


def _shares(scores: Sequence[float]) -> list[float]:
    """Scores that do not grow, as shares between the last and the first; 1 where all are equal."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    return [1.0 if high == low else (score - low) / (high - low) for score in scores]
