"""Reranking: hits ordered by the reading of a cross-reader, mixed with their own scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from fathom.models.reading import CrossReader, Reading, ReadingSession
from fathom.question.question import Question
from fathom.retrieval.fusion import scale_min_max
from fathom.runs.context import RunContext
from fathom.types import DIGITS, Hit

if TYPE_CHECKING:  # the assembly makes the reranker, and imports every part
    from fathom.assembly import Assembly

_BATCH = 4
"""Hits that are read in one batch."""
_MOST_LOGIT = 8.0
"""Largest logit, a probability of about 1 in 3,000 for the opposite; the model is never surer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranker:
    """A reranker by merit x `weight` + the first stage's score x (1 - `weight`).

    `measure_merit` gives the merit; the first stage's scores are scaled to [0, 1] over the hits
    given. Hits are read in the order of the first stage, and only while a hit that is not read
    could still enter the ones to keep: such a hit has at most merit 1, and no first-stage score
    above that of the next one. A hit that is not read counts with merit 0. Neither clock nor chance
    decides anything.

    Attributes:
        weight: The weight of the merit, in [0, 1]; 0 keeps the order and reads nothing.
        most: The number of hits to read, at most; it bounds the time, with one pass a hit.
    """

    pairs: CrossReader
    weight: float = 0.6
    most: int = 24

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the reranker from the assembly."""
        section = assembly.settings.retrieval
        return cls(
            pairs=assembly.cross_reader, weight=section.rerank_weight, most=section.rerank_most
        )

    async def __call__(
        self, question: Question, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        """Return the `keep` best hits with new ranks, as one step of the run.

        Args:
            question: The question.
            hits: Hits in the order of the first stage.
            keep: The number of hits to return, at most.
            context: The run that records the step.

        Raises:
            BudgetRefused: If no time was left for it.
        """
        inputs = {"chunks": [hit.chunk.id for hit in hits], "keep": keep}
        with context.step("rerank", agent="reranker", inputs=inputs) as step:
            count, best = await step.compute(
                "rerank", lambda: self.rerank_hits(question, hits, keep=keep)
            )
            hit_scores = [[hit.chunk.id, hit.score] for hit in best]
            step.set_outcome(
                outputs={"hits": hit_scores}, reason=f"{count} of {len(hits)} chunks read"
            )
        return best

    def rerank_hits(
        self, question: Question, hits: Sequence[Hit], *, keep: int
    ) -> tuple[int, tuple[Hit, ...]]:
        """Return the number of hits that were read and the best hits, outside of a run."""
        if not self.weight:
            return 0, tuple(hits[:keep])
        first = scale_min_max([hit.score for hit in hits])
        scores = self._score_hits(
            self.pairs.open_session(question.text, spans=0), hits, first, keep
        )
        unread = [self._mix_scores(0.0, share) for share in first[len(scores) :]]
        mixed = [*scores, *unread]
        # Ties go to the better place in the first stage.
        order = sorted(range(len(hits)), key=lambda position: (-mixed[position], position))[:keep]
        best = (
            replace(hits[position], score=mixed[position], rank=rank)
            for rank, position in enumerate(order, start=1)
        )
        return len(scores), tuple(best)

    def _score_hits(
        self, session: ReadingSession, hits: Sequence[Hit], first: Sequence[float], keep: int
    ) -> list[float]:
        """Return the scores of the hits that are read, from the first one on."""
        scores: list[float] = []
        for start in range(0, min(self.most, len(hits)), _BATCH):
            if self._is_settled(scores, first[start], keep):
                break
            batch = hits[start : min(self.most, start + _BATCH)]
            readings = session.read([hit.chunk for hit in batch])
            scores += [
                self._mix_scores(measure_merit(reading), share)
                for reading, share in zip(readings, first[start:], strict=False)
            ]
        return scores

    def _is_settled(self, scores: Sequence[float], share: float, keep: int) -> bool:
        """Return whether no later hit can displace one of the `keep` best so far."""
        if len(scores) < keep:
            return False
        # An unread hit has at most merit 1, and no larger share than the next one.
        return sorted(scores, reverse=True)[keep - 1] >= self._mix_scores(1.0, share)

    def _mix_scores(self, hit_merit: float, share: float) -> float:
        return round(self.weight * hit_merit + (1 - self.weight) * share, DIGITS)


def measure_merit(reading: Reading) -> float:
    """Return how relevant and answering a chunk is, in [0, 1]: the mean of both logits, bounded.

    Logits rather than probabilities: all sure readings have nearly the same probability, and the
    second chunk that a question of two hops needs, which answers nothing by itself, would fall
    behind everything.
    """
    mean = (_compute_logit(reading.relevance) + _compute_logit(reading.answerable)) / 2
    return (mean + _MOST_LOGIT) / (2 * _MOST_LOGIT)


def _compute_logit(share: float) -> float:
    least = 1 / (1 + math.exp(_MOST_LOGIT))
    bounded = max(least, min(1 - least, share))
    return math.log(bounded / (1 - bounded))
