"""The cross-reader: one pass over (question, chunk) ranks, reads, and knows when to say nothing."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fathom.errors import ModelError
from fathom.models.pair import PairRow, PairTokens, Placed
from fathom.models.runtime import Ids, Output, Runtime, load_runtime, sha256_of
from fathom.models.spans import SpanScores, Window, top, total, windows
from fathom.models.tokens import WordPiece
from fathom.types import Chunk, Span

SCORES = ("relevance", "answerable", "yes", "no", "none", "supported", "contradicted", "unrelated")
_LIMIT = 256  # tokens of a row, the longest the model was measured with
_BATCH_TOKENS = 1024
_DIGITS = 6


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
        supported: The chunk says what the claim says.
        contradicted: The chunk says the opposite.
        unrelated: The chunk decides neither.
        spans: Possible answers that do not overlap, best first.
    """

    relevance: float
    answerable: float
    no_answer: float
    yes: float
    supported: float
    contradicted: float
    unrelated: float
    spans: tuple[ReadSpan, ...]


NOTHING = Reading(
    relevance=0.0,
    answerable=0.0,
    no_answer=math.inf,
    yes=0.5,
    supported=0.0,
    contradicted=0.0,
    unrelated=1.0,
    spans=(),
)


class CrossReader:
    """Reads pairs with an ONNX model; equal pairs give equal readings, whatever is read beside.

    Only rows of equal token count share a batch, so nothing is ever padded.
    """

    def __init__(self, runtime: Runtime, tokens: PairTokens, calibration: Calibration) -> None:
        self._runtime = runtime
        self._tokens = tokens
        self._calibration = calibration

    def asking(self, question: str, *, spans: int = 5) -> "Asked":
        """One question, or claim; at most `spans` possible answers are given a chunk."""
        return Asked(self, question, spans)

    def tokens_of(self, text: str) -> Placed:
        """The tokens of a text."""
        return self._tokens.placed(text)

    def passes(self, question: str, chunks: Sequence[Chunk]) -> "list[Pass | None]":
        """Run the model over the chunks; None for a chunk without any token."""
        rows: list[PairRow] = []
        places: list[list[tuple[int, Window]]] = []
        for chunk in chunks:
            head = self._tokens.head(question, chunk.title)
            placed = self._tokens.placed(chunk.text)
            room = _LIMIT - len(head) - 1
            cut = windows(len(placed.ids), room) if placed.ids else []
            places.append([(len(rows) + number, window) for number, window in enumerate(cut)])
            rows += [self._tokens.row(head, placed.part(w.first, w.last)) for w in cut]
        outputs = self._run(rows)
        return [
            _joined([(rows[row], outputs[row], window) for row, window in own]) if own else None
            for own in places
        ]

    def reading(self, read: "Pass", count: int) -> Reading:
        """The calibrated reading of one pass."""
        law = self._calibration
        spans = top(read.parts, count)
        margin = spans[0][0] if spans else -math.inf
        every = total(read.parts)
        answerable = self.answerable(read, margin)
        support = _softmax(read.support / law.support)
        slope, offset = law.relevance
        return Reading(
            relevance=_share(slope * read.relevance + offset),
            answerable=answerable,
            no_answer=round(-margin, _DIGITS),
            yes=_share(read.yes - read.no),
            supported=support[0],
            contradicted=support[1],
            unrelated=support[2],
            spans=tuple(
                ReadSpan(span=span, score=round(answerable * math.exp(value - every), _DIGITS))
                for value, span in spans
            ),
        )

    def answerable(self, read: "Pass", margin: float) -> float:
        """Probability that the chunk answers, from its score and its best span's margin."""
        logit, best, offset = self._calibration.answerable
        bounded = max(-30.0, min(30.0, margin))
        return _share(logit * read.answerable + best * bounded + offset)

    def _run(self, rows: Sequence[PairRow]) -> list[Output]:
        outputs: list[Output] = [np.empty(0, dtype=np.float32)] * len(rows)
        for batch in _batches([len(row.ids) for row in rows]):
            found = self._runtime.run(self._inputs([rows[place] for place in batch]))
            if not np.isfinite(found).all():
                raise ModelError("the cross-reader gives numbers that are not finite: reinstall it")
            for place, output in zip(batch, found, strict=True):
                outputs[place] = output
        return outputs

    def _inputs(self, rows: Sequence[PairRow]) -> dict[str, Ids]:
        return {
            "input_ids": np.asarray([row.ids for row in rows], dtype=np.int64),
            "token_type_ids": np.asarray([row.kinds for row in rows], dtype=np.int64),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Raw scores of one pair, over all windows of the chunk.

    Attributes:
        relevance: Logit, the highest of the windows.
        answerable: Logit, the highest of the windows.
        yes: Logit, in the window of highest relevance.
        no: Likewise.
        support: The three support scores, in the window that is least unrelated.
        parts: Scores of the spans.
    """

    relevance: float
    answerable: float
    yes: float
    no: float
    support: NDArray[np.float32]
    parts: tuple[SpanScores, ...]


class Asked:
    """One question; what was read for it is remembered as long as this object lives."""

    def __init__(self, reader: CrossReader, question: str, spans: int) -> None:
        self._reader = reader
        self._question = question
        self._spans = spans
        self._known: dict[tuple[str, str], Pass | None] = {}

    def read(self, chunks: Sequence[Chunk]) -> list[Reading]:
        """A reading for every chunk, in their order; spans are in the chunk's own text."""
        return [
            self._reader.reading(read, self._spans) if read else NOTHING
            for read in self._passes(chunks)
        ]

    def score(self, chunk: Chunk, answer: str) -> float:
        """How well `chunk` supports that `answer` answers the question, 0 to 1.

        The answer must stand in the chunk, in any capitals; else it is 0. It is the probability
        that a `ReadSpan` has.
        """
        read = self._passes([chunk])[0]
        if read is None:
            return 0.0
        ids = self._reader.tokens_of(answer).ids
        margins = [margin for part in read.parts for margin in part.of_tokens(ids)]
        if not margins:
            return 0.0
        best = top(read.parts, 1)[0][0]
        every = total(read.parts)
        share = min(1.0, math.fsum(math.exp(margin - every) for margin in margins))
        return round(self._reader.answerable(read, best) * share, _DIGITS)

    def _passes(self, chunks: Sequence[Chunk]) -> list[Pass | None]:
        keys = [(chunk.title, chunk.text) for chunk in chunks]
        new = {
            key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in self._known
        }
        found = self._reader.passes(self._question, list(new.values()))
        self._known.update(zip(new, found, strict=True))
        return [self._known[key] for key in keys]


def _joined(parts: Sequence[tuple[PairRow, Output, Window]]) -> Pass:
    scores = np.stack([output[: len(SCORES)] for _, output, _ in parts])
    named = dict(zip(SCORES, scores.T, strict=True))
    first = int(named["relevance"].argmax())
    support = scores[:, 5:8]
    nearest = int((support[:, :2].max(axis=1) - support[:, 2]).argmax())
    return Pass(
        relevance=float(named["relevance"][first]),
        answerable=float(named["answerable"].max()),
        yes=float(named["yes"][first]),
        no=float(named["no"][first]),
        support=support[nearest],
        parts=tuple(_spans(row, output, window) for row, output, window in parts),
    )


def _spans(row: PairRow, output: Output, window: Window) -> SpanScores:
    length, chunk = len(row.ids), slice(row.first, row.first + len(row.chunk.ids))
    starts, ends = output[len(SCORES) :][:length], output[len(SCORES) + length :]
    return SpanScores.of(
        row.chunk,
        np.concatenate([starts[:1], starts[chunk]]),
        np.concatenate([ends[:1], ends[chunk]]),
        slice(window.owned[0] - window.first, window.owned[1] - window.first),
    )


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of rows of equal length, as many at a time as the token budget allows."""
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    for length, places in sorted(by_length.items()):
        size = max(1, _BATCH_TOKENS // length)
        for start in range(0, len(places), size):
            yield places[start : start + size]


def _share(logit: float) -> float:
    bounded = max(-60.0, min(60.0, logit))
    return round(1 / (1 + math.exp(-bounded)), _DIGITS)


def _softmax(logits: NDArray[np.float32]) -> list[float]:
    odds = np.exp((logits - logits.max()).astype(np.float64))
    return [round(float(value), _DIGITS) for value in odds / odds.sum()]


def load_cross_reader(
    model: Path,
    vocabulary: Path,
    calibration: Calibration,
    *,
    sha256: str | None = None,
    settings: Mapping[str, str | int] | None = None,
) -> CrossReader:
    """The cross-reader in the file `model`.

    Args:
        model: ONNX file that `training/cross_reader/export.py` wrote.
        vocabulary: The `vocab.txt` of its encoder.
        calibration: Fitted for this model.
        sha256: What the file must have; None checks nothing.
        settings: `runtime` and `threads`, as for `load_runtime`.

    Raises:
        ModelError: If a file is missing, cannot be loaded or is not the one expected.
    """
    if sha256 is not None and sha256_of(model) != sha256:
        raise ModelError(f"model file {str(model)!r} is not the shipped one: reinstall fathom")
    chosen = dict(settings or {})
    runtime = load_runtime(
        model,
        runtime=str(chosen.get("runtime", "onnxruntime")),
        threads=int(chosen.get("threads", 0)),
    )
    tokens = PairTokens(WordPiece.read(vocabulary))
    return CrossReader(runtime, tokens, calibration)
