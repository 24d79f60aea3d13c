"""Entries of manuals in their layouts."""

import pytest
from tests.factories import chunk_of

from fathom.documents.base import Builder
from fathom.text.entries import list_entries, list_names


def list_pairs(builder: Builder) -> list[tuple[str, str]]:
    chunk = chunk_of(builder.build())
    return [
        (entry.head.cut(chunk.text), entry.body.cut(chunk.text)) for entry in list_entries(chunk)
    ]


@pytest.mark.parametrize(
    ("paragraph", "head", "body"),
    [
        ("-e, --edge=WIDTH\n    Keeps the edges.", "-e, --edge=WIDTH", "Keeps the edges."),
        ("--edge\nsisakan tepi", "--edge", "sisakan tepi"),
        ("--edge WIDTH: Keeps the edges.", "--edge WIDTH", "Keeps the edges."),
        ("max_height: Height of the grass.", "max_height", "Height of the grass."),
        ("speed rounds\nRounds in a minute.", "speed rounds", "Rounds in a minute."),
        ("Bilge \u2014 the lowest part of a ship.", "Bilge", "the lowest part of a ship."),
        ("MiB    Multiply by 1,048,576.", "MiB", "Multiply by 1,048,576."),
    ],
)
def test_a_paragraph_with_a_name_and_its_description_is_an_entry(
    paragraph: str, head: str, body: str
) -> None:
    builder = Builder()
    builder.add_paragraph(paragraph)
    assert list_pairs(builder) == [(head, body)]


def test_paragraphs_below_a_name_describe_it_up_to_the_next_name() -> None:
    builder = Builder()
    builder.add_paragraph("-e, --edge")
    builder.add_paragraph("Keeps the edges.")
    builder.add_paragraph("By default they are mown.")
    builder.add_paragraph("-q\nWorks quietly.")
    assert list_pairs(builder) == [
        ("-e, --edge", "Keeps the edges.\n\nBy default they are mown."),
        ("-q", "Works quietly."),
    ]


def test_a_paragraph_of_one_word_is_the_name_of_those_below() -> None:
    builder = Builder()
    for text in ("0", "All is mown.", "1", "Something is left.", "See below", "For more."):
        builder.add_paragraph(text)
    assert list_pairs(builder) == [
        ("0", "All is mown."),
        ("1", "Something is left.\n\nSee below\n\nFor more."),
    ]


def test_a_row_of_a_table_is_an_entry_named_by_its_first_cell() -> None:
    builder = Builder()
    builder.add_row(["Level", "Meaning"], head=True)
    builder.add_row(["info", "Usual messages."])
    assert list_pairs(builder) == [("info", "Usual messages.")]


def test_running_text_is_no_entry() -> None:
    builder = Builder()
    builder.add_paragraph("The default value for\nHEIGHT is five.")
    builder.add_paragraph("Cut the grass.\nThen rake it.")
    builder.add_heading("Options", 1)
    assert list_pairs(builder) == []


def test_the_names_of_an_entry_are_its_options_or_its_first_word() -> None:
    assert list_names("-e, --edge=WIDTH") == {"-e", "--edge"}
    assert list_names("speed rounds") == {"speed", "speed rounds"}
    assert list_names("") == frozenset()
