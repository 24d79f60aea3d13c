"""The readings of the cross-reader: raw scores of a pair, and the probabilities made of them."""

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
_SUPPORT = slice(5, 8)
_MARGIN = 30.0  # a larger margin carries no more information
_LOGIT = 60.0  # keeps math.exp far from its overflow


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingCalibration:
    """A map from the model's scores to probabilities, fitted on development questions.

    Attributes:
        relevance: The slope and offset of the logit.
        answerable: The slope of the logit, the slope of the best span's margin, and the offset.
        support: The temperature of the three support scores.
    """

    relevance: tuple[float, float] = (1.0, 0.0)
    answerable: tuple[float, float, float] = (1.0, 0.0, 0.0)
    support: float = 1.0

    def compute_relevance(self, logit: float) -> float:
        """Return the probability that a chunk is about the question."""
        slope, offset = self.relevance
        return _squash(slope * logit + offset)

    def compute_answerable(self, logit: float, margin: float) -> float:
        """Return the probability that a chunk answers.

        Args:
            logit: The chunk's score.
            margin: The margin of its best span.
        """
        slope, best, offset = self.answerable
        return _squash(slope * logit + best * max(-_MARGIN, min(_MARGIN, margin)) + offset)

    def compute_support(self, scores: NDArray[np.float32]) -> list[float]:
        """Return the probabilities that a chunk supports, contradicts, does not decide a claim."""
        return _compute_softmax(scores / self.support)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpan:
    """A possible answer.

    Attributes:
        span: The characters in the chunk's text.
        score: The probability that the chunk answers and that this is the answer, 0 to 1.
    """

    span: Span
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The model's reading of a pair. Every number but `no_answer` is a probability.

    Attributes:
        relevance: The chunk is about the question.
        answerable: The chunk holds an answer.
        no_answer: The logit of "no answer here" minus the best span's; the null score of SQuAD 2.0.
        yes: The answer is yes, given that it is yes or no.
        decided: The answer is yes or no, rather than something else or nothing.
        supported: The chunk says the same as the claim.
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
        """Return a reading for every chunk, in their order; spans are in the chunk's own text."""
        ...

    def score(self, chunk: Chunk, answer: str) -> float:
        """Return how well `chunk` supports that `answer` answers the question, 0 to 1.

        The score is the probability that a `ReadSpan` has. The answer must occur in the chunk, in
        any case; otherwise the score is 0.
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
        relevance: The logit, the highest of the windows.
        answerable: The logit, the highest of the windows.
        yes: The logit in the window of highest relevance.
        no: The logit in the window of highest relevance.
        neither: The logit in the window of highest relevance.
        support: The three support scores, in the window that is least unrelated.
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
        """Combine the model's output for every window, of which there is at least one."""
        scores = np.stack([output[: len(SCORES)] for _, output, _ in windows])
        named = dict(zip(SCORES, scores.T, strict=True))
        first = int(named["relevance"].argmax())
        support = scores[:, _SUPPORT]
        # A claim is decided in one window; the others say "unrelated" and must not outvote it.
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
        """Return the scores without the spans that can be no answer, by the chunk's blocks.

        Without blocks nothing changes. An answer never crosses a block, and is never in a heading
        or a table head: these announce the answer below them. The probability of such spans goes to
        the others.
        """
        if not blocks:
            return self
        places = [Span(block.start, block.end) for block in blocks if block.kind not in HEADS]
        return replace(
            self, windows=tuple(part.restrict_to_places(places) for part in self.windows)
        )

    def build_reading(self, calibration: ReadingCalibration, count: int) -> Reading:
        """Return the probabilities by `calibration`, and the `count` best spans."""
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
        """The best span's margin over "no answer here"; -inf without any span."""
        return max((part.highest for part in self.windows), default=-math.inf)

    def score_tokens(self, ids: Sequence[int], calibration: ReadingCalibration) -> float:
        """Return the score of the `ReadSpan` of exactly the tokens `ids`; 0 if there is none."""
        margins = [margin for part in self.windows for margin in part.find_margins(ids)]
        all_spans = sum_log_odds(self.windows)
        share = min(1.0, math.fsum(math.exp(margin - all_spans) for margin in margins))
        return round(calibration.compute_answerable(self.answerable, self.margin) * share, DIGITS)


def _score_spans(row: PairRow, output: Output, window: Window) -> SpanScores:
    length, chunk = len(row.ids), slice(row.first, row.first + len(row.chunk.ids))
    starts, ends = output[len(SCORES) :].reshape(-1, length)[:2]
    return SpanScores.from_logits(
        row.chunk,
        np.concatenate([starts[:1], starts[chunk]]),
        np.concatenate([ends[:1], ends[chunk]]),
        slice(window.owned[0] - window.first, window.owned[1] - window.first),
    )


def _squash(logit: float) -> float:
    bounded = max(-_LOGIT, min(_LOGIT, logit))
    # Rounded, so that the last bits of another processor do not change a trace.
    return round(1 / (1 + math.exp(-bounded)), DIGITS)


def _compute_softmax(logits: NDArray[np.float32]) -> list[float]:
    odds = np.exp((logits - logits.max()).astype(np.float64))
    return [round(float(value), DIGITS) for value in odds / odds.sum()]
