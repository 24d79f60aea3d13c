"""Quality is a measure, what is cited, or agreement with retrieval alone; failures count 0."""

from dataclasses import replace
from pathlib import Path

import pytest
from experiments.lab.plan import Arm
from experiments.lab.quality import accepted, quality
from tests.evaluation.making import abstained, cited, failed, ranked, record
from tests.experiments.climbs import ALONE, alone, climbed, saw, saw_arms

from fathom.errors import UsageError


def test_a_measure_is_that_of_the_records(tmp_path: Path) -> None:
    seen = saw(tmp_path, maf=climbed())
    assert quality(seen, seen.cells[0], "EM") == {"q1": 1, "q2": 0, "q3": 0, "q4": 0, "q5": 0}
    with pytest.raises(UsageError, match="no measure 'EN'"):
        quality(seen, seen.cells[0], "EN")


def test_the_right_document_must_be_cited_by_an_answer(tmp_path: Path) -> None:
    wrong = record("q2", citations=(cited("d9"),))
    silent = abstained("q3", citations=(cited("d1"),))
    unjudged = record("q5", relevant={})
    seen = saw(tmp_path, maf=[record(), wrong, silent, failed("q4"), unjudged])
    found = quality(seen, seen.cells[0], "right-document")
    assert found == {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 0.0}


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("precision", [1.0, 0.5, 0.0, 0.0, 0.0]),
        ("recall", [1.0, 0.5, 0.0, 0.0, 0.0]),
        ("f1", [1.0, 0.5, 0.0, 0.0, 0.0]),
    ],
)
def test_agreement_with_retrieval_alone(tmp_path: Path, part: str, values: list[float]) -> None:
    seen = saw(tmp_path, maf=climbed(), alone=alone())
    found = quality(seen, seen.cells[0], f"self_retrieval_{part}", ALONE)
    assert list(found.values()) == values


def test_agreement_tells_precision_from_recall(tmp_path: Path) -> None:
    few = [record(evidence=("d1",))]
    many = [ranked(evidence=("d1", "d2", "d3", "d4", "d5", "d6"))]
    seen = saw(tmp_path, maf=few, alone=many)
    found = [
        quality(seen, seen.cells[0], f"self_retrieval_{part}", ALONE)["q1"]
        for part in ("precision", "recall", "f1")
    ]
    assert found == pytest.approx([1.0, 1 / 5, 2 / 6])


def test_only_retrieval_from_the_same_corpus_counts(tmp_path: Path) -> None:
    old = Arm(name="old", strategy="maf", corpus="legacy")
    arm = Arm(name=ALONE, retriever="vector", corpus="legacy")
    other = Arm(name=ALONE, retriever="vector")
    elsewhere = [replace(each, evidence=("d9",)) for each in alone()]
    seen = saw_arms(tmp_path, [(old, climbed()), (other, elsewhere), (arm, alone())])
    assert quality(seen, seen.cells[0], "self_retrieval_f1", ALONE)["q1"] == 1.0
    seen = saw_arms(tmp_path, [(old, climbed()), (other, elsewhere)])
    assert quality(seen, seen.cells[0], "self_retrieval_f1", ALONE) == {}
    with pytest.raises(UsageError, match="no arm is called 'nobody'"):
        quality(seen, seen.cells[0], "self_retrieval_f1", "nobody")


def test_what_no_phase_accepts_is_not_accepted() -> None:
    assert [accepted(each) for each in climbed()] == [True, True, True, False, False]
    assert accepted(record(phase="web, low confidence"))
