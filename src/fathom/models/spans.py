"""The scores of spans, from the start and end logits of their tokens."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fathom.models.pair import TextTokens
from fathom.types import Span

LONGEST = 30  # tokens; a longer answer is a sentence, not a span
OVERLAP = 2 * (LONGEST + 2)  # tokens that two neighbouring windows share
_CANDIDATES = 64

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A run of a chunk's tokens that the model reads in one row.

    Attributes:
        first: The place of its first token in the chunk.
        last: The place after its last token.
        owned: The half-open range of the tokens whose spans are scored in this window. Each token
            of the chunk is owned by exactly one window.
    """

    first: int
    last: int
    owned: tuple[int, int]


def split_windows(length: int, room: int) -> list[Window]:
    """Return the windows of at most `room` tokens that cover `length` tokens.

    Neighbours share `OVERLAP` tokens. In the overlap, the first half is owned by the earlier window
    and the second half by the later one, so that no span counts twice.
    """
    step = max(1, room - OVERLAP)
    count = 1 + max(0, -((room - length) // step))
    firsts = [number * step for number in range(count)]
    owned = [0, *(first + OVERLAP // 2 for first in firsts[1:]), length]
    return [
        Window(first=first, last=min(length, first + room), owned=(owned[place], owned[place + 1]))
        for place, first in enumerate(firsts)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanScores:
    """The scores of all spans that start in one window, against that of the null span.

    Attributes:
        chunk: The window's tokens.
        margins: (tokens, LONGEST) float32. Entry (i, j) is the logit of the span of 1 + j tokens
            that starts at token i, minus the logit of the null span, which is "no answer here". It
            is -inf if there is no such span or another window owns its start.
    """

    chunk: TextTokens
    margins: Scores

    @classmethod
    def from_logits(
        cls, chunk: TextTokens, starts: Scores, ends: Scores, owned: slice
    ) -> "SpanScores":
        """Build the scores from the logits of tokens.

        Args:
            chunk: The window's tokens.
            starts: (1 + tokens,) logits that a span starts at `[CLS]` (the null span) and at each
                token.
            ends: (1 + tokens,) logits that a span ends there.
            owned: The tokens of the window whose spans count.
        """
        null = starts[0] + ends[0]
        padded = np.concatenate([ends[1:], np.full(LONGEST - 1, -np.inf, dtype=np.float32)])
        margins = starts[1:, None] + sliding_window_view(padded, LONGEST) - null
        outside = np.ones(len(margins), dtype=bool)
        outside[owned] = False
        margins[outside] = -np.inf
        return cls(chunk=chunk, margins=margins)

    @property
    def highest(self) -> float:
        """The margin of the best span; -inf without any span."""
        return float(self.margins.max(initial=-np.inf))

    def get_span(self, start: int, width: int) -> Span:
        """Return the place in the chunk's text of the span of `1 + width` tokens from `start`."""
        return Span(self.chunk.starts[start], self.chunk.ends[start + width])

    def iterate_best(self) -> Iterator[tuple[float, Span]]:
        """Yield at most 64 spans with their margins, best first; equal ones in reading order."""
        flat = self.margins.ravel()
        order = np.argsort(-flat, kind="stable")[:_CANDIDATES]
        for place in order:
            if np.isfinite(flat[place]):
                start, width = divmod(int(place), LONGEST)
                yield float(flat[place]), self.get_span(start, width)

    def restrict_to_places(self, places: Sequence[Span]) -> "SpanScores":
        """Return the scores without the spans that do not lie within one of some places.

        Args:
            places: Places in the chunk's text, which do not overlap.
        """
        place_of = np.full(len(self.chunk.ids) + LONGEST, -1)  # the place of each token; -1: none
        for number, place in enumerate(places):
            first = bisect_left(self.chunk.starts, place.start)
            place_of[first : bisect_right(self.chunk.ends, place.end)] = number
        ends = sliding_window_view(place_of, LONGEST)[: len(self.chunk.ids)]
        starts = place_of[: len(self.chunk.ids), None]
        inside = (ends == starts) & (starts >= 0)
        return replace(self, margins=np.where(inside, self.margins, -np.inf).astype(np.float32))

    def find_margins(self, ids: Sequence[int]) -> list[float]:
        """Return the margins of the spans that consist of exactly the tokens `ids`."""
        if not 0 < len(ids) <= LONGEST:
            return []
        tokens, pattern = np.asarray(self.chunk.ids), np.asarray(ids)
        if len(tokens) < len(pattern):
            return []
        places = np.flatnonzero((sliding_window_view(tokens, len(pattern)) == pattern).all(axis=1))
        margins = self.margins[places, len(pattern) - 1]
        return [float(margin) for margin in margins if np.isfinite(margin)]


def sum_log_odds(parts: Sequence[SpanScores]) -> float:
    """Return the logarithm of the sum of `exp(margin)` over all spans; -inf without any."""
    margins = np.concatenate([part.margins.ravel() for part in parts]).astype(np.float64)
    # Subtracting the highest margin keeps exp from overflowing.
    top = margins.max(initial=-np.inf)
    return float(top + np.log(np.exp(margins - top).sum())) if np.isfinite(top) else -np.inf


def select_best(parts: Sequence[SpanScores], count: int) -> list[tuple[float, Span]]:
    """Return the best spans that do not overlap, with their margins, best first.

    Args:
        parts: The scores of each window of a chunk.
        count: The largest number of spans.
    """
    ranked = sorted(
        (candidate for part in parts for candidate in part.iterate_best()),
        key=lambda candidate: (-candidate[0], candidate[1].start, candidate[1].end),
    )
    selected: list[tuple[float, Span]] = []
    for margin, span in ranked:
        if len(selected) == count:
            break
        if all(span.end <= other.start or other.end <= span.start for _, other in selected):
            selected.append((margin, span))
    return selected
