"""The grades and the table of Fathom beside frameworks with the same language model."""

import gzip
import json
from pathlib import Path

import pytest
from benchmarks.plain_rag.__main__ import format_table, grade, read_documents

from fathom.evaluation.datasets import DatasetQuestion

OPENED = DatasetQuestion(id="q1", text="When was the bridge opened?", answers=("1931",))
UNKNOWN = DatasetQuestion(id="q2", text="Who sold the bridge?", answerable=False)


@pytest.mark.parametrize(
    ("answer", "right", "wrong"),
    [
        ("It was opened in 1931.", True, False),
        ("It was opened in 1932.", False, True),
        ("I don't know.", False, False),
        ("The context does not mention it.", False, False),
    ],
)
def test_a_reply_is_right_wrong_or_no_answer(answer: str, *, right: bool, wrong: bool) -> None:
    reply = grade("langchain", OPENED, answer, ["The bridge was opened in 1931."], 500, 9.0)
    assert (reply.right, reply.is_wrong, reply.cited) == (right, wrong, True)


def test_silence_is_the_best_answer_where_there_is_none() -> None:
    silent = grade("langchain", UNKNOWN, "I do not know", [], 500, 9.0)
    talking = grade("langchain", UNKNOWN, "Mr Harrow", [], 500, 9.0)
    assert (silent.f1, silent.is_wrong) == (1.0, False)
    assert (talking.f1, talking.is_wrong) == (0.0, True)


def test_systems_are_compared_on_the_questions_that_all_have_answered() -> None:
    ours = [grade("fathom", question, "1931", ["1931"], 400, 8.0) for question in (OPENED, UNKNOWN)]
    theirs = [grade("langchain", OPENED, "in 1932", [], 1200, 30.0)]
    first, *_, fathom, langchain = format_table([*ours, *theirs]).splitlines()
    assert first == "1 questions"
    assert fathom.startswith("| fathom | 1.000 |")
    assert "| +1.000, " in langchain


def test_a_document_is_its_title_and_text(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.write(json.dumps({"_id": "a", "title": "Bridge", "text": "Opened in 1931."}) + "\n")
        lines.write(json.dumps({"_id": "b", "text": "No title."}) + "\n")
    assert read_documents(file) == ["Bridge\nOpened in 1931.", "No title."]
