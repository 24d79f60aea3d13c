"""Answers without a word of the gold ones, by cause."""

from pathlib import Path

from experiments.lab.plan import Arm
from experiments.lab.renderers.causes import CAUSES, count_causes
from experiments.lab.results import Cell, Results
from tests.evaluation.factories import make_abstention, make_failure, make_record
from tests.experiments.toy import experiment

from fathom.evaluation.report.blocks import ReportTable


def test_every_lost_question_has_one_cause(tmp_path: Path) -> None:
    elsewhere = ("d7", "d8")
    records = (
        make_record("q0"),
        make_abstention("q1", evidence=elsewhere),
        make_record("q2", short_answer="5", evidence=elsewhere),
        make_abstention("q3"),
        make_record("q4", short_answer="5"),
        make_record("q5", short_answer="5", relevant={"d1": 1, "d9": 1}),
        make_failure("q6"),
        make_record("q7", gold=(), answerable=False),  # has no answer: not counted
        make_record("q8", relevant={}, short_answer="5"),  # nobody knows what is to be found
    )
    cell = Cell(set="toy", arm=Arm(name="A", strategy="naive"), records=records)
    results = Results(experiment=experiment(tmp_path), cells=(cell,))
    (table,) = count_causes(results)
    assert isinstance(table, ReportTable)
    (row,) = table.rows
    assert row[:4] == ("toy", "A", "7", "6")
    assert dict(zip(CAUSES, row[4:], strict=True)) == {
        "not found, unanswered": "1",
        "not found, answered": "2",
        "found, unanswered": "1",
        "found, answered": "1",
        "failed": "1",
    }
