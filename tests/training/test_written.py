"""The rows that we wrote are what their README says, and nothing of the reported manuals."""

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from experiments.manuals import SET, read
from training.cross_reader.data import plain, windows
from training.cross_reader.rows import OWN, row_of

from fathom.documents.base import ParsedDocument
from fathom.documents.parse import parse_bytes


@cache
def rows() -> list[dict[str, Any]]:
    with gzip.open(OWN / "rows.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_every_row_is_read_and_its_answers_stand_where_it_says() -> None:
    for raw in rows():
        row = row_of(raw)
        assert row is not None
        for answer in raw["answers"]:
            start = answer["answer_start"]
            assert raw["context"][start : start + len(answer["text"])] == answer["text"]
        assert row.answerable is not True or row.spans, raw["question"]


def test_a_question_is_asked_of_a_passage_once() -> None:
    counted = Counter((raw["question"], raw["context"]) for raw in rows())

    assert counted.most_common(1)[0][1] == 1


def test_the_readme_names_every_package_and_the_number_of_rows() -> None:
    about = (OWN / "README.md").read_text(encoding="utf-8")
    packages = {raw["package"] for raw in rows()}

    assert {name for name in packages if name and f"`{name}`" not in about} == set()
    assert f"{len(rows()):,} rows" in about


def test_no_question_and_hardly_a_stretch_of_the_manuals_is_among_them() -> None:
    asked = {plain(raw["question"]) for raw in rows()}
    assert not asked & {plain(gold.text) for gold in read(SET)}
    reported = {each for file in (SET / "documents").iterdir() for each in _windows(file)}

    for text in {raw["context"] for raw in rows()}:
        assert len(reported.intersection(windows(text))) <= _FEW, text


_FEW = 12
"""Words in a row that many manuals share: a licence's, a project's way to say how to report."""


def _windows(file: Path) -> list[str]:
    parsed = parse_bytes(file.read_bytes(), file.name)
    return [each for one in parsed if isinstance(one, ParsedDocument) for each in windows(one.text)]


@pytest.mark.parametrize("kind", ["how-to", "list", "unanswerable", "yes-no", "claim", "typo"])
def test_there_are_rows_of_every_kind_in_both_languages(kind: str) -> None:
    languages = {raw["source"][-2:] for raw in rows() if raw["kind"] == kind}

    assert languages == {"en", "id"}
