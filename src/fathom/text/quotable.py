"""The quotable units of a chunk: its sentences, list items, table rows and lines of code."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fathom.text.sentences import split
from fathom.types import HEADS, BlockKind, Chunk, ChunkBlock, Span

# The label of a list item, which builders of documents put before its text.
_LABEL = re.compile(
    r"(?:[-*\u2022\u00b7\u2013]|\(?(?:\d{1,3}(?:\.\d{1,3}){0,9}|[a-zA-Z]|"
    r"[ivxlcIVXLC]{1,6})[.)])[ \t]+"
)
_BULLET = re.compile(r"[-*\u2022\u00b7][ \t]+(?=\S)")
_NOTE = re.compile(r"\[[^\]\s]{1,6}\][ \t]+")
_LINE = re.compile(r"[^\s\n][^\n]*")


class QuotableUnit(NamedTuple):
    """The smallest text that can be quoted: a sentence, a table row or a line of code.

    Attributes:
        kind: The kind of its block.
        block: The index of its block in the chunk, from 0.
        span: Its span in the chunk's text, without the label of a list item or mark of a note.
    """

    kind: BlockKind
    block: int
    span: Span


def list_units(chunk: Chunk) -> tuple[QuotableUnit, ...]:
    """Return all units of a chunk in order; headings and heads of tables have none.

    A chunk without known blocks counts as one paragraph.
    """
    return tuple(
        QuotableUnit(block.kind, place, span)
        for place, block in enumerate(list_blocks(chunk))
        for span in _list_spans(chunk.text, block)
    )


def list_blocks(chunk: Chunk) -> tuple[ChunkBlock, ...]:
    """Return the blocks of a chunk; if they are not known, the whole chunk as a paragraph."""
    return chunk.blocks or (ChunkBlock("paragraph", 0, len(chunk.text)),)


def strip_label(text: str, block: ChunkBlock) -> Span:
    """Return the span of a block without the label of a list item or the mark of a note."""
    mark = {"list_item": _LABEL, "footnote": _NOTE}.get(block.kind)
    match = mark.match(text, block.start, block.end) if mark else None
    return Span(match.end() if match else block.start, block.end)


def extend_to_units(chunk: Chunk, span: Span) -> Span | None:
    """Extend a span to whole units, within the block that has the largest part of it.

    Args:
        chunk: The chunk.
        span: A span in its text.

    Returns:
        The span of the units that overlap it; `None` if there are none, as in a heading.
    """
    overlapping = [
        unit
        for unit in list_units(chunk)
        if unit.span.start < span.end and span.start < unit.span.end
    ]
    if not overlapping:
        return None
    shares: dict[int, int] = {}
    for unit in overlapping:
        shared = min(unit.span.end, span.end) - max(unit.span.start, span.start)
        shares[unit.block] = shares.get(unit.block, 0) + shared
    most = max(shares, key=lambda block: shares[block])
    spans = [unit.span for unit in overlapping if unit.block == most]
    return Span(spans[0].start, spans[-1].end)


def extract_chunk(chunk: Chunk, span: Span) -> Chunk:
    """Return a span of a chunk as a new chunk with the same title and headings, without blocks."""
    return Chunk(
        id=f"{chunk.id}:{span.start}",
        document_id=chunk.document_id,
        text=span.cut(chunk.text),
        span=span.shift(chunk.span.start),
        ordinal=chunk.ordinal,
        title=chunk.title,
        headings=chunk.headings,
        path=chunk.path,
    )


def _list_spans(text: str, block: ChunkBlock) -> Iterator[Span]:
    """Yield the spans of a block's units; none for headings and heads of tables."""
    if block.kind in HEADS:
        return
    span = strip_label(text, block)
    if block.kind == "table_row":
        yield span
    elif block.kind == "code":
        for line in _LINE.finditer(text, span.start, span.end):
            yield Span(line.start(), line.start() + len(line[0].rstrip()))
    else:
        for sentence in split(span.cut(text)):
            bullet = _BULLET.match(text, sentence.start + span.start)
            yield Span(
                bullet.end() if bullet else sentence.start + span.start, sentence.end + span.start
            )
