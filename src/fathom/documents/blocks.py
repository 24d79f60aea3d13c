"""Which blocks of a document stand in a part of it, and which row names the columns of a table."""

from bisect import bisect_right
from collections.abc import Sequence

from fathom.documents.base import TABLE
from fathom.types import Block, ChunkBlock, Span


def within(blocks: Sequence[Block], span: Span) -> tuple[ChunkBlock, ...]:
    """The blocks that stand in `span`, in order, those at its ends as far as they do.

    Args:
        blocks: All of the document; only those in the span are looked at one by one.
        span: In the document's text; the blocks' places are told from its start.
    """
    found = []
    for at in range(max(_last_from(blocks, span.start), 0), len(blocks)):
        block = blocks[at]
        start, end = max(block.span.start, span.start), min(block.span.end, span.end)
        if block.span.start >= span.end:
            break
        if start < end:
            found.append(ChunkBlock(block.kind, start - span.start, end - span.start))
    return tuple(found)


def block_at(blocks: Sequence[Block], offset: int) -> Block | None:
    """The block that the character at `offset` of the document's text stands in."""
    at = _last_from(blocks, offset)
    return blocks[at] if at >= 0 and offset < blocks[at].span.end else None


def head_of(blocks: Sequence[Block], offset: int) -> Block | None:
    """The row that names the columns of the table row at `offset`; `None` where there is none."""
    at = _last_from(blocks, offset)
    while at >= 0 and blocks[at].kind == "table_row":
        at -= 1
    head = blocks[at] if at >= 0 else None
    row = block_at(blocks, offset)
    if head is None or head.kind != "table_head" or row is None or row.kind not in TABLE:
        return None
    return None if head == row else head


def _last_from(blocks: Sequence[Block], offset: int) -> int:
    """The place of the last block that begins at `offset` or before; -1 where none does."""
    return bisect_right(blocks, offset, key=lambda block: block.span.start) - 1
