"""Every record gets one grade or fault; both count and are stored."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluation.factories import make_abstention, make_failure, make_record

from fathom.errors import UsageError
from fathom.evaluation.grading import JUDGE_MEASURES, Judgement, Judgements, add_grades, grade_all
from fathom.evaluation.judges import PROMPTS, Grade, LLMAnswerJudge, NoGrade
from fathom.evaluation.rows import score_system
from fathom.llm.base import Completion
from fathom.llm.call import RoleModel
from fathom.llm.faults import ModelFault
from fathom.llm.retry import RetryPolicy
from fathom.testing.doubles import ScriptedChat, completion
from fathom.usage import Usage

DOWN = ModelFault("openai:m is down", Usage(llm_calls=1), retriable=False)
RECORDS = [
    make_record("q1"),
    make_record("q2", answer="Much. [1]"),
    make_abstention("q3"),
    make_failure("q4"),
]


def make_opinion(score: float) -> Completion:
    return completion(json.dumps({"reasoning": "", "score": score}), usage=Usage(llm_calls=1))


def make_judge(*outcomes: Completion | Exception, name: str = "correctness") -> LLMAnswerJudge:
    model = RoleModel(chat=ScriptedChat(*outcomes), retry=RetryPolicy(tries=1))
    return LLMAnswerJudge(name=name, model=model, prompt=PROMPTS[name])


def test_only_open_cases_are_judged_and_rules_settle_the_rest() -> None:
    progress: list[int] = []
    grades = grade_all(RECORDS, make_judge(make_opinion(1), make_opinion(0.5)), Judgements(),
                      on_question=progress.append)  # fmt: skip
    assert [grade.score for grade in grades] == [1, 0.5, 0, 0]
    assert [isinstance(e.outcome, Grade) and e.outcome.by_rule for e in grades] == [0, 0, 1, 1]
    assert progress == [1, 2, 3, 4]
    assert grades[0].usage["llm_calls"] == 1
    assert grades[2].usage == {}


def test_a_grade_is_stored_and_a_fault_is_retried(tmp_path: Path) -> None:
    file = tmp_path / "toy" / "naive.judged.jsonl"
    first = grade_all(RECORDS, make_judge(make_opinion(1), DOWN), Judgements(file))
    assert first[1].outcome == NoGrade(fault="unavailable", reason="openai:m is down")
    again = grade_all(RECORDS, make_judge(make_opinion(0.7)), Judgements(file))
    assert [judgement.score for judgement in again] == [1, 0.7, 0, 0]
    assert grade_all(RECORDS, make_judge(), Judgements(file)) == again
    file.write_text(file.read_text() + '{"half')
    assert grade_all(RECORDS, make_judge(), Judgements(file)) == again


def test_another_answer_prompt_or_judge_is_graded_again(tmp_path: Path) -> None:
    file = tmp_path / "naive.judged.jsonl"
    grade_all(RECORDS[:1], make_judge(make_opinion(1)), Judgements(file))
    changed = [replace(RECORDS[0], answer="It costs 50 crowns. [1]", short_answer="50 crowns")]
    (judgement,) = grade_all(changed, make_judge(make_opinion(0)), Judgements(file))
    assert judgement.score == 0
    (judgement,) = grade_all(
        RECORDS[:1], make_judge(make_opinion(0.3), name="conciseness"), Judgements(file)
    )
    assert judgement.score == 0.3


@pytest.mark.parametrize("line", ["{}", "[]", "no", '{"outcome": {"score": 1}}'])
def test_an_invalid_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "naive.judged.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(UsageError, match=r"naive\.judged\.jsonl:1: not a judgement"):
        Judgements(file)


def test_rows_show_the_mean_with_faults_as_0_and_their_share() -> None:
    grades = grade_all(RECORDS, make_judge(make_opinion(1), DOWN), Judgements())
    row = add_grades(score_system(RECORDS), grades)
    assert row.measures["judge-correctness"] == 0.25
    assert row.measures["judge-failed"] == 0.25
    low, high = row.intervals["judge-correctness"]
    assert low < 0.25 < high
    assert row.measures["F1"] == score_system(RECORDS).measures["F1"]
    assert {"judge-correctness", "judge-failed"} <= {*JUDGE_MEASURES}


def test_rows_without_judges_and_of_other_systems_are_unchanged() -> None:
    grades = grade_all(RECORDS[2:], make_judge(), Judgements())
    others = [replace(make_record(), strategy="maf")]
    row = score_system(others)
    assert add_grades(row, grades) is row
    assert add_grades(row, []) is row


def test_judgements_are_stored_as_json() -> None:
    from dataclasses import asdict

    for judgement in grade_all(RECORDS, make_judge(make_opinion(1), DOWN), Judgements()):
        assert (
            Judgement.from_json(json.loads(json.dumps(asdict(judgement), allow_nan=False)))
            == judgement
        )
