"""The question set on real manuals matches its README, and so does its grading."""

import json
from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from experiments.manuals import (
    SET,
    Gold,
    contains_words,
    format_page,
    format_saved,
    format_table,
    grade_answer,
    read_golds,
    read_grades,
)
from tests.evaluation.factories import make_citation, make_record

from fathom.documents.base import ParsedDocument
from fathom.documents.parse import parse_bytes
from fathom.evaluation.datasets import load

QUESTIONS = list(read_golds(SET))
SUFFIXES = {
    *(".1", ".5", ".8", ".txt", ".html", ".md", ".rst", ".pdf", ".docx"),
    *(".xlsx", ".csv", ".json", ".odt", ".pptx", ".epub", ".eml"),
}


@cache
def read_text(name: str) -> str:
    parsed = list(parse_bytes((SET / "documents" / name).read_bytes(), name))
    assert all(isinstance(document, ParsedDocument) for document in parsed), name
    return "\n".join(document.text for document in parsed if isinstance(document, ParsedDocument))


@pytest.mark.parametrize("gold", QUESTIONS, ids=lambda gold: gold.id)
def test_expected_answers_occur_in_the_named_documents(gold: Gold) -> None:
    assert gold.answerable == bool(gold.items) == bool(gold.documents) == bool(gold.quotes)
    for quote in gold.quotes:
        assert any(contains_words(read_text(name), quote) for name in gold.documents), quote
    for item in () if gold.yes_or_no else gold.items:
        assert any(
            contains_words(read_text(name), option) for option in item for name in gold.documents
        ), item


def test_the_counts_of_the_readme_hold() -> None:
    kinds = Counter(gold.kind for gold in QUESTIONS)
    assert len({gold.text for gold in QUESTIONS}) == len(QUESTIONS) == 187
    assert sum(kinds[kind] for kind in ("fact", "number", "table", "definition")) == 77
    assert {kind: kinds[kind] for kind in ("how-to", "list", "yes-no", "comparison")} == {
        "how-to": 25,
        "list": 12,
        "yes-no": 19,
        "comparison": 12,
    }
    assert kinds["typo"] + kinds["keywords"] == 16
    assert kinds["unanswerable"] == sum(not gold.answerable for gold in QUESTIONS) == 26
    assert Counter(gold.language for gold in QUESTIONS) == {"en": 122, "id": 65}


def test_the_corpus_has_many_formats_and_is_small() -> None:
    files = list((SET / "documents").iterdir())
    assert {file.suffix for file in files} == SUFFIXES
    assert len(files) == 61
    assert sum(file.stat().st_size for file in files) < 6_000_000


def test_each_document_has_its_source_and_licence_in_the_readme() -> None:
    rows = [
        row.split("|")[1]
        for row in (SET / "README.md").read_text("utf-8").split("## Documents")[1].splitlines()
        if row.startswith("| `")
    ]
    patterns = [pattern.strip(" `") for row in rows for pattern in row.split(",")]
    for file in (SET / "documents").iterdir():
        assert any(file.match(pattern) for pattern in patterns), file.name


def test_the_documents_match_their_checksums() -> None:
    lines = (SET / "documents.sha256").read_text("utf-8").splitlines()
    sums = {name: checksum for checksum, name in (line.split() for line in lines)}
    files = (SET / "documents").iterdir()
    assert sums == {file.name: sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_set_loads_as_an_evaluation_data_set() -> None:
    loaded = load(SET)
    assert len(loaded.questions) == len(QUESTIONS)
    assert len(loaded.documents) == 61


def test_the_baseline_grades_every_question_and_stores_no_texts() -> None:
    rows = [json.loads(line) for line in (SET / "baseline.jsonl").read_text("utf-8").splitlines()]
    assert [row["_id"] for row in rows] == [gold.id for gold in QUESTIONS]
    keys = {"_id", "status", "tentative", "confidence", "rules", "eye"}
    assert {key for row in rows for key in row} == keys
    assert all(row["status"] == "answered" for row in rows if row.get("tentative"))


def make_gold(**fields: Any) -> Gold:
    return Gold(
        **{
            "id": "m1",
            "text": "Where?",
            "kind": "fact",
            "language": "en",
            "answerable": True,
            "items": (("bay 5", "fifth bay"),),
            "quotes": ("It is stored in bay 5.",),
            "documents": ("a.txt",),
            **fields,
        }
    )


def make_answer(short: str, **fields: Any) -> Any:
    return make_record(short_answer=short, answer=short, **fields)


def test_a_right_answer_has_the_gold_words_and_cites_the_right_document() -> None:
    assert grade_answer(make_gold(), make_answer("in the fifth bay")) == "right"
    assert (
        grade_answer(make_gold(), make_answer("in bay 5", citations=(make_citation("d9"),)))
        == "partly"
    )
    assert grade_answer(make_gold(), make_answer("in bay 50")) == "wrong"


def test_the_quote_alone_counts_as_a_part_of_the_answer() -> None:
    quoting = (make_citation("d1", quote="It is stored in bay 5."),)
    assert (
        grade_answer(make_gold(items=(("five",),)), make_answer("there", citations=quoting))
        == "partly"
    )


def test_a_list_is_right_when_it_is_complete() -> None:
    both = make_gold(items=(("bay 5",), ("bay 6",)))
    assert grade_answer(both, make_answer("bay 5 and bay 6")) == "right"
    assert grade_answer(both, make_answer("bay 6")) == "partly"
    assert grade_answer(both, make_answer("bay 7")) == "wrong"


def test_yes_or_no_must_come_first() -> None:
    closed = make_gold(kind="yes-no", items=(("tidak",),), quotes=())
    assert grade_answer(closed, make_answer("Tidak, sudah tutup")) == "right"
    assert grade_answer(closed, make_answer("ya")) == "wrong"
    assert grade_answer(closed, make_answer("sudah tutup, tidak buka")) == "wrong"


def test_refusing_an_unanswerable_question_is_right() -> None:
    refused = make_record(status="abstained", short_answer="", answer="")
    assert grade_answer(make_gold(), refused) == "refused"
    nothing = make_gold(answerable=False, items=(), quotes=(), documents=())
    assert grade_answer(nothing, refused) == "right"
    assert grade_answer(nothing, make_answer("bay 5")) == "wrong"


def test_markup_of_options_is_ignored_in_comparisons() -> None:
    assert contains_words(r"\fB\-k\fP, \fB\-\-keep\fP", "--keep")
    assert contains_words("Use -k.", "-k")
    assert not contains_words("the k", "-k")


def test_tables_count_every_question_once() -> None:
    golds = [make_gold(), make_gold(id="m2", answerable=False, kind="unanswerable", language="id")]
    lines = list(format_table(golds, {"m1": "partly", "m2": "right"}))
    assert "| fact                   |   1 |       0 |       1 |       0 |       0 |" in lines
    assert "| no answer              |   1 |       1 |       0 |       0 |       0 |" in lines


def test_the_review_page_shows_gold_answer_and_quote() -> None:
    text = "\n".join(format_page([make_gold()], {"m1": make_answer("in bay 5")}, {"m1": "right"}))
    for part in ("m1", "bay 5 / fifth bay", "a.txt: It is stored in bay 5.", "quote", "right"):
        assert part in text


def test_a_stored_run_holds_ids_and_grades_only(tmp_path: Path) -> None:
    (tmp_path / "eye").write_text("m1 partly it is the sixth\n")
    eye = read_grades(tmp_path / "eye")
    (line,) = format_saved([make_gold()], {"m1": make_answer("in bay 5")}, {"m1": "right"}, eye)
    assert json.loads(line) | {"confidence": 0} == {
        "_id": "m1",
        "status": "answered",
        "confidence": 0,
        "rules": "right",
        "eye": "partly",
    }
