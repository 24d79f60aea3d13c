"""A calibration: which threshold serves a rate, and what cannot be learned from."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from fathom.calibration.certificate import Certificate
from fathom.calibration.correctness import CorrectnessLaw
from fathom.calibration.drift import Drift
from fathom.calibration.law import Calibration, LabelledAnswer, Weigher, learn_law

LAW = CorrectnessLaw(weights={"sure": 1.0}, offset=0.0)


def certificate(rate: float, threshold: float | None) -> Certificate:
    return Certificate(max_error=rate, delta=0.05, threshold=threshold, questions=100)


MADE = Calibration(
    identity={"strategy": "naive"},
    source="own questions",
    made_of={"questions": "mine"},
    law=LAW,
    certificates=(certificate(0.01, None), certificate(0.05, 0.9), certificate(0.1, 0.7)),
    drift=Drift.from_rows([{"sure": 1.0}]),
)


def answers(count: int, seed: int = 0) -> list[LabelledAnswer]:
    dice = np.random.default_rng(seed)
    sure = dice.normal(2.5, 1.5, size=count)
    return [
        LabelledAnswer(
            {"sure": float(s), "noise": float(dice.normal())},
            bool(dice.random() < 1 / (1 + np.exp(-s))),
        )
        for s in sure
    ]


def test_a_rate_between_two_is_served_by_the_lower_one() -> None:
    assert MADE.find_threshold(0.1) == 0.7
    assert MADE.find_threshold(0.07) == 0.9
    assert MADE.find_threshold(0.02) is None
    assert MADE.find_threshold(0.5) == 0.7


def test_it_is_read_as_it_was_written() -> None:
    made = replace(MADE, certificates=learn_law(answers(200)).certificates)
    assert Calibration.from_json(made.to_json()) == made
    weigher = Weigher(
        law=LAW, by="own questions", threshold=0.4, min_probability=0.2, replaces_confidence=True
    )
    assert Weigher.from_json(weigher.to_json()) == weigher
    assert Weigher.from_json(Weigher().to_json()) == Weigher()


def test_without_a_law_nobody_can_say() -> None:
    weighed = Weigher()({"sure": 9.0})
    assert (weighed.confidence, weighed.enough, weighed.by) == (None, True, "")


def test_an_answer_without_signals_is_withheld_where_a_rate_is_to_be_kept() -> None:
    assert Weigher(law=LAW, by="own questions")({}).enough
    weighed = Weigher(law=LAW, by="own questions", threshold=0.5)({})
    assert (weighed.confidence, weighed.enough) == (None, False)


def test_an_answer_is_enough_from_the_threshold_on() -> None:
    weigh = Weigher(law=LAW, by="own questions", threshold=0.5)
    assert weigh({"sure": 0.0}).enough
    assert not weigh({"sure": -0.01}).enough


def test_an_answer_is_probable_from_the_least_confidence_on() -> None:
    weigh = Weigher(law=LAW, by="own questions", min_probability=0.5)
    assert weigh({"sure": 0.0}).probable
    unlikely = weigh({"sure": -0.01})
    assert not unlikely.probable
    assert unlikely.enough
    assert weigh({}).probable  # nobody can say


def test_it_decides_alone_where_it_knows_or_where_all_is_to_be_given() -> None:
    def alone(law: CorrectnessLaw | None, least: float, signals: Mapping[str, float]) -> bool:
        return (
            Weigher(law=law, min_probability=least, replaces_confidence=True)(signals).sure == 1.0
        )

    assert alone(LAW, 0.5, {"sure": 0.0})
    assert not alone(LAW, 0.5, {})
    assert not alone(None, 0.5, {"sure": 0.0})
    assert alone(None, 0.0, {"sure": 0.0})
    assert alone(LAW, 0.0, {})


def test_an_answer_may_be_as_sure_as_it_is_likely_right_unless_that_was_not_so_then() -> None:
    now, then = Weigher(law=LAW), Weigher(law=LAW, raises_confidence=False)
    assert now({"sure": 0.5}).sure == now({"sure": 0.5}).confidence
    assert then({"sure": 0.5}).sure == 0.0
    assert now({}).sure == 0.0


def test_a_trace_of_before_there_was_a_least_confidence_is_weighed_as_then() -> None:
    given = Weigher(law=LAW, by="own questions", threshold=0.4).to_json()
    del given["least"], given["alone"], given["lifts"]
    then = Weigher(law=LAW, by="own questions", threshold=0.4, raises_confidence=False)
    assert Weigher.from_json(given) == then


def test_learning_gives_a_law_certificates_and_how_signals_were_spread() -> None:
    asked = [*answers(400), *[None] * 100]
    learned = learn_law(asked, rates=(0.1, 0.02, 0.1))
    assert [each.max_error for each in learned.certificates] == [0.02, 0.1]
    assert learned.certificates[1].threshold is not None
    assert learned.certificates[1].questions == 500
    assert len(learned.held_out) == 400
    assert set(learned.drift.spreads) == {"sure", "noise"}


def test_a_few_questions_keep_what_the_reader_said_of_itself() -> None:
    law = learn_law(answers(30)).law
    sure = law.predict(
        [{"sure": -2.0, "noise": 0.0}, {"sure": 0.0, "noise": 0.0}, {"sure": 2.0, "noise": 0.0}]
    )
    assert list(sure) == sorted(sure)


@pytest.mark.parametrize(
    "asked",
    [answers(10), [None] * 100, [LabelledAnswer({"sure": 1.0}, right=True)] * 100],
    ids=["few", "silent", "all right"],
)
def test_from_too_little_nothing_is_learned(asked: list[LabelledAnswer | None]) -> None:
    with pytest.raises(ValueError, match="too few"):
        learn_law(asked)
