"""The questions that an entry of chosen.toml names."""

from pathlib import Path

import pytest
from training.chosen import select_named
from training.cross_reader.rows import hash_to_number

from fathom.evaluation.datasets import Dataset, DatasetQuestion

QUESTIONS = tuple(DatasetQuestion(id=f"q{n}", text=f"{n}?") for n in range(40))
DATASET = Dataset(
    name="toy",
    corpus=Path("corpus.jsonl"),
    questions=QUESTIONS,
    qrels={f"q{n}": {"d": 1} for n in range(1, 40, 2)},
)


def list_chosen(parts: str) -> list[str]:
    return [question.id for question in select_named(DATASET, parts)]


def test_questions_are_named_by_half_and_by_place() -> None:
    assert list_chosen("all") == [question.id for question in QUESTIONS]
    assert list_chosen("first 3") == ["q1", "q3", "q5"]
    even, odd = set(list_chosen("even")), set(list_chosen("odd"))
    assert even == {question.id for question in QUESTIONS if hash_to_number(question.id) % 2 == 0}
    assert even | odd == set(list_chosen("all"))
    assert not even & odd
    assert list_chosen("even, first 1") == [*list_chosen("even"), "q1"]
    assert list_chosen("question q7") == ["q7"]


def test_drawn_questions_are_of_the_odd_half_and_reproducible() -> None:
    drawn = list_chosen("drawn 5")
    assert drawn == list_chosen("drawn 5")
    assert len(drawn) == 5
    assert set(drawn) < set(list_chosen("odd"))
    assert set(list_chosen("drawn 100")) == set(list_chosen("odd"))


def test_an_entry_without_questions_is_refused() -> None:
    with pytest.raises(ValueError, match="toy: 'some' names no questions"):
        list_chosen("some")
