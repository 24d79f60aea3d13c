"""The pieces of a document, from which chunks are packed, and their cutter."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fathom.documents.base import TABLE_KINDS
from fathom.text import sentences
from fathom.types import Block, BlockKind, Document, Span

Count = Callable[[str], int]
"""A function that counts the tokens of a text."""
_LINES = re.compile(r"[^\n]+")
_CHARS_PER_TOKEN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A block, or a segment of a block that is too long.

    Attributes:
        span: The span of the piece in the document's text.
        tokens: The number of its tokens, at most the limit of the cutter; more only for a piece of
            one character.
        headings: The headings above it, outermost first; a heading is the last of its own.
        level: The depth of a heading, from 1; 0 for any other piece.
        run: The number of the list or table that the piece belongs to; `None` outside of both.
    """

    span: Span
    kind: BlockKind
    tokens: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    level: int = 0
    run: int | None = None


class Cutter:
    """A cutter of blocks at sentence ends, then at white space, then anywhere.

    A text has at least one token for ten characters, so that an endless "word" which a tokenizer
    takes for one unknown token is cut too.
    """

    def __init__(self, count: Count, most: int) -> None:
        self._count = count
        self._most = most

    def count_tokens(self, text: str) -> int:
        """Count the tokens of `text`, at least one for every ten characters."""
        return max(self._count(text), -(-len(text) // _CHARS_PER_TOKEN))

    def cut_document(self, document: Document) -> list[Piece]:
        """Return the pieces of a document in order.

        Every character but white space is in one piece.
        """
        pieces: list[Piece] = []
        run = 0
        lead = 0  # the tokens of the headings right before a block, which should share its chunk
        last_kind: BlockKind | None = None
        for block in fill_gaps(document):
            if block.kind != last_kind and not {block.kind, last_kind} <= TABLE_KINDS:
                run += 1
            last_kind = block.kind
            block_pieces = list(self._cut_block(document.text, block, run, lead))
            pieces.extend(block_pieces)
            size = sum(piece.tokens for piece in block_pieces)
            lead = lead + size if block.kind == "heading" else 0
        return pieces

    def _cut_block(self, text: str, block: Block, run: int, lead: int) -> Iterator[Piece]:
        """Yield the pieces of a block.

        Args:
            text: The text of the document.
            block: The block.
            run: The number of the list or table, if the block belongs to one.
            lead: The tokens of the headings right before, for which room is left if they take at
                most half of a chunk.
        """
        most = self._most - lead if lead <= self._most // 2 else self._most
        for span, tokens in self.cut_span(text, block.span, block.kind, most):
            yield Piece(
                span=span,
                kind=block.kind,
                tokens=tokens,
                headings=block.headings,
                page=block.page,
                level=max(len(block.headings), 1) if block.kind == "heading" else 0,
                run=run if block.kind in {"list_item", *TABLE_KINDS} else None,
            )

    def cut_span(self, text: str, span: Span, kind: BlockKind, most: int) -> list[tuple[Span, int]]:
        """Return the segments of a span with their tokens.

        Args:
            text: The text of the document.
            span: The span to cut.
            kind: The kind of its block; code is cut at line ends instead of sentence ends.
            most: The largest number of tokens of a segment; only a segment of one character may
                have more.
        """
        if span.end - span.start <= most * _CHARS_PER_TOKEN:
            tokens = self.count_tokens(span.cut(text))
            if tokens <= most:
                return [(span, tokens)]
        packed: list[tuple[Span, int]] = []
        for segment in _split_text(span.cut(text), kind):
            _pack(packed, self._halve(text, segment.shift(span.start), most), most)
        return packed

    def _halve(self, text: str, span: Span, most: int) -> list[tuple[Span, int]]:
        """Cut a span in halves until each segment fits, and return them with their tokens.

        The tokens of texts that are surely too long are not counted.
        """
        todo, done = [span], []
        while todo:
            segment = todo.pop()
            length = segment.end - segment.start
            if length <= most * _CHARS_PER_TOKEN:
                tokens = self.count_tokens(segment.cut(text))
                if tokens <= most or length == 1:
                    done.append((segment, tokens))
                    continue
            todo.extend(reversed(_split_in_half(text, segment)))
        return done


def _pack(packed: list[tuple[Span, int]], more: list[tuple[Span, int]], most: int) -> None:
    """Append segments to `packed`; each is joined with the last one if both fit into `most`."""
    for span, tokens in more:
        if packed and packed[-1][1] + tokens <= most:
            last, size = packed[-1]
            packed[-1] = (Span(last.start, span.end), size + tokens)
        else:
            packed.append((span, tokens))


def fill_gaps(document: Document) -> Iterator[Block]:
    """Yield the blocks in order, and text that no block covers as paragraphs between them."""
    at = 0
    headings: tuple[str, ...] = ()
    page: int | None = None
    for block in document.blocks:
        yield from _iter_uncovered(document.text, Span(at, block.span.start), headings, page)
        if block.span.cut(document.text).strip():
            yield block
        at, headings, page = block.span.end, block.headings, block.page
    yield from _iter_uncovered(document.text, Span(at, len(document.text)), headings, page)


def _iter_uncovered(
    text: str, gap: Span, headings: tuple[str, ...], page: int | None
) -> Iterator[Block]:
    """Yield the text in a gap between blocks as a paragraph; nothing for white space."""
    span = trim_span(text, gap)
    if span.start < span.end:
        yield Block(kind="paragraph", span=span, headings=headings, page=page)


def trim_span(text: str, span: Span) -> Span:
    """Return `span` without the white space at its ends; empty if there is nothing else."""
    piece = span.cut(text)
    start = span.start + len(piece) - len(piece.lstrip())
    return Span(start, max(start, span.start + len(piece.rstrip())))


def _split_text(text: str, kind: BlockKind) -> list[Span]:
    """Split a text into its sentences, or code into its lines."""
    if kind == "code":
        # Untrimmed lines would put white space at the ends of chunks.
        lines = (trim_span(text, Span(*line.span())) for line in _LINES.finditer(text))
        return [line for line in lines if line.start < line.end]
    # Chunks must end where they do in old indexes, so the later rule for marks of notes is off.
    return list(sentences.split(text, notes=False))


def _split_in_half(text: str, span: Span) -> list[Span]:
    """Split a span before its middle at a line end or white space, if there is one near it."""
    middle = (span.start + span.end) // 2
    floor = span.start + (span.end - span.start) // 4
    places = (text.rfind(mark, floor, middle) for mark in ("\n", " ", "\t"))
    cut = next((at for at in places if at > floor), middle)
    halves = (trim_span(text, Span(span.start, cut)), trim_span(text, Span(cut, span.end)))
    return [half for half in halves if half.start < half.end]
