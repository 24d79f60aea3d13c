"""The sample corpus keeps what its README says."""

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fathom.documents.base import Parsed
from fathom.documents.parse import parse_bytes

SAMPLES = Path(__file__).parent.parent / "samples"
CORPUS = SAMPLES / "corpus"
FORMATS = {
    *(".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".epub", ".eml"),
    *(".html", ".md", ".rst", ".txt", ".csv", ".json", ".jsonl"),
}
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines()
]


@cache
def text(name: str) -> str:
    parsed = list(parse_bytes((CORPUS / name).read_bytes(), name))
    assert all(isinstance(one, Parsed) for one in parsed), name
    return "\n".join(one.text for one in parsed if isinstance(one, Parsed))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["_id"])
def test_each_answer_stands_in_the_documents_named(question: dict[str, Any]) -> None:
    documents = question["metadata"]["relevant"]
    assert question["metadata"]["answerable"] == bool(question["answers"]) == bool(documents)
    for answer in question["answers"]:
        assert any(answer in text(name) for name in documents), answer
    for name in documents:  # each one is needed
        assert any(answer in text(name) for answer in question["answers"]), name


def test_contradictions_have_one_reading_per_document() -> None:
    both = [one for one in QUESTIONS if one["metadata"]["type"] == "contradiction"]
    assert len(both) == 2
    for question in both:
        old, new = question["metadata"]["relevant"]
        first, second = question["answers"]
        assert f"{first} crowns" in text(old)
        assert f"{second} crowns" not in text(old)
        assert f"Fee in crowns: {second}" in text(new)
        assert f"Fee in crowns: {first}" not in text(new)


def test_counts() -> None:
    assert len({question["_id"] for question in QUESTIONS}) == 40
    assert Counter(question["metadata"]["answerable"] for question in QUESTIONS)[False] == 8
    assert Counter(question["metadata"]["language"] for question in QUESTIONS)["id"] == 10


def test_the_demo_has_one_question_of_each_kind() -> None:
    shown = [one["metadata"]["show"] for one in QUESTIONS if "show" in one["metadata"]]
    assert sorted(shown) == ["conflict", "factoid", "indonesian", "procedure", "unanswerable"]


def test_every_format_is_there_and_all_is_small() -> None:
    files = list(CORPUS.iterdir())
    assert {file.suffix for file in files} == FORMATS
    assert 15 <= len(files) <= 30
    assert sum(file.stat().st_size for file in files) < 500_000
    assert all(text(file.name) for file in files)


def test_the_binary_documents_can_be_made_again_byte_for_byte(tmp_path: Path) -> None:
    command = [sys.executable, str(SAMPLES / "make.py"), str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    made = sorted(tmp_path.iterdir())
    assert len(made) == 11
    for file in made:
        assert file.read_bytes() == (CORPUS / file.name).read_bytes(), file.name
