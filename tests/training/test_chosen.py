"""The questions that an entry of chosen.toml names."""

from pathlib import Path

import pytest
from training.chosen import named
from training.cross_reader.rows import number_of

from fathom.evaluation.datasets import Dataset, DatasetQuestion

QUESTIONS = tuple(DatasetQuestion(id=f"q{n}", text=f"{n}?") for n in range(40))
DATASET = Dataset(
    name="toy",
    corpus=Path("corpus.jsonl"),
    questions=QUESTIONS,
    qrels={f"q{n}": {"d": 1} for n in range(1, 40, 2)},
)


def asked(parts: str) -> list[str]:
    return [question.id for question in named(DATASET, parts)]


def test_questions_are_named_by_half_and_by_place() -> None:
    assert asked("all") == [question.id for question in QUESTIONS]
    assert asked("first 3") == ["q1", "q3", "q5"]
    even, odd = set(asked("even")), set(asked("odd"))
    assert even == {question.id for question in QUESTIONS if number_of(question.id) % 2 == 0}
    assert even | odd == set(asked("all"))
    assert not even & odd
    assert asked("even, first 1") == [*asked("even"), "q1"]


def test_drawn_ones_are_of_the_odd_half_and_always_the_same() -> None:
    drawn = asked("drawn 5")
    assert drawn == asked("drawn 5")
    assert len(drawn) == 5
    assert set(drawn) < set(asked("odd"))
    assert set(asked("drawn 100")) == set(asked("odd"))


def test_what_names_nothing_is_told() -> None:
    with pytest.raises(ValueError, match="toy: 'some' names no questions"):
        asked("some")
