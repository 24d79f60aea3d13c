"""The readings of the cross-reader: raw scores of a pair, and the probabilities from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fathom.models.pair import PairRow
from fathom.models.runtime import Output
from fathom.models.spans import SpanScores, Window, select_best, sum_log_odds
from fathom.types import DIGITS, HEADS, Chunk, ChunkBlock, Span

SCORES = ("relevance", "answerable", "yes", "no", "none", "supported", "contradicted", "unrelated")
"""The logits at the beginning of the model's output, in order."""
_SUPPORT = slice(5, 8)
_MARGIN = 30.0  # a larger margin carries no more information
_LOGIT = 60.0  # keeps math.exp far from its overflow


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingCalibration:
    """A map from the model's scores to probabilities, fitted on development questions.

    Attributes:
        relevance: The slope and the offset that are applied to the logit of relevance.
        answerable: The slope of the logit, the slope of the best span's margin, and the offset.
        support: The temperature by which the three support scores are divided.
    """

    relevance: tuple[float, float] = (1.0, 0.0)
    answerable: tuple[float, float, float] = (1.0, 0.0, 0.0)
    support: float = 1.0

    def compute_relevance(self, logit: float) -> float:
        """Return the probability that a chunk is about the question, from the logit of that."""
        slope, offset = self.relevance
        return _squash(slope * logit + offset)

    def compute_answerable(self, logit: float, margin: float) -> float:
        """Return the probability that a chunk holds an answer.

        Args:
            logit: The logit of the chunk.
            margin: The margin of its best span; beyond 30 either way it is cut.
        """
        slope, best, offset = self.answerable
        return _squash(slope * logit + best * max(-_MARGIN, min(_MARGIN, margin)) + offset)

    def compute_support(self, scores: NDArray[np.float32]) -> list[float]:
        """Return the probabilities that a chunk supports, contradicts or does not decide a claim.

        Args:
            scores: The three logits, (3,) float32, in this order.
        """
        return _compute_softmax(scores / self.support)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpan:
    """A possible answer.

    Attributes:
        span: The characters in the chunk's text.
        score: The probability that the chunk holds an answer and that this is it, in [0, 1].
    """

    span: Span
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The model's reading of a pair. Every number but `no_answer` is a probability, in [0, 1].

    Attributes:
        relevance: The probability that the chunk is about the question.
        answerable: The probability that the chunk holds an answer.
        no_answer: The logit of "no answer here" minus that of the best span, the null score of
            SQuAD 2.0; infinite without any span.
        yes: The probability that the answer is yes, given that it is yes or no.
        decided: The probability that the answer is yes or no, and not another one or none.
        supported: The probability that the chunk says the same as the claim.
        contradicted: The probability that the chunk says the opposite of the claim.
        unrelated: The probability that the chunk decides neither way.
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
"""The reading of a chunk without any token."""


class ReadingSession(Protocol):
    """A question or claim that is put to chunks."""

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        """Return a reading for every chunk, in order; its spans are places in the chunk's text."""
        ...

    def score(self, chunk: Chunk, answer: str) -> float:
        """Return the probability that `answer` is the answer in `chunk`, in [0, 1].

        It is the score that a `ReadSpan` of this text has, wherever in the chunk; 0 if the tokens
        of the answer do not occur in the chunk. With a model whose tokens are in lower case, the
        case of the letters does not matter.
        """
        ...


class CrossReader(Protocol):
    """A reader of a question and a chunk together; equal pairs get equal readings."""

    def open_session(self, question: str, *, spans: int = 5) -> ReadingSession:
        """Open a session for one question or claim, with at most `spans` answers a chunk."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """The raw scores of one pair, over all windows of the chunk.

    Attributes:
        relevance: The logit that the chunk is about the question; the highest of the windows.
        answerable: The logit that the chunk holds an answer; the highest of the windows.
        yes: The logit of yes, in the window of highest relevance.
        no: The logit of no, in the same window.
        neither: The logit of neither yes nor no, in the same window.
        support: The logits of supported, contradicted and unrelated, (3,), in the window in which
            one of the first two exceeds the third most.
        windows: The scores of the spans, window by window.
    """

    relevance: float
    answerable: float
    yes: float
    no: float
    neither: float
    support: NDArray[np.float32]
    windows: tuple[SpanScores, ...]

    @classmethod
    def from_windows(cls, windows: Sequence[tuple[PairRow, Output, Window]]) -> "PairScores":
        """Combine the model's outputs for the windows of a chunk.

        Args:
            windows: The row, the output and the window, for at least one window. The output has the
                logits `SCORES`, then a start logit and then an end logit for each token of the row.
        """
        scores = np.stack([output[: len(SCORES)] for _, output, _ in windows])
        named = dict(zip(SCORES, scores.T, strict=True))
        first = int(named["relevance"].argmax())
        support = scores[:, _SUPPORT]
        # One window decides a claim; the others say "unrelated" and must not outvote it.
        nearest = int((support[:, :2].max(axis=1) - support[:, 2]).argmax())
        return cls(
            relevance=float(named["relevance"][first]),
            answerable=float(named["answerable"].max()),
            yes=float(named["yes"][first]),
            no=float(named["no"][first]),
            neither=float(named["none"][first]),
            support=support[nearest],
            windows=tuple(_score_spans(row, output, window) for row, output, window in windows),
        )

    def restrict_to_blocks(self, blocks: Sequence[ChunkBlock]) -> "PairScores":
        """Return the scores without the spans that cannot be an answer, by the chunk's blocks.

        An answer lies within one block, and never in a heading or a table head, which only announce
        the answer below them. The probability of the dropped spans goes to the others.

        Args:
            blocks: The blocks of the chunk; without any, no span is dropped.
        """
        if not blocks:
            return self
        places = [Span(block.start, block.end) for block in blocks if block.kind not in HEADS]
        return replace(
            self, windows=tuple(part.restrict_to_places(places) for part in self.windows)
        )

    def build_reading(self, calibration: ReadingCalibration, count: int) -> Reading:
        """Return the probabilities by a calibration, and the `count` best spans."""
        spans = select_best(self.windows, count)
        all_spans = sum_log_odds(self.windows)
        answerable = calibration.compute_answerable(self.answerable, self.margin)
        support = calibration.compute_support(self.support)
        return Reading(
            relevance=calibration.compute_relevance(self.relevance),
            answerable=answerable,
            no_answer=round(-spans[0][0], DIGITS) if spans else math.inf,
            yes=_squash(self.yes - self.no),
            decided=_squash(float(np.logaddexp(self.yes, self.no)) - self.neither),
            supported=support[0],
            contradicted=support[1],
            unrelated=support[2],
            spans=tuple(
                ReadSpan(span=span, score=round(answerable * math.exp(margin - all_spans), DIGITS))
                for margin, span in spans
            ),
        )

    @property
    def margin(self) -> float:
        """The logit of the best span minus that of "no answer here"; -inf without any span."""
        return max((part.highest for part in self.windows), default=-math.inf)

    def score_tokens(self, ids: Sequence[int], calibration: ReadingCalibration) -> float:
        """Return the score of the spans that consist of exactly the tokens `ids`, in [0, 1].

        It is that of a `ReadSpan`, summed over all occurrences; 0 without any.
        """
        margins = [margin for part in self.windows for margin in part.find_margins(ids)]
        all_spans = sum_log_odds(self.windows)
        share = min(1.0, math.fsum(math.exp(margin - all_spans) for margin in margins))
        return round(calibration.compute_answerable(self.answerable, self.margin) * share, DIGITS)


def _score_spans(row: PairRow, output: Output, window: Window) -> SpanScores:
    """Return the scores of the spans of one window, from the model's output for its row."""
    length, chunk = len(row.ids), slice(row.first, row.first + len(row.chunk.ids))
    starts, ends = output[len(SCORES) :].reshape(-1, length)[:2]
    return SpanScores.from_logits(
        row.chunk,
        np.concatenate([starts[:1], starts[chunk]]),
        np.concatenate([ends[:1], ends[chunk]]),
        slice(window.owned[0] - window.first, window.owned[1] - window.first),
    )


def _squash(logit: float) -> float:
    """Return the probability of a logit, rounded to `DIGITS` decimals."""
    bounded = max(-_LOGIT, min(_LOGIT, logit))
    # Rounded, because the last bits differ between processors and traces must not.
    return round(1 / (1 + math.exp(-bounded)), DIGITS)


def _compute_softmax(logits: NDArray[np.float32]) -> list[float]:
    """Return the probabilities of exclusive logits, rounded to `DIGITS` decimals."""
    odds = np.exp((logits - logits.max()).astype(np.float64))
    return [round(float(value), DIGITS) for value in odds / odds.sum()]
