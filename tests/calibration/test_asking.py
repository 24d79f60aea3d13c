"""The rule by which a language model is asked."""

import json

import pytest

from fathom.calibration.asking import BOUNDS, AskingRule
from fathom.calibration.correctness import CorrectnessLaw
from fathom.llm.catalogue import KNOWN_MODELS

RULE = AskingRule(law=CorrectnessLaw(weights={"sure": 1.0}, offset=0.0), least=0.1, most=0.3)


@pytest.mark.parametrize(("logit", "asks"), [(-4.0, False), (-1.5, True), (0.0, False)])
def test_a_model_is_asked_where_it_may_gain(logit: float, asks: bool) -> None:
    decision = RULE({"sure": logit})
    assert decision.asks == asks
    assert 0 < decision.probability < 1


def test_a_trace_keeps_the_rule() -> None:
    assert AskingRule.from_json(json.loads(json.dumps(RULE.to_json()))) == RULE


def test_bounds_belong_to_known_models_and_leave_room_between_them() -> None:
    assert BOUNDS.keys() <= KNOWN_MODELS.keys()
    assert all(0 <= least < most <= 1 for least, most in BOUNDS.values())
