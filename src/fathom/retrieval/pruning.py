"""Pruning: keeps the sentences of hits that bear on a question, for a language model or a person.

Prompt tokens are most of the price of a language model, and most sentences of a chunk do not bear
on the question. The cross-reader scores every unit of the hits: sentences, list items, rows and
lines of code. The best are kept within a number of tokens, in the order of the document. A unit is
kept with what it needs to be understood: the heading above it; for a row the head of its table; for
a list item the line that leads to its list, and the whole list if the question asks for several
things or for steps; for code the sentence before it.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import fsum

from fathom.llm.tokens import count_tokens
from fathom.models.reading import CrossReader, Reading, ReadingSession
from fathom.question.question import Question
from fathom.text.content_words import ContentTerms
from fathom.text.list_runs import find_items, find_lead_start, find_runs
from fathom.text.quotable import QuotableUnit, list_blocks, list_units
from fathom.types import HEADS, BlockKind, Chunk, Hit, Span

CHUNK_TOKENS = 120
"""The limit in tokens of each chunk for roles that see several chunks, each by itself."""
_MOST_CODE_LINES = 12
"""The largest number of lines of code that are kept with the sentence that introduces them."""
_MOST_LEADS = 2
"""The largest number of parts above a unit that are read with it: a heading and a line that leads
to it."""
_LINK = 1.0
"""The addition to the score of a piece if a good piece of another document names its document."""
_LINKING = 5
"""The number of best pieces that may name another document."""
_SHORTEST_TITLE = 4
"""The least number of characters of a title that is looked for in other documents."""
_BRACKETS = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")
_SPANS = 8
"""The number of possible answers of a chunk that raise the scores of the units that hold them."""


@dataclass(frozen=True, slots=True)
class PrunedHit:
    """A hit with the parts of it that are kept.

    Attributes:
        hit: The hit.
        spans: The kept parts in the chunk's text, in order, without overlap: units, headings and
            heads of tables.
    """

    hit: Hit
    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        """The kept parts; those that stand in one line of the chunk share a line."""
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
    """A unit of a hit with the parts that are needed to understand it.

    Attributes:
        place: The place of the hit among the hits, from 0.
        unit: The span of the unit in the chunk's text.
        before: The spans above the unit that lead to it.
        after: The spans below the unit that it introduces.
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
    """Estimate the number of tokens of some parts of a hit and of the headings above them."""
    text = hit.chunk.text
    return count_tokens(hit.chunk.breadcrumb) + sum(count_tokens(span.cut(text)) for span in spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePruner:
    """A pruner of hits by the cross-reader's score of each unit; deterministic.

    Attributes:
        pairs: The cross-reader.
        limit: The largest size of the kept parts of all hits together, as `measure` counts it. The
            best part is kept even if it is larger.
        share: The least score of a unit that is kept, as a share of the best score, in [0, 1].
        measure: A function that returns the size of a hit of which some parts are kept; by default
            the estimated number of tokens, with the headings above them.
        most_read: The largest number of units that the cross-reader reads by themselves; `None` for
            all. Units that are not read are not kept.
    """

    pairs: CrossReader
    limit: int
    share: float = 0.0
    measure: Callable[[Hit, Collection[Span]], int] = _count_tokens
    most_read: int | None = None

    def prune_each(self, question: Question, hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
        """Return every hit with its own best parts, in the order of the hits.

        This is for roles that compare hits; `limit` holds for each hit by itself.

        Args:
            question: The question.
            hits: The hits, in any order.
        """
        # A hit without units, such as one of headings only, is kept whole.
        return tuple(
            item for hit in hits for item in self.prune(question, [hit]) or keep_whole([hit])
        )

    def prune(self, question: Question, hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
        """Return the hits with the parts that are kept; a hit without any is left out.

        Documents come in the order of their best hit that is kept, and the hits of one document in
        the order of its text.

        Args:
            question: The question.
            hits: The hits, best first.
        """
        return _order_hits(self._select_spans(question, hits), hits)

    def excerpt(self, question: Question, hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
        """Return the same parts as `prune`, with the hits in the order of their best part.

        This is for a person or a program that reads from the top and may stop early.
        """
        spans = self._select_spans(question, hits)
        return tuple(keep_parts(hits[place], spans[place]) for place in spans)

    def _select_spans(self, question: Question, hits: Sequence[Hit]) -> dict[int, set[Span]]:
        """Return the spans to keep, by the place of their hit; the hit of the best part first."""
        whole_lists = question.form == "several" or question.asks_steps
        pieces = _drop_repeated(
            [
                piece
                for place, hit in enumerate(hits)
                for piece in _list_pieces(place, hit.chunk, whole_lists=whole_lists)
            ],
            hits,
        )
        session = self.pairs.open_session(question.text, spans=_SPANS)
        chunks = session.read([hit.chunk for hit in hits])
        if self.most_read is not None:
            pieces = _choose_promising(question, pieces, hits, chunks, self.most_read)
        scores = _score_pieces(pieces, hits, chunks, session)
        scores = _add_links(scores, pieces, hits)
        floor = self.share * max(scores, default=0.0)
        # Equal scores keep the order of the hits.
        order = sorted(range(len(pieces)), key=lambda place: (-scores[place], place))
        best = [pieces[place] for place in order if scores[place] >= floor]
        return self._fill_budget(best, hits)

    def _fill_budget(self, pieces: Sequence[_Piece], hits: Sequence[Hit]) -> dict[int, set[Span]]:
        """Return the spans of the pieces that fit into `limit`, by the place of their hit.

        A piece that does not fit is left out, and the next is tried. The first piece is always
        kept, so that a question with hits never goes without evidence.

        Args:
            pieces: The pieces, best first.
            hits: The hits.
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
    """Return a hit with these parts; a part that lies within another one is dropped."""
    return PrunedHit(hit, _merge_spans(spans))


def keep_whole(hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
    """Return the hits with everything kept: all units, headings and heads of tables."""
    return tuple(
        keep_parts(hit, {*_list_heads(hit.chunk), *_list_unit_spans(hit.chunk)}) for hit in hits
    )


def _list_heads(chunk: Chunk) -> list[Span]:
    """Return the spans of the headings and of the heads of tables in a chunk."""
    return [Span(block.start, block.end) for block in list_blocks(chunk) if block.kind in HEADS]


def _list_unit_spans(chunk: Chunk) -> list[Span]:
    """Return the spans of the units of a chunk, in order."""
    return [unit.span for unit in list_units(chunk)]


def _list_pieces(place: int, chunk: Chunk, *, whole_lists: bool) -> Iterator[_Piece]:
    """Yield the units of a chunk, each with the parts that are needed to understand it.

    Args:
        place: The place of the hit among the hits.
        chunk: The chunk of the hit.
        whole_lists: Whether all items of its list belong to a list item.
    """
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
    """Return the last block of a kind above a unit; empty if the chunk has none.

    The head of a table counts only if nothing but rows stands between it and the unit.
    """
    for block in reversed(list_blocks(chunk)[: unit.block]):
        if block.kind == kind:
            return (Span(block.start, block.end),)
        if kind == "table_head" and block.kind != "table_row":
            break
    return ()


def _find_sentence(last_of_block: dict[int, Span], block: int) -> tuple[Span, ...]:
    """Return the last unit of a block; empty if the block has none."""
    return (last_of_block[block],) if block in last_of_block else ()


def _list_code(units: Sequence[QuotableUnit], block: int) -> tuple[Span, ...]:
    """Return the first lines of a block of code; empty for a block of another kind."""
    lines = [unit.span for unit in units if unit.block == block and unit.kind == "code"]
    return tuple(lines[:_MOST_CODE_LINES])


def _map_list_parts(
    chunk: Chunk, *, whole_lists: bool
) -> dict[int, tuple[tuple[Span, ...], tuple[Span, ...]]]:
    """Return the parts before and after each list item that belong to it, by its block.

    Both tuples may hold all items of the list; the caller drops those on the wrong side.

    Args:
        chunk: The chunk.
        whole_lists: Whether all items of its list belong to a list item.
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
    """Return the pieces, of several at the same place of a document only the first.

    Overlapping chunks hold the same unit twice.
    """
    first: dict[tuple[str, int], _Piece] = {}
    for piece in pieces:
        chunk = hits[piece.place].chunk
        first.setdefault((chunk.document_id, chunk.span.start + piece.unit.start), piece)
    return list(first.values())


def _choose_promising(
    question: Question,
    pieces: Sequence[_Piece],
    hits: Sequence[Hit],
    chunks: Sequence[Reading],
    most: int,
) -> list[_Piece]:
    """Return the pieces that promise most before they are read by themselves, in their order.

    Reading each unit by itself takes most of the time of pruning. The promise of a piece is half of
    the relevance and answerability of its chunk, twice the probabilities of the chunk's answers
    that begin in the unit, the share of the question's content words in the unit, and 0.5 / rank of
    the hit.

    Args:
        question: The question.
        pieces: The pieces, in the order of the hits.
        hits: The hits.
        chunks: The reading of each hit's chunk.
        most: The largest number of pieces to return.
    """
    terms = ContentTerms()
    asked = terms(question.text)

    def score_promise(place: int) -> float:
        piece = pieces[place]
        chunk = chunks[piece.place]
        words = terms(piece.unit.cut(hits[piece.place].chunk.text))
        return (
            (chunk.relevance + chunk.answerable) / 2
            + 2 * _sum_inside(piece, chunk)
            + len(asked & words) / max(1, len(asked))
            + 0.5 / (1 + piece.place)
        )

    best = sorted(range(len(pieces)), key=score_promise, reverse=True)[:most]
    return [pieces[place] for place in sorted(best)]


def _score_pieces(
    pieces: Sequence[_Piece],
    hits: Sequence[Hit],
    chunks: Sequence[Reading],
    session: ReadingSession,
) -> list[float]:
    """Return the score of each piece, at least 0.

    It is the sum of the relevance and the answerability of the unit read by itself, of half of
    those of its chunk, of the probabilities of the chunk's answers that begin in the unit, and of
    0.5 / rank of the hit. The chunk counts because some units are understood only in their context.
    """
    alone = session.read([_make_chunk(piece, hits[piece.place].chunk) for piece in pieces])
    scores = []
    for piece, reading in zip(pieces, alone, strict=True):
        chunk = chunks[piece.place]
        scores.append(
            reading.relevance
            + reading.answerable
            + (chunk.relevance + chunk.answerable) / 2
            + _sum_inside(piece, chunk)
            + 0.5 / (1 + piece.place)
        )
    return scores


def _sum_inside(piece: _Piece, chunk: Reading) -> float:
    """Return the sum of the probabilities of a chunk's answers that begin in a unit."""
    return fsum(
        span.score for span in chunk.spans if piece.unit.start <= span.span.start < piece.unit.end
    )


def _add_links(
    scores: Sequence[float], pieces: Sequence[_Piece], hits: Sequence[Hit]
) -> list[float]:
    """Return the scores, raised in documents that the best pieces of other documents name.

    In a question of several hops, often only the first document names the second one.
    """
    order = sorted(range(len(pieces)), key=lambda place: (-scores[place], place))
    best = [(hits[pieces[place].place].chunk, pieces[place].unit) for place in order[:_LINKING]]
    lines = [(_clean_title(chunk), unit.cut(chunk.text).casefold()) for chunk, unit in best]
    titles = {hit.chunk.document_id: _clean_title(hit.chunk) for hit in hits}
    # A piece under the same title does not count, because parts of one work may share their title.
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
    """Return the title of a chunk in lower case, without words in brackets at its end."""
    return _BRACKETS.sub("", chunk.title).casefold()


def _make_chunk(piece: _Piece, chunk: Chunk) -> Chunk:
    """Return a unit with the parts above it as a chunk of its own, for the cross-reader."""
    # Of a whole list, the other items are not read again with each item.
    parts = (*piece.before[:_MOST_LEADS], piece.unit)
    return replace(chunk, text="\n".join(span.cut(chunk.text) for span in parts), blocks=())


def _order_hits(kept: dict[int, set[Span]], hits: Sequence[Hit]) -> tuple[PrunedHit, ...]:
    """Return the hits in the order in which `prune` shows them, with their spans in order."""
    first: dict[str, int] = {}
    for place in sorted(kept):
        first.setdefault(hits[place].chunk.document_id, place)

    def get_key(place: int) -> tuple[int, int, int]:
        chunk = hits[place].chunk
        return first[chunk.document_id], chunk.ordinal, place

    return tuple(keep_parts(hits[place], kept[place]) for place in sorted(kept, key=get_key))


def _merge_spans(spans: Collection[Span]) -> tuple[Span, ...]:
    """Return spans in order, without those that lie within another one."""
    ordered = sorted(spans, key=lambda span: (span.start, -span.end))
    ends = accumulate((span.end for span in ordered), max)
    return tuple(
        span for span, before in zip(ordered, (0, *ends), strict=False) if span.end > before
    )
