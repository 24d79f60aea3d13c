"""Whole tables of which hits show a part."""

import asyncio
from dataclasses import replace

from tests.factories import chunk_of

from fathom.documents.base import Builder, ParsedDocument
from fathom.retrieval.table_lookup import TableLookup
from fathom.testing.doubles import run_context
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


def look_up(parsed: ParsedDocument, hits: list[Hit]) -> tuple[Hit, ...]:
    """Return the hits with whole tables."""
    document = Document(id="d1", text=parsed.text, path="", title="", blocks=parsed.blocks)

    async def run() -> tuple[Hit, ...]:
        with run_context() as context:
            return await TableLookup(lambda _: document)(hits, context)

    return asyncio.run(run())


def make_hit(parsed: ParsedDocument, first: int, last: int) -> Hit:
    """Return a hit over some blocks of a text."""
    start, end = parsed.blocks[first].span.start, parsed.blocks[last].span.end
    chunk = chunk_of(parsed, start=start, upto=end, ordinal=first)
    return Hit(chunk=chunk, score=1.0, rank=1, retriever="keyword")


def test_two_parts_of_a_table_give_the_whole_table_once() -> None:
    parsed = build(20)
    [hit] = look_up(parsed, [make_hit(parsed, 5, 9), make_hit(parsed, 14, 18)])
    kinds = [block.kind for block in hit.chunk.blocks]
    assert kinds == ["table_head", *["table_row"] * 20]
    assert hit.chunk.span.cut(parsed.text) == hit.chunk.text


def test_a_table_that_is_too_long_is_left_out() -> None:
    parsed = build(3000, crew="crew of unknown size")
    assert look_up(parsed, [make_hit(parsed, 5, 9)]) == ()


def test_hits_without_a_row_and_pages_of_the_web_have_no_table() -> None:
    parsed = build(20)
    web = make_hit(parsed, 5, 9)
    web = replace(web, chunk=replace(web.chunk, source="web"))
    assert look_up(parsed, [make_hit(parsed, 0, 0), web]) == ()
