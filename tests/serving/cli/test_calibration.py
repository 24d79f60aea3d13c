"""`fathom calibrate` and `fathom feedback`, as they are typed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.calibration.test_law import CALIBRATION
from tests.factories import QUESTION
from tests.serving.cli.test_app import CommandRunner, check_one_line, corpus, run  # noqa: F401 - fixtures

from fathom.calibration.certificate import Certificate, certify
from fathom.serving.cli.calibration import format_calibration

LOOSE = ("--set", "ask.min_confidence=0")


@pytest.fixture
def questions(run: CommandRunner, tmp_path: Path) -> str:  # noqa: F811
    """Write thirty questions about thirty documents; two thirds are answered as labelled."""
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
        question = f"What does permit number {at} cost?"
        answer = run("ask", question, *LOOSE, "--json").json["short_answer"] if at < 2 else "Permit"
        rows.append(
            {"_id": str(at), "text": question, "answers": [answer if at % 3 else "nothing"]}
        )
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "questions.jsonl"


def test_a_calibration_is_made_shown_and_used(run: CommandRunner, questions: str) -> None:  # noqa: F811
    learned = run("calibrate", questions, "--max-error", "0.4", *LOOSE, "--json").json
    assert [certificate["max_error"] for certificate in learned["certificates"]] == [
        0.01,
        0.02,
        0.05,
        0.1,
        0.4,
    ]
    assert (learned["questions"], learned["answered"]) == (30, 30)
    assert {"ece", "aurc", "risk", "wrong"} <= set(learned)
    output = run("calibrate", questions, "--max-error", "0.024", *LOOSE)
    assert "errors at most" in output.out
    assert "\n              2%      never" in output.out
    assert "\n            2.4%      never" in output.out
    assert "  a certified rate holds with a probability of 95%\n" in output.out
    loose = run("calibrate", questions, "--delta", "0.2", *LOOSE)
    assert "  a certified rate holds with a probability of 80%\n" in loose.out
    assert "never" in output.out

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


def test_an_uncertified_rate_is_a_usage_error(run: CommandRunner, questions: str) -> None:  # noqa: F811
    run("calibrate", questions, *LOOSE)
    check_one_line(
        run("ask", "What is it?", "--max-error", "0.05", *LOOSE), 2, "certifies no such rate"
    )
    check_one_line(run("ask", "What is it?", "--max-error", "2"), 2, "ask.max_error")


def test_without_questions_or_feedback_there_is_nothing_to_learn_from(run: CommandRunner) -> None:  # noqa: F811
    check_one_line(run("calibrate"), 2, "name a file of questions, or add --feedback")


def test_feedback_reports_its_effect(run: CommandRunner, corpus: Path) -> None:  # noqa: F811
    run("ingest", str(corpus))
    trace = run("ask", QUESTION, "--json").json["trace_id"]
    output = run("feedback", trace[:12], "--right")
    assert output.out == (
        "stored: right; this question gets it again while its quote is in the documents\n"
    )
    again = run("ask", QUESTION)
    assert "verified by a person" in again.out
    assert run("feedback", trace, "--wrong").out.startswith("stored: wrong; `fathom calibrate")
    reply = run("feedback", trace, "--answer", "seventy", "--json").json
    assert (reply["said"], reply["again"]) == ("answer", None)
    file = str(corpus / "hours.txt")
    check_one_line(
        run("feedback", trace, "--answer", "at nine", "--source", file),
        2,
        f"{file} holds 'at nine', but not as an answer to 'How much",
    )
    other = run("ask", "When does the library open?", "--json").json["trace_id"]
    reply = run("feedback", other, "--answer", "at nine", "--source", file, "--json").json
    assert [citation["path"] for citation in reply["again"]["citations"]] == [file]
    for options in ((), ("--right", "--wrong"), ("--wrong", "--answer", "seventy")):
        message = "give one of --right, --wrong and --answer TEXT"
        check_one_line(run("feedback", trace, *options), 2, message)
    check_one_line(run("calibrate", "--feedback"), 2, "at least 20")


def test_the_status_says_how_likely_a_certified_rate_holds() -> None:
    calibration = replace(
        CALIBRATION,
        certificates=(
            Certificate(max_error=0.024, delta=0.2, threshold=0.9, questions=10, answered=5),
        ),
    )
    assert format_calibration(calibration).endswith(
        ": at most 2.4% wrong from 0.90 on (50% answered); each with a probability of 80%"
    )
    bare = replace(calibration, certificates=())
    assert format_calibration(bare).endswith(": no rate of errors certified")


def test_too_few_answers_give_no_certificate() -> None:
    assert certify([], max_error=0.05).threshold is None


def test_an_index_without_the_documents_of_a_data_set_is_refused(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    run("ingest", str(corpus))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "corpus.jsonl").write_text('{"_id": "d1", "title": "t", "text": "x"}\n')
    (tmp_path / "other" / "queries.jsonl").write_text(
        json.dumps({"_id": "q", "text": QUESTION, "answers": ["x"]}) + "\n"
    )
    (tmp_path / "other" / "qrels.tsv").write_text("")
    check_one_line(run("calibrate", "other"), 2, "other: the index holds none of its documents")
