from pathlib import Path

import pytest
from experiments.lab.plan import Arm, Value
from experiments.lab.renderers.sweep import swept
from experiments.lab.results import Cell, Results
from tests.evaluation.making import abstained, record
from tests.experiments.toy import experiment

from fathom.evaluation.report.blocks import Figure

pytest.importorskip("matplotlib")


def cell(name: str, setting: Value | None, *, right: bool) -> Cell:
    settings = {} if setting is None else {"rrf.k": setting}
    made = record if right else abstained
    return Cell(
        set="toy",
        arm=Arm(name=name, strategy="rrf", settings=settings),
        records=tuple(made(f"q{n}", strategy=name) for n in range(3)),
    )


def drawn(folder: Path, *cells: Cell) -> list[Figure]:
    seen = Results(experiment=experiment(folder), cells=cells)
    measures = ["right", "similarity", "none"]
    blocks = swept(seen, key="rrf.k", measures=measures, caption="What it is")
    return [block for block in blocks if isinstance(block, Figure)]


def test_a_line_for_each_measure_that_there_is(tmp_path: Path) -> None:
    (figure,) = drawn(
        tmp_path,
        cell("ten", 10, right=True),
        cell("one", 1, right=False),
        cell("without", None, right=True),
    )

    assert (figure.name, figure.caption) == ("k-toy", "What it is")
    assert figure.svg.lstrip().startswith(("<?xml", "<svg"))
    assert all(told in figure.svg for told in ("right", "similarity", "rrf.k"))
    assert "none</text>" not in figure.svg


def test_one_value_is_no_line_nor_are_words(tmp_path: Path) -> None:
    assert not drawn(tmp_path, cell("one", 1, right=True))
    assert not drawn(tmp_path, cell("a", "few", right=True), cell("b", "many", right=True))
