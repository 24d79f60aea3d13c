"""A judge is held against labels; what it was not asked about says nothing of it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.evaluation.making import abstained, record
from tests.scripted_server import Extractive, serve

from fathom.errors import UsageError
from fathom.evaluation.agreement import (
    Agreement,
    collect_gold_labels,
    load_labels,
    measure_agreements,
)
from fathom.evaluation.grading import Judgement, Judgements, grade_all
from fathom.evaluation.judges import PROMPTS, Grade, LLMAnswerJudge, NoGrade
from fathom.llm.call import RoleModel
from fathom.llm.chat import LangChainChat
from fathom.llm.endpoint import resolve_endpoint

PRICES = [40, 50, 40, 50, 40, 40, 50, 50]


def judgements(scores: Sequence[float | None]) -> list[Judgement]:
    return [
        Judgement(
            dataset="toy", system="naive", question=f"q{n}", judge="correctness", key=str(n),
            outcome=NoGrade(fault="garbled", reason="") if score is None else Grade(score=score),
        )
        for n, score in enumerate(scores)
    ]  # fmt: skip


def labels(*good: bool) -> dict[tuple[str, str, str, str], bool]:
    return {("correctness", "toy", "naive", f"q{n}"): each for n, each in enumerate(good)}


def agreed(scores: Sequence[float | None], *good: bool) -> Agreement:
    (found,) = measure_agreements(judgements(scores), labels(*good), source="people")
    return found


def test_full_agreement_and_its_opposite() -> None:
    found = agreed([1, 0.5, 0.2, 0], True, True, False, False)
    assert (found.agreed, found.kappa, found.count) == (1, 1, 4)
    assert agreed([0, 0, 1, 1], True, True, False, False).kappa == -1


def test_no_grade_is_a_disagreement() -> None:
    found = agreed([1, None, 0, 0], True, True, False, False)
    assert found.agreed == 0.75
    assert found.kappa is not None
    assert found.kappa < 1


def test_the_sentence_has_the_numbers() -> None:
    found = agreed([1, 1, 0, 0, 1], True, True, False, False, False)
    assert found.sentence.startswith(
        "correctness agrees with people on 80% of 5 answers, kappa 0.6"
    )
    assert "chance explains it" in agreed([1, 1], True, True).sentence


def test_what_a_rule_settled_or_nobody_labelled_does_not_count() -> None:
    found = judgements([1, 0])
    ruled = Judgement(dataset="toy", system="naive", question="q9", judge="correctness", key="r",
                      outcome=Grade(score=0, by_rule=True))  # fmt: skip
    given = labels(True) | {("correctness", "toy", "naive", "q9"): True}
    assert measure_agreements([*found, ruled], given, source="x")[0].count == 1
    assert measure_agreements([ruled], given, source="x") == []


def test_gold_answers_are_labels_where_something_was_answered() -> None:
    found = collect_gold_labels(
        [[record("q1"), record("q2", short_answer="5", answer="5"), abstained()]]
    )
    assert {item[3]: good for item, good in found.items()} == {"q1": True, "q2": False}


def test_a_judge_over_the_wire_agrees_with_gold() -> None:
    """The server's judge compares the answer with the reference, and is wrong about one."""

    def answer(messages: list[dict[str, str]]) -> str:
        user = messages[1]["content"]
        good = "costs 40" in user and "odd" not in user
        return json.dumps({"reasoning": "compared", "score": float(good)})

    given = [
        record(f"q{n}", answer=f"It costs {price} crowns{' odd' if n == 0 else ''}.",
               short_answer=f"{price} crowns")
        for n, price in enumerate(PRICES)
    ]  # fmt: skip
    with serve(Extractive(answer)) as server:
        keys = {"K": "k"}
        chat = LangChainChat(
            resolve_endpoint("openai:m", base_url=server.base_url, key_env="K", environment=keys)
        )
        chat.prepare()
        name = "correctness"
        judge = LLMAnswerJudge(name=name, model=RoleModel(chat=chat), prompt=PROMPTS[name])
        grades = grade_all(given, judge, Judgements())
        asked = server.calls
    assert asked == len(PRICES)
    (agreement,) = measure_agreements(
        grades, collect_gold_labels([given]), source="the gold answers"
    )
    assert (agreement.count, agreement.agreed, agreement.kappa) == (8, 0.875, 0.75)
    assert agreement.interval is not None
    assert agreement.interval[0] < 0.75 < agreement.interval[1]


GOOD = {"judge": "correctness", "dataset": "toy", "strategy": "naive", "question": "q0",
        "good": True}  # fmt: skip


def test_labels_are_read(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps(GOOD) + "\n\n" + json.dumps({**GOOD, "question": "q1"}) + "\n")
    assert load_labels(file) == labels(True, True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{**GOOD, "good": 1}], "labels.jsonl:1: expected an object"),
        ([GOOD, {"good": True}], "labels.jsonl:2: expected an object"),
        ([GOOD, GOOD], "labels.jsonl:2: a second label of question 'q0'"),
        ([[]], "labels.jsonl:1: expected an object"),
    ],
)
def test_what_is_no_label_is_named(tmp_path: Path, lines: list[object], message: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(UsageError) as caught:
        load_labels(file)
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file of labels"):
        load_labels(tmp_path / "none.jsonl")
