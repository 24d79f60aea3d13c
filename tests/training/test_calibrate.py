import math

import pytest
from training.cross_reader.calibrate import fit_logistic, fit_reading_calibration, fit_temperature
from training.cross_reader.figures import Read
from training.cross_reader.rows import Row

from fathom.models.reading import SCORES, ReadingCalibration


def test_the_law_of_balanced_labels_crosses_between_them() -> None:
    # As many 0s at 1 as 1s at 3, with one of four the other way round: the chance at 3 is 3/4.
    features = [(1.0,)] * 400 + [(3.0,)] * 400
    labels = [False] * 300 + [True] * 100 + [True] * 300 + [False] * 100

    slope, offset = fit_logistic(features, labels)

    assert slope * 3 + offset == pytest.approx(math.log(3), abs=1e-2)
    assert slope * 1 + offset == pytest.approx(-math.log(3), abs=1e-2)


def test_a_rare_label_weighs_as_much_as_the_other() -> None:
    features = [(0.0,)] * 90 + [(0.0,)] * 10

    _, offset = fit_logistic(features, [False] * 90 + [True] * 10)

    assert offset == pytest.approx(0, abs=1e-3)


def test_overconfident_scores_are_cooled() -> None:
    # Right in 3 of 4 cases with logits 4 apart: exp(4 / T) = 3.
    expected = 4 / math.log(3)

    cooled = fit_temperature([(4.0, 0.0)] * 4, [(0,), (0,), (0,), (1,)])

    assert cooled == pytest.approx(expected, abs=0.05)


def make_read(
    question: str,
    *,
    answerable: bool | None = None,
    support: tuple[int, ...] = (),
    logit: float = 0.0,
) -> Read:
    row = Row(
        source="s",
        group="g",
        question=question,
        title="",
        text="t",
        answerable=answerable,
        relevant=answerable,
        support=support,
    )
    scores = dict.fromkeys(SCORES, 0.0) | {"answerable": logit, "relevance": logit}
    return Read(row, "", 0.0, scores | {"supported": logit})


def make_reads(question: str, count: int, threshold: float) -> list[Read]:
    """Return reads of which half are answerable, with scores above the threshold."""
    right = [make_read(question, answerable=True, logit=threshold + 1) for _ in range(count // 2)]
    wrong = [make_read(question, answerable=False, logit=threshold - 1) for _ in range(count // 2)]
    return [*right, *wrong]


def test_the_calibration_crosses_between_the_labels() -> None:
    claims = [make_read("it is so", support=(label,), logit=2.0) for label in (0, 0, 1) * 50]

    law = fit_reading_calibration([*make_reads("who?", 400, 6.0), *claims])

    assert law.compute_answerable(6.0, 0.0) == pytest.approx(0.5, abs=0.05)
    assert law.compute_relevance(6.0) == pytest.approx(0.5, abs=0.05)
    assert law.compute_answerable(7.0, 0.0) > 0.75
    assert law.support != 1.0


def test_a_part_without_one_label_is_unchanged() -> None:
    law = fit_reading_calibration([make_read("who?", answerable=True, logit=3.0)] * 5)

    assert law == ReadingCalibration()
    assert fit_reading_calibration([]) == ReadingCalibration()
