from fathom.documents.base import Builder
from fathom.documents.merge import add_parsed


def inner() -> Builder:
    builder = Builder()
    builder.page(3)
    builder.heading("Fees", 1)
    builder.heading("Skips", 2)
    builder.paragraph("Per week.")
    builder.item("Ask", "1.")
    builder.row(["a", "b"])
    builder.code("x = 1\n  y")
    builder.footnote("Since 2019.", "1")
    return builder


def test_blocks_keep_text_and_kind_and_move_below_a_heading() -> None:
    outer = Builder()
    outer.heading("Mail", 1)
    add_parsed(outer, inner().build(), below=1)
    parsed = outer.build()
    source = inner().build()
    assert parsed.text == f"Mail\n\n{source.text}"
    assert [block.kind for block in parsed.blocks[1:]] == [block.kind for block in source.blocks]
    assert parsed.blocks[-1].headings == ("Mail", "Fees", "Skips")
    assert {block.page for block in parsed.blocks} == {None}


def test_without_a_heading_above_nothing_moves() -> None:
    outer = Builder()
    add_parsed(outer, inner().build())
    assert outer.build().text == inner().build().text
    assert outer.build().blocks[-1].headings == ("Fees", "Skips")
