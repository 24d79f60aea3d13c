"""The chunker that follows a document's structure."""

from collections.abc import Mapping

from fathom.documents.base import CELL_SEPARATOR, TABLE_KINDS, has_labels
from fathom.documents.chunking.base import build_chunk
from fathom.documents.chunking.pieces import Count, Cutter, Piece
from fathom.types import Chunk, Document, Span

_HEADER_CHARS = 300


class StructureChunker:
    """A chunker whose chunks follow blocks and sections.

    A section that is long enough gets a chunk of its own; short neighbours share one. A heading
    stays with the text that follows it, and a list or table in one chunk as far as it fits. A block
    longer than a chunk is cut at sentence ends, then at white space, then anywhere.

    Args:
        count: The function that counts the tokens of a text.
        max_tokens: The largest number of tokens of a chunk.
        min_tokens: The size from which a chunk is closed by a heading of its own level or above; a
            smaller chunk continues.
    """

    def __init__(self, count: Count, max_tokens: int = 200, min_tokens: int = 40) -> None:
        if not 0 < min_tokens <= max_tokens:
            raise ValueError(f"min_tokens {min_tokens} must be in 1..max_tokens ({max_tokens})")
        self._cutter = Cutter(count, max_tokens)
        self._max = max_tokens
        self._min = min_tokens

    @property
    def identity(self) -> Mapping[str, str]:
        """Name, version and sizes."""
        return {"chunker": "structure/2", "size": f"{self._min}-{self._max}"}

    def split(self, document: Document) -> tuple[Chunk, ...]:
        """Return the chunks of a document; none if it has only white space."""
        pieces = self._cutter.cut_document(document)
        headers = _map_header_rows(document.text, pieces)
        return tuple(
            build_chunk(
                document,
                Span(group[0].span.start, group[-1].span.end),
                ordinal,
                headings=group[0].headings + headers.get(group[0].span.start, ()),
                page=group[0].page,
            )
            for ordinal, group in enumerate(self._group_pieces(pieces))
        )

    def _group_pieces(self, pieces: list[Piece]) -> list[list[Piece]]:
        """Return the pieces in groups, one for each chunk."""
        ahead = _measure_runs(pieces)
        groups: list[list[Piece]] = []
        group: list[Piece] = []
        size = 0
        for at, piece in enumerate(pieces):
            if group and self._closes(group, size, piece, ahead[at]):
                headings = _take_trailing_headings(group)
                if sum(heading.tokens for heading in headings) + piece.tokens > self._max:
                    headings = []
                group = group[: len(group) - len(headings)]
                if group:
                    groups.append(group)
                group, size = headings, sum(heading.tokens for heading in headings)
            group.append(piece)
            size += piece.tokens
        return [*groups, group] if group else groups

    def _closes(self, group: list[Piece], size: int, piece: Piece, ahead: int) -> bool:
        """Return whether a chunk ends before a piece.

        Args:
            group: The pieces of the chunk so far.
            size: Their tokens.
            piece: The next piece.
            ahead: The tokens of the piece, or of the whole list or table that it begins.
        """
        if size + piece.tokens > self._max:
            return True
        if group[-1].kind == "heading":
            return False
        if piece.level:
            deeper = piece.level > len(group[0].headings)
            return size >= (self._max // 2 if deeper else self._min)
        # A list or table that fits into its own chunk is not split to fill this one.
        return size + ahead > self._max >= ahead and size >= self._min


def _measure_runs(pieces: list[Piece]) -> list[int]:
    """Return the tokens of each piece; for the first of a list or table those of the whole."""
    sizes = [piece.tokens for piece in pieces]
    totals: dict[int, int] = {}
    for piece in pieces:
        if piece.run is not None:
            totals[piece.run] = totals.get(piece.run, 0) + piece.tokens
    for at, piece in enumerate(pieces):
        first = at == 0 or pieces[at - 1].run != piece.run
        if piece.run is not None and first:
            sizes[at] = totals[piece.run]
    return sizes


def _take_trailing_headings(group: list[Piece]) -> list[Piece]:
    """Return the headings at the end of a group, which belong to the text that follows."""
    at = len(group)
    while at and group[at - 1].kind == "heading":
        at -= 1
    return group[at:]


def _map_header_rows(text: str, pieces: list[Piece]) -> dict[int, tuple[str, ...]]:
    """Return the first row of its table for each later row, by the offset of the later row.

    Rows that name their columns themselves ("name: value") are left out, and so are tables whose
    first row is long, or a record without being marked as the head.
    """
    headers: dict[int, tuple[str, ...]] = {}
    first: Piece | None = None
    for piece in pieces:
        if piece.kind not in TABLE_KINDS:
            continue
        if first is None or first.run != piece.run:
            first = piece
            continue
        header = first.span.cut(text)
        names = header.split(CELL_SEPARATOR)
        if first.kind != "table_head" and has_labels(names):
            continue
        if len(header) <= _HEADER_CHARS and not piece.span.cut(text).startswith(f"{names[0]}:"):
            headers[piece.span.start] = (header,)
    return headers
