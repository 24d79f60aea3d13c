"""What is chosen earns F1 less its cost; the more cost weighs, the less is spent."""

from pathlib import Path

import pytest
from experiments.lab.blocks import Figure, Table
from experiments.lab.choosing import TOGETHER
from experiments.lab.reward import cost, reward
from experiments.lab.shows.reward import weighed
from tests.evaluation.making import abstained, record
from tests.experiments.workflows import LONG, PLANNER, SHORT, seen

FREE = {**record().usage, "prompt_tokens": 0, "completion_tokens": 0}


@pytest.mark.parametrize(
    ("actions", "retrievals", "spent"),
    [
        ((), 0, 0.0),
        (("R,AG",), 1, 0.25),
        (("QDS",), 1, 0.25),  # what could not be split waited for nothing
        (("QDS", "R,AG", "R,AG"), 3, 1.25),
        (("QDP", "R,AG", "R,AG"), 3, 1.0),
    ],
)
def test_searches_and_waiting_cost(actions: tuple[str, ...], retrievals: int, spent: float) -> None:
    assert cost(record(actions=actions, usage={**FREE, "retrievals": retrievals})) == spent


def test_tokens_cost() -> None:
    usage = {**FREE, "retrievals": 0, "prompt_tokens": 400, "completion_tokens": 100}
    assert cost(record(usage=usage)) == 0.5


def test_the_reward_is_what_was_gained_less_what_it_cost() -> None:
    usage = {**FREE, "retrievals": 2}
    assert reward(0.2)(record(actions=("R,AG",), usage=usage)) == pytest.approx(0.9)
    assert reward(0.2)(abstained(actions=("R,AG",), usage=usage)) == pytest.approx(-0.1)
    assert reward(0.0)(record(actions=("AG,R",), usage=usage)) == 0.0
    assert reward(0.0)(record(actions=("R,AG", "QDS"), usage=usage)) == 0.0


def test_who_chooses_anew_spends_less_when_cost_weighs_more(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    arms = [PLANNER, SHORT, LONG]
    table, alpha, front = weighed(
        seen(tmp_path), planner=PLANNER, alphas=[0.0, 0.3, 0.9], front=arms
    )
    assert isinstance(table, Table)
    lines = {row[:2]: row[2:] for row in table.rows}
    assert len(lines) == len(table.rows) == 9
    assert lines["hard", "0"][-1] == "QDS (8)"
    assert lines["hard", "0.9"][-1] == "R,AG (8)"
    assert float(lines["hard", "0"][-2]) > float(lines["hard", "0.9"][-2])
    planner, router, oracle = map(float, lines[TOGETHER, "0"][:3])
    assert (planner, router, oracle) == (0.625, 0.75, 0.75)
    assert lines[TOGETHER, "0"][3].startswith("-0.125 [")
    assert isinstance(alpha, Figure)
    assert isinstance(front, Figure)
    assert (alpha.name, front.name) == ("alpha", "front")
    assert all(name in front.svg for name in arms)
