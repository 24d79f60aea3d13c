import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.models.pair import TextTokens
from fathom.models.spans import (
    LONGEST,
    OVERLAP,
    SpanScores,
    select_best,
    split_windows,
    sum_log_odds,
)
from fathom.types import Span

# Four words of three letters, one token each.
WORDS = TextTokens(ids=[7, 8, 7, 8], starts=[0, 4, 8, 12], ends=[3, 7, 11, 15])


def find_spans(starts: list[float], ends: list[float], owned: slice = slice(0, 4)) -> SpanScores:
    return SpanScores.from_logits(
        WORDS, np.asarray(starts, dtype=np.float32), np.asarray(ends, dtype=np.float32), owned
    )


def test_the_best_span_is_the_best_start_with_the_best_end_after_it() -> None:
    spans = find_spans([1, 0, 5, 0, 0], [1, 9, 0, 4, 0])

    # The end 9 lies before the start 5, so 0 + 9 over one token and 5 + 4 over two tie at 9 - 2.
    assert select_best([spans], 2) == [(7.0, Span(0, 3)), (7.0, Span(4, 11))]


def test_an_overlapping_span_is_replaced_by_the_better_one() -> None:
    spans = find_spans([0, 3, 2, 0, 1], [0, 0, 3, 0, 1])

    assert select_best([spans], 3) == [(6.0, Span(0, 7)), (2.0, Span(12, 15)), (0.0, Span(8, 11))]


def test_spans_stay_within_the_allowed_places() -> None:
    spans = find_spans([0, 3, 2, 0, 1], [0, 0, 3, 0, 1])

    apart = spans.restrict_to_places([Span(0, 3), Span(4, 7)])
    assert select_best([apart], 9) == [(5.0, Span(4, 7)), (3.0, Span(0, 3))]
    assert sum_log_odds([apart]) == pytest.approx(math.log(math.exp(5) + math.exp(3)))
    assert select_best([spans.restrict_to_places([Span(0, 11)])], 1) == [(6.0, Span(0, 7))]
    assert select_best([spans.restrict_to_places([])], 2) == []


def test_spans_belong_to_the_window_that_owns_their_start() -> None:
    spans = find_spans([0, 9, 9, 1, 0], [0, 9, 9, 1, 0], owned=slice(2, 4))

    assert select_best([spans], 5) == [(2.0, Span(8, 11)), (0.0, Span(12, 15))]


def test_the_total_counts_every_span_once() -> None:
    # All scores are 0, so each of the 4 + 3 + 2 + 1 spans has odds 1.
    assert sum_log_odds([find_spans([0] * 5, [0] * 5)]) == pytest.approx(math.log(10))


def test_without_owned_places_there_are_no_odds() -> None:
    nothing = find_spans([0] * 5, [0] * 5, owned=slice(0, 0))

    assert sum_log_odds([nothing]) == -math.inf
    assert select_best([nothing], 3) == []


def test_spans_of_given_tokens_are_scored() -> None:
    spans = find_spans([0, 1, 2, 3, 4], [0, 10, 20, 30, 40])

    assert spans.find_margins([7, 8]) == [21.0, 43.0]
    assert spans.find_margins([8]) == [22.0, 44.0]
    assert spans.find_margins([9]) == []
    assert spans.find_margins([]) == []
    assert spans.find_margins([7] * 5) == []


def test_no_span_is_longer_than_the_limit() -> None:
    count = LONGEST + 10
    many = TextTokens(
        ids=[1] * count, starts=list(range(0, 2 * count, 2)), ends=list(range(1, 2 * count, 2))
    )
    starts, ends = np.zeros((2, count + 1), dtype=np.float32)
    starts[1], ends[-1] = 50, 50

    (_, best), *_ = select_best([SpanScores.from_logits(many, starts, ends, slice(0, count))], 1)

    assert best.end - best.start <= 2 * LONGEST


@given(st.integers(1, 2000), st.integers(OVERLAP + 1, 250))
def test_windows_cover_all_tokens_and_own_each_start_once(length: int, room: int) -> None:
    cut = split_windows(length, room)

    assert [start for window in cut for start in range(*window.owned)] == list(range(length))
    assert all(window.last - window.first <= room for window in cut)
    assert all(window.first <= window.owned[0] <= window.owned[1] <= window.last for window in cut)
    # A span that starts in an owned place ends inside the window, unless the text ends.
    assert all(
        min(length, window.owned[1] - 1 + LONGEST) <= window.last
        for window in cut
        if window.owned[1] > window.owned[0]
    )
    assert len(cut) == 1 or cut[-2].last < length


def test_a_short_text_is_one_window() -> None:
    (only,) = split_windows(10, 10)

    assert (only.first, only.last, only.owned) == (0, 10, (0, 10))
