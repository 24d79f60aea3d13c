"""The plots of a report, chosen by its data."""

import pytest
from tests.evaluation.factories import make_abstention, make_ranking, make_record

from fathom.evaluation.records import Group
from fathom.evaluation.report.curves import compute_size_lines
from fathom.evaluation.report.figures import draw_sizes, draw_systems

pytest.importorskip("matplotlib")


def list_titles(*groups: Group) -> list[str]:
    return [figure.title for figure in draw_systems(groups)]


def test_nothing_is_drawn_without_records() -> None:
    assert [*draw_systems([]), *draw_sizes([])] == []


def test_empty_and_flat_plots_are_left_out() -> None:
    assert list_titles([make_abstention()]) == ["F1 and cost", "Recall", "Time"]
    assert list_titles([make_record(gold=(), relevant={})]) == ["Time"]


def test_a_strategy_with_phases_and_kinds_has_all_plots() -> None:
    group = [make_record(kind="a"), make_record("q2", kind="b", phase="debate")]
    assert list_titles(group) == [
        "F1 and cost", "Recall", "Risk and coverage", "Time", "Phases",
        "F1 for each kind of question",
    ]  # fmt: skip


def test_a_varied_setting_has_a_sweep() -> None:
    groups = [[make_record(varied={"rrf.k": str(k)})] for k in (1, 2)]
    assert "F1 for each value of rrf.k" in list_titles(*groups)


def test_retrievers_have_quality_recall_and_time() -> None:
    assert list_titles([make_ranking()], [make_ranking(strategy="vector")]) == [
        "nDCG@10 and cost",
        "Recall",
        "Time",
    ]


def test_sizes_have_a_plot_for_each_measure() -> None:
    groups = [[make_ranking(dataset=str(size), documents=size)] for size in (10, 100)]
    (figure,) = draw_sizes([*compute_size_lines(groups).items()])
    assert figure.title == "nDCG@10 and the size of the corpus"
    assert "documents in the corpus" in figure.svg


def test_figures_of_a_report_have_distinct_names() -> None:
    ranking, answering = [[make_ranking()], [make_ranking(strategy="vector")]], [[make_record()]]
    names = [figure.name for groups in (ranking, answering) for figure in draw_systems(groups)]
    assert len(names) == len({*names}) > 4
