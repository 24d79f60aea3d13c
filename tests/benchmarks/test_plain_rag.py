"""The grades and the table of Fathom beside frameworks with the same language model."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.plain_rag import replies
from benchmarks.plain_rag.__main__ import read_documents
from benchmarks.plain_rag.replies import (
    GradedReply,
    Reply,
    RunFacts,
    Task,
    publish,
    read_published,
)
from benchmarks.plain_rag.tables import format_table, format_tables

from fathom.evaluation.datasets import Dataset, DatasetQuestion

OPENED = DatasetQuestion(id="q1", text="When was the bridge opened?", answers=("1931",))
UNKNOWN = DatasetQuestion(id="q2", text="Who sold the bridge?", answerable=False)
UNGRADED = DatasetQuestion(id="q3", text="Why?")
BRIDGES = Dataset(
    name="bridges", corpus=Path("corpus.jsonl.gz"), questions=(OPENED, UNKNOWN, UNGRADED), qrels={}
)

FACTS = RunFacts(
    confidence=0.8,
    tentative=False,
    prompt=450,
    calls=1,
    invalid=0,
    quotes=1,
    verbatim=1,
    overshoot=False,
)


def grade(
    system: str, question: DatasetQuestion, answer: str, sources: tuple[str, ...] = ()
) -> GradedReply:
    task = Task(dataset=BRIDGES, model="local:/models/small.gguf", questions=(OPENED, UNKNOWN))
    return replies.grade(task, system, question, Reply(answer, sources, 500, 9.0))


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
    reply = grade("langchain", OPENED, answer, ("The bridge was opened in 1931.",))
    assert (reply.right, reply.is_wrong, reply.cited) == (right, wrong, True)


def test_silence_is_the_best_answer_where_there_is_none() -> None:
    silent = grade("langchain", UNKNOWN, "I do not know")
    talking = grade("langchain", UNKNOWN, "Mr Harrow")
    assert (silent.f1, silent.is_wrong) == (1.0, False)
    assert (talking.f1, talking.is_wrong) == (0.0, True)


def test_a_wrong_answer_that_is_marked_as_not_sure_counts_by_itself() -> None:
    marked = replace(FACTS, tentative=True)
    reply = replace(grade("fathom", UNKNOWN, "Mr Harrow"), run=marked)
    assert (reply.is_wrong, reply.is_tentative) == (False, True)


def test_systems_are_compared_on_the_questions_that_all_have_answered() -> None:
    ours = [grade("fathom", question, "1931", ("1931",)) for question in (OPENED, UNKNOWN)]
    theirs = [grade("langchain", OPENED, "in 1932")]
    first, *_, fathom, langchain = format_table([*ours, *theirs]).splitlines()
    assert first == "1 questions"
    assert fathom.startswith("| fathom | 1.000 |")
    assert "| +1.000, 1.000 | 0.00 times, 1.000 | 1.00 times, 1.000 |" in langchain


def test_every_set_has_a_table_and_all_sets_of_a_model_have_one() -> None:
    ours = grade("fathom", OPENED, "1931")
    heads = format_tables([ours, replace(ours, dataset="mills")]).splitlines()
    assert [line for line in heads if line.endswith("questions")] == [
        "small, bridges: 1 questions",
        "small, mills: 1 questions",
        "small, all sets: 2 questions",
    ]


def test_a_framework_that_was_asked_less_takes_no_questions_from_another() -> None:
    asked = (OPENED, UNKNOWN)
    replies_of_all = [
        *(
            grade(system, question, "1931")
            for system in ("fathom", "langchain")
            for question in asked
        ),
        grade("llamaindex", OPENED, "1932"),
    ]
    lines = format_tables(replies_of_all).splitlines()
    assert [line for line in lines if line.endswith("questions")] == [
        "small, bridges: 2 questions",
        "small, bridges: 1 questions",
    ]


def test_a_model_on_another_machine_has_no_seconds() -> None:
    timed = grade("fathom", OPENED, "1931")
    untimed = replace(timed, question="q2", seconds=None)
    *_, row = format_table([timed]).splitlines()
    assert " | 500 | 9.0 | " in row
    *_, row = format_table([timed, untimed]).splitlines()
    assert " | 500 | - | " in row


@pytest.mark.parametrize("model", ["local:qwen-1.5b", "local:/models/qwen-1.5b.gguf"])
def test_a_model_has_the_same_name_by_its_file_and_by_its_short_name(model: str) -> None:
    assert replies.name_weights(model) == "qwen-1.5b"


def test_published_grades_hold_no_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "PUBLISHED", tmp_path / "results.jsonl.gz")
    assert read_published() == []
    ours = replace(grade("fathom", OPENED, "1931"), run=FACTS)
    theirs = grade("langchain", OPENED, "1931")
    publish([ours, ours, theirs])
    assert read_published() == [replace(ours, answer=""), replace(theirs, answer="")]


def test_runs_show_what_asking_costs_and_how_well_confidence_holds() -> None:
    asked = replace(FACTS, confidence=0.9, prompt=400, invalid=1, quotes=2, verbatim=2)
    sure = replace(asked, confidence=0.3, prompt=0, calls=0, invalid=0)
    right = replace(grade("fathom", OPENED, "1931"), run=asked)
    wrong = replace(grade("fathom", UNKNOWN, "Mr Harrow"), run=sure)
    assert format_tables([right, wrong]).splitlines()[-1] == (
        "| bridges: 2 | 0.50 | 200 | 400 | 9.0 | 1 | 1 | 4 | 4 | 0 | 0.200 | 1.000 |"
    )


def test_a_document_is_its_title_and_text(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.write(json.dumps({"_id": "a", "title": "Bridge", "text": "Opened in 1931."}) + "\n")
        lines.write(json.dumps({"_id": "b", "text": "No title."}) + "\n")
    assert read_documents(file) == ["Bridge\nOpened in 1931.", "No title."]
