"""The recorded answers of a language model and of the local reader to the same questions."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from experiments.model_answers import (
    ModelAnswer,
    choose_answer,
    format_table,
    format_tables,
)
from research.model_answers import name_file, read_records, write_records

from fathom.llm.catalogue import identify_model

SURE = ModelAnswer(
    dataset="bridges",
    question="q1",
    model="small.gguf",
    language="en",
    form="one",
    answerable=True,
    has_reply=True,
    has_answer=True,
    model_right=False,
    model_f1=0.25,
    factors=(1.0,) * 8,
    local_right=True,
    local_f1=1.0,
    local_confidence=0.7,
    places=(("d1#0", 0, 9),),
    local_places=(("d1#0", 0, 9),),
    calls=1,
    signals={"sure": 0.1},
    local_signals={"sure": 0.9},
    prompt=480,
    written=20,
    seconds=9.0,
    model_answer="1932",
    local_answer="1931",
)
UNSURE = replace(SURE, question="q2", local_confidence=0.2, model_right=True, model_f1=1.0)


@pytest.mark.parametrize("model", ["local:qwen-1.5b", "local:/models/qwen2.5-coder-1.5b.gguf"])
def test_the_name_in_a_record_is_that_of_a_known_model(model: str) -> None:
    assert identify_model(name_file(model)) == "qwen-1.5b"


def test_a_sure_local_answer_counts_without_any_tokens() -> None:
    assert choose_answer(SURE, 0.6) == (1.0, True, 0)
    assert choose_answer(SURE, 0.8) == (0.25, False, 500)


def test_the_local_answer_counts_where_nothing_of_the_model_holds() -> None:
    silent = replace(UNSURE, has_answer=False, local_right=False, local_f1=0.5)
    assert choose_answer(silent, 0.6) == (0.5, False, 500)


def test_the_table_has_a_row_for_each_threshold() -> None:
    lines = format_table([SURE, UNSURE]).splitlines()
    assert lines[0] == "2 questions"
    (row,) = [line for line in lines if line.startswith("| 0.6 |")]
    assert row == "| 0.6 | 1.000 | 1.000 to 1.000 | 1.000 | 0.50 | 250 |"


def test_every_model_has_a_table_and_sets_for_reporting_have_their_own() -> None:
    answers = [
        SURE,
        UNSURE,
        replace(SURE, model="large.gguf"),
        replace(SURE, dataset="2wiki-fresh"),
    ]
    heads = [line for line in format_tables(answers).splitlines() if line.endswith("questions")]
    assert heads == [
        "large.gguf: 1 questions",
        "small.gguf: 2 questions",
        "small.gguf, 2wiki-fresh, reported only: 1 questions",
    ]


def test_published_records_hold_no_answers(tmp_path: Path) -> None:
    file = tmp_path / "model_answers.jsonl.gz"
    assert read_records(file) == []
    write_records([asdict(answer) for answer in (UNSURE, SURE, SURE)], file)
    first, second = read_records(file)
    assert (first["question"], second["question"]) == ("q1", "q2")
    assert not {"model_answer", "local_answer"} & first.keys()
    assert ModelAnswer(**first).model_answer == ""


def test_a_question_counts_once_however_the_file_of_its_model_is_called(tmp_path: Path) -> None:
    file = tmp_path / "model_answers.jsonl.gz"
    before = replace(SURE, model="qwen2.5-coder-1.5b.gguf")
    again = replace(SURE, model="qwen-1.5b")
    write_records([asdict(answer) for answer in (before, UNSURE, again)], file)
    assert [row["model"] for row in read_records(file)] == ["qwen-1.5b", "small.gguf"]
    heads = [line for line in format_tables([before, again]).splitlines() if "qwen" in line]
    assert heads == ["qwen-1.5b: 2 questions"]


def test_unsure_answers_are_compared_by_the_probability_of_the_local_draft() -> None:
    sure, unsure = (replace(SURE, local_confidence=value) for value in (0.9, 0.3))
    table = format_tables([sure, unsure, unsure])
    (row,) = [line for line in table.splitlines() if line.startswith("| 0") and "| 2 |" in line]
    assert row.endswith(f"| {SURE.model_f1:.3f} | {SURE.local_f1:.3f} |")
