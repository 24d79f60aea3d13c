"""What the cross-reader makes of a pair: raw scores, and the probabilities they stand for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fathom.models.pair import PairRow
from fathom.models.runtime import Output
from fathom.models.spans import SpanScores, Window, top, total
from fathom.types import HEADS, Chunk, ChunkBlock, Span

SCORES = ("relevance", "answerable", "yes", "no", "none", "supported", "contradicted", "unrelated")
_SUPPORT = slice(5, 8)
_DIGITS = 6
_MARGIN = 30.0  # a larger margin says no more
_LOGIT = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Turns the model's scores into probabilities; fitted on development questions.

    Attributes:
        relevance: Slope and offset of the logit.
        answerable: Slope of the logit, slope of the best span's margin, offset.
        support: Temperature of the three support scores.
    """

    relevance: tuple[float, float] = (1.0, 0.0)
    answerable: tuple[float, float, float] = (1.0, 0.0, 0.0)
    support: float = 1.0

    def relevant(self, logit: float) -> float:
        """Probability that a chunk is about what is asked."""
        slope, offset = self.relevance
        return _share(slope * logit + offset)

    def answers(self, logit: float, margin: float) -> float:
        """Probability that a chunk answers, from its score and its best span's margin."""
        slope, best, offset = self.answerable
        return _share(slope * logit + best * max(-_MARGIN, min(_MARGIN, margin)) + offset)

    def supports(self, scores: NDArray[np.float32]) -> list[float]:
        """Probabilities that a chunk supports, contradicts, does not decide a claim."""
        return _softmax(scores / self.support)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpan:
    """A possible answer.

    Attributes:
        span: Characters of the chunk's text.
        score: Probability that the chunk answers and that this is the answer, 0 to 1.
    """

    span: Span
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the model makes of a pair; every number but `no_answer` is a probability.

    Attributes:
        relevance: The chunk is about what is asked.
        answerable: The chunk holds an answer.
        no_answer: Logit of "no answer here" minus the best span's; SQuAD 2.0's null score.
        yes: The answer is yes, given that it is yes or no.
        decided: The answer is yes or no, rather than something else or nothing.
        supported: The chunk says what the claim says.
        contradicted: The chunk says the opposite.
        unrelated: The chunk decides neither.
        spans: Possible answers that do not overlap, best first.
    """

    relevance: float
    answerable: float
    no_answer: float
    yes: float
    decided: float
    supported: float
    contradicted: float
    unrelated: float
    spans: tuple[ReadSpan, ...]


NOTHING = Reading(
    relevance=0.0,
    answerable=0.0,
    no_answer=math.inf,
    yes=0.5,
    decided=0.0,
    supported=0.0,
    contradicted=0.0,
    unrelated=1.0,
    spans=(),
)


class ReadingSession(Protocol):
    """One question, or claim, put to chunks."""

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        """A reading for every chunk, in their order; spans are in the chunk's own text."""
        ...

    def score(self, chunk: Chunk, answer: str) -> float:
        """How well `chunk` supports that `answer` answers the question, 0 to 1.

        The answer must stand in the chunk, in any capitals; else it is 0. It is the probability
        that a `ReadSpan` has.
        """
        ...


class CrossReader(Protocol):
    """Reads a question and a chunk together; equal pairs give equal readings."""

    def session(self, question: str, *, spans: int = 5) -> ReadingSession:
        """One question, or claim; at most `spans` possible answers are given a chunk."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Raw scores of one pair, over all windows of the chunk.

    Attributes:
        relevance: Logit, the highest of the windows.
        answerable: Logit, the highest of the windows.
        yes: Logit, in the window of highest relevance.
        no: Likewise.
        neither: Likewise.
        support: The three support scores, in the window that is least unrelated.
        parts: Scores of the spans.
    """

    relevance: float
    answerable: float
    yes: float
    no: float
    neither: float
    support: NDArray[np.float32]
    parts: tuple[SpanScores, ...]

    @classmethod
    def of(cls, windows: Sequence[tuple[PairRow, Output, Window]]) -> "Pass":
        """From the model's output for every window, of which there is at least one."""
        scores = np.stack([output[: len(SCORES)] for _, output, _ in windows])
        named = dict(zip(SCORES, scores.T, strict=True))
        first = int(named["relevance"].argmax())
        support = scores[:, _SUPPORT]
        nearest = int((support[:, :2].max(axis=1) - support[:, 2]).argmax())
        return cls(
            relevance=float(named["relevance"][first]),
            answerable=float(named["answerable"].max()),
            yes=float(named["yes"][first]),
            no=float(named["no"][first]),
            neither=float(named["none"][first]),
            support=support[nearest],
            parts=tuple(_spans(row, output, window) for row, output, window in windows),
        )

    def within(self, blocks: Sequence[ChunkBlock]) -> "Pass":
        """The pass without the spans that can be no answer, where the chunk's blocks are known.

        An answer leaves no block, and is in no heading or head of a table: those say what is
        answered below them. What the model gives to such spans is the others' instead.
        """
        if not blocks:
            return self
        places = [Span(each.start, each.end) for each in blocks if each.kind not in HEADS]
        return replace(self, parts=tuple(part.within(places) for part in self.parts))

    def reading(self, law: Calibration, count: int) -> Reading:
        """The probabilities by `law`, and the `count` best spans."""
        spans = top(self.parts, count)
        every = total(self.parts)
        answerable = law.answers(self.answerable, self.margin)
        support = law.supports(self.support)
        return Reading(
            relevance=law.relevant(self.relevance),
            answerable=answerable,
            no_answer=round(-spans[0][0], _DIGITS) if spans else math.inf,
            yes=_share(self.yes - self.no),
            decided=_share(float(np.logaddexp(self.yes, self.no)) - self.neither),
            supported=support[0],
            contradicted=support[1],
            unrelated=support[2],
            spans=tuple(
                ReadSpan(span=span, score=round(answerable * math.exp(margin - every), _DIGITS))
                for margin, span in spans
            ),
        )

    @property
    def margin(self) -> float:
        """The best span's, over no answer here; -inf without any."""
        return max((part.highest for part in self.parts), default=-math.inf)

    def score_of(self, ids: Sequence[int], law: Calibration) -> float:
        """The score a `ReadSpan` of exactly the tokens `ids` has; 0 where there is none."""
        margins = [margin for part in self.parts for margin in part.of_tokens(ids)]
        every = total(self.parts)
        share = min(1.0, math.fsum(math.exp(margin - every) for margin in margins))
        return round(law.answers(self.answerable, self.margin) * share, _DIGITS)


def _spans(row: PairRow, output: Output, window: Window) -> SpanScores:
    length, chunk = len(row.ids), slice(row.first, row.first + len(row.chunk.ids))
    starts, ends = output[len(SCORES) :].reshape(-1, length)[:2]
    return SpanScores.of(
        row.chunk,
        np.concatenate([starts[:1], starts[chunk]]),
        np.concatenate([ends[:1], ends[chunk]]),
        slice(window.owned[0] - window.first, window.owned[1] - window.first),
    )


def _share(logit: float) -> float:
    bounded = max(-_LOGIT, min(_LOGIT, logit))
    return round(1 / (1 + math.exp(-bounded)), _DIGITS)


def _softmax(logits: NDArray[np.float32]) -> list[float]:
    odds = np.exp((logits - logits.max()).astype(np.float64))
    return [round(float(value), _DIGITS) for value in odds / odds.sum()]
