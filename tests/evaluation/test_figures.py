"""Which plots a report has, by what there is to show."""

import re

import pytest
from tests.evaluation.making import abstained, ranked, record

from fathom.evaluation.curves import Group, size_lines
from fathom.evaluation.figures import of_sizes, of_systems
from fathom.evaluation.markup import Pictures

pytest.importorskip("matplotlib")


def titles(*groups: Group) -> list[str]:
    made = "".join(of_systems(groups, Pictures()))
    return re.findall(r"<strong>(.*?)\.</strong>", made)


def test_nothing_is_drawn_of_nothing() -> None:
    assert of_systems([], Pictures()) == []
    assert of_sizes([], Pictures()) == []


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
    (made,) = of_sizes([*size_lines(groups).items()], Pictures())
    assert "<strong>nDCG@10 and the size of the corpus.</strong>" in made
    assert "documents in the corpus" in made
