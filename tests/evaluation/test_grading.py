"""Every record gets a grade or a fault, once; both count, and both survive the process."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluation.making import abstained, failed, record

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
RECORDS = [record("q1"), record("q2", answer="Much. [1]"), abstained("q3"), failed("q4")]


def opinion(score: float) -> Completion:
    return completion(json.dumps({"reasoning": "", "score": score}), usage=Usage(llm_calls=1))


def judge_of(*outcomes: Completion | Exception, name: str = "correctness") -> LLMAnswerJudge:
    model = RoleModel(chat=ScriptedChat(*outcomes), retry=RetryPolicy(tries=1))
    return LLMAnswerJudge(name=name, model=model, prompt=PROMPTS[name])


def test_who_is_asked_and_what_a_rule_settles() -> None:
    told: list[int] = []
    grades = grade_all(RECORDS, judge_of(opinion(1), opinion(0.5)), Judgements(),
                      on_question=told.append)  # fmt: skip
    assert [grade.score for grade in grades] == [1, 0.5, 0, 0]
    assert [isinstance(e.outcome, Grade) and e.outcome.by_rule for e in grades] == [0, 0, 1, 1]
    assert told == [1, 2, 3, 4]
    assert grades[0].usage["llm_calls"] == 1
    assert grades[2].usage == {}


def test_a_grade_is_kept_and_a_fault_is_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "toy" / "naive.judged.jsonl"
    first = grade_all(RECORDS, judge_of(opinion(1), DOWN), Judgements(file))
    assert first[1].outcome == NoGrade(fault="unavailable", reason="openai:m is down")
    again = grade_all(RECORDS, judge_of(opinion(0.7)), Judgements(file))
    assert [each.score for each in again] == [1, 0.7, 0, 0]
    assert grade_all(RECORDS, judge_of(), Judgements(file)) == again
    file.write_text(file.read_text() + '{"half')
    assert grade_all(RECORDS, judge_of(), Judgements(file)) == again


def test_another_answer_prompt_or_judge_is_graded_anew(tmp_path: Path) -> None:
    file = tmp_path / "naive.judged.jsonl"
    grade_all(RECORDS[:1], judge_of(opinion(1)), Judgements(file))
    changed = [replace(RECORDS[0], answer="It costs 50 crowns. [1]", short_answer="50 crowns")]
    (found,) = grade_all(changed, judge_of(opinion(0)), Judgements(file))
    assert found.score == 0
    (found,) = grade_all(RECORDS[:1], judge_of(opinion(0.3), name="conciseness"), Judgements(file))
    assert found.score == 0.3


@pytest.mark.parametrize("line", ["{}", "[]", "no", '{"outcome": {"score": 1}}'])
def test_a_line_that_is_no_judgement_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "naive.judged.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(UsageError, match=r"naive\.judged\.jsonl:1: not a judgement"):
        Judgements(file)


def test_rows_show_the_mean_with_faults_as_0_and_their_share() -> None:
    grades = grade_all(RECORDS, judge_of(opinion(1), DOWN), Judgements())
    row = add_grades(score_system(RECORDS), grades)
    assert row.measures["judge-correctness"] == 0.25
    assert row.measures["judge-failed"] == 0.25
    low, high = row.intervals["judge-correctness"]
    assert low < 0.25 < high
    assert row.measures["F1"] == score_system(RECORDS).measures["F1"]
    assert {"judge-correctness", "judge-failed"} <= {*JUDGE_MEASURES}


def test_a_row_without_judges_and_one_of_another_system_stay_as_they_are() -> None:
    grades = grade_all(RECORDS[2:], judge_of(), Judgements())
    others = [replace(record(), strategy="maf")]
    row = score_system(others)
    assert add_grades(row, grades) is row
    assert add_grades(row, []) is row


def test_judgements_are_json_and_back() -> None:
    from dataclasses import asdict

    for each in grade_all(RECORDS, judge_of(opinion(1), DOWN), Judgements()):
        assert Judgement.from_json(json.loads(json.dumps(asdict(each), allow_nan=False))) == each
