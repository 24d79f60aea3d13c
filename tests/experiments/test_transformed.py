"""Who began to answer, and who stopped."""

from pathlib import Path

from experiments.lab.plan import Arm
from experiments.lab.renderers.transformed import HEAD, transformed
from experiments.lab.results import Cell, Results
from tests.evaluation.making import abstained, cited, failed, record
from tests.experiments.toy import experiment

from fathom.evaluation.report.blocks import ReportTable, Sentences

WEAK = (cited(support=0.9), cited(support=0.2))
BEFORE = [
    *(abstained(f"q{n}") for n in range(4)),
    failed("q4"),
    record("q5"),
    record("q6", short_answer="5", answer="5"),
    record("q7"),
]
NOW = [
    record("q0"),
    record("q1", short_answer="5", answer="5"),
    record("q2", citations=WEAK),
    abstained("q3"),
    record("q4", gold=(), answerable=False),
    abstained("q5"),
    failed("q6"),
    record("q7"),
]


def test_what_changed_is_counted_and_named(tmp_path: Path) -> None:
    cells = tuple(
        Cell(set="toy", arm=Arm(name=name, strategy="naive"), records=tuple(records))
        for name, records in (("naive", BEFORE), ("A", NOW))
    )
    seen = Results(experiment=experiment(tmp_path), cells=cells)
    table, named = transformed(seen, pairs=[["naive", "A"]])
    assert isinstance(table, ReportTable)
    assert table.head == HEAD
    (row,) = table.rows
    # q0 to q4 are silent; q3 stays so; q2 is weakly supported; q4 has no answer to be found
    assert row == ("toy", "naive", "A", "5", "4", "3", "1", "2", "3", "2", "1", "1")
    assert isinstance(named, Sentences)
    assert named.lines == ("toy, naive to A: q0",)


def test_nobody_is_named_where_nothing_changed(tmp_path: Path) -> None:
    cell = Cell(set="toy", arm=Arm(name="A", strategy="naive"), records=(record(),))
    seen = Results(experiment=experiment(tmp_path), cells=(cell,))
    (table,) = transformed(seen, pairs=[["A", "A"]])
    assert isinstance(table, ReportTable)
    assert table.rows == (("toy", "A", "A", "0", "0", "0", "0", "0", "1", "0", "0", "0"),)
