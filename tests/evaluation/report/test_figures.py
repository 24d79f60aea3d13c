"""Which plots a report has, by what there is to show."""

import pytest
from tests.evaluation.making import abstained, ranked, record

from fathom.evaluation.records import Group
from fathom.evaluation.report.curves import compute_size_lines
from fathom.evaluation.report.figures import draw_sizes, draw_systems

pytest.importorskip("matplotlib")


def titles(*groups: Group) -> list[str]:
    return [figure.title for figure in draw_systems(groups)]


def test_nothing_is_drawn_of_nothing() -> None:
    assert [*draw_systems([]), *draw_sizes([])] == []


def test_what_would_be_empty_or_flat_is_left_out() -> None:
    assert titles([abstained()]) == ["F1 and cost", "Recall", "Time"]
    assert titles([record(gold=(), relevant={})]) == ["Time"]


def test_a_strategy_with_phases_and_kinds_has_all() -> None:
    group = [record(kind="a"), record("q2", kind="b", phase="debate")]
    assert titles(group) == [
        "F1 and cost", "Recall", "Risk and coverage", "Time", "Phases",
        "F1 for each kind of question",
    ]  # fmt: skip


def test_a_setting_that_was_varied_has_a_sweep() -> None:
    groups = [[record(varied={"rrf.k": str(k)})] for k in (1, 2)]
    assert "F1 for each value of rrf.k" in titles(*groups)


def test_retrievers_have_quality_recall_and_time() -> None:
    assert titles([ranked()], [ranked(strategy="vector")]) == ["nDCG@10 and cost", "Recall", "Time"]


def test_sizes_have_a_plot_for_each_measure() -> None:
    groups = [[ranked(dataset=str(size), documents=size)] for size in (10, 100)]
    (made,) = draw_sizes([*compute_size_lines(groups).items()])
    assert made.title == "nDCG@10 and the size of the corpus"
    assert "documents in the corpus" in made.svg


def test_figures_of_a_report_have_names_of_their_own() -> None:
    ranking, answering = [[ranked()], [ranked(strategy="vector")]], [[record()]]
    names = [figure.name for groups in (ranking, answering) for figure in draw_systems(groups)]
    assert len(names) == len({*names}) > 4
