"""Questions that gained an answer, and questions that lost theirs."""

from pathlib import Path

from experiments.lab.plan import Arm
from experiments.lab.renderers.transformed import HEAD, list_changes
from experiments.lab.results import Cell, Results
from tests.evaluation.factories import make_abstention, make_citation, make_failure, make_record
from tests.experiments.toy import experiment

from fathom.evaluation.report.blocks import ReportTable, Sentences

WEAK = (make_citation(support=0.9), make_citation(support=0.2))
BEFORE = [
    *(make_abstention(f"q{n}") for n in range(4)),
    make_failure("q4"),
    make_record("q5"),
    make_record("q6", short_answer="5", answer="5"),
    make_record("q7"),
]
NOW = [
    make_record("q0"),
    make_record("q1", short_answer="5", answer="5"),
    make_record("q2", citations=WEAK),
    make_abstention("q3"),
    make_record("q4", gold=(), answerable=False),
    make_abstention("q5"),
    make_failure("q6"),
    make_record("q7"),
]


def test_changes_are_counted_and_named(tmp_path: Path) -> None:
    cells = tuple(
        Cell(set="toy", arm=Arm(name=name, strategy="naive"), records=tuple(records))
        for name, records in (("naive", BEFORE), ("A", NOW))
    )
    results = Results(experiment=experiment(tmp_path), cells=cells)
    table, named = list_changes(results, pairs=[["naive", "A"]])
    assert isinstance(table, ReportTable)
    assert table.head == HEAD
    (row,) = table.rows
    # q0 to q4 are silent; q3 stays so; q2 is weakly supported; q4 has no answer to be found
    assert row == ("toy", "naive", "A", "5", "4", "3", "1", "2", "3", "2", "1", "1")
    assert isinstance(named, Sentences)
    assert named.lines == ("toy, naive to A: q0",)


def test_without_changes_no_question_is_named(tmp_path: Path) -> None:
    cell = Cell(set="toy", arm=Arm(name="A", strategy="naive"), records=(make_record(),))
    results = Results(experiment=experiment(tmp_path), cells=(cell,))
    (table,) = list_changes(results, pairs=[["A", "A"]])
    assert isinstance(table, ReportTable)
    assert table.rows == (("toy", "A", "A", "0", "0", "0", "0", "0", "1", "0", "0", "0"),)
