from fathom.documents.base import Builder
from fathom.documents.block_lookup import find_block, find_table_head, select_blocks
from fathom.types import ChunkBlock, Document, Span


def build_document() -> Document:
    builder = Builder()
    builder.add_heading("Depots", 1)
    builder.add_paragraph("What is where.")
    for cells in (["Material", "Bay"], ["Emulsion", "5"], ["Sand", "7"]):
        builder.add_row(cells)
    builder.add_paragraph("The end.")
    parsed = builder.build()
    return Document(id="d", text=parsed.text, path="d.md", title="d", blocks=parsed.blocks)


def test_blocks_of_a_range_are_numbered_from_its_start_and_cut_at_its_ends() -> None:
    text = build_document().text
    span = Span(text.index("is where"), text.index("Sand") + 2)
    blocks = select_blocks(build_document().blocks, span)
    assert [(block.kind, span.cut(text)[block.start : block.end]) for block in blocks] == [
        ("paragraph", "is where."),
        ("table_head", "Material | Bay"),
        ("table_row", "Emulsion | 5"),
        ("table_row", "Sa"),
    ]
    assert select_blocks(build_document().blocks, Span(0, 6)) == (ChunkBlock("heading", 0, 6),)
    assert select_blocks((), Span(0, 6)) == ()


def test_the_header_of_a_row_is_that_of_its_own_table() -> None:
    whole = build_document()
    head = find_table_head(whole.blocks, whole.text.index("Sand"))
    assert head is not None
    assert head.span.cut(whole.text) == "Material | Bay"
    for other in ("Material", "What is", "The end"):
        assert find_table_head(whole.blocks, whole.text.index(other)) is None


def test_between_blocks_there_is_no_block() -> None:
    whole = build_document()
    assert find_block(whole.blocks, whole.text.index("\n")) is None
    assert find_block((), 0) is None
