"""The measurement of computed answers: equal values are the same, and an abstention is wrong."""

import gzip
import json
from pathlib import Path

import pytest
from experiments.tables import (
    HALVES,
    ask_questions,
    choose_first,
    find_half,
    format_half,
    normalize_value,
)

TABLE = '"Ship","Note","Crew"\n"Alma","called \\"the old, grey\\"","1,204"\n"Bora","","9"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set of one table and three questions."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "ships.csv").write_text(TABLE, encoding="utf-8")
    questions = {
        "How many crew does Alma have?": ["1204.0"],
        "Which ship has the least crew?": ["Alma"],
        "What is the colour of the sky?": ["blue"],
    }
    with gzip.open(tmp_path / "queries.jsonl.gz", "wt", encoding="utf-8") as lines:
        for at, (text, answers) in enumerate(questions.items()):
            metadata = {"file": "tables/ships.csv", "title": "Ships"}
            record = {"_id": str(at), "text": text, "answers": answers, "metadata": metadata}
            lines.write(json.dumps(record) + "\n")
    return tmp_path


def test_an_answer_is_right_wrong_or_missing(folder: Path) -> None:
    outcomes = list(ask_questions(folder))
    assert [outcome.is_right for outcome in outcomes] == [True, False, False]
    assert [outcome.kind for outcome in outcomes] == ["lookup", "lowest", "no answer"]
    assert "| 3 | 0.333 |" in format_half("both", outcomes)


def test_questions_on_one_table_are_in_one_half(folder: Path) -> None:
    assert len({find_half(outcome.question) for outcome in ask_questions(folder)}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,204", "1204.0"),
        ("C\u00f3rdoba", "cordoba"),
        ('"The Heiress"', "The Heiress"),
        ("Alma (1904)", "alma"),
        ("Alma[2]", "Alma"),
    ],
)
def test_equal_values_have_one_form(one: str, other: str) -> None:
    assert normalize_value(one) == normalize_value(other)
    assert normalize_value(one) != normalize_value("Bora 1")


def test_the_first_questions_are_of_both_halves_and_always_the_same() -> None:
    questions = [{"metadata": {"file": f"csv/{number}.csv"}} for number in range(100)]
    first = choose_first(questions, 20)
    assert first == choose_first(questions[::-1], 20)
    assert {find_half(question) for question in first} == set(HALVES)
    assert choose_first(questions, None) == questions
