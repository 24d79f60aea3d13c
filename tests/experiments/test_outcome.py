"""The text of an outcome shows the published figures, and refuses names of figures that are not."""

from dataclasses import replace
from pathlib import Path

import pytest
from experiments.lab.clean import Published
from experiments.lab.outcome import fill_figures, find_unknown_figures
from experiments.lab.pages import format_page
from experiments.lab.prints import Print
from experiments.lab.scores import Scored
from tests.experiments.test_pages import SUMMARY
from tests.experiments.toy import experiment

from fathom.errors import UsageError
from fathom.evaluation.report.blocks import ReportTable

ROWS = [
    {
        "set": name,
        "corpus": corpus,
        "system": arm,
        "queries": 2,
        "measures": {"F1": f1},
        "usage": {"tokens": tokens, "retrievals": 2.0},
        "latency_s": {"p50": 0.1234, "p95": 0.5},
    }
    for name, corpus, arm, f1, tokens in (
        ("toy", "", "naive", 0.5, 200.0),
        ("toy", "", "A, gated", 0.6254, 150.0),
        ("toy", "cut-10", "naive", 0.25, 0.0),
    )
]
TABLE = ReportTable(
    title="",
    head=("data set", "system", "success", "agreement", "share", "nothing"),
    rows=(("toy", "naive", "29 (58.0%)", "0.505 [0.4, 0.6]", "42.0%", ""),),
)
QUESTIONS = tuple(
    Scored(
        set=name,
        question=name,
        answerable=True,
        print=Print(question=name, articles=(), documents=()),
        # A question that spent nothing has no figure of it.
        scores=({"system": "naive", "of": "naive", "F1": f1, "retrievals": 3},)
        if f1
        else ({"system": "naive", "of": "naive", "F1": f1},),
    )
    for name, f1 in (("toy", 0.5), ("other", 1.0), ("third", 0.0))
)


def publish(folder: Path, outcome: str) -> Published:
    return Published(
        experiment=experiment(folder).model_copy(update={"outcome": outcome}),
        summary=replace(SUMMARY, rows=ROWS, blocks=(TABLE,)),
        questions=QUESTIONS,
        stains=(),
    )


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("It is {F1 of naive on toy}.", "It is 0.500."),
        ("{F1 of\nA, gated on toy}", "0.625"),
        ("{F1 of A, gated minus naive on toy}", "+0.125"),
        ("{F1 of naive minus A, gated on toy, %}", "-13 points"),
        ("{F1 of naive on toy, %}", "50 %"),
        ("{tokens of A, gated over naive on toy}", "0.75"),
        ("{tokens of naive on toy}", "200.0"),
        ("{p50 ms of naive on toy}", "123"),
        ("{F1 of naive on toy/cut-10}", "0.250"),
        ("{F1 of naive on all}", "0.500"),
        ("{retrievals of naive on all}", "2.0"),
        ("{success of naive on toy, %}", "58 %"),
        ("{agreement of naive on toy}", "0.505"),
        ("{share of naive on toy, %}", "42 %"),
        ("no figure", "no figure"),
    ],
)
def test_a_name_gives_way_to_its_figure(tmp_path: Path, text: str, filled: str) -> None:
    assert fill_figures(publish(tmp_path, text)) == filled


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{F1 of B on toy}", "no row has the F1 of B on toy; mend the name"),
        ("{F2 of naive on toy}", "no row has the F2 of naive on toy; mend the name"),
        ("{F1 of naive on toy/cut-9}", "no row has the F1 of naive on toy/cut-9; mend the name"),
        ("{nothing of naive on toy}", "no row has the nothing of naive on toy; mend the name"),
        ("{F1}", "{F1} names no figure; write {MEASURE of ARM on SET}"),
    ],
)
def test_a_name_without_a_figure_is_a_fault(tmp_path: Path, text: str, fault: str) -> None:
    published = publish(tmp_path, f"{text} and {text}")
    assert list(find_unknown_figures(published)) == [f"toy/table: {fault}"]
    with pytest.raises(UsageError, match=r"names no figure|no row has"):
        fill_figures(published)


def test_the_outcome_follows_the_reading_on_the_page(tmp_path: Path) -> None:
    page = format_page("toy", [publish(tmp_path, "It is\n{F1 of naive on toy}.\n\nNo more.\n")])
    assert "\n\nNothing differs.\n\nIt is 0.500.\n\nNo more.\n\n<sub>" in page


def test_a_page_of_samples_has_no_outcome_of_other_data(tmp_path: Path) -> None:
    assert publish(tmp_path, "It is so.").experiment.shorten().outcome == ""
