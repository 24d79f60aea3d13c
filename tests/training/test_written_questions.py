from pathlib import Path

import pytest
from training.cross_reader.rows import is_development, parse_row
from training.written_questions import LANGUAGES, make_query, read_rows, write

from fathom.evaluation.datasets import load


@pytest.mark.parametrize("lang", LANGUAGES)
def test_it_is_a_data_set_of_development_questions_alone(tmp_path: Path, lang: str) -> None:
    count = write(tmp_path / "written", lang)

    dataset = load(tmp_path / "written")
    held = {
        raw["question"] for raw in read_rows() if (row := parse_row(raw)) and is_development(row)
    }
    assert len(dataset.questions) == count > 400
    assert {question.text for question in dataset.questions} <= held
    assert {question.answerable for question in dataset.questions} == {True, False}


def test_a_yes_no_question_is_answered_in_its_language() -> None:
    raws = (raw for raw in read_rows() if raw["task"] == "yesno")
    queries = [(raw, query) for raw in raws if (query := make_query(raw))]

    answers = {(raw["source"][-2:], raw["label"], *query["answers"]) for raw, query in queries}
    assert answers == {
        ("en", "yes", "yes"),
        ("en", "no", "no"),
        ("id", "yes", "ya"),
        ("id", "no", "tidak"),
    }
