"""Chunkers of a fixed size, for comparison with the literature."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

from typing_extensions import override

from fathom.documents.chunking.base import build_chunk
from fathom.documents.chunking.pieces import Count, Cutter, fill_gaps, trim_span
from fathom.types import Chunk, Document, Span

_WORD = re.compile(r"\S+")


class _FixedChunker(ABC):
    """A chunker into pieces of at most `size` units; neighbours share up to `overlap` units."""

    _name: ClassVar[str]

    def __init__(self, size: int, overlap: int) -> None:
        if not 0 <= overlap < size:
            raise ValueError(f"overlap {overlap} must be in 0..size - 1 ({size - 1})")
        self._size = size
        self._overlap = overlap

    @property
    def identity(self) -> Mapping[str, str]:
        """Name, version and sizes."""
        return {"chunker": self._name, "size": f"{self._size}/{self._overlap}"}

    def split(self, document: Document) -> tuple[Chunk, ...]:
        """Return the chunks, with white space trimmed at their ends; none of white space alone."""
        return _build_chunks(document, self._iter_spans(document.text))

    @abstractmethod
    def _iter_spans(self, text: str) -> Iterator[Span]: ...


class CharacterChunker(_FixedChunker):
    """A chunker into windows of `size` characters; each starts `size - overlap` after the last."""

    _name = "characters/2"

    def __init__(self, size: int = 1200, overlap: int = 200) -> None:
        super().__init__(size, overlap)

    @override
    def _iter_spans(self, text: str) -> Iterator[Span]:
        start = 0
        while start < len(text):
            end = min(start + self._size, len(text))
            yield Span(start, end)
            if end == len(text):
                return
            start += self._size - self._overlap


class TokenChunker(_FixedChunker):
    """A chunker into runs of whole words of at most `size` tokens.

    Args:
        count: The function that counts the tokens of a text; it is called for each word.
        size: The largest number of tokens of a chunk.
        overlap: The number of tokens shared with the chunk before, rounded down to whole words.
    """

    _name = "tokens/2"

    def __init__(self, count: Count, size: int = 500, overlap: int = 0) -> None:
        super().__init__(size, overlap)
        self._cutter = Cutter(count, size)

    @override
    def _iter_spans(self, text: str) -> Iterator[Span]:
        run: list[tuple[Span, int]] = []
        size = 0
        for word, tokens in self._iter_words(text):
            if run and size + tokens > self._size:
                yield Span(run[0][0].start, run[-1][0].end)
                run = self._take_overlap(run, tokens)
                size = sum(count for _, count in run)
            run.append((word, tokens))
            size += tokens
        if run:
            yield Span(run[0][0].start, run[-1][0].end)

    def _iter_words(self, text: str) -> Iterator[tuple[Span, int]]:
        """Yield the words of a text with their tokens; a word longer than a chunk in pieces."""
        sizes: dict[str, int] = {}
        for match in _WORD.finditer(text):
            word = match[0]
            # Most words of a text repeat, and counting is slow.
            if word not in sizes:
                sizes[word] = self._cutter.count_tokens(word) if len(word) < 50 else self._size + 1
            span = Span(match.start(), match.end())
            if sizes[word] <= self._size:
                yield span, sizes[word]
            else:
                yield from self._cutter.cut_span(text, span, "paragraph", self._size)

    def _take_overlap(self, run: list[tuple[Span, int]], coming: int) -> list[tuple[Span, int]]:
        """Return the words at the end of a chunk that the next chunk repeats.

        Args:
            run: The words of the chunk with their tokens.
            coming: The tokens of the next word, for which there must be room.
        """
        room = min(self._overlap, self._size - coming)
        at = len(run)
        while at and run[at - 1][1] <= room:
            at -= 1
            room -= run[at][1]
        return run[at:]


def _build_chunks(document: Document, spans: Iterator[Span]) -> tuple[Chunk, ...]:
    """Build a chunk at each span, with the headings and the page of the block where it begins."""
    blocks = list(fill_gaps(document))
    chunks: list[Chunk] = []
    at = 0
    for span in spans:
        inner = trim_span(document.text, span)
        if inner.start == inner.end:
            continue
        while at + 1 < len(blocks) and blocks[at].span.end <= inner.start:
            at += 1
        # Every text with more than white space has a block, because `fill_gaps` adds missing ones.
        headings, page = blocks[at].headings, blocks[at].page
        chunks.append(build_chunk(document, inner, len(chunks), headings=headings, page=page))
    return tuple(chunks)
