"""Cuts are nested and ask the same questions."""

from itertools import pairwise
from pathlib import Path

import pytest
from experiments.lab import subset as module
from experiments.lab.subset import cut_dataset

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, DatasetQuestion

DOCUMENTS = frozenset(f"d{number}" for number in range(60))
QUESTIONS = tuple(DatasetQuestion(id=f"q{number}", text="?") for number in range(12))
WHOLE = Dataset(
    name="toy",
    corpus=Path("corpus.jsonl"),
    questions=(*QUESTIONS, DatasetQuestion(id="none", text="?", answers=("a",))),
    qrels={f"q{n}": {f"d{n}": 2, f"d{n + 1}": 1} for n in range(12)},
    documents=DOCUMENTS,
)


@pytest.fixture(autouse=True)
def small_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUESTIONS", 8)
    monkeypatch.setattr(module, "SMALLEST", 40)


def test_smaller_cuts_are_part_of_larger_ones() -> None:
    cuts = [cut_dataset(WHOLE, count) for count in (6, 10, 20, 40, 50, 60, 99)]
    assert [len(subset.documents) for subset in cuts] == [6, 10, 20, 40, 50, 60, 60]
    for smaller, larger in pairwise(cuts):
        assert smaller.documents <= larger.documents
        assert set(smaller.questions) <= set(larger.questions)
    assert cuts[-1].documents == DOCUMENTS


def test_questions_have_all_their_documents_in_the_cut() -> None:
    for count in (6, 10, 20, 40):
        small = cut_dataset(WHOLE, count)
        ids = {
            question.id for question in WHOLE.sample(8, judged=True)
            if small.documents.issuperset(WHOLE.qrels[question.id])
        }  # fmt: skip
        assert {question.id for question in small.questions} == ids
        assert small.qrels == {question: WHOLE.qrels[question] for question in ids}
    assert 0 < len(cut_dataset(WHOLE, 6).questions) < 8


def test_all_cuts_from_the_smallest_on_ask_the_same_questions() -> None:
    sampled = WHOLE.sample(8, judged=True)
    assert cut_dataset(WHOLE, 40).questions == cut_dataset(WHOLE, 50).questions == sampled
    assert cut_dataset(WHOLE, 50).sample(3, judged=True) == sampled[:3]


def test_half_of_a_cut_is_drawn_from_unneeded_documents() -> None:
    needed = {
        document
        for question in WHOLE.sample(8, judged=True)
        for document in WHOLE.qrels[question.id]
    }
    assert len(cut_dataset(WHOLE, 10).documents & needed) == 5


def test_documents_named_by_a_question_are_needed_too() -> None:
    question = DatasetQuestion(id="q0", text="?", documents=("d50", "d51"))
    small = cut_dataset(
        Dataset(
            name="toy",
            corpus=Path("corpus.jsonl"),
            questions=(question,),
            qrels={"q0": {"d0": 1}},
            documents=DOCUMENTS,
        ),
        6,
    )
    assert small.documents >= {"d0", "d50", "d51"}
    assert small.questions == (question,)


def test_too_small_a_cut_is_refused() -> None:
    with pytest.raises(UsageError, match="toy: 1 documents are not enough for any judged question"):
        cut_dataset(WHOLE, 1)
