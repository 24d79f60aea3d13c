from pathlib import Path

import pytest
from experiments.lab.plan import Arm, Value
from experiments.lab.renderers.sweep import show_sweep
from experiments.lab.results import Cell, Results
from tests.evaluation.factories import make_abstention, make_record
from tests.experiments.toy import experiment

from fathom.evaluation.report.blocks import Figure

pytest.importorskip("matplotlib")


def make_cell(name: str, setting: Value | None, *, right: bool) -> Cell:
    settings = {} if setting is None else {"rrf.k": setting}
    make = make_record if right else make_abstention
    return Cell(
        set="toy",
        arm=Arm(name=name, strategy="rrf", settings=settings),
        records=tuple(make(f"q{n}", strategy=name) for n in range(3)),
    )


def draw_sweep(folder: Path, *cells: Cell) -> list[Figure]:
    results = Results(experiment=experiment(folder), cells=cells)
    measures = ["right", "similarity", "none"]
    blocks = show_sweep(results, key="rrf.k", measures=measures, caption="What it is")
    return [block for block in blocks if isinstance(block, Figure)]


def test_each_available_measure_has_a_line(tmp_path: Path) -> None:
    (figure,) = draw_sweep(
        tmp_path,
        make_cell("ten", 10, right=True),
        make_cell("one", 1, right=False),
        make_cell("without", None, right=True),
    )

    assert (figure.name, figure.caption) == ("k-toy", "What it is")
    assert figure.svg.lstrip().startswith(("<?xml", "<svg"))
    assert all(label in figure.svg for label in ("right", "similarity", "rrf.k"))
    assert "none</text>" not in figure.svg


def test_a_single_value_and_words_form_no_line(tmp_path: Path) -> None:
    assert not draw_sweep(tmp_path, make_cell("one", 1, right=True))
    assert not draw_sweep(
        tmp_path, make_cell("a", "few", right=True), make_cell("b", "many", right=True)
    )
