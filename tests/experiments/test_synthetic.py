"""What a law that was learned from synthetic questions is worth on real ones."""

import random

from experiments.synthetic import carried, learned

from fathom.calibration.law import LabelledAnswer


def outcomes(count: int, seed: int) -> list[LabelledAnswer | None]:
    """Answers whose first signal says how likely they are right; some questions without."""
    draw = random.Random(seed)
    made: list[LabelledAnswer | None] = []
    for _ in range(count):
        sure = draw.random()
        signals = {"confidence": 8 * sure - 4}
        made.append(LabelledAnswer(signals, draw.random() < sure) if draw.random() < 0.9 else None)
    return made


def test_a_law_is_measured_on_questions_that_it_has_not_seen() -> None:
    real = outcomes(400, 2)
    found = carried("synthetic questions", learned(outcomes(400, 1)), real)
    assert found.auroc is not None
    assert found.auroc > 0.7
    assert set(found.certified) == {0.05, 0.10}
    for each in found.certified.values():
        assert each is None or (0 <= each[0] <= 1 and 0 <= each[1] <= 1)


def test_where_nothing_was_learned_there_is_no_certificate() -> None:
    assert learned(outcomes(3, 1)) is None
    assert carried("nothing", None, outcomes(50, 1)).certified == {}
