"""The rows made for training match their README and share nothing with the reported manuals."""

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from experiments.manuals import SET, read_golds
from training.cross_reader.data import list_windows, normalize
from training.cross_reader.rows import GENERATED_FOLDER, OWN_FOLDER, parse_row

from fathom.documents.base import ParsedDocument
from fathom.documents.parse import parse_bytes

FOLDERS = (OWN_FOLDER, GENERATED_FOLDER)


@cache
def load_rows(folder: Path = OWN_FOLDER) -> list[dict[str, Any]]:
    rows = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines]
    return rows


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_row_is_read_and_its_answers_are_at_their_places(folder: Path) -> None:
    for raw in load_rows(folder):
        row = parse_row(raw)
        assert row is not None
        for answer in raw.get("answers", ()):
            start = answer["answer_start"]
            assert raw["context"][start : start + len(answer["text"])] == answer["text"]
        assert row.answerable is not True or row.spans, raw["question"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_text_is_asked_a_question_once(folder: Path) -> None:
    counted = Counter((raw["question"], raw["context"]) for raw in load_rows(folder))

    assert counted.most_common(1)[0][1] == 1


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_readme_names_every_package_and_the_number_of_rows(folder: Path) -> None:
    about = (folder / "README.md").read_text(encoding="utf-8")
    packages = {raw["package"] for raw in load_rows(folder)}

    assert {name for name in packages if name and f"`{name}`" not in about} == set()
    assert f"{len(load_rows(folder)):,} rows" in about


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_hardly_any_text_of_the_manuals_is_among_them(folder: Path) -> None:
    questions = {normalize(raw["question"]) for raw in load_rows(folder)}
    assert not questions & {normalize(gold.text) for gold in read_golds(SET)}
    reported = _collect_reported_windows()

    for text in {raw["context"] for raw in load_rows(folder)}:
        assert len(reported.intersection(list_windows(text))) <= _FEW, text


_FEW = 22
"""Runs of words that many manuals share: of a licence, of how to report, of a listing."""


@cache
def _collect_reported_windows() -> frozenset[str]:
    files = (SET / "documents").iterdir()
    return frozenset(window for file in files for window in _list_windows(file))


def _list_windows(file: Path) -> list[str]:
    parsed = parse_bytes(file.read_bytes(), file.name)
    return [
        window
        for document in parsed
        if isinstance(document, ParsedDocument)
        for window in list_windows(document.text)
    ]


@pytest.mark.parametrize("kind", ["how-to", "list", "unanswerable", "yes-no", "claim", "typo"])
def test_there_are_rows_of_every_kind_in_both_languages(kind: str) -> None:
    languages = {raw["source"][-2:] for raw in load_rows() if raw["kind"] == kind}

    assert languages == {"en", "id"}
