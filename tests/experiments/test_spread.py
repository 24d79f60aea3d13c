"""The share of the questions in each range of values."""

from pathlib import Path

import pytest
from experiments.lab.renderers.spread import compute_shares, show_spread
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.factories import make_ranking
from tests.experiments.climbs import observe

from fathom.evaluation.report.blocks import Figure


def test_values_are_counted_in_ranges_with_their_upper_end() -> None:
    assert compute_shares([0.0, 0.1, 0.2, 0.21, 1.0], (0.2, 0.5)) == (0.2, 0.4, 0.2, 0.2)
    assert compute_shares([1.0], (0.5, 1.0)) == (0.0, 0.0, 1.0, 0.0)


@given(st.lists(st.floats(0, 1), min_size=1))
def test_each_value_is_in_one_range(values: list[float]) -> None:
    assert sum(compute_shares(values, (0.2, 0.4, 0.6, 0.8))) == pytest.approx(1)


def test_each_arm_with_the_measure_has_a_bar(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rankings = [make_ranking("q1"), make_ranking("q2", evidence=())]
    results = observe(
        tmp_path, good=rankings[:1], fair=rankings, blind=[make_ranking("q1", relevant={})]
    )
    (figure,) = show_spread(results, of="F1@10", caption="More to the right is better")
    assert isinstance(figure, Figure)
    assert (figure.name, figure.caption) == ("spread-F1@10-toy", "More to the right is better")
    assert all(text in figure.svg for text in ("good", "fair", "0 to 0.2"))
    assert "blind" not in figure.svg
    assert list(show_spread(results, of="EM", caption="C")) == []
