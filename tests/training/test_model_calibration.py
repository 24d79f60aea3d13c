"""The calibration of answers in which a language model read."""

from typing import Any

import pytest
from training.fit_model_calibration import (
    choose_answer,
    fit_confidence,
    learn_model,
)

from fathom.agents.reader.signals import COLUMNS
from fathom.calibration.law import READER

LAW = (0.1, 0.1, 0.0, 0.1, 0.5, 0.3, 0.4, 0.5)
SIGNALS = dict.fromkeys(COLUMNS, 0.0)


def make_row(**values: Any) -> dict[str, Any]:
    """Return a record in which the model is asked and right."""
    row = {
        "dataset": "bridges",
        "language": "en",
        "form": "one",
        "has_answer": True,
        "model_right": True,
        "factors": [0.0] * 8,
        "signals": {**SIGNALS, "short": 1.0},
        "local_right": False,
        "local_confidence": 0.2,
        "local_places": [["d1#0", 0, 9]],
        "local_signals": SIGNALS,
    }
    return row | values


def test_the_model_answers_what_the_local_reader_is_not_sure_of() -> None:
    answer = choose_answer(make_row(), LAW)
    assert answer is not None
    assert answer.right
    assert answer.signals["short"] == 1.0


@pytest.mark.parametrize("values", [{"local_confidence": 0.9}, {"has_answer": False}])
def test_else_the_local_answer_counts(values: dict[str, Any]) -> None:
    answer = choose_answer(make_row(**values), LAW)
    assert answer is not None
    assert not answer.right


def test_without_any_evidence_there_is_no_answer() -> None:
    assert choose_answer(make_row(has_answer=False, local_places=[]), LAW) is None


def test_a_surer_local_answer_counts_instead_of_a_doubtful_one_of_the_model() -> None:
    doubtful = make_row(factors=[-9.0, -9.0, 0.0, -9.0, 0.0, 0.0, 0.0, 1.0], local_confidence=0.4)
    answer = choose_answer(doubtful, LAW)
    assert answer is not None
    assert not answer.right


def test_a_model_that_is_right_more_often_is_trusted_more() -> None:
    factors = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    laws = [
        fit_confidence([make_row(factors=factors, model_right=at % 10 < right) for at in range(50)])
        for right in (3, 7)
    ]
    assert laws[0][-1] < 0 < laws[1][-1]


def test_the_confidence_is_that_of_the_present_law() -> None:
    weak = choose_answer(make_row(factors=[-4.0, -4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), LAW)
    strong = choose_answer(make_row(factors=[4.0, 4.0, 0.0, 4.0, 1.0, 2.0, 0.0, 1.0]), LAW)
    verdict = choose_answer(make_row(form="yes or no", signals={**SIGNALS, "sure": 1.5}), LAW)
    assert weak is not None
    assert strong is not None
    assert verdict is not None
    assert weak.signals["sure"] < 0 < strong.signals["sure"]
    assert verdict.signals["sure"] == 1.5


def test_nothing_is_learned_from_sets_for_reporting(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        make_row(model_right=bool(at % 2), factors=[float(at % 2), *[0.0] * 6, 1.0])
        for at in range(60)
    ]
    clean = [make_row(dataset="squad-fresh", model_right=False) for _ in range(60)]
    law = learn_model("small", rows, READER)
    assert learn_model("small", [*rows, *clean], READER) == law
    assert "squad-fresh            60 answers, 0.0% right" in capsys.readouterr().out


def test_rows_from_before_a_signal_was_added_are_left_out() -> None:
    rows = [
        make_row(model_right=bool(at % 2), factors=[float(at % 2), *[0.0] * 6, 1.0])
        for at in range(60)
    ]
    signals = {name: value for name, value in SIGNALS.items() if name != "formed"}
    older = [make_row(signals=signals, local_signals=signals, model_right=False)] * 60
    assert learn_model("small", [*older, *rows], READER) == learn_model("small", rows, READER)


def test_the_quality_on_sets_that_the_law_is_new_to_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        make_row(
            dataset=("bridges", "mills")[at % 2],
            model_right=bool(at % 3),
            factors=[float(at % 3 > 0), *[0.0] * 6, 1.0],
        )
        for at in range(80)
    ]
    learn_model("small", rows, READER)
    assert "held out by data set   80 answers" in capsys.readouterr().out
