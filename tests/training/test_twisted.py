"""Questions on paragraphs of other sets find their paragraphs, and their answers stand there."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from training.cross_reader.rows import TWISTED, parse_row
from training.cross_reader.twisted import TWISTED_FOLDER, hash_text, read_twisted

TEXT = "The bridge was opened in 1931 and widened in 1974."


def write_lines(path: Path, *items: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(item) + "\n" for item in items)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    paragraph = {"source": "squad-dev", "title": "Bridge", "context": TEXT, "question": "Why?"}
    write_lines(tmp_path / "reader-train" / "rows.jsonl.gz", paragraph)
    return tmp_path


def test_a_question_is_read_with_its_paragraph_and_its_answer(data: Path) -> None:
    key = hash_text(TEXT)
    write_lines(
        data / "twisted" / "questions.jsonl.gz",
        {"paragraph": key, "question": "When was it closed?", "answer": None},
        {"paragraph": key, "question": "When was it made wider?", "answer": [45, 49]},
        {"paragraph": "0" * 16, "question": "Of a text that is not there?", "answer": None},
    )

    rows = [parse_row(raw) for raw in read_twisted(data, data / "twisted")]

    closed, widened = (row for row in rows if row is not None)
    assert (closed.group, closed.text, closed.answerable) == (TWISTED, TEXT, False)
    assert [TEXT[start:end] for start, end in widened.spans] == ["1974"]
    assert widened.title == "Bridge"


def test_the_questions_hold_no_paragraph_and_none_stands_twice() -> None:
    with gzip.open(TWISTED_FOLDER / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines]

    assert {tuple(sorted(question)) for question in questions} == {
        ("answer", "paragraph", "question")
    }
    assert len({(q["paragraph"], q["question"]) for q in questions}) == len(questions)
    assert f"{len(questions):,} questions" in (TWISTED_FOLDER / "README.md").read_text("utf-8")
