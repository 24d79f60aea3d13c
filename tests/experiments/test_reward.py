"""The reward: an answer earns its F1 minus its cost."""

import pytest
from experiments.lab.reward import compute_cost, make_reward
from tests.evaluation.factories import make_abstention, make_record

FREE = {**make_record().usage, "prompt_tokens": 0, "completion_tokens": 0}


@pytest.mark.parametrize(
    ("actions", "retrievals", "spent"),
    [
        ((), 0, 0.0),
        (("R,AG",), 1, 0.25),
        (("AG",), 1, 0.0),  # the look alone
        (("AG,R",), 1, 0.25),  # illegal, so replaced by R, AG
        (("QDS",), 1, 0.25),  # what could not be split waited for nothing
        (("QDS", "R,AG", "R,AG"), 3, 1.0),
        (("QDP", "R,AG", "R,AG"), 3, 0.75),
        (("QDP", "R,AG", "AG"), 3, 0.5),
    ],
)
def test_searches_and_waiting_cost(actions: tuple[str, ...], retrievals: int, spent: float) -> None:
    assert (
        compute_cost(make_record(actions=actions, usage={**FREE, "retrievals": retrievals}))
        == spent
    )


def test_tokens_cost() -> None:
    usage = {**FREE, "retrievals": 0, "prompt_tokens": 400, "completion_tokens": 100}
    assert compute_cost(make_record(usage=usage)) == 0.5


def test_the_reward_is_the_gain_minus_the_cost() -> None:
    usage = {**FREE, "retrievals": 3}  # the look, and two searches of R
    assert make_reward(0.2)(make_record(actions=("R,AG",), usage=usage)) == pytest.approx(0.9)
    assert make_reward(0.2)(make_abstention(actions=("R,AG",), usage=usage)) == pytest.approx(-0.1)
    assert make_reward(0.0)(make_record(actions=("AG,R",), usage=usage)) == 0.0
    assert make_reward(0.0)(make_record(actions=("R,AG", "QDS"), usage=usage)) == 0.0
