"""Pruned evidence: the sentences of the hits that a language model is shown.

Tokens of prompt are most of the price of a language model, and most sentences of a chunk do not
bear on the question. The cross-reader scores every sentence, list item, row and line of code of the
hits; the best are kept within a number of tokens, in the order of the document. Structure is kept:
a unit comes with the heading above it, a row with the head of its table, a list item with the line
that leads to its list (with the whole list if the question asks for several things or for steps),
code with the sentence before it.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import fsum

from fathom.llm.tokens import count_tokens
from fathom.models.reading import CrossReader, ReadingSession
from fathom.question.question import Question
from fathom.text.list_runs import find_items, find_lead_start, find_runs
from fathom.text.quotable import QuotableUnit, list_blocks, list_units
from fathom.types import HEADS, BlockKind, Chunk, Hit, Span

CHUNK_TOKENS = 120
"""The tokens of one chunk for roles that see several chunks, each by itself."""
_MOST_CODE_LINES = 12
"""The lines of code that a sentence with a colon takes along."""
_MOST_LEADS = 2
"""The parts above a unit that are read with it: a heading and the line that leads to it."""
_LINK = 1.0
"""The addition to the score of a piece whose document a good piece of another one names."""
_LINKING = 5
"""The best pieces that may name another document."""
_SHORTEST_TITLE = 4
"""The characters of a title that counts as named."""
_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")
_SPANS = 8
"""The possible answers of a chunk that count for the sentences that hold them."""


@dataclass(frozen=True, slots=True)
class PrunedHit:
    """A hit with the parts of it that are kept.

    Attributes:
        hit: The hit.
        spans: The parts in the chunk's text, in order, without overlap: units, headings and heads
            of tables.
    """

    hit: Hit
    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        """The kept parts; what stands in one line of the chunk stands in one line here."""
        text = self.hit.chunk.text
        lines: list[str] = []
        end = 0
        for span in self.spans:
            part = " ".join(span.cut(text).split())
            is_same_line = bool(lines) and text[end : span.start].strip(" \t") == ""
            lines[-1:] = [f"{lines[-1]} {part}"] if is_same_line else [*lines[-1:], part]
            end = span.end
        return "\n".join(lines)

    @property
    def context(self) -> str:
        """The kept parts below the title and the headings of the chunk."""
        return "\n".join(filter(None, (get_head(self.hit), self.text)))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A unit of a hit with what it is not understood without.

    Attributes:
        place: The place of the hit, from 0.
        unit: The span of the unit.
        before: The parts that stand above the unit and lead to it.
        after: The parts below the unit that it introduces.
    """

    place: int
    unit: Span
    before: tuple[Span, ...]
    after: tuple[Span, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        """All parts of the piece, in the order of the text."""
        return (*self.before, self.unit, *self.after)


def _count_tokens(hit: Hit, spans: Collection[Span]) -> int:
    """Return the likely number of tokens of some parts of a hit and the headings above them."""
    text = hit.chunk.text
    return count_tokens(hit.chunk.breadcrumb) + sum(count_tokens(span.cut(text)) for span in spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePruner:
    """A pruner of hits by the cross-reader's score of each sentence; deterministic.

    Attributes:
        pairs: The cross-reader.
        limit: The size of the kept parts and what stands above them, at most.
        measure: Returns the size of a hit with some parts; by default the likely number of its
            tokens with the headings above it.
        share: The share of the best score that a unit needs to be kept, in [0, 1].
    """

    pairs: CrossReader
    limit: int
    share: float = 0.0
    measure: Callable[[Hit, Collection[Span]], int] = _count_tokens

    def prune_each(self, question: Question, hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
        """Return every hit with its own best parts, in the order of the hits.

        For roles that compare hits: each may take all the tokens.

        Args:
            question: The question.
            hits: The hits.
        """
        # A hit without any unit has nothing to prune.
        return tuple(
            item for hit in hits for item in self.prune(question, [hit]) or keep_whole([hit])
        )

    def prune(self, question: Question, hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
        """Return the hits with the parts that are kept; a hit without any is left out.

        Documents stand in the order of their best hit; the hits of one document stand in the order
        of its text.

        Args:
            question: The question.
            hits: The hits, best first.
        """
        return _order_hits(self._select_spans(question, hits), hits)

    def excerpt(self, question: Question, hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
        """Return the same parts with the hits in the order of their best part.

        For a person or a program that reads from the top and may stop early.
        """
        spans = self._select_spans(question, hits)
        return tuple(keep_parts(hits[place], spans[place]) for place in spans)

    def _select_spans(self, question: Question, hits: Sequence[Hit]) -> dict[int, set[Span]]:
        """Return the spans to keep by the place of their hit, the one with the best part first."""
        whole_lists = question.form == "several" or question.asks_steps
        pieces = _drop_repeated(
            [
                piece
                for place, hit in enumerate(hits)
                for piece in _list_pieces(place, hit.chunk, whole_lists=whole_lists)
            ],
            hits,
        )
        scores = _score_pieces(pieces, hits, self.pairs.open_session(question.text, spans=_SPANS))
        scores = _add_links(scores, pieces, hits)
        floor = self.share * max(scores, default=0.0)
        # Equal scores keep the order of the hits.
        order = sorted(range(len(pieces)), key=lambda place: (-scores[place], place))
        best = [pieces[place] for place in order if scores[place] >= floor]
        return self._fill_budget(best, hits)

    def _fill_budget(self, pieces: Sequence[_Piece], hits: Sequence[Hit]) -> dict[int, set[Span]]:
        """Return the spans to keep by the place of their hit, taken from the best pieces on.

        A piece that does not fit is left out, and the next is tried. The first piece is kept in any
        case, so that a question with hits never comes without evidence.
        """
        kept: dict[int, set[Span]] = {}
        sizes: dict[int, int] = {}
        free = self.limit
        for piece in pieces:
            spans = kept.get(piece.place, set()).union(piece.spans)
            size = self.measure(hits[piece.place], spans)
            cost = size - sizes.get(piece.place, 0)
            if cost <= free or not kept:
                kept[piece.place], sizes[piece.place] = spans, size
                free -= cost
        return kept


def get_head(hit: Hit) -> str:
    """Return the title and the headings above a chunk in one line; empty if it has none."""
    return hit.chunk.context.removesuffix(hit.chunk.text).rstrip("\n")


def keep_parts(hit: Hit, spans: Collection[Span]) -> PrunedHit:
    """Return a hit with some of its parts, of overlapping ones the larger."""
    return PrunedHit(hit, _merge_spans(spans))


def keep_whole(hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
    """Return hits of which everything is kept: all units, headings and heads of tables."""
    return tuple(
        keep_parts(hit, {*_list_heads(hit.chunk), *_list_unit_spans(hit.chunk)}) for hit in hits
    )


def _list_heads(chunk: Chunk) -> list[Span]:
    """Return the spans of the headings and of the heads of tables in a chunk."""
    return [Span(block.start, block.end) for block in list_blocks(chunk) if block.kind in HEADS]


def _list_unit_spans(chunk: Chunk) -> list[Span]:
    return [unit.span for unit in list_units(chunk)]


def _list_pieces(place: int, chunk: Chunk, *, whole_lists: bool) -> Iterator[_Piece]:
    """Yield the units of a chunk, each with the parts that belong to it."""
    units = list_units(chunk)
    last_of_block = {unit.block: unit.span for unit in units}
    list_parts = _map_list_parts(chunk, whole_lists=whole_lists)
    for unit in units:
        before, after = list_parts.get(unit.block, ((), ()))
        if unit.kind == "table_row":
            before = _find_above(chunk, unit, "table_head")
        elif unit.kind == "code":
            before = _find_sentence(last_of_block, unit.block - 1)
        elif unit.span == last_of_block[unit.block] and unit.span.cut(chunk.text).endswith(":"):
            after = _list_code(units, unit.block + 1)
        yield _Piece(
            place,
            unit.span,
            (
                *_find_above(chunk, unit, "heading"),
                *(span for span in before if span.end <= unit.span.start),
            ),
            tuple(span for span in after if span.start >= unit.span.end),
        )


def _find_above(chunk: Chunk, unit: QuotableUnit, kind: BlockKind) -> tuple[Span, ...]:
    """Return the last block of a kind above a unit; nothing if there is none in the chunk.

    Only rows stand between a row and the head of its table.
    """
    for block in reversed(list_blocks(chunk)[: unit.block]):
        if block.kind == kind:
            return (Span(block.start, block.end),)
        if kind == "table_head" and block.kind != "table_row":
            break
    return ()


def _find_sentence(last_of_block: dict[int, Span], block: int) -> tuple[Span, ...]:
    """Return the last unit of a block; nothing if the block has none."""
    return (last_of_block[block],) if block in last_of_block else ()


def _list_code(units: Sequence[QuotableUnit], block: int) -> tuple[Span, ...]:
    """Return the first lines of a block of code; nothing for a block of another kind."""
    lines = [unit.span for unit in units if unit.block == block and unit.kind == "code"]
    return tuple(lines[:_MOST_CODE_LINES])


def _map_list_parts(
    chunk: Chunk, *, whole_lists: bool
) -> dict[int, tuple[tuple[Span, ...], tuple[Span, ...]]]:
    """Return the parts above and below each list item that belong to it, by its block.

    Args:
        chunk: The chunk.
        whole_lists: Whether the other items of its list belong to an item.
    """
    blocks = list_blocks(chunk)
    parts: dict[int, tuple[tuple[Span, ...], tuple[Span, ...]]] = {}
    # Outer lists come first, so that an item of an inner list gets the line that leads to it.
    for run in find_runs(chunk):
        start = find_lead_start(chunk.text, blocks, run[0])
        lead = (Span(start, blocks[run[0] - 1].end),) if start < blocks[run[0]].start else ()
        items = tuple(find_items(chunk, run)) if whole_lists else ()
        for block in run:
            parts[block] = ((*lead, *items), items)
    return parts


def _drop_repeated(pieces: Sequence[_Piece], hits: Sequence[Hit]) -> list[_Piece]:
    """Return the first of the pieces at the same place of a document: chunks can overlap."""
    first: dict[tuple[str, int], _Piece] = {}
    for piece in pieces:
        chunk = hits[piece.place].chunk
        first.setdefault((chunk.document_id, chunk.span.start + piece.unit.start), piece)
    return list(first.values())


def _score_pieces(
    pieces: Sequence[_Piece], hits: Sequence[Hit], session: ReadingSession
) -> list[float]:
    """Return the score of each piece, at least 0.

    Added are the relevance and answerability of the unit read alone, half of those of its chunk,
    the share of the chunk's answers that stand in the unit, and a bonus for a better hit: some
    units are understood only in their surroundings.
    """
    alone = session.read([_make_chunk(piece, hits[piece.place].chunk) for piece in pieces])
    chunks = session.read([hit.chunk for hit in hits])
    scores = []
    for piece, reading in zip(pieces, alone, strict=True):
        chunk = chunks[piece.place]
        inside = (
            span.score
            for span in chunk.spans
            if piece.unit.start <= span.span.start < piece.unit.end
        )
        scores.append(
            reading.relevance
            + reading.answerable
            + (chunk.relevance + chunk.answerable) / 2
            + fsum(inside)
            + 0.5 / (1 + piece.place)
        )
    return scores


def _add_links(
    scores: Sequence[float], pieces: Sequence[_Piece], hits: Sequence[Hit]
) -> list[float]:
    """Return the scores, higher in documents that the best pieces of other documents name.

    In a question of several hops, the later document is often named by the earlier one alone.
    """
    order = sorted(range(len(pieces)), key=lambda place: (-scores[place], place))
    best = [(hits[pieces[place].place].chunk, pieces[place].unit) for place in order[:_LINKING]]
    lines = [(_clean_title(chunk), unit.cut(chunk.text).casefold()) for chunk, unit in best]
    titles = {hit.chunk.document_id: _clean_title(hit.chunk) for hit in hits}
    # Parts of one work may share their title, which then names none of them.
    named = {
        document: any(title != other and title in line for other, line in lines)
        for document, title in titles.items()
        if len(title) >= _SHORTEST_TITLE
    }
    return [
        score + _LINK * named.get(hits[piece.place].chunk.document_id, False)
        for score, piece in zip(scores, pieces, strict=True)
    ]


def _clean_title(chunk: Chunk) -> str:
    """Return the title of a chunk in small letters, without a remark in brackets."""
    return _BRACKETS.sub("", chunk.title).casefold()


def _make_chunk(piece: _Piece, chunk: Chunk) -> Chunk:
    """Return a unit and what leads to it as a chunk of its own, for the cross-reader."""
    # The other items of a whole list are not read again with each of them.
    parts = (*piece.before[:_MOST_LEADS], piece.unit)
    return replace(chunk, text="\n".join(span.cut(chunk.text) for span in parts), blocks=())


def _order_hits(kept: dict[int, set[Span]], hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
    """Return the hits in the order in which they are shown, with their spans in order."""
    first: dict[str, int] = {}
    for place in sorted(kept):
        first.setdefault(hits[place].chunk.document_id, place)

    def get_key(place: int) -> tuple[int, int, int]:
        chunk = hits[place].chunk
        return first[chunk.document_id], chunk.ordinal, place

    return tuple(keep_parts(hits[place], kept[place]) for place in sorted(kept, key=get_key))


def _merge_spans(spans: Collection[Span]) -> tuple[Span, ...]:
    """Return spans in order; of overlapping ones the larger."""
    ordered = sorted(spans, key=lambda span: (span.start, -span.end))
    ends = accumulate((span.end for span in ordered), max)
    return tuple(
        span for span, before in zip(ordered, (0, *ends), strict=False) if span.end > before
    )
