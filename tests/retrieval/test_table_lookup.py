"""Whole tables of which hits show a part."""

from dataclasses import replace

from tests.factories import chunk_of

from fathom.documents.base import Builder, ParsedDocument
from fathom.retrieval.table_lookup import FoundTable, TableLookup
from fathom.types import Document, Hit


def build(rows: int, crew: str = "12") -> ParsedDocument:
    """Return a text with a table of so many rows."""
    builder = Builder()
    builder.add_paragraph("The ships of the harbour.")
    builder.add_row(["Ship", "Crew"], head=True)
    for at in range(rows):
        builder.add_row([f"Ship {at}", crew])
    builder.add_paragraph("All are in service.")
    return builder.build()


def make_document(parsed: ParsedDocument) -> Document:
    """Return a parsed text as a document."""
    return Document(id="d1", text=parsed.text, path="", title="", blocks=parsed.blocks)


def look_up(parsed: ParsedDocument, hits: list[Hit]) -> tuple[FoundTable, ...]:
    """Return the whole tables of hits."""
    return TableLookup(lambda _: make_document(parsed), lambda: "1")(hits)


def make_hit(parsed: ParsedDocument, first: int, last: int) -> Hit:
    """Return a hit over some blocks of a text."""
    start, end = parsed.blocks[first].span.start, parsed.blocks[last].span.end
    chunk = chunk_of(parsed, start=start, upto=end, ordinal=first)
    return Hit(chunk=chunk, score=1.0, rank=1, retriever="keyword")


def test_two_parts_of_a_table_give_the_whole_table_once() -> None:
    parsed = build(20)
    [table] = look_up(parsed, [make_hit(parsed, 5, 9), make_hit(parsed, 14, 18)])
    assert table.content.table.row_count == 20
    assert table.quote(7) == "Ship 7 | 12"
    assert table.locate_cells(7)[1].cut(parsed.text) == "12"


def test_a_table_is_read_again_only_when_the_index_has_changed() -> None:
    documents, revisions = [build(3, "7"), build(3, "9")], ["1", "1", "2"]
    lookup = TableLookup(lambda _: make_document(documents.pop(0)), lambda: revisions.pop(0))
    hits = [make_hit(documents[0], 2, 3)]
    texts = [lookup(hits)[0].content.table.get_cell(0, 1).text for _ in range(3)]
    assert texts == ["7", "7", "9"]


def test_a_table_that_is_too_long_is_left_out() -> None:
    parsed = build(3000, crew="crew of unknown size" * 30)
    assert look_up(parsed, [make_hit(parsed, 5, 9)]) == ()


def test_hits_without_a_row_and_pages_of_the_web_have_no_table() -> None:
    parsed = build(20)
    web = make_hit(parsed, 5, 9)
    web = replace(web, chunk=replace(web.chunk, source="web"))
    assert look_up(parsed, [make_hit(parsed, 0, 0), web]) == ()


def test_all_short_tables_of_a_hit_are_found() -> None:
    builder = Builder()
    for name in ("Ship", "Pier", "Crane"):
        builder.add_paragraph(f"Each {name.lower()} of the harbour.")
        builder.add_row([name, "Length"], head=True)
        builder.add_row([f"{name} 1", "12"])
        builder.add_row([f"{name} 2", "14"])
    parsed = builder.build()
    tables = look_up(parsed, [make_hit(parsed, 0, len(parsed.blocks) - 1)])
    assert [table.content.table.columns[0].name for table in tables] == ["Ship", "Pier", "Crane"]
