from fathom.documents.base import Builder
from fathom.documents.blocks import block_at, head_of, within
from fathom.types import ChunkBlock, Document, Span


def document() -> Document:
    builder = Builder()
    builder.heading("Depots", 1)
    builder.paragraph("What is where.")
    for cells in (["Material", "Bay"], ["Emulsion", "5"], ["Sand", "7"]):
        builder.row(cells)
    builder.paragraph("The end.")
    parsed = builder.build()
    return Document(id="d", text=parsed.text, path="d.md", title="d", blocks=parsed.blocks)


def test_blocks_of_a_part_are_told_from_its_start_and_cut_at_its_ends() -> None:
    text = document().text
    span = Span(text.index("is where"), text.index("Sand") + 2)
    found = within(document().blocks, span)
    assert [(each.kind, span.cut(text)[each.start : each.end]) for each in found] == [
        ("paragraph", "is where."),
        ("table_head", "Material | Bay"),
        ("table_row", "Emulsion | 5"),
        ("table_row", "Sa"),
    ]
    assert within(document().blocks, Span(0, 6)) == (ChunkBlock("heading", 0, 6),)
    assert within((), Span(0, 6)) == ()


def test_the_head_of_a_row_is_the_one_of_its_own_table() -> None:
    whole = document()
    head = head_of(whole.blocks, whole.text.index("Sand"))
    assert head is not None
    assert head.span.cut(whole.text) == "Material | Bay"
    for other in ("Material", "What is", "The end"):
        assert head_of(whole.blocks, whole.text.index(other)) is None


def test_between_blocks_there_is_none() -> None:
    whole = document()
    assert block_at(whole.blocks, whole.text.index("\n")) is None
    assert block_at((), 0) is None
