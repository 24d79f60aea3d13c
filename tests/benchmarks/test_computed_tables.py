"""The set of computed questions: its tables are read in every format, and its answers are right."""

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.computed_tables.__main__ import ask_questions, is_value, write_tables
from benchmarks.computed_tables.questions import make_questions, make_tables
from tests.factories import engine_at

from fathom.documents.base import ParsedDocument
from fathom.documents.parse import parse_bytes
from fathom.tables.rows import list_document_tables
from fathom.types import Document

SEED = 33
TABLES = make_tables(SEED)
QUESTIONS = make_questions(TABLES, SEED)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_format_keeps_heads_and_cells(tmp_path: Path, table: object) -> None:
    [made] = [other for other in TABLES if other is table]
    write_tables([made], tmp_path)
    parsed = next(parse_bytes((tmp_path / made.name).read_bytes(), made.name))
    assert isinstance(parsed, ParsedDocument)
    document = Document(id="d", text=parsed.text, path="", title="", blocks=parsed.blocks)
    [raw] = list_document_tables(document)
    assert list(raw.names) == made.spec["heads"]
    cells = [[cell.text for cell in row if cell.text] for row in raw.rows]
    assert cells == [[str(value) for value in row if value is not None] for row in made.rows]


def test_the_set_has_300_questions_of_which_60_have_no_answer() -> None:
    counts = Counter(bool(question.answers) for question in QUESTIONS)
    assert counts == {True: 240, False: 60}
    assert {question.was_looked_at for question in QUESTIONS} == {True, False}


@pytest.mark.parametrize("name", ["mountain-huts.html", "perpustakaan-keliling.md"])
def test_the_questions_over_a_table_are_answered_or_refused(tmp_path: Path, name: str) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    write_tables([table for table in TABLES if table.name == name], corpus)
    questions = [q for q in QUESTIONS if q.table == name and q.was_looked_at]
    with engine_at(tmp_path) as engine:
        engine.ingest([corpus])
        outcomes = list(ask_questions(engine, questions, "naive"))
    computed = [outcome for outcome in outcomes if outcome.answer.calculation]
    assert all(outcome.is_cited for outcome in computed if outcome.is_right)
    assert not [outcome.uncited_numbers for outcome in computed if outcome.uncited_numbers]
    right = sum(outcome.is_right for outcome in outcomes if outcome.question.answers)
    assert right >= sum(bool(question.answers) for question in questions) - 1


@pytest.mark.parametrize(
    ("text", "expected", "same"),
    [
        ("1,234.5 t", "1234.5000", True),
        ("1.234,5 ton", "1234.5000", True),
        ("1234", "1235.0000", False),
        ("Alma", "alma", True),
        ("2 of 9", "2", False),
    ],
)
def test_values_are_compared_as_numbers_or_names(text: str, expected: str, same: bool) -> None:
    assert is_value(text, expected) == same
