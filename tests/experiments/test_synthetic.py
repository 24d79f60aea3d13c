"""The value on real questions of a law that was learned from synthetic ones."""

import random

from experiments.synthetic import learn_calibration, measure_transfer

from fathom.calibration.law import LabelledAnswer


def make_outcomes(count: int, seed: int) -> list[LabelledAnswer | None]:
    """Return answers whose first signal is their probability; some questions have no answer."""
    draw = random.Random(seed)
    answers: list[LabelledAnswer | None] = []
    for _ in range(count):
        sure = draw.random()
        signals = {"confidence": 8 * sure - 4}
        answers.append(
            LabelledAnswer(signals, draw.random() < sure) if draw.random() < 0.9 else None
        )
    return answers


def test_a_law_is_measured_on_unseen_questions() -> None:
    real = make_outcomes(400, 2)
    report = measure_transfer("synthetic questions", learn_calibration(make_outcomes(400, 1)), real)
    assert report.auroc is not None
    assert report.auroc > 0.7
    assert set(report.certified) == {0.05, 0.10}
    for certificate in report.certified.values():
        assert certificate is None or (0 <= certificate[0] <= 1 and 0 <= certificate[1] <= 1)


def test_without_learning_there_is_no_certificate() -> None:
    assert learn_calibration(make_outcomes(3, 1)) is None
    assert measure_transfer("nothing", None, make_outcomes(50, 1)).certified == {}
