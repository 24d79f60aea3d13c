"""Table cells, found by the row and the column that a question names."""

from dataclasses import replace

import pytest
from tests.factories import chunk_of

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.tables import TableCorrector
from fathom.documents.base import Builder
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Hit

MATERIALS = (
    ("Material", "Stored at", "Shelf life"),
    ("Cold asphalt", "Depot North, bay 3", "9 months"),
    ("Bitumen emulsion", "Depot North, bay 5", "6 months"),
    ("Road salt", "Depot South", "for ever"),
)


def make_table_hit(rows: tuple[tuple[str, ...], ...], after: str = "") -> Hit:
    builder = Builder()
    for at, row in enumerate(rows):
        builder.add_row(list(row), head=at == 0)
    builder.add_paragraph(after)
    return Hit(chunk=chunk_of(builder.build()), score=1.0, rank=1, retriever="hybrid")


def read_best(question: str, hit: Hit, answer: str, score: float = 0.6) -> tuple[str, float]:
    """Return the best span after the reader found `answer`; the cells themselves score low."""

    def script(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, answer, score)

    look = ReadHit(hit=hit, reading=script(question, hit.chunk), trust=1.0)
    session = ScriptedCrossReader(script).open_session(question)
    best = TableCorrector()(Question(question), look, session).reading.spans[0]
    return best.span.cut(hit.chunk.text), best.score


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("Where is bitumen emulsion stored?", "Depot North, bay 5"),
        ("What is the shelf life of the emulsion of bitumen?", "6 months"),
        ("Which shelf life has the salt for roads?", "for ever"),
    ],
)
def test_the_cell_of_the_named_row_and_column_is_the_answer(question: str, cell: str) -> None:
    assert read_best(question, make_table_hit(MATERIALS), "bay 3") == (cell, 0.6)


def test_without_a_named_column_the_reader_chooses_in_the_row() -> None:
    question = "Where do I find bitumen emulsion?"
    assert (
        read_best(question, make_table_hit(MATERIALS), "Depot North, bay 5")[0]
        == "Depot North, bay 5"
    )


def test_without_one_named_row_the_readers_answer_stays() -> None:
    assert read_best("Where is it stored?", make_table_hit(MATERIALS), "bay 3")[0] == "bay 3"
    assert (
        read_best("Where are salt and asphalt stored?", make_table_hit(MATERIALS), "bay 3")[0]
        == "bay 3"
    )


def test_an_answer_outside_the_table_stays() -> None:
    hit = make_table_hit(MATERIALS, after="All is stored here.")
    assert read_best("Where is bitumen emulsion stored?", hit, "here") == ("here", 0.6)


@pytest.mark.parametrize(
    ("question", "cell"),
    [("How many crates left Merrow in May?", "17"), ("What did IT use in June?", "8")],
)
def test_names_that_are_frequent_words_count_where_they_have_a_capital(
    question: str, cell: str
) -> None:
    names = ("Place", "April", "MAY", "June")
    hit = make_table_hit((names, ("Merrow", "12", "17", "9"), ("IT", "3", "5", "8")))
    assert read_best(question, hit, "12")[0] == cell


def test_rows_of_sheets_name_their_columns_themselves() -> None:
    rows = (
        ("Service", "Fee"),
        ("Service: Skip on a street", "Fee: 48", "Days: 3"),
        ("Service: Digging up a street", "Fee: 310", "Days: 15"),
    )
    question = "What is the fee for digging up a street?"
    assert read_best(question, make_table_hit(rows), "3")[0] == "310"


def test_the_header_of_a_table_that_began_in_an_earlier_chunk_is_used() -> None:
    start = len(" | ".join(MATERIALS[0])) + 1
    builder = Builder()
    for at, row in enumerate(MATERIALS):
        builder.add_row(list(row), head=at == 0)
    headings = ("Depots", " | ".join(MATERIALS[0]))
    chunk = replace(chunk_of(builder.build(), start=start), headings=headings)
    hit = Hit(chunk=chunk, score=1.0, rank=1, retriever="hybrid")
    assert read_best("How is the shelf life of bitumen emulsion?", hit, "bay 3")[0] == "6 months"
