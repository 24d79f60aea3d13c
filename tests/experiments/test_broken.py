"""Failed runs are shown, not dropped."""

from pathlib import Path

from experiments.lab.renderers.broken import list_failures
from experiments.lab.results import Cell, Results
from tests.evaluation.factories import make_failure
from tests.experiments.test_show import ARMS, make_results

from fathom.evaluation.report.blocks import Sentences

SHOW = '[[show]]\nkind = "table"\nmeasures = ["F1"]'


def test_failed_runs_are_listed_without_words_of_the_data_set(tmp_path: Path) -> None:
    reasons = ("ModelUnavailable: What does it cost?", "ModelUnavailable: Who?", "deadline")
    records = tuple(make_failure(f"q{n}", stop_reason=reason) for n, reason in enumerate(reasons))
    results = make_results(tmp_path, SHOW)
    cell = Cell(set="toy", arm=ARMS["bad"], records=records)
    (section,) = list_failures(
        Results(experiment=results.experiment, cells=(results.cells[0], cell))
    )
    assert isinstance(section, Sentences)
    assert section.lines == (
        "bad on toy: 3 of 3 runs failed and count as wrong: ModelUnavailable (2), deadline (1)",
    )


def test_without_failures_there_is_no_section(tmp_path: Path) -> None:
    results = make_results(tmp_path, SHOW)
    assert (
        list(list_failures(Results(experiment=results.experiment, cells=results.cells[:1]))) == []
    )
