"""Puts one parsed document inside another: a book's chapters, a message's attachments."""

from fathom.documents.base import TABLE, Builder, Parsed


def add_parsed(builder: Builder, inner: Parsed, below: int = 0) -> None:
    """Add all blocks of `inner`.

    Args:
        builder: Where to.
        inner: What to add; its pages are dropped, they count in another document.
        below: Level of the heading it stands under; 0 for none.
    """
    for block in inner.blocks:
        text = block.span.cut(inner.text)
        if block.kind == "heading":
            builder.heading(text, below + max(1, len(block.headings)))
        elif block.kind == "list_item":
            builder.item(text)
        elif block.kind in TABLE:
            builder.row([text], head=block.kind == "table_head")
        elif block.kind == "code":
            builder.code(text)
        elif block.kind == "footnote":
            builder.footnote(text)
        else:
            builder.paragraph(text)
