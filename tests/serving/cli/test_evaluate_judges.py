"""`fathom eval --judge`: grades in tables and files, reported faults, one-line mistakes."""

import json
from pathlib import Path

import pytest
from tests.scripted_server import Extractive, serve, status
from tests.serving.cli.test_app import CommandRunner, check_one_line, run
from tests.serving.cli.test_evaluate import SURE, toy_dataset

from fathom.llm.retry import RetryPolicy

__all__ = ["run", "toy_dataset"]

LOCAL = ("--set", "roles.reader=local", "--set", "llm.key_env=CANARY")


@pytest.fixture(autouse=True)
def _set_key(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_openai")
    monkeypatch.setenv("CANARY", "sk-canary")
    # The number of tries is a constant; a judge that fails should fail at once.
    monkeypatch.setattr("fathom.llm.role_models.RetryPolicy", lambda tries: RetryPolicy(tries=1))


def reply_yes(messages: list[dict[str, str]]) -> str:
    return json.dumps({"reasoning": "It agrees.", "score": 1})


def configure_model(url: str) -> tuple[str, ...]:
    return ("-m", "openai:m", "--set", f"llm.base_url={url}", *LOCAL, *SURE)


def test_judges_grade_once_and_are_compared_with_gold(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    with serve(Extractive(reply_yes)) as server:
        ask = (
            "eval",
            toy_dataset,
            "--strategy",
            "naive",
            *configure_model(server.base_url),
            "--records",
            "kept",
        )
        output = run(*ask, "--judge", "correctness,similarity")
        calls = server.calls
        evaluated = run(*ask, "--judge", "correctness,similarity", "--json").json
        assert server.calls == calls == 2
    assert "judge-correctness" in output.out
    assert "correctness agrees with the gold answers on " in output.out
    measures = evaluated["rows"][0]["measures"]
    assert measures["judge-correctness"] == 1
    assert measures["judge-failed"] == 0
    assert 0 <= measures["judge-similarity"] <= 1
    assert evaluated["rows"][0]["usage"]["llm_calls"] == 0
    assert len(evaluated["judges"]["judgements"]) == 4
    assert (tmp_path / "kept" / "toy" / "naive.judged.jsonl").read_text().count("\n") == 4


def test_a_failing_judge_is_counted_and_reported(run: CommandRunner, toy_dataset: str) -> None:
    with serve(status(500), status(500)) as server:
        ask = ("eval", toy_dataset, "--strategy", "naive", *configure_model(server.base_url))
        ran = run(*ask, "--judge", "conciseness", "--json")
    assert ran.code == 0
    assert ran.json["rows"][0]["measures"]["judge-failed"] == 1
    assert ran.json["rows"][0]["measures"]["judge-conciseness"] == 0
    assert "toy naive: conciseness gave no grade to 2 of 2 answers, which count 0" in ran.err
    assert "sk-canary" not in ran.out + ran.err


def test_labels_of_people_count_too(run: CommandRunner, toy_dataset: str, tmp_path: Path) -> None:
    label = {"judge": "similarity", "dataset": "toy", "strategy": "naive", "good": True}
    lines = [json.dumps({**label, "question": name}) for name in ("q1", "q2")]
    (tmp_path / "people.jsonl").write_text("\n".join(lines))
    ask = ("eval", toy_dataset, "--strategy", "naive", *SURE, "--judge", "similarity")
    agreements = run(*ask, "--labels", "people.jsonl", "--json").json["judges"]["agreements"]
    assert [(agreement["labels"], agreement["count"]) for agreement in agreements] == [
        ("people.jsonl", 2)
    ]
    (tmp_path / "others.jsonl").write_text(lines[0].replace('"toy"', '"toys"'))
    assert "others.jsonl has no label of a graded answer" in (
        run(*ask, "--labels", "others.jsonl").out
    )


def test_mistakes_are_reported_in_one_line_before_the_work(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    ask = ("eval", toy_dataset, "--strategy", "naive")
    check_one_line(run(*ask, "--judge", "wisdom"), 2, "judge 'wisdom'", "no-hallucination")
    check_one_line(run("eval", toy_dataset, "--judge", "correctness"), 2, "add --strategy")
    check_one_line(
        run(*ask, "--judge", "correctness"), 2, "judge correctness needs a language model"
    )
    check_one_line(run(*ask, "--judge-model", "openai:m"), 2, "add --judge NAME")
    check_one_line(run(*ask, "--judge", "similarity", "--labels", "no.jsonl"), 2, "no.jsonl")
    assert not (tmp_path / ".fathom").exists()


def test_a_judge_that_is_named_twice_grades_once(run: CommandRunner, toy_dataset: str) -> None:
    ask = ("eval", toy_dataset, "--strategy", "naive", *SURE, "--json")
    judges = run(*ask, "--judge", "similarity,similarity").json["judges"]
    graded = sorted(judgement["question"] for judgement in judges["judgements"])
    assert graded == ["q1", "q2"]
