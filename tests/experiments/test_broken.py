"""A run that broke is shown, not dropped."""

from pathlib import Path

from experiments.lab.renderers.broken import broken
from experiments.lab.results import Cell, Results
from tests.evaluation.making import failed
from tests.experiments.test_show import ARMS, seen

from fathom.evaluation.report.blocks import Sentences

SHOW = '[[show]]\nkind = "table"\nmeasures = ["F1"]'


def test_failed_runs_are_told_without_words_of_the_data_set(tmp_path: Path) -> None:
    reasons = ("ModelUnavailable: What does it cost?", "ModelUnavailable: Who?", "deadline")
    records = tuple(failed(f"q{n}", stop_reason=each) for n, each in enumerate(reasons))
    made = seen(tmp_path, SHOW)
    cell = Cell(set="toy", arm=ARMS["bad"], records=records)
    (told,) = broken(Results(experiment=made.experiment, cells=(made.cells[0], cell)))
    assert isinstance(told, Sentences)
    assert told.lines == (
        "bad on toy: 3 of 3 runs failed and count as wrong: ModelUnavailable (2), deadline (1)",
    )


def test_where_nothing_broke_nothing_is_said(tmp_path: Path) -> None:
    made = seen(tmp_path, SHOW)
    assert list(broken(Results(experiment=made.experiment, cells=made.cells[:1]))) == []
