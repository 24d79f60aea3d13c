"""A mark for each question: seconds and quality."""

from pathlib import Path

import pytest
from experiments.lab.renderers.scatter import scatter_questions
from tests.experiments.climbs import make_climbs, observe

from fathom.evaluation.report.blocks import Figure


def test_each_data_set_with_the_measure_has_a_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = observe(tmp_path, maf=make_climbs(), other=make_climbs()[:2])
    (figure,) = scatter_questions(results, of="F1", caption="Up and left is better")
    assert isinstance(figure, Figure)
    assert (figure.name, figure.caption) == ("scatter-F1-toy", "Up and left is better (toy)")
    assert all(text in figure.svg for text in ("seconds a question", "F1", "other"))
    assert "mathdefault" not in figure.svg
    assert list(scatter_questions(results, of="RAMDocs-EM", caption="C")) == []
