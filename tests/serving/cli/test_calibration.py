"""`fathom calibrate` and `fathom feedback`, as they are typed."""

import json
from pathlib import Path

import pytest
from tests.making import QUESTION
from tests.serving.cli.test_app import Run, corpus, one_line, run  # noqa: F401 - fixtures

from fathom.calibration.certificate import certify

LOOSE = ("--set", "ask.min_confidence=0")


@pytest.fixture
def questions(run: Run, tmp_path: Path) -> str:  # noqa: F811
    """Thirty questions about thirty documents, two thirds of which are answered as told."""
    texts = {f"d{at}": f"Permit number {at} costs {at + 3} crowns." for at in range(30)}
    (tmp_path / "all.jsonl").write_text(
        "".join(
            json.dumps({"_id": name, "title": name, "text": text}) + "\n"
            for name, text in texts.items()
        )
    )
    run("ingest", "all.jsonl")
    rows = []
    for at in range(30):
        asked = f"What does permit number {at} cost?"
        said = run("ask", asked, *LOOSE, "--json").json["short_answer"] if at < 2 else "Permit"
        rows.append({"_id": str(at), "text": asked, "answers": [said if at % 3 else "nothing"]})
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "questions.jsonl"


def test_a_calibration_is_made_shown_and_used(run: Run, questions: str) -> None:  # noqa: F811
    made = run("calibrate", questions, "--max-error", "0.4", *LOOSE, "--json").json
    assert [certificate["max_error"] for certificate in made["certificates"]] == [
        0.01,
        0.02,
        0.05,
        0.1,
        0.4,
    ]
    assert (made["questions"], made["answered"]) == (30, 30)
    assert {"ece", "aurc", "risk", "wrong"} <= set(made)
    told = run("calibrate", questions, *LOOSE)
    assert "errors at most" in told.out
    assert "never" in told.out

    state = run("status", "--json").json["calibrations"]["adaptive"]
    assert state["source"] == "own questions"
    assert state["made_of"] == {"questions": "questions", "count": 30}
    assert (
        "adaptive is calibrated on own questions (count 30, questions questions)"
        in run("status").out
    )

    answer = run("ask", "What does permit number 7 cost?", *LOOSE, "--json").json
    assert answer["calibration"] == "own questions"
    assert (
        "(calibrated on own questions)" in run("ask", "What does permit number 7 cost?", *LOOSE).out
    )
    assert run("doctor", *LOOSE).code == 0
    sick = run("doctor")
    assert sick.code != 0
    assert "ask.min_confidence was 0.0, is 0." in sick.out + sick.err


def test_a_rate_that_is_not_certified_is_a_usage_error(run: Run, questions: str) -> None:  # noqa: F811
    run("calibrate", questions, *LOOSE)
    one_line(run("ask", "What is it?", "--max-error", "0.05", *LOOSE), 2, "certifies no such rate")
    one_line(run("ask", "What is it?", "--max-error", "2"), 2, "ask.max_error")


def test_without_questions_or_feedback_there_is_nothing_to_learn_from(run: Run) -> None:  # noqa: F811
    one_line(run("calibrate"), 2, "name a file of questions, or add --feedback")


def test_feedback_says_what_comes_of_it(run: Run, corpus: Path) -> None:  # noqa: F811
    run("ingest", str(corpus))
    trace = run("ask", QUESTION, "--json").json["trace_id"]
    said = run("feedback", trace[:12], "--right")
    assert said.out == "kept: right; given again to this question while its quote stands\n"
    again = run("ask", QUESTION)
    assert "verified by a person" in again.out
    assert run("feedback", trace, "--wrong").out.startswith("kept: wrong; `fathom calibrate")
    told = run("feedback", trace, "--answer", "seventy", "--json").json
    assert (told["said"], told["again"]) == ("answer", None)
    file = str(corpus / "hours.txt")
    one_line(
        run("feedback", trace, "--answer", "at nine", "--source", file),
        2,
        f"'at nine' stands in {file}, but not as an answer to 'How much",
    )
    other = run("ask", "When does the library open?", "--json").json["trace_id"]
    told = run("feedback", other, "--answer", "at nine", "--source", file, "--json").json
    assert [citation["path"] for citation in told["again"]["citations"]] == [file]
    one_line(run("feedback", trace), 2, "give one of right, wrong")
    one_line(run("calibrate", "--feedback"), 2, "at least 20")


def test_certificates_are_not_made_of_what_is_too_little() -> None:
    assert certify([], max_error=0.05).threshold is None
