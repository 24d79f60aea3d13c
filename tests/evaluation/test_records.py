"""A record is there when its line is; a torn or foreign line is neither lost nor taken silently."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.evaluation.making import abstained, ranked, record

from fathom.errors import UsageError
from fathom.evaluation.records import Record, Records


def written(file: Path, *made: Record) -> Records:
    records = Records(file)
    for each in made:
        records.add(each)
    return records


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "toy" / "naive.jsonl"
    made = (
        record("q1", conflicts=("50 crowns",), wrong=("1 crown",), actions=("QDS", "R,AG")),
        abstained("q2", text="line\u2028separator\n", gold=(), answerable=False),
        ranked("q3", relevant={"d1": 2, "d2": 1}),
    )
    written(file, *made)
    assert tuple(Records(file).by_question.values()) == made


def test_a_torn_last_line_is_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "naive.jsonl"
    written(file, record("q1"), record("q2"))
    file.write_bytes(file.read_bytes()[:-30])
    again = Records(file)
    assert list(again.by_question) == ["q1"]
    again.add(record("q3"))
    assert list(Records(file).by_question) == ["q1", "q3"]


@pytest.mark.parametrize("line", ["{}", "[]", "no json", '{"question": "q"}', "3"])
def test_what_is_no_record_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "naive.jsonl"
    written(file, record("q1"))
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(UsageError, match=r"naive\.jsonl:2: not a record"):
        Records(file)


def test_relevant_documents_have_grades() -> None:
    with pytest.raises(TypeError, match="without grades"):
        Record.from_json({**asdict(record()), "relevant": ["d1"]})


def test_records_of_another_setup_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "naive.jsonl"
    written(file, record("q1"))
    with pytest.raises(UsageError, match="another index"):
        Records(file, setup="other")


def test_without_a_file_they_are_kept_in_memory() -> None:
    records = Records()
    records.add(record("q1"))
    assert list(records.by_question) == ["q1"]


def test_what_was_said_is_the_short_answer_or_else_the_whole_one() -> None:
    assert record().compared_text == "40 crowns"
    assert record(short_answer="").compared_text == "It costs 40 crowns."


def test_a_record_without_a_calibrated_confidence_is_as_sure_as_its_draft() -> None:
    silent = replace(record("q"), confidence=None, signals={})
    assert silent.sureness is None
    assert replace(silent, signals={"sure": 0.0}).sureness == 0.5
    assert replace(silent, confidence=0.9, signals={"sure": 0.0}).sureness == 0.9
