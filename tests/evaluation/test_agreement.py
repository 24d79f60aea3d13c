"""Agreement of a judge with labels, counting only what the judge was asked about."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.evaluation.factories import make_abstention, make_record
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


def make_judgements(scores: Sequence[float | None]) -> list[Judgement]:
    return [
        Judgement(
            dataset="toy", system="naive", question=f"q{n}", judge="correctness", key=str(n),
            outcome=NoGrade(fault="garbled", reason="") if score is None else Grade(score=score),
        )
        for n, score in enumerate(scores)
    ]  # fmt: skip


def make_labels(*good: bool) -> dict[tuple[str, str, str, str], bool]:
    return {("correctness", "toy", "naive", f"q{n}"): is_good for n, is_good in enumerate(good)}


def measure_agreement(scores: Sequence[float | None], *good: bool) -> Agreement:
    (agreement,) = measure_agreements(make_judgements(scores), make_labels(*good), source="people")
    return agreement


def test_full_agreement_and_its_opposite_are_measured() -> None:
    agreement = measure_agreement([1, 0.5, 0.2, 0], True, True, False, False)
    assert (agreement.agreed, agreement.kappa, agreement.count) == (1, 1, 4)
    assert measure_agreement([0, 0, 1, 1], True, True, False, False).kappa == -1


def test_a_missing_grade_is_a_disagreement() -> None:
    agreement = measure_agreement([1, None, 0, 0], True, True, False, False)
    assert agreement.agreed == 0.75
    assert agreement.kappa is not None
    assert agreement.kappa < 1


def test_the_sentence_contains_the_numbers() -> None:
    agreement = measure_agreement([1, 1, 0, 0, 1], True, True, False, False, False)
    assert agreement.sentence.startswith(
        "correctness agrees with people on 80% of 5 answers, kappa 0.6"
    )
    assert "chance explains it" in measure_agreement([1, 1], True, True).sentence


def test_ruled_and_unlabelled_answers_do_not_count() -> None:
    judgements = make_judgements([1, 0])
    ruled = Judgement(dataset="toy", system="naive", question="q9", judge="correctness", key="r",
                      outcome=Grade(score=0, by_rule=True))  # fmt: skip
    label_map = make_labels(True) | {("correctness", "toy", "naive", "q9"): True}
    assert measure_agreements([*judgements, ruled], label_map, source="x")[0].count == 1
    assert measure_agreements([ruled], label_map, source="x") == []


def test_gold_answers_label_every_given_answer() -> None:
    gold_labels = collect_gold_labels(
        [[make_record("q1"), make_record("q2", short_answer="5", answer="5"), make_abstention()]]
    )
    assert {item[3]: good for item, good in gold_labels.items()} == {"q1": True, "q2": False}


def test_a_judge_over_the_wire_agrees_with_gold() -> None:
    """The server's judge compares the answer with the reference, and is wrong about one."""

    def answer(messages: list[dict[str, str]]) -> str:
        user = messages[1]["content"]
        good = "costs 40" in user and "odd" not in user
        return json.dumps({"reasoning": "compared", "score": float(good)})

    records = [
        make_record(f"q{n}", answer=f"It costs {price} crowns{' odd' if n == 0 else ''}.",
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
        grades = grade_all(records, judge, Judgements())
        calls = server.calls
    assert calls == len(PRICES)
    (agreement,) = measure_agreements(
        grades, collect_gold_labels([records]), source="the gold answers"
    )
    assert (agreement.count, agreement.agreed, agreement.kappa) == (8, 0.875, 0.75)
    assert agreement.interval is not None
    assert agreement.interval[0] < 0.75 < agreement.interval[1]


GOOD = {"judge": "correctness", "dataset": "toy", "strategy": "naive", "question": "q0",
        "good": True}  # fmt: skip


def test_labels_are_read(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps(GOOD) + "\n\n" + json.dumps({**GOOD, "question": "q1"}) + "\n")
    assert load_labels(file) == make_labels(True, True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{**GOOD, "good": 1}], "labels.jsonl:1: expected an object"),
        ([GOOD, {"good": True}], "labels.jsonl:2: expected an object"),
        ([GOOD, GOOD], "labels.jsonl:2: a second label of question 'q0'"),
        ([[]], "labels.jsonl:1: expected an object"),
    ],
)
def test_an_invalid_label_is_named(tmp_path: Path, lines: list[object], message: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(UsageError) as caught:
        load_labels(file)
    assert message in str(caught.value)


def test_only_line_breaks_end_a_label(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    # JSON may hold the line separators of Unicode as they are.
    note = {**GOOD, "note": "so\u2028or so\x85"}
    file.write_text(json.dumps(note, ensure_ascii=False) + "\n", encoding="utf-8")
    assert load_labels(file) == make_labels(True)
    file.write_bytes(json.dumps(note, ensure_ascii=False).encode("latin-1", "replace"))
    with pytest.raises(UsageError, match=r"labels.jsonl:1: not UTF-8"):
        load_labels(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file of labels"):
        load_labels(tmp_path / "none.jsonl")
