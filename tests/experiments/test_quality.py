"""Quality is a measure, the cited document, or agreement with retrieval; failures count 0."""

from dataclasses import replace
from pathlib import Path

import pytest
from experiments.lab.plan import Arm
from experiments.lab.quality import is_accepted, measure_quality
from tests.evaluation.factories import (
    make_abstention,
    make_citation,
    make_failure,
    make_ranking,
    make_record,
)
from tests.experiments.climbs import ALONE, make_climbs, make_rankings, observe, observe_arms

from fathom.errors import UsageError


def test_a_measure_is_that_of_the_records(tmp_path: Path) -> None:
    results = observe(tmp_path, maf=make_climbs())
    assert measure_quality(results, results.cells[0], "EM") == {
        "q1": 1,
        "q2": 0,
        "q3": 0,
        "q4": 0,
        "q5": 0,
    }
    with pytest.raises(UsageError, match="no measure 'EN'"):
        measure_quality(results, results.cells[0], "EN")


def test_an_answer_must_cite_the_right_document(tmp_path: Path) -> None:
    wrong = make_record("q2", citations=(make_citation("d9"),))
    silent = make_abstention("q3", citations=(make_citation("d1"),))
    unjudged = make_record("q5", relevant={})
    results = observe(tmp_path, maf=[make_record(), wrong, silent, make_failure("q4"), unjudged])
    values = measure_quality(results, results.cells[0], "right-document")
    assert values == {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 0.0}


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("precision", [1.0, 0.5, 0.0, 0.0, 0.0]),
        ("recall", [1.0, 0.5, 0.0, 0.0, 0.0]),
        ("f1", [1.0, 0.5, 0.0, 0.0, 0.0]),
    ],
)
def test_agreement_with_plain_retrieval_is_measured(
    tmp_path: Path, part: str, values: list[float]
) -> None:
    results = observe(tmp_path, maf=make_climbs(), alone=make_rankings())
    agreement = measure_quality(results, results.cells[0], f"self_retrieval_{part}", ALONE)
    assert list(agreement.values()) == values


def test_agreement_distinguishes_precision_and_recall(tmp_path: Path) -> None:
    few = [make_record(evidence=("d1",))]
    many = [make_ranking(evidence=("d1", "d2", "d3", "d4", "d5", "d6"))]
    results = observe(tmp_path, maf=few, alone=many)
    values = [
        measure_quality(results, results.cells[0], f"self_retrieval_{part}", ALONE)["q1"]
        for part in ("precision", "recall", "f1")
    ]
    assert values == pytest.approx([1.0, 1 / 5, 2 / 6])


def test_only_retrieval_from_the_same_corpus_counts(tmp_path: Path) -> None:
    old = Arm(name="old", strategy="maf", corpus="legacy")
    arm = Arm(name=ALONE, retriever="vector", corpus="legacy")
    other = Arm(name=ALONE, retriever="vector")
    elsewhere = [replace(ranking, evidence=("d9",)) for ranking in make_rankings()]
    results = observe_arms(
        tmp_path, [(old, make_climbs()), (other, elsewhere), (arm, make_rankings())]
    )
    assert measure_quality(results, results.cells[0], "self_retrieval_f1", ALONE)["q1"] == 1.0
    results = observe_arms(tmp_path, [(old, make_climbs()), (other, elsewhere)])
    assert measure_quality(results, results.cells[0], "self_retrieval_f1", ALONE) == {}
    with pytest.raises(UsageError, match="no arm is called 'nobody'"):
        measure_quality(results, results.cells[0], "self_retrieval_f1", "nobody")


def test_an_answer_that_no_phase_accepts_is_not_accepted() -> None:
    assert [is_accepted(climb) for climb in make_climbs()] == [True, True, True, False, False]
    assert is_accepted(make_record(phase="web, low confidence"))
