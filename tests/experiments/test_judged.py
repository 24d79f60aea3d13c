from pathlib import Path

from experiments.lab.plan import Arm
from experiments.lab.renderers.judged import tabulate_judged
from experiments.lab.results import Cell, Results
from tests.evaluation.factories import make_abstention, make_record
from tests.experiments.toy import experiment

from fathom.evaluation.report.blocks import ReportTable


def make_results(folder: Path) -> Results:
    cells = (
        Cell(
            set="toy",
            arm=Arm(name="good", strategy="rrf"),
            records=(make_record("q1", strategy="good"), make_record("q2", strategy="good")),
        ),
        Cell(
            set="toy",
            arm=Arm(name="half", strategy="rrf"),
            records=(make_record("q1", strategy="half"), make_abstention("q2", strategy="half")),
        ),
    )
    return Results(experiment=experiment(folder), cells=cells)


def test_measures_and_grades_are_in_one_table(tmp_path: Path) -> None:
    measures = ["right", "similarity", "words", "conciseness"]
    (table,) = tabulate_judged(
        make_results(tmp_path), measures=measures, intervals=0, title="Table I"
    )

    assert isinstance(table, ReportTable)
    assert table.title == "Table I"
    assert table.head == ("data set", "system", "questions", *measures)
    assert table.rows == (
        ("toy", "good", "2", "1.000", "1.000", "4.000", ""),
        ("toy", "half", "2", "0.500", "0.500", "4.000", ""),
    )


def test_grades_have_intervals_and_arms_can_be_selected(tmp_path: Path) -> None:
    blocks = tabulate_judged(make_results(tmp_path), measures=["similarity"], arms=["good"])
    (table,) = blocks
    assert isinstance(table, ReportTable)
    assert table.rows == (("toy", "good", "2", "1.000 [0.158, 1.000]"),)
