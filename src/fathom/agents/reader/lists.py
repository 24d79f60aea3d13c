"""Answers that are lists: the steps of what is to be done, the items of what is asked for."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import fsum

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.candidates import Candidate, Found
from fathom.models.reading import ReadSpan
from fathom.text.content_words import Terms
from fathom.text.numbers import numbers
from fathom.text.quotable import blocks_of, unlabelled
from fathom.types import Chunk, ChunkBlock, Evidence, Hit, Span

_MOST = 24

_FEWEST = 2
_MOSTLY = 0.5
"""An item with more than this share of its list's likelihood may be the answer alone."""
_SHORT = 60
"""Characters of an item that may stand in a short answer."""
_BETWEEN = frozenset({"paragraph", "code"})
"""What may stand between two items of a list; it belongs to the one before."""
_NUMBER = re.compile(r"\(?(\d{1,3}|[a-zA-Z])[.)]\s")
_COUNTED = re.compile(
    r"\bhow many\s+(?P<en>.{1,200}?)\s+(?:are|is|were|was|do|does|did|has|have|had|can|could|may|"
    r"must|should|will|there)\b"
    r"|\b(?:ada berapa(?: banyak)?|berapa (?:banyak|jumlah|buah|macam|jenis)|jumlah)\s+"
    r"(?P<id>[^?]+?)"
    r"(?:\s+(?:yang|di|pada|dalam|dari|milik|ada)\b|\s*\?|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A list of a document as the answer.

    Attributes:
        evidence: One for each item, in reading order.
        best: The list as a candidate: its score is that the answer stands anywhere in it.
        led: Whether its heading or the line above it holds half of the question's words.
        above: That heading and that line.
        whole: Whether all its items are given: it ends within its hit, or in the next one.
    """

    evidence: tuple[Evidence, ...]
    best: Candidate
    led: bool
    above: str
    whole: bool

    def answers(self, other: Candidate, share: float) -> bool:
        """Whether the list is the answer rather than another candidate.

        It is at least `share` times as likely, or stands in the same chunk below what is asked.
        """
        own, its = self.evidence[0].hit.chunk.id, other.places[0].evidence.hit.chunk.id
        return self.score >= share * other.score or (self.led and own == its)

    def holds(self, other: "Steps") -> bool:
        """Whether another list, led in by what is asked, is a part of this one."""
        inner = {(each.hit.chunk.id, each.span) for each in other.evidence}
        own = {(each.hit.chunk.id, each.span) for each in self.evidence}
        return other.led and inner < own

    @property
    def score(self) -> float:
        """Probability that the answer is in the list, times the trust in its hit."""
        return self.best.score

    @property
    def short(self) -> str:
        """The items in one line; empty where they are long."""
        items = [" ".join(each.quote.split()).rstrip(" .;,") for each in self.evidence]
        return ", ".join(items) if all(len(item) <= _SHORT for item in items) else ""


def steps_of(question: str, seen: Sequence[ReadHit], terms: Terms) -> list[Steps]:
    """The lists that may be the answer, likeliest first; of equal ones the first.

    How likely one is is the sum over its own spans and those of the line that leads it in. A list
    is meant as a whole if its heading or that line holds half of the question's words, or else if
    no item has most of the likelihood; of rules of all sorts only one is the answer. A list that
    goes on in another hit is taken with what stands there. Of a list within another one, what its
    own item leads in is taken rather than the whole.

    Args:
        question: What was asked.
        seen: The hits that were read.
        terms: The content words of a text.
    """
    asked = terms(question)
    hits = [each.hit for each in seen]

    def is_led(above: str) -> bool:
        return 2 * len(asked & terms(above)) >= max(len(asked), 1)

    found = [steps for each in seen for steps in _lists(each, hits, is_led)]
    outer = {at for at, steps in enumerate(found) if any(steps.holds(other) for other in found)}
    left = [steps for at, steps in enumerate(found) if at not in outer]
    return sorted(left, key=lambda steps: -steps.score)


def list_around(
    question: str, quote: Evidence, seen: Sequence[ReadHit], terms: Terms
) -> Steps | None:
    """The list below what is asked that a quote is, or stands in, an item of.

    An item with a label of another kind than the first one's is of a list within it.
    """

    def holds(item: Evidence) -> bool:
        same = item.hit.chunk.id == quote.hit.chunk.id
        return same and item.span.start <= quote.span.start and quote.span.end <= item.span.end

    def is_of(steps: Steps) -> bool:
        held = next(filter(holds, steps.evidence), None)
        return held is not None and _kind(held) == _kind(steps.evidence[0])

    lists = (steps for steps in steps_of(question, seen, terms) if steps.led)
    return next(filter(is_of, lists), None)


def _kind(item: Evidence) -> str:
    chunk = item.hit.chunk
    own = (block for block in blocks_of(chunk) if block.start <= item.span.start < block.end)
    return next((_label(chunk, block) for block in own), "")


def completed(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Evidence, each sentence that ends in a colon followed by the list or code it leads in."""
    whole: list[Evidence] = []
    for each in evidence:
        led = _led_in(each) if each.quote.endswith(":") else []
        for span in [each.span, *led]:
            one = Evidence(hit=each.hit, span=span, support=each.support)
            if one not in whole:
                whole.append(one)
    return tuple(whole)


def _led_in(evidence: Evidence) -> list[Span]:
    chunk = evidence.hit.chunk
    blocks = blocks_of(chunk)
    after = next((at for at, b in enumerate(blocks) if b.start >= evidence.span.end), len(blocks))
    if after == len(blocks) or chunk.text[evidence.span.end : blocks[after].start].strip():
        return []
    if blocks[after].kind == "code":
        return [Span(blocks[after].start, blocks[after].end)]
    run = next((run for run in _runs(chunk) if run[0] == after), range(0))
    return _items(chunk, run)[:_MOST]


def _lists(seen: ReadHit, hits: Sequence[Hit], is_led: Callable[[str], bool]) -> Iterator[Steps]:
    chunk = seen.hit.chunk
    blocks = blocks_of(chunk)
    outer = _outer(chunk)
    for run in _runs(chunk):
        first, last = _lead(chunk.text, blocks, run[0]), blocks[run[-1]].end
        spans = [s for s in seen.reading.spans if first <= s.span.start and s.span.end <= last]
        items = [(seen.hit, span) for span in _items(chunk, run)]
        own = len(items)
        if run[-1] == len(blocks) - 1:
            items += _goes_on(seen.hit, hits, "" if run in outer else _label(chunk, blocks[run[0]]))
        whole = fsum(span.score for span in spans)
        lone = _largest(spans, _items(chunk, run)) > _MOSTLY * whole
        above = _above(chunk, run[0])
        led = is_led(above)
        if len(items) < _FEWEST or not (led or (spans and not lone)):
            continue
        support = min(1.0, round(whole, 6))
        evidence = tuple(Evidence(hit=h, span=span, support=support) for h, span in items[:_MOST])
        score = round(seen.trust * support, 6)
        answerable = seen.reading.answerable
        place = Found(text="", score=score, answerable=answerable, evidence=evidence[0])
        best = Candidate(text="", score=score, places=(place,))
        ends = run[-1] < len(blocks) - 1 or len(items) > own
        yield Steps(
            evidence=evidence,
            best=best,
            led=led,
            above=above,
            whole=ends and len(items) <= _MOST,
        )


def _largest(spans: Sequence[ReadSpan], items: Sequence[Span]) -> float:
    """The most that one item has of the scores of the spans."""
    return max(
        fsum(s.score for s in spans if item.start <= s.span.start and s.span.end <= item.end)
        for item in items
    )


def _above(chunk: Chunk, first: int) -> str:
    """The headings that a list stands under and the paragraph right above it."""
    before = blocks_of(chunk)[:first]
    own = [chunk.text[b.start : b.end] for b in before if b.kind == "heading"][-1:]
    lead = [
        text
        for text, block in ((chunk.text[b.start : b.end], b) for b in before[-1:])
        if block.kind == "paragraph" or (block.kind == "list_item" and _leads(text))
    ]
    return "\n".join([*chunk.headings, *own, *lead])


def _lead(text: str, blocks: Sequence[ChunkBlock], first: int) -> int:
    """Where the line begins that leads in a list, else the list."""
    before = blocks[first - 1] if first else None
    if before is not None and _leads(text[before.start : before.end]):
        return before.start
    return blocks[first].start


def _leads(text: str) -> bool:
    return text.rstrip().endswith(":")


def _goes_on(hit: Hit, hits: Sequence[Hit], label: str) -> list[tuple[Hit, Span]]:
    """The items at the beginning of the next chunk, if that is one of the hits.

    Those up to the first of another kind, where a list within another one goes on: see `_label`.
    """
    chunk = hit.chunk
    for other in hits:
        if (other.chunk.document_id, other.chunk.ordinal) == (chunk.document_id, chunk.ordinal + 1):
            run = next((run for run in _outer(other.chunk) if run[0] == 0), range(0))
            own = run[: _count_of(label, other.chunk, run)]
            return [(other, span) for span in _items(other.chunk, own)] if own else []
    return []


def _count_of(label: str, chunk: Chunk, run: range) -> int:
    """How many of its first blocks go on with labels of this kind; all, where it is empty."""
    blocks = blocks_of(chunk)
    kinds = (_label(chunk, blocks[at]) for at in run)
    return len(run) if not label else sum(1 for _ in takewhile(label.__eq__, kinds))


def _runs(chunk: Chunk) -> list[range]:
    """The lists among a chunk's blocks, each from its first item to its last, inner ones too."""
    outer = _outer(chunk)
    return [*outer, *(inner for run in outer for inner in _inner(chunk, run))]


def _inner(chunk: Chunk, run: range) -> Iterator[range]:
    """What an item that ends in a colon leads in: the items after it with labels of other kinds."""
    blocks = blocks_of(chunk)
    labels = [_label(chunk, blocks[at]) for at in run]
    for place, at in enumerate(run):
        if _leads(chunk.text[blocks[at].start : blocks[at].end]):
            rest = labels[place + 1 :]
            count = rest.index(labels[place]) if labels[place] in rest else len(rest)
            if count and blocks[at + 1].kind == "list_item":
                yield range(at + 1, at + 1 + count)


def _label(chunk: Chunk, block: ChunkBlock) -> str:
    """The kind of a label: "(1)" and "(2)" are of one, "a." and "1." of two."""
    label = chunk.text[block.start : unlabelled(chunk.text, block).start]
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "1", label)).strip()


def _outer(chunk: Chunk) -> list[range]:
    """The lists among a chunk's blocks, each from its first item to its last.

    Text and code between two items are inside if the numbering goes on after them.
    """
    blocks = blocks_of(chunk)
    items = [at for at, block in enumerate(blocks) if block.kind == "list_item"]
    runs: list[range] = []
    for at in items:
        if runs and _joined(chunk.text, blocks, runs[-1], at):
            runs[-1] = range(runs[-1][0], at + 1)
        else:
            runs.append(range(at, at + 1))
    return runs


def _joined(text: str, blocks: Sequence[ChunkBlock], run: range, at: int) -> bool:
    between = blocks[run[-1] + 1 : at]
    if not between:
        return True
    before, after = (_NUMBER.match(text, blocks[place].start) for place in (run[-1], at))
    counted = before is not None and after is not None and _follows(before[1], after[1])
    return counted and all(block.kind in _BETWEEN for block in between)


def _follows(before: str, after: str) -> bool:
    if before.isdigit() and after.isdigit():
        return int(after) == int(before) + 1
    return ord(after[0]) == ord(before[0]) + 1


def _items(chunk: Chunk, run: range) -> list[Span]:
    """The items of a list without their labels, each with the text or code that belongs to it."""
    blocks = blocks_of(chunk)
    starts = [at for at in run if blocks[at].kind == "list_item"]
    ends = [*(start - 1 for start in starts[1:]), *run[-1:]]
    return [
        Span(unlabelled(chunk.text, blocks[start]).start, blocks[end].end)
        for start, end in zip(starts, ends, strict=True)
    ]


def counted(question: str) -> str:
    """What a question asks the number of: "How many branches are there?"; empty if of nothing."""
    found = _COUNTED.search(question)
    return next((each for each in found.groups() if each), "") if found else ""


def listed(
    question: str, seen: Sequence[ReadHit], terms: Callable[[str], frozenset[str]]
) -> Steps | None:
    """The list of what is to be counted, if it is whole; of several the likeliest.

    Its heading, or the line above it, holds all words of what is counted.
    """
    wanted = terms(counted(question))
    lists = steps_of(question, seen, terms) if wanted else []
    return next((each for each in lists if each.whole and wanted <= terms(each.above)), None)


def stated(answer: str) -> float | None:
    """The one number in a short answer."""
    found = set(numbers(answer))
    return found.pop() if len(found) == 1 else None
