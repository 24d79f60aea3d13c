import math

import numpy as np
import pytest

from fathom.models.pair import PairRow, TextTokens
from fathom.models.reading import SCORES, PairScores, ReadingCalibration
from fathom.models.runtime import Output
from fathom.models.spans import Window
from fathom.types import ChunkBlock, Span

# [CLS] q [SEP] w w [SEP], with two words of the chunk in each of two windows.
IDS = [1, 5, 2, 7, 7, 2]


def make_window(number: int, **scores: float) -> tuple[PairRow, Output, Window]:
    first = 2 * number
    chunk = TextTokens(
        ids=[7, 7], starts=[4 * first, 4 * first + 4], ends=[4 * first + 3, 4 * first + 7]
    )
    row = PairRow(ids=IDS, kinds=[0, 0, 0, 1, 1, 1], first=3, chunk=chunk)
    output = np.zeros(len(SCORES) + 2 * len(IDS), dtype=np.float32)
    for name, value in scores.items():
        output[SCORES.index(name)] = value
    return row, output, Window(first=first, last=first + 2, owned=(first, first + 2))


def test_a_chunk_is_as_relevant_and_as_answerable_as_its_best_window() -> None:
    read = PairScores.from_windows(
        [
            make_window(0, relevance=1, answerable=3, yes=5),
            make_window(1, relevance=2, answerable=-3, no=4),
        ]
    )

    assert (read.relevance, read.answerable) == (2, 3)
    # Yes and no are taken where the chunk is most relevant.
    assert (read.yes, read.no, read.neither) == (0, 4, 0)
    reading = read.build_reading(ReadingCalibration(), 1)
    assert reading.yes == pytest.approx(1 / (1 + math.exp(4)), abs=1e-6)
    assert reading.decided == pytest.approx((math.exp(4) + 1) / (math.exp(4) + 2), abs=1e-6)


def test_a_claim_is_judged_where_it_is_least_unrelated() -> None:
    read = PairScores.from_windows(
        [
            make_window(0, supported=1, unrelated=3),
            make_window(1, contradicted=2, unrelated=0),
            make_window(2, unrelated=9),
        ]
    )

    assert read.support.tolist() == [0, 2, 0]


def test_spans_of_all_windows_share_one_total() -> None:
    # Three spans a window, two windows, all of the same score.
    reading = PairScores.from_windows([make_window(0), make_window(1)]).build_reading(
        ReadingCalibration(), 9
    )

    assert [(span.span.start, span.span.end) for span in reading.spans] == [
        (0, 3),
        (4, 7),
        (8, 11),
        (12, 15),
    ]
    assert all(span.score == pytest.approx(0.5 / 6, abs=1e-5) for span in reading.spans)
    assert reading.no_answer == 0


def test_an_answer_stays_in_its_block_and_is_no_heading() -> None:
    blocks = [
        ChunkBlock("heading", 0, 3),
        ChunkBlock("paragraph", 4, 7),
        ChunkBlock("table_head", 8, 11),
        ChunkBlock("table_row", 12, 15),
    ]
    read = PairScores.from_windows([make_window(0), make_window(1)])
    reading = read.restrict_to_blocks(blocks).build_reading(ReadingCalibration(), 9)

    assert [span.span for span in reading.spans] == [Span(4, 7), Span(12, 15)]
    assert all(span.score == pytest.approx(0.5 / 2, abs=1e-5) for span in reading.spans)
    assert read.restrict_to_blocks(blocks).score_tokens([7], ReadingCalibration()) == pytest.approx(
        0.5, abs=1e-5
    )
    assert read.restrict_to_blocks(blocks[:1]).build_reading(ReadingCalibration(), 9).spans == ()
    assert read.restrict_to_blocks([]) is read


def test_the_score_of_an_answer_sums_its_places() -> None:
    read = PairScores.from_windows([make_window(0), make_window(1)])

    assert read.score_tokens([7], ReadingCalibration()) == pytest.approx(0.5 * 4 / 6, abs=1e-6)
    assert read.score_tokens([7, 7], ReadingCalibration()) == pytest.approx(0.5 * 2 / 6, abs=1e-6)
    assert read.score_tokens([8], ReadingCalibration()) == 0


def test_huge_scores_stay_probabilities() -> None:
    law = ReadingCalibration(answerable=(1e3, 1e3, 0.0), relevance=(1e6, 0.0))
    reading = PairScores.from_windows([make_window(0, relevance=-1, answerable=1)]).build_reading(
        law, 1
    )

    assert (reading.relevance, reading.answerable) == (0.0, 1.0)
    assert math.isfinite(reading.no_answer)
