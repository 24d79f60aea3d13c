"""A record exists once its line does; torn and foreign lines are handled, never silently."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.evaluation.factories import make_abstention, make_ranking, make_record

from fathom.errors import UsageError
from fathom.evaluation.records import Record, Records


def write_records(file: Path, *entries: Record) -> Records:
    records = Records(file)
    for entry in entries:
        records.add(entry)
    return records


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "toy" / "naive.jsonl"
    entries = (
        make_record("q1", conflicts=("50 crowns",), wrong=("1 crown",), actions=("QDS", "R,AG")),
        make_abstention("q2", text="line\u2028separator\n", gold=(), answerable=False),
        make_ranking("q3", relevant={"d1": 2, "d2": 1}),
    )
    write_records(file, *entries)
    assert tuple(Records(file).by_question.values()) == entries


def test_a_torn_last_line_is_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "naive.jsonl"
    write_records(file, make_record("q1"), make_record("q2"))
    file.write_bytes(file.read_bytes()[:-30])
    again = Records(file)
    assert list(again.by_question) == ["q1"]
    again.add(make_record("q3"))
    assert list(Records(file).by_question) == ["q1", "q3"]


@pytest.mark.parametrize("line", ["{}", "[]", "no json", '{"question": "q"}', "3"])
def test_an_invalid_record_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "naive.jsonl"
    write_records(file, make_record("q1"))
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(UsageError, match=r"naive\.jsonl:2: not a record"):
        Records(file)


def test_relevant_documents_have_grades() -> None:
    with pytest.raises(TypeError, match="without grades"):
        Record.from_json({**asdict(make_record()), "relevant": ["d1"]})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": "foo"}, "status 'foo': expected answered, abstained, failed, ranked"),
        ({"seconds": "x"}, "seconds must be a number"),
        ({"confidence": "high"}, "confidence must be a number"),
        ({"usage": {"prompt_tokens": [1]}}, "prompt_tokens must be a number"),
        ({"usage": 3}, "usage and signals must be objects"),
    ],
)
def test_values_that_cannot_be_measured_are_refused(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        Record.from_json({**asdict(make_record()), **fields})
    assert str(caught.value) == message


def test_records_of_another_setup_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "naive.jsonl"
    write_records(file, make_record("q1"))
    with pytest.raises(UsageError, match="another index"):
        Records(file, setup="other")


def test_without_a_file_records_are_kept_in_memory() -> None:
    records = Records()
    records.add(make_record("q1"))
    assert list(records.by_question) == ["q1"]


def test_the_given_answer_is_the_short_one_or_else_the_whole() -> None:
    assert make_record().compared_text == "40 crowns"
    assert make_record(short_answer="").compared_text == "It costs 40 crowns."


def test_a_record_without_calibrated_confidence_has_that_of_its_draft() -> None:
    silent = replace(make_record("q"), confidence=None, signals={})
    assert silent.sureness is None
    assert replace(silent, signals={"sure": 0.0}).sureness == 0.5
    assert replace(silent, confidence=0.9, signals={"sure": 0.0}).sureness == 0.9
