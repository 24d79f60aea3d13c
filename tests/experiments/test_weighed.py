"""A policy spends less as costs weigh more."""

from pathlib import Path

import pytest
from experiments.lab.oracle_router import TOGETHER
from experiments.lab.renderers.weighed import show_weights
from tests.experiments.workflows import LONG, PLANNER, SHORT, make_results

from fathom.evaluation.report.blocks import Figure, ReportTable


def test_a_retrained_policy_spends_less_when_cost_weighs_more(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    arms = [PLANNER, SHORT, LONG]
    table, alpha, front = show_weights(
        make_results(tmp_path), planner=PLANNER, alphas=[0.0, 0.3, 0.9], front=arms
    )
    assert isinstance(table, ReportTable)
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
