"""A calibration: the threshold that serves a rate, and data from which nothing can be learned."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from fathom.calibration.certificate import Certificate
from fathom.calibration.correctness import CorrectnessLaw
from fathom.calibration.drift import Drift
from fathom.calibration.law import Calibration, LabelledAnswer, Weigher, learn_law
from fathom.runs.context import CHAINED

LAW = CorrectnessLaw(weights={"sure": 1.0}, offset=0.0)


def make_certificate(rate: float, threshold: float | None) -> Certificate:
    return Certificate(max_error=rate, delta=0.05, threshold=threshold, questions=100)


CALIBRATION = Calibration(
    identity={"strategy": "naive"},
    source="own questions",
    made_of={"questions": "mine"},
    law=LAW,
    certificates=(
        make_certificate(0.01, None),
        make_certificate(0.05, 0.9),
        make_certificate(0.1, 0.7),
    ),
    drift=Drift.from_rows([{"sure": 1.0}]),
)


def make_answers(count: int, seed: int = 0) -> list[LabelledAnswer]:
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
    assert CALIBRATION.find_threshold(0.1) == 0.7
    assert CALIBRATION.find_threshold(0.07) == 0.9
    assert CALIBRATION.find_threshold(0.02) is None
    assert CALIBRATION.find_threshold(0.5) == 0.7


def test_it_is_read_as_it_was_written() -> None:
    calibration = replace(CALIBRATION, certificates=learn_law(make_answers(200)).certificates)
    assert Calibration.from_json(calibration.to_json()) == calibration
    weigher = Weigher(
        law=LAW, by="own questions", threshold=0.4, min_probability=0.2, tentative_from=0.1
    )
    assert Weigher.from_json(weigher.to_json()) == weigher
    assert Weigher.from_json(Weigher().to_json()) == Weigher()


def test_a_chain_has_its_own_law_where_there_is_one() -> None:
    other = replace(LAW, offset=LAW.offset + 1.0)
    weigh = Weigher(law=LAW, by="own questions", min_probability=0.6, chain_law=other)
    weigh = replace(weigh, is_bound=False)
    chained = {"sure": 0.0, CHAINED: 1.0}
    assert weigh({"sure": 0.0}).confidence == LAW({"sure": 0.0})
    assert weigh(chained).confidence == other({"sure": 0.0})
    assert replace(weigh, chain_law=None)(chained).confidence == LAW({"sure": 0.0})
    assert weigh({"sure": -9.0}).probable
    assert not weigh(chained | {"sure": -9.0}).probable
    assert Weigher.from_json(weigh.to_json()) == weigh


def test_without_a_law_there_is_no_probability() -> None:
    weighed = Weigher()({"sure": 9.0})
    assert (weighed.confidence, weighed.enough, weighed.by) == (None, True, "")


def test_an_answer_without_signals_is_withheld_under_an_error_rate() -> None:
    assert Weigher(law=LAW, by="own questions")({}).enough
    weighed = Weigher(law=LAW, by="own questions", threshold=0.5)({})
    assert (weighed.confidence, weighed.enough) == (None, False)


def test_an_answer_is_accepted_from_the_threshold_on() -> None:
    weigh = Weigher(law=LAW, by="own questions", threshold=0.5)
    assert weigh({"sure": 0.0}).enough
    assert not weigh({"sure": -0.01}).enough


def test_an_answer_is_probable_from_the_minimum_confidence_on() -> None:
    weigh = Weigher(law=LAW, by="own questions", min_probability=0.5)
    assert weigh({"sure": 0.0}).probable
    unlikely = weigh({"sure": -0.01})
    assert not unlikely.probable
    assert unlikely.enough
    assert weigh({}).probable  # nobody can say


def test_an_answer_may_be_tentative_from_its_own_bound_on() -> None:
    weigh = Weigher(law=LAW, by="own questions", min_probability=0.7, tentative_from=0.5)
    assert weigh({"sure": 0.0}).tentative
    assert not weigh({"sure": -0.01}).tentative
    assert not weigh({}).tentative
    assert not replace(weigh, tentative_from=None)({"sure": 0.0}).tentative
    assert not Weigher(tentative_from=0.0)({"sure": 0.0}).tentative


def test_an_unsure_answer_may_be_tentative_from_the_bound_of_sure_ones_on() -> None:
    weigh = Weigher(law=LAW, by="own questions", min_probability=0.5, tentative_from=0.2)
    assert weigh({"sure": 0.0}).likely
    assert not weigh({"sure": -0.01}).likely
    assert not replace(weigh, tentative_from=None)({"sure": 0.0}).likely


def test_runs_from_before_there_were_tentative_answers_have_none() -> None:
    older = Weigher(law=LAW).to_json()
    del older["tentative"]
    assert Weigher.from_json(older).tentative_from is None


def test_it_decides_alone_if_certain_or_if_every_answer_is_wanted() -> None:
    def decides_alone(
        law: CorrectnessLaw | None, least: float, signals: Mapping[str, float]
    ) -> bool:
        return (
            Weigher(law=law, min_probability=least, replaces_confidence=True)(signals).sure == 1.0
        )

    assert decides_alone(LAW, 0.5, {"sure": 0.0})
    assert not decides_alone(LAW, 0.5, {})
    assert not decides_alone(None, 0.5, {"sure": 0.0})
    assert decides_alone(None, 0.0, {"sure": 0.0})
    assert decides_alone(LAW, 0.0, {})


def test_the_probability_caps_the_confidence_except_in_old_calibrations() -> None:
    now, then = Weigher(law=LAW), Weigher(law=LAW, raises_confidence=False)
    assert now({"sure": 0.5}).sure == now({"sure": 0.5}).confidence
    assert then({"sure": 0.5}).sure == 0.0
    assert now({}).sure == 0.0


def test_a_trace_older_than_the_minimum_confidence_is_weighed_as_recorded() -> None:
    stored = Weigher(law=LAW, by="own questions", threshold=0.4).to_json()
    del stored["least"], stored["alone"], stored["lifts"]
    then = Weigher(law=LAW, by="own questions", threshold=0.4, raises_confidence=False)
    assert Weigher.from_json(stored) == then


def test_learning_gives_a_law_certificates_and_the_spread_of_signals() -> None:
    labelled = [*make_answers(400), *[None] * 100]
    learned = learn_law(labelled, rates=(0.1, 0.02, 0.1))
    assert [certificate.max_error for certificate in learned.certificates] == [0.02, 0.1]
    assert learned.certificates[1].threshold is not None
    assert learned.certificates[1].questions == 500
    assert len(learned.held_out) == 400
    assert set(learned.drift.spreads) == {"sure", "noise"}


def test_a_few_questions_keep_the_confidence_of_the_reader() -> None:
    law = learn_law(make_answers(30)).law
    sure = law.predict(
        [{"sure": -2.0, "noise": 0.0}, {"sure": 0.0, "noise": 0.0}, {"sure": 2.0, "noise": 0.0}]
    )
    assert list(sure) == sorted(sure)


@pytest.mark.parametrize(
    "labelled",
    [make_answers(10), [None] * 100, [LabelledAnswer({"sure": 1.0}, right=True)] * 100],
    ids=["few", "silent", "all right"],
)
def test_too_few_answers_teach_nothing(labelled: list[LabelledAnswer | None]) -> None:
    with pytest.raises(ValueError, match="too few"):
        learn_law(labelled)
