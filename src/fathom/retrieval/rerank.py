"""Reranking: hits ordered by a cross-reader's reading, mixed with their own scores."""

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
"""The number of hits that are read in one batch."""
_MOST_LOGIT = 8.0
"""The largest size of a logit: a chance of 1 in 3,000 to be wrong; the model is never surer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranker:
    """A reranker by the score `weight` * merit + (1 - `weight`) * first-stage score.

    `measure_merit` gives the merit, and the first stage's scores are scaled to [0, 1]. Hits are
    read in the order of the first stage. Reading ends when no unread hit could still be among the
    hits to keep, even with a merit of 1; this depends on neither clock nor chance. A hit that is
    not read gets merit 0.

    Attributes:
        pairs: The cross-reader.
        weight: The weight of the merit, in [0, 1]; 0 keeps the order and reads nothing.
        most: The largest number of hits to read, each with one pass of the model.
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
            hits: The hits in the order of the first stage.
            keep: The largest number of hits to return.
            context: The run that records the step.

        Raises:
            BudgetRefused: If no time is left for the step.
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
        """Return the number of hits that were read, and the best hits with new ranks and scores.

        This is `__call__` without recording a step. With a weight of 0 the hits keep their scores.
        """
        if not self.weight:
            return 0, tuple(hits[:keep])
        first = scale_min_max([hit.score for hit in hits])
        scores = self._score_hits(
            self.pairs.open_session(question.text, spans=0), hits, first, keep
        )
        unread = [self._mix_scores(0.0, share) for share in first[len(scores) :]]
        mixed = [*scores, *unread]
        # Ties go to the better rank in the first stage.
        order = sorted(range(len(hits)), key=lambda position: (-mixed[position], position))[:keep]
        best = (
            replace(hits[position], score=mixed[position], rank=rank)
            for rank, position in enumerate(order, start=1)
        )
        return len(scores), tuple(best)

    def _score_hits(
        self, session: ReadingSession, hits: Sequence[Hit], first: Sequence[float], keep: int
    ) -> list[float]:
        """Read hits in batches until the `keep` best are settled; return the scores of those read.

        Args:
            session: The session of the question.
            hits: The hits in the order of the first stage.
            first: The scaled score of each hit in the first stage.
            keep: The number of hits to keep.
        """
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
        """Return whether no unread hit can displace one of the `keep` best so far.

        Args:
            scores: The scores of the hits that were read.
            share: The scaled first-stage score of the next hit.
            keep: The number of hits to keep.
        """
        if len(scores) < keep:
            return False
        # No unread hit has a merit above 1, or a larger first-stage score than the next hit.
        return sorted(scores, reverse=True)[keep - 1] >= self._mix_scores(1.0, share)

    def _mix_scores(self, hit_merit: float, share: float) -> float:
        """Return the score of a hit from its merit and its scaled first-stage score."""
        return round(self.weight * hit_merit + (1 - self.weight) * share, DIGITS)


def measure_merit(reading: Reading) -> float:
    """Return the merit of a chunk: the mean logit of its relevance and answerability, in [0, 1].

    Logits are used because all sure readings have nearly the same probability. By probabilities,
    the second chunk that a question of two hops needs would also fall behind all others, because it
    answers nothing by itself.
    """
    mean = (_compute_logit(reading.relevance) + _compute_logit(reading.answerable)) / 2
    return (mean + _MOST_LOGIT) / (2 * _MOST_LOGIT)


def _compute_logit(share: float) -> float:
    """Return the logit of a probability, of at most `_MOST_LOGIT` in size."""
    least = 1 / (1 + math.exp(_MOST_LOGIT))
    bounded = max(least, min(1 - least, share))
    return math.log(bounded / (1 - bounded))
