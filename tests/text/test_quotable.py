"""Quotable units: whole sentences, items, rows or lines, but no headings."""

import pytest
from tests.factories import chunk_of

from fathom.documents.base import Builder
from fathom.text.quotable import extend_to_units, list_units
from fathom.types import Chunk, Span


def make_chunk() -> Chunk:
    builder = Builder()
    builder.add_heading("Pasal 11", 1)
    builder.add_paragraph("One is. Two are.")
    builder.add_item("Brush the sides. Then wait.", "3.")
    builder.add_item("compact it", "-")
    builder.add_row(["Material", "Bay"], head=True)
    builder.add_row(["Emulsion", "5"])
    builder.add_code("make\nmake install")
    builder.add_footnote("Measured at the mast.", "1")
    return chunk_of(builder.build())


def test_units_are_the_smallest_quotes() -> None:
    chunks = make_chunk()
    assert [unit.span.cut(chunks.text) for unit in list_units(chunks)] == [
        "One is.",
        "Two are.",
        "Brush the sides.",
        "Then wait.",
        "compact it",
        "Emulsion | 5",
        "make",
        "make install",
        "Measured at the mast.",
    ]


@pytest.mark.parametrize(
    ("span_text", "quoted"),
    [
        ("Two", "Two are."),
        ("is. Two", "One is. Two are."),
        ("5", "Emulsion | 5"),
        ("3. Brush", "Brush the sides."),
        ("Two are.\n\n3. Br", "Two are."),
        ("install", "make install"),
    ],
)
def test_a_span_is_extended_to_the_units_of_its_block(span_text: str, quoted: str) -> None:
    chunks = make_chunk()
    start = chunks.text.index(span_text)
    span = extend_to_units(chunks, Span(start, start + len(span_text)))
    assert span is not None
    assert span.cut(chunks.text) == quoted


@pytest.mark.parametrize("span_text", ["Pasal 11", "Bay"])
def test_headings_and_column_names_are_not_quoted(span_text: str) -> None:
    chunks = make_chunk()
    start = chunks.text.index(span_text)
    assert extend_to_units(chunks, Span(start, start + len(span_text))) is None


def test_without_structure_the_units_are_sentences() -> None:
    bare = Chunk(id="d#0", document_id="d", text="One is. Two are.", span=Span(0, 16), ordinal=0)
    assert [unit.span.cut(bare.text) for unit in list_units(bare)] == ["One is.", "Two are."]


def test_bullets_in_a_paragraph_are_no_part_of_their_sentences() -> None:
    builder = Builder()
    builder.add_paragraph("Bring:\n- a pen\n* a book - or two.")
    chunk = chunk_of(builder.build())
    assert [unit.span.cut(chunk.text) for unit in list_units(chunk)] == [
        "Bring:",
        "a pen",
        "a book - or two.",
    ]
