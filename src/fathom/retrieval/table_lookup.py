"""The whole tables of which hits show a part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fathom.documents.base import CELL_SEPARATOR, TABLE_KINDS
from fathom.documents.block_lookup import select_blocks
from fathom.jsonable import Json
from fathom.runs.context import RunContext
from fathom.types import Block, ChunkBlock, Document, Hit, Span

_MOST_CHARACTERS = 40_000
"""The characters of a table, at most; a trace keeps its text."""
_MOST_TABLES = 3


@dataclass(frozen=True, slots=True)
class TableLookup:
    """The lookup of whole tables in the index.

    Attributes:
        find_document: Returns the index's document for an id; not called in a replay.
    """

    find_document: Callable[[str], Document | None]

    async def __call__(self, hits: Sequence[Hit], context: RunContext) -> tuple[Hit, ...]:
        """Return the best hits with a row of a table, their chunks widened to the whole table.

        A table that is too long, or whose document is gone, is left out.
        """
        rows = [(hit, span) for hit in hits if (span := _find_row(hit)) is not None]
        request = [[hit.chunk.document_id, span.start, span.end] for hit, span in rows]

        async def ask() -> Json:
            return await context.run_in_thread(
                lambda: [self._look_up(hit.chunk.document_id, span) for hit, span in rows]
            )

        records = await context.scope.aobserve("tables", request, ask) if rows else []
        tables = {
            (hit.chunk.document_id, record["start"]): _widen_hit(hit, record)
            for (hit, _), record in reversed(list(zip(rows, records, strict=True)))
            if record is not None
        }
        return tuple(tables.values())[::-1][:_MOST_TABLES]

    def _look_up(self, document_id: str, row: Span) -> Json:
        document = self.find_document(document_id)
        blocks = _list_table_blocks(document.blocks, row.start) if document else []
        if document is None or not blocks:
            return None
        span = Span(blocks[0].span.start, blocks[-1].span.end)
        if span.end - span.start > _MOST_CHARACTERS:
            return None
        return {
            "start": span.start,
            "text": span.cut(document.text),
            "blocks": [list(block) for block in select_blocks(tuple(blocks), span)],
        }


def _find_row(hit: Hit) -> Span | None:
    """Return the place in its document of the first row of a table in a hit."""
    chunk = hit.chunk
    rows = (block for block in chunk.blocks if block.kind == "table_row")
    row = next(rows, None) if chunk.source == "corpus" else None
    return Span(row.start, row.end).shift(chunk.span.start) if row is not None else None


def _list_table_blocks(blocks: Sequence[Block], start: int) -> list[Block]:
    """Return the blocks of the table around a place."""
    at = next((at for at, block in enumerate(blocks) if block.span.end > start), len(blocks))
    if at == len(blocks) or blocks[at].kind not in TABLE_KINDS:
        return []
    first = last = at
    while first and blocks[first].kind == "table_row" and blocks[first - 1].kind in TABLE_KINDS:
        first -= 1
    while last + 1 < len(blocks) and blocks[last + 1].kind == "table_row":
        last += 1
    return list(blocks[first : last + 1])


def _widen_hit(hit: Hit, record: Json) -> Hit:
    """Return a hit whose chunk is a whole table."""
    text, start = record["text"], record["start"]
    chunk = replace(
        hit.chunk,
        id=f"{hit.chunk.id}:table",
        text=text,
        span=Span(start, start + len(text)),
        blocks=tuple(ChunkBlock(*block) for block in record["blocks"]),
        # The head of a table that began in an earlier chunk is a part of the table now.
        headings=tuple(name for name in hit.chunk.headings if CELL_SEPARATOR not in name),
    )
    return replace(hit, chunk=chunk)
