"""What of a chunk may be quoted: its sentences, list items, table rows and lines of code."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fathom.text.sentences import split
from fathom.types import HEADS, BlockKind, Chunk, ChunkBlock, Span

# A printed label of a list item, as the builders of documents put it before the text.
_LABEL = re.compile(
    r"(?:[-*\u2022\u00b7\u2013]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivxlcIVXLC]{1,6})[.)])[ \t]+"
)
_BULLET = re.compile(r"[-*\u2022\u00b7][ \t]+(?=\S)")
_NOTE = re.compile(r"\[[^\]\s]{1,6}\][ \t]+")
_LINE = re.compile(r"[^\s\n][^\n]*")


class Unit(NamedTuple):
    """The least that is quoted.

    Attributes:
        kind: Of its block.
        block: Which of the chunk's blocks it stands in, from 0.
        span: Where, in the chunk's text; without the label of a list item or the mark of a note.
    """

    kind: BlockKind
    block: int
    span: Span


def units(chunk: Chunk) -> tuple[Unit, ...]:
    """All units of a chunk in order; headings and heads of tables are none.

    Where the blocks are not known the whole chunk counts as one paragraph.
    """
    return tuple(
        Unit(block.kind, at, span)
        for at, block in enumerate(blocks_of(chunk))
        for span in _spans(chunk.text, block)
    )


def blocks_of(chunk: Chunk) -> tuple[ChunkBlock, ...]:
    """The chunk's blocks, or all of it as a paragraph."""
    return chunk.blocks or (ChunkBlock("paragraph", 0, len(chunk.text)),)


def unlabelled(text: str, block: ChunkBlock) -> Span:
    """A block without the label of its list item or the mark of its note."""
    mark = {"list_item": _LABEL, "footnote": _NOTE}.get(block.kind)
    found = mark.match(text, block.start, block.end) if mark else None
    return Span(found.end() if found else block.start, block.end)


def around(chunk: Chunk, span: Span) -> Span | None:
    """The units that hold a part of `span`, of the block that holds most of it.

    `None` where it stands in a heading.
    """
    held = [
        each for each in units(chunk) if each.span.start < span.end and span.start < each.span.end
    ]
    if not held:
        return None
    shares: dict[int, int] = {}
    for each in held:
        shared = min(each.span.end, span.end) - max(each.span.start, span.start)
        shares[each.block] = shares.get(each.block, 0) + shared
    most = max(shares, key=lambda block: shares[block])
    own = [each.span for each in held if each.block == most]
    return Span(own[0].start, own[-1].end)


def cut_out(chunk: Chunk, span: Span) -> Chunk:
    """A part of a chunk as a chunk of its own, under its headings."""
    return Chunk(
        id=f"{chunk.id}:{span.start}",
        document_id=chunk.document_id,
        text=span.cut(chunk.text),
        span=span.shifted(chunk.span.start),
        ordinal=chunk.ordinal,
        title=chunk.title,
        headings=chunk.headings,
        path=chunk.path,
    )


def _spans(text: str, block: ChunkBlock) -> Iterator[Span]:
    if block.kind in HEADS:
        return
    span = unlabelled(text, block)
    if block.kind == "table_row":
        yield span
    elif block.kind == "code":
        for line in _LINE.finditer(text, span.start, span.end):
            yield Span(line.start(), line.start() + len(line[0].rstrip()))
    else:
        for each in split(span.cut(text)):
            bullet = _BULLET.match(text, each.start + span.start)
            yield Span(bullet.end() if bullet else each.start + span.start, each.end + span.start)
