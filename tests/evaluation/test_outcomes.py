import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.factories import engine_at, hit_of

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, load
from fathom.evaluation.outcomes import (
    CachingRetriever,
    OutcomeFile,
    group_questions,
    record_outcomes,
)
from fathom.planner.actions import iterate_sequences
from fathom.planner.environment import Environment, RecordedQuestion, Reward
from fathom.planner.observation import COLUMNS
from fathom.planner.question_features import QuestionFeatures
from fathom.types import Hit, Query

QUESTIONS = [
    {"_id": "1", "text": "How much does a mooring permit cost?", "answers": ["40 crowns"]},
    {"_id": "2", "text": "Who is older, Ana Silva or Nora Berg?", "answers": ["Ana Silva"]},
    {
        "_id": "3",
        "text": "Who painted the harbour?",
        "answers": [],
        "metadata": {"answerable": False},
    },
    {"_id": "4", "text": "Where is the office?"},
]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    folder = tmp_path / "port"
    folder.mkdir()
    texts = [
        {"_id": "fees", "title": "Fees", "text": "A mooring permit costs 40 crowns a year."},
        {"_id": "ana", "title": "Ana Silva", "text": "Ana Silva was born in 1931."},
        {"_id": "nora", "title": "Nora Berg", "text": "Nora Berg was born in 1950."},
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, texts)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\tfees\t1\n4\tfees\t1\n")
    return load(folder)


def record_dataset(
    folder: Path,
    dataset: Dataset,
    file: Path | None = None,
    strategy: str = "adaptive",
    **sections: object,
) -> list[RecordedQuestion]:
    with engine_at(folder, **sections) as engine:
        engine.ingest([dataset.corpus])
        return record_outcomes(engine, dataset, dataset.questions, OutcomeFile(file, strategy))


def test_every_legal_sequence_of_every_gradable_question_is_recorded(
    tmp_path: Path, dataset: Dataset
) -> None:
    outcomes = record_dataset(tmp_path, dataset)
    assert [outcome.question for outcome in outcomes] == ["1", "2", "3"]
    sequences = list(iterate_sequences(has_model=False, most=2))
    assert all(
        [outcome.tried for outcome in recorded_question.outcomes] == sequences
        for recorded_question in outcomes
    )
    assert [outcome.answerable for outcome in outcomes] == [True, True, False]
    assert Environment.from_questions(outcomes, Reward()).most == 2


def test_an_outcome_has_its_observation_value_and_cost(tmp_path: Path, dataset: Dataset) -> None:
    first, split, _ = record_dataset(tmp_path, dataset)
    look = first.find_outcome(())
    assert look is not None
    assert set(look.features) == set(COLUMNS)
    assert (look.retrievals, look.waits, look.tokens) == (1, 0, 0)
    bridge, both = first.find_outcome(("bridge",)), split.find_outcome(("split",))
    assert bridge is not None
    assert both is not None
    assert bridge.retrievals > 1
    assert bridge.features["tried_bridge"] == 1
    assert both.waits == 1
    assert not any(
        outcome.wrong for outcome in first.outcomes if outcome.f1 == 1 or not outcome.answered
    )


def test_a_killed_run_continues_after_the_last_whole_line(tmp_path: Path, dataset: Dataset) -> None:
    file = tmp_path / "outcomes.jsonl"
    outcomes = record_dataset(tmp_path, dataset, file)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1][:50])
    again = record_dataset(tmp_path, dataset, file)
    assert [outcome.question for outcome in again] == [outcome.question for outcome in outcomes]
    assert file.read_bytes().startswith(lines[0])
    assert [question.question for question in OutcomeFile(file).list_questions()] == ["1", "2", "3"]


def test_outcomes_of_other_settings_are_not_mixed(tmp_path: Path, dataset: Dataset) -> None:
    file = tmp_path / "outcomes.jsonl"
    record_dataset(tmp_path, dataset, file)
    with pytest.raises(UsageError, match="another index, code or settings; name another file"):
        record_dataset(tmp_path, dataset, file, ask={"chunks": 3})


@pytest.mark.parametrize(
    "edit",
    [
        {"text": "What does a mooring permit for a year cost?"},
        {"answers": ("41 crowns",)},
        {"documents": ("ana",)},
    ],
)
def test_a_question_that_was_edited_is_tried_anew(
    tmp_path: Path, dataset: Dataset, edit: Mapping[str, Any]
) -> None:
    path = tmp_path / "outcomes.jsonl"
    first, *others = dataset.questions
    with engine_at(tmp_path) as engine:
        engine.ingest([dataset.corpus])
        before = record_outcomes(engine, dataset, dataset.questions, OutcomeFile(path))
        edited = [replace(first, **edit), *others]
        after = record_outcomes(engine, dataset, edited, OutcomeFile(path))
        assert after[1:] == before[1:]
        assert after[0] != before[0]
        assert after[0] == record_outcomes(engine, dataset, edited[:1], OutcomeFile(path))[0]
    assert OutcomeFile(path).list_questions() == after
    assert len(path.read_text().splitlines()) == len(before) + 1


def test_an_invalid_record_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.jsonl"
    file.write_text("{}\n")
    with pytest.raises(UsageError, match=r"outcomes\.jsonl:1: not a recorded question"):
        OutcomeFile(file)


def test_questions_without_answers_are_skipped(tmp_path: Path, dataset: Dataset) -> None:
    with engine_at(tmp_path) as engine:
        engine.ingest([dataset.corpus])
        with pytest.raises(UsageError, match="no question has an answer"):
            record_outcomes(engine, dataset, dataset.questions[3:], OutcomeFile())


def test_equal_searches_are_done_once_per_question(tmp_path: Path, dataset: Dataset) -> None:
    searches: list[tuple[Query, int]] = []

    class CountingRetriever:
        name = "counting"

        def retrieve(self, query: Query, *, k: int) -> list[Hit]:
            searches.append((query, k))
            return [hit_of()]

    retriever = CachingRetriever(CountingRetriever())
    query = Query(text="fees")
    assert retriever.retrieve(query, k=3) == retriever.retrieve(query, k=3) == [hit_of()]
    assert retriever.retrieve(query, k=4)
    assert searches == [(query, 3), (query, 4)]
    retriever.forget()
    assert retriever.retrieve(query, k=3)
    assert len(searches) == 3


def test_outcomes_equal_those_of_runs_without_memory(tmp_path: Path, dataset: Dataset) -> None:
    first, *_ = record_dataset(tmp_path, dataset)
    question = dataset.questions[0]
    for tried in (("bridge",), ("expand", "bridge")):
        with engine_at(tmp_path, adaptive={"forced": tried}) as engine:
            answer = engine.ask(question.text, strategy="adaptive")
        outcome = first.find_outcome(tried)
        assert outcome is not None
        assert outcome.retrievals == answer.usage.retrievals
        assert outcome.answered == (answer.status == "answered")


def test_every_workflow_of_mao_is_recorded_for_the_question_and_its_sub_questions(
    tmp_path: Path, dataset: Dataset
) -> None:
    first, pair, _ = record_dataset(tmp_path, dataset, strategy="mao")
    # Nothing to split: 18 answers after the look.
    assert [len(outcome.tried) for outcome in first.outcomes] == [0, *[1] * 18]
    look = first.find_outcome(())
    assert look is not None
    assert set(look.features) == set(QuestionFeatures.list_names())
    # Two sides of a comparison: 5 workflows for the one, and 25 for both.
    split = [outcome for outcome in pair.outcomes if outcome.tried[:1] == ("QDP",)]
    assert [len(outcome.tried) for outcome in split] == [1, *[2] * 5, *[3] * 25]
    assert [outcome.features["first"] for outcome in split[:6]] == [0] * 6
    assert {outcome.waits for outcome in split} == {1}
    world = Environment.from_questions([first, pair], Reward())
    assert (world.most, len(world.states)) == (2, 8)


def test_outcomes_of_workflows_equal_those_of_runs(tmp_path: Path, dataset: Dataset) -> None:
    outcomes = record_dataset(tmp_path, dataset, strategy="mao")
    for plan in ("AG", "R,AG", "QR,R,DS,AG", "QDP", "QDS"):
        with engine_at(tmp_path, mao={"policy": plan}) as engine:
            for recorded, question in zip(outcomes, dataset.questions, strict=False):
                answer = engine.ask(question.text, strategy="mao")
                # A fixed workflow answers sub-questions by R,AG.
                same = [o for o in recorded.outcomes if o.tried[:1] == (plan,) and not o.features]
                outcome = next(o for o in same if set(o.tried[1:]) <= {"R,AG"})
                assert outcome.retrievals == answer.usage.retrievals
                assert outcome.answered == (answer.status == "answered")


def test_outcomes_of_another_strategy_are_not_mixed(tmp_path: Path, dataset: Dataset) -> None:
    file = tmp_path / "outcomes.jsonl"
    record_dataset(tmp_path, dataset, file)
    with pytest.raises(UsageError, match="an outcome of adaptive, not of mao; name another file"):
        OutcomeFile(file, "mao")


def test_questions_that_share_documents_are_a_group(dataset: Dataset) -> None:
    first, second, third, fourth = dataset.questions
    qrels = {"1": {"a": 1}, "2": {"b": 1}, "3": {"a": 1, "b": 1}}
    joined = group_questions(replace(dataset, qrels=qrels), [first, second, third, fourth])
    assert joined == {"1": "1", "2": "1", "3": "1"}
    apart = group_questions(replace(dataset, qrels={"1": {"a": 1}, "2": {"b": 1}}), [first, second])
    assert len(set(apart.values())) == 2
