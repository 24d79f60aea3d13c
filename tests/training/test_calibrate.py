import math

import pytest
from training.cross_reader.calibrate import logistic, temperature


def test_the_law_of_balanced_labels_crosses_between_them() -> None:
    # As many 0s at 1 as 1s at 3, with one of four the other way round: the chance at 3 is 3/4.
    features = [(1.0,)] * 400 + [(3.0,)] * 400
    labels = [False] * 300 + [True] * 100 + [True] * 300 + [False] * 100

    slope, offset = logistic(features, labels)

    assert slope * 3 + offset == pytest.approx(math.log(3), abs=1e-2)
    assert slope * 1 + offset == pytest.approx(-math.log(3), abs=1e-2)


def test_a_rare_label_weighs_as_much_as_the_other() -> None:
    features = [(0.0,)] * 90 + [(0.0,)] * 10

    _, offset = logistic(features, [False] * 90 + [True] * 10)

    assert offset == pytest.approx(0, abs=1e-3)


def test_overconfident_scores_are_cooled() -> None:
    # Right in 3 of 4 cases with logits 4 apart: exp(4 / T) = 3.
    wanted = 4 / math.log(3)

    found = temperature([(4.0, 0.0)] * 4, [(0,), (0,), (0,), (1,)])

    assert found == pytest.approx(wanted, abs=0.05)
