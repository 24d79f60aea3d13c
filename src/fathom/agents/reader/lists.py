"""Answers that are lists of a document: steps of a task, items asked for, and their number."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import fsum

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.candidates import AnswerSpan, Candidate
from fathom.models.reading import ReadSpan
from fathom.question.question import Question
from fathom.text.content_words import Terms
from fathom.text.entries import ManualEntry, list_entries
from fathom.text.list_runs import (
    ends_in_colon,
    find_items,
    find_lead_start,
    find_outer_runs,
    find_runs,
    goes_on,
    list_numbers,
    normalize_label,
)
from fathom.text.numbers import parse_numbers
from fathom.text.quotable import list_blocks, list_units
from fathom.types import Chunk, Evidence, Hit, Span

_MOST_ITEMS = 24
"""The largest number of items that an answer gives."""
_FEWEST_ITEMS = 2
"""The smallest number of items of a list; a single item is just a sentence."""
_MAJORITY = 0.5
"""The share of the list's total score above which one item alone may be the answer."""
_LONGEST_SHORT_ITEM = 60
"""The largest number of characters of an item in a short answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAnswer:
    """A list of a document that may be the answer.

    Attributes:
        evidence: One item of evidence for each list item, in reading order.
        best: The list as a candidate; its score is the probability that the answer is anywhere in
            the list, times the trust in its hit.
        matches_question: Whether its heading and the line above it contain at least half of the
            question's content words.
        lead_text: That heading and line.
        is_introduced: Whether a heading or a line that ends in a colon is right above it.
        is_complete: Whether all its items are in the evidence, since it ends in its hit or the
            next.
    """

    evidence: tuple[Evidence, ...]
    best: Candidate
    matches_question: bool
    lead_text: str
    is_introduced: bool
    is_complete: bool

    def outweighs(self, other: Candidate, share: float) -> bool:
        """Return whether the list is the answer rather than a single candidate.

        It is if its score is at least `share` times the candidate's, or if its lead matches the
        question and both are in the same chunk.
        """
        chunk_id, other_chunk_id = (
            self.evidence[0].hit.chunk.id,
            other.places[0].evidence.hit.chunk.id,
        )
        return self.score >= share * other.score or (
            self.matches_question and chunk_id == other_chunk_id
        )

    def contains(self, other: "ListAnswer") -> bool:
        """Return whether another list is part of this one and its lead matches the question."""
        inner = {(item.hit.chunk.id, item.span) for item in other.evidence}
        outer = {(item.hit.chunk.id, item.span) for item in self.evidence}
        return other.matches_question and inner < outer

    @property
    def may_be_steps(self) -> bool:
        """True if it is numbered, or if a lead that matches the question introduces it.

        Other bullet lists are rules of various kinds, or the links of a page.
        """
        is_numbered = bool(_find_label_kind(self.evidence[0]).strip("-*\u2022\u00b7\u2013"))
        return is_numbered or (self.matches_question and self.is_introduced)

    @property
    def score(self) -> float:
        """The probability that the answer is in the list, times the trust in its hit."""
        return self.best.score

    @property
    def short_answer(self) -> str:
        """The items, joined by commas; empty if one of them is long."""
        items = [" ".join(item.quote.split()).rstrip(" .;,") for item in self.evidence]
        return ", ".join(items) if all(len(item) <= _LONGEST_SHORT_ITEM for item in items) else ""


def find_lists(question: Question, read_hits: Sequence[ReadHit], terms: Terms) -> list[ListAnswer]:
    """Return the lists that may be the answer, the highest score first.

    The score of a list is the sum of the spans in it and in the line above it. A list qualifies if
    its lead matches the question, or if no single item has most of the score: among unrelated rules
    only one is the answer. Items in the next chunk are added if that chunk is a hit. An outer list
    is left out if an inner list's lead matches the question.

    Args:
        question: The question.
        read_hits: The hits with their readings.
        terms: The function that returns the content words of a text.
    """
    question_terms = terms(question.text)
    hits = [read_hit.hit for read_hit in read_hits]

    def is_led(above: str) -> bool:
        # At least one word, so that a question without content words matches no lead.
        return 2 * len(question_terms & terms(above)) >= max(len(question_terms), 1)

    answers = [
        answer
        for read_hit in read_hits
        for answer in (
            *_iterate_lists(read_hit, hits, is_led),
            *_iterate_entry_lists(read_hit, is_led),
        )
    ]
    outer = {
        at for at, answer in enumerate(answers) if any(answer.contains(other) for other in answers)
    }
    innermost = [answer for at, answer in enumerate(answers) if at not in outer]
    return sorted(innermost, key=lambda answer: -answer.score)


def find_list_around(
    question: Question, quote: Evidence, read_hits: Sequence[ReadHit], terms: Terms
) -> ListAnswer | None:
    """Return the list whose lead matches the question and whose items include the quote.

    An item whose label is of another kind than the first item's belongs to an inner list, so it
    does not count.
    """

    def holds(item: Evidence) -> bool:
        is_same_chunk = item.hit.chunk.id == quote.hit.chunk.id
        return (
            is_same_chunk
            and item.span.start <= quote.span.start
            and quote.span.end <= item.span.end
        )

    def is_of(answer: ListAnswer) -> bool:
        item_around = next(filter(holds, answer.evidence), None)
        return item_around is not None and _find_label_kind(item_around) == _find_label_kind(
            answer.evidence[0]
        )

    lists = (answer for answer in find_lists(question, read_hits, terms) if answer.matches_question)
    return next(filter(is_of, lists), None)


def _find_label_kind(item: Evidence) -> str:
    """Return the kind of an item's label, such as "1." or "-"; empty without one."""
    chunk = item.hit.chunk
    holding_blocks = (
        block for block in list_blocks(chunk) if block.start <= item.span.start < block.end
    )
    return next((normalize_label(chunk, block) for block in holding_blocks), "")


def find_steps_around(step: Evidence, hits: Sequence[Hit]) -> tuple[Evidence, ...]:
    """Return all steps of the numbered list around a quote, in order; empty without one.

    Steps in the chunks before and after are added if these are among the hits and the numbers
    continue.

    Args:
        step: The quote of one step.
        hits: The hits.
    """
    run = _find_run_around(step)
    if run is None:
        return ()
    chunks = {(hit.chunk.document_id, hit.chunk.ordinal): hit for hit in hits}
    parts = [(step.hit, run)]
    for offset in (-1, 1):
        hit, part_run = step.hit, run
        while beside := _find_run_beside(hit, part_run, offset, chunks):
            hit, part_run = beside
            parts.insert(0 if offset < 0 else len(parts), beside)
    items = [(hit, span) for hit, part_run in parts for span in find_items(hit.chunk, part_run)]
    if len(items) < _FEWEST_ITEMS:
        return ()
    return tuple(Evidence(hit=h, span=s, support=step.support) for h, s in items[:_MOST_ITEMS])


def _find_run_around(step: Evidence) -> range | None:
    """Return the blocks of the numbered list that contains a quote; `None` without one."""
    chunk = step.hit.chunk
    blocks = list_blocks(chunk)
    numbered = (run for run in find_outer_runs(chunk) if list_numbers(chunk, run))
    return next(
        (
            run
            for run in numbered
            if blocks[run[0]].start <= step.span.start and step.span.end <= blocks[run[-1]].end
        ),
        None,
    )


def _find_run_beside(
    hit: Hit, run: range, offset: int, hits: Mapping[tuple[str, int], Hit]
) -> tuple[Hit, range] | None:
    """Return the part of a numbered list that continues in a neighbouring chunk.

    Args:
        hit: The hit with the known part.
        run: The blocks of the known part.
        offset: -1 for the chunk before, 1 for the chunk after.
        hits: The hits by document and ordinal.
    """
    beside = hits.get((hit.chunk.document_id, hit.chunk.ordinal + offset))
    runs = find_outer_runs(beside.chunk) if beside else []
    if beside is None or not runs:
        return None
    if offset > 0:
        return (beside, runs[0]) if goes_on(hit.chunk, run, beside.chunk, runs[0]) else None
    return (beside, runs[-1]) if goes_on(beside.chunk, runs[-1], hit.chunk, run) else None


def complete_evidence(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the evidence with lists and code added after the sentences that introduce them.

    A sentence introduces them if it ends in a colon. Each place comes once.
    """
    items: list[Evidence] = []
    for item in evidence:
        introduced = _find_introduced(item) if item.quote.endswith(":") else []
        for span in [item.span, *introduced]:
            piece = Evidence(hit=item.hit, span=span, support=item.support)
            if piece not in items:
                items.append(piece)
    return tuple(items)


def _find_introduced(evidence: Evidence) -> list[Span]:
    """Return the list items or the code block right after a sentence."""
    chunk = evidence.hit.chunk
    blocks = list_blocks(chunk)
    next_block = next(
        (at for at, b in enumerate(blocks) if b.start >= evidence.span.end), len(blocks)
    )
    # Text between the sentence and the block means that the sentence introduces that text.
    if (
        next_block == len(blocks)
        or chunk.text[evidence.span.end : blocks[next_block].start].strip()
    ):
        return []
    if blocks[next_block].kind == "code":
        return [Span(blocks[next_block].start, blocks[next_block].end)]
    run = next((run for run in find_runs(chunk) if run[0] == next_block), range(0))
    return find_items(chunk, run)[:_MOST_ITEMS]


def _iterate_lists(
    read_hit: ReadHit, hits: Sequence[Hit], is_led: Callable[[str], bool]
) -> Iterator[ListAnswer]:
    """Yield the lists of a hit that may be the answer."""
    chunk = read_hit.hit.chunk
    blocks = list_blocks(chunk)
    outer = find_outer_runs(chunk)
    for run in find_runs(chunk):
        first, last = find_lead_start(chunk.text, blocks, run[0]), blocks[run[-1]].end
        spans = [s for s in read_hit.reading.spans if first <= s.span.start and s.span.end <= last]
        items = [(read_hit.hit, span) for span in find_items(chunk, run)]
        items_in_hit = len(items)
        # A list that ends with its chunk may go on in the next one.
        if run[-1] == len(blocks) - 1:
            items += _find_continuation(
                read_hit.hit, hits, "" if run in outer else normalize_label(chunk, blocks[run[0]])
            )
        total = fsum(span.score for span in spans)
        has_favourite = _sum_largest_item(spans, find_items(chunk, run)) > _MAJORITY * total
        above = _find_lead_text(chunk, run[0])
        matches = is_led(above)
        if len(items) < _FEWEST_ITEMS or not (matches or (spans and not has_favourite)):
            continue
        support = min(1.0, round(total, 6))
        evidence = tuple(
            Evidence(hit=h, span=span, support=support) for h, span in items[:_MOST_ITEMS]
        )
        score = round(read_hit.trust * support, 6)
        answerable = read_hit.reading.answerable
        place = AnswerSpan(text="", score=score, answerable=answerable, evidence=evidence[0])
        best = Candidate(text="", score=score, places=(place,))
        # A list at the end of its chunk may have been cut off there.
        is_ended = run[-1] < len(blocks) - 1 or len(items) > items_in_hit
        yield ListAnswer(
            evidence=evidence,
            best=best,
            matches_question=matches,
            lead_text=above,
            is_introduced=_is_introduced(chunk, run[0]),
            is_complete=is_ended and len(items) <= _MOST_ITEMS,
        )


def _iterate_entry_lists(read_hit: ReadHit, is_led: Callable[[str], bool]) -> Iterator[ListAnswer]:
    """Yield the runs of manual entries whose lead matches the question, such as exit codes.

    Each item is a name with the first sentence of its description. The document's title is part of
    the lead, because a heading such as "EXIT STATUS" does not name the program.
    """
    chunk = read_hit.hit.chunk
    blocks = list_blocks(chunk)
    for first, entries in _group_entries(chunk):
        lead = f"{chunk.title}\n{_find_lead_text(chunk, first)}"
        if len(entries) < _FEWEST_ITEMS or not is_led(lead):
            continue
        span = Span(entries[0].head.start, entries[-1].body.end)
        total = fsum(s.score for s in read_hit.reading.spans if _is_within(s.span, span))
        support = min(1.0, round(total, 6))
        evidence = tuple(
            Evidence(hit=read_hit.hit, span=_cut_item(chunk, entry), support=support)
            for entry in entries[:_MOST_ITEMS]
        )
        score = round(read_hit.trust * support, 6)
        answerable = read_hit.reading.answerable
        place = AnswerSpan(text="", score=score, answerable=answerable, evidence=evidence[0])
        yield ListAnswer(
            evidence=evidence,
            best=Candidate(text="", score=score, places=(place,)),
            matches_question=True,
            lead_text=lead,
            is_introduced=False,
            is_complete=entries[-1].body.end < blocks[-1].end and len(entries) <= _MOST_ITEMS,
        )


def _group_entries(chunk: Chunk) -> Iterator[tuple[int, list[ManualEntry]]]:
    """Yield runs of adjacent entries in paragraphs, each with the index of its first block."""
    blocks = list_blocks(chunk)
    starts = {block.start: at for at, block in enumerate(blocks) if block.kind == "paragraph"}
    group: list[ManualEntry] = []
    for entry in list_entries(chunk):
        if entry.head.start not in starts:
            continue
        if group and chunk.text[group[-1].body.end : entry.head.start].strip():
            yield starts[group[0].head.start], group
            group = []
        group.append(entry)
    if group:
        yield starts[group[0].head.start], group


def _cut_item(chunk: Chunk, entry: ManualEntry) -> Span:
    """Return the span from the name of an entry to the end of its first sentence."""
    ends = (unit.span.end for unit in list_units(chunk) if unit.span.end > entry.body.start)
    return Span(entry.head.start, min(next(ends, entry.body.end), entry.body.end))


def _is_within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _sum_largest_item(spans: Sequence[ReadSpan], items: Sequence[Span]) -> float:
    """Return the largest total score of the spans within a single item."""
    return max(
        fsum(s.score for s in spans if item.start <= s.span.start and s.span.end <= item.end)
        for item in items
    )


def _find_lead_text(chunk: Chunk, first: int) -> str:
    """Return the headings of a list and the paragraph right above it."""
    earlier = list_blocks(chunk)[:first]
    heading = [chunk.text[b.start : b.end] for b in earlier if b.kind == "heading"][-1:]
    lead = [
        text
        for text, block in ((chunk.text[b.start : b.end], b) for b in earlier[-1:])
        if block.kind == "paragraph" or (block.kind == "list_item" and ends_in_colon(text))
    ]
    return "\n".join([*chunk.headings, *heading, *lead])


def _is_introduced(chunk: Chunk, first: int) -> bool:
    """Return whether a heading or a colon is right above a list, or the chunk begins with it."""
    block = list_blocks(chunk)[first - 1] if first else None
    return block is None or (
        block.kind == "heading" or ends_in_colon(chunk.text[block.start : block.end])
    )


def _find_continuation(hit: Hit, hits: Sequence[Hit], label: str) -> list[tuple[Hit, Span]]:
    """Return the items with which a list continues in the next chunk, if that is a hit.

    For an inner list, only items before the first label of another kind belong to it; `label` is
    the kind of its labels, empty for an outer list.
    """
    chunk = hit.chunk
    # The reader has only the hits; the next chunk may not be among them.
    for other in hits:
        if (other.chunk.document_id, other.chunk.ordinal) == (chunk.document_id, chunk.ordinal + 1):
            run = next((run for run in find_outer_runs(other.chunk) if run[0] == 0), range(0))
            same_run = run[: _count_same_kind(label, other.chunk, run)]
            return [(other, span) for span in find_items(other.chunk, same_run)] if same_run else []
    return []


def _count_same_kind(label: str, chunk: Chunk, run: range) -> int:
    """Count the leading blocks whose label is of a kind; all blocks if the kind is empty."""
    blocks = list_blocks(chunk)
    kinds = (normalize_label(chunk, blocks[at]) for at in run)
    return len(run) if not label else sum(1 for _ in takewhile(label.__eq__, kinds))


def find_counted_list(
    question: Question, read_hits: Sequence[ReadHit], terms: Callable[[str], frozenset[str]]
) -> ListAnswer | None:
    """Return the complete list of the things that the question counts; `None` without one.

    Its lead contains all content words of the counted noun. Of several lists, the one with the
    highest score is returned.
    """
    # Only a complete list counts: one that was cut off would give too small a number.
    noun_terms = terms(question.counted_noun)
    lists = find_lists(question, read_hits, terms) if noun_terms else []
    return next(
        (
            answer
            for answer in lists
            if answer.is_complete and noun_terms <= terms(answer.lead_text)
        ),
        None,
    )


def parse_stated_number(answer: str) -> float | None:
    """Return the one number in a short answer; `None` if there is none or several."""
    values = set(parse_numbers(answer))
    return values.pop() if len(values) == 1 else None
