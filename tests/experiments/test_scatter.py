"""A mark for each question: seconds and quality."""

from pathlib import Path

import pytest
from experiments.lab.renderers.scatter import scattered
from tests.experiments.climbs import climbed, saw

from fathom.evaluation.report.blocks import Figure


def test_a_plot_for_each_data_set_that_has_the_measure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    seen = saw(tmp_path, maf=climbed(), other=climbed()[:2])
    (figure,) = scattered(seen, of="F1", caption="Up and left is better")
    assert isinstance(figure, Figure)
    assert (figure.name, figure.caption) == ("scatter-F1-toy", "Up and left is better (toy)")
    assert all(text in figure.svg for text in ("seconds a question", "F1", "other"))
    assert "mathdefault" not in figure.svg
    assert list(scattered(seen, of="RAMDocs-EM", caption="C")) == []
