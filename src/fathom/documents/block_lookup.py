"""Look-ups in a document's blocks: the blocks of a span, and the head of a table row."""

from bisect import bisect_right
from collections.abc import Sequence

from fathom.documents.base import TABLE_KINDS
from fathom.documents.packed_blocks import PackedBlocks
from fathom.types import Block, ChunkBlock, Span


def select_blocks(blocks: Sequence[Block], span: Span) -> tuple[ChunkBlock, ...]:
    """Return the blocks inside a span, in order; blocks at its ends are cut to the span.

    Args:
        blocks: All blocks of the document, in order.
        span: A span of the document's text.

    Returns:
        The blocks, with offsets that count from the start of the span.
    """
    if isinstance(blocks, PackedBlocks):
        return blocks.find_blocks(span)
    inner = []
    for index in range(max(_find_last_index(blocks, span.start), 0), len(blocks)):
        block = blocks[index]
        start, end = max(block.span.start, span.start), min(block.span.end, span.end)
        if block.span.start >= span.end:
            break
        if start < end:
            inner.append(ChunkBlock(block.kind, start - span.start, end - span.start))
    return tuple(inner)


def find_block(blocks: Sequence[Block], offset: int) -> Block | None:
    """Return the block with the character at `offset` of the document's text, or `None`."""
    index = _find_last_index(blocks, offset)
    return blocks[index] if index >= 0 and offset < blocks[index].span.end else None


def find_table_head(blocks: Sequence[Block], offset: int) -> Block | None:
    """Return the head of the table whose row is at `offset`; `None` for a head, or without one."""
    index = _skip_rows(blocks, _find_last_index(blocks, offset))
    head = blocks[index] if index >= 0 else None
    row = find_block(blocks, offset)
    if head is None or head.kind != "table_head" or row is None or row.kind not in TABLE_KINDS:
        return None
    return None if head == row else head


def _find_last_index(blocks: Sequence[Block], offset: int) -> int:
    """Return the index of the last block that begins at or before `offset`; -1 without one."""
    if isinstance(blocks, PackedBlocks):
        return blocks.find_last(offset)
    return bisect_right(blocks, offset, key=lambda block: block.span.start) - 1


def _skip_rows(blocks: Sequence[Block], index: int) -> int:
    """Return the index of the last block at or before an index that is no table row, or -1."""
    if isinstance(blocks, PackedBlocks):
        return blocks.skip_rows(index)
    while index >= 0 and blocks[index].kind == "table_row":
        index -= 1
    return index
