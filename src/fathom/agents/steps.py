"""Answers that are lists: the steps of what is to be done, the items of what is asked for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from fathom.agents.finding import Candidate, Found
from fathom.agents.looking import Look
from fathom.agents.quotable import blocks_of, unlabelled
from fathom.types import Chunk, ChunkBlock, Evidence, Hit, Span

_MOST = 24
_FEWEST = 2
_SHORT = 60
"""Characters of an item that may stand in a short answer."""
_BETWEEN = frozenset({"paragraph", "code"})
"""What may stand between two items of a list; it belongs to the one before."""
_NUMBER = re.compile(r"\(?(\d{1,3}|[a-zA-Z])[.)]\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A list of a document as the answer.

    Attributes:
        evidence: One for each item, in reading order.
        best: The list as a candidate: its score is that the answer stands anywhere in it.
    """

    evidence: tuple[Evidence, ...]
    best: Candidate

    @property
    def score(self) -> float:
        """Probability that the answer is in the list, times the trust in its hit."""
        return self.best.score

    @property
    def short(self) -> str:
        """The items in one line; empty where they are long."""
        items = [" ".join(each.quote.split()).rstrip(" .;,") for each in self.evidence]
        return ", ".join(items) if all(len(item) <= _SHORT for item in items) else ""


def steps_of(seen: Sequence[Look]) -> Steps | None:
    """The list that most likely holds the answer; of equal ones the first. `None` without any.

    How likely it is is the sum over its own spans and those of the line that leads it in. A list
    that goes on in another hit is taken with what stands there.
    """
    found = [steps for each in seen for steps in _lists(each, [other.hit for other in seen])]
    return max(found, key=lambda steps: steps.score, default=None)


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


def _lists(seen: Look, hits: Sequence[Hit]) -> Iterator[Steps]:
    chunk = seen.hit.chunk
    blocks = blocks_of(chunk)
    for run in _runs(chunk):
        first, last = _lead(chunk.text, blocks, run[0]), blocks[run[-1]].end
        spans = [s for s in seen.reading.spans if first <= s.span.start and s.span.end <= last]
        items = [(seen.hit, span) for span in _items(chunk, run)]
        if run[-1] == len(blocks) - 1:
            items += _goes_on(seen.hit, hits)
        if len(items) < _FEWEST or not spans:
            continue
        support = min(1.0, round(fsum(span.score for span in spans), 6))
        evidence = tuple(Evidence(hit=h, span=span, support=support) for h, span in items[:_MOST])
        score = round(seen.trust * support, 6)
        answerable = seen.reading.answerable
        place = Found(text="", score=score, answerable=answerable, evidence=evidence[0])
        yield Steps(evidence=evidence, best=Candidate(text="", score=score, places=(place,)))


def _lead(text: str, blocks: Sequence[ChunkBlock], first: int) -> int:
    """Where the line begins that leads in a list, else the list."""
    before = blocks[first - 1] if first else None
    leads = before is not None and text[before.start : before.end].rstrip().endswith(":")
    return before.start if before is not None and leads else blocks[first].start


def _goes_on(hit: Hit, hits: Sequence[Hit]) -> list[tuple[Hit, Span]]:
    """The items at the beginning of the next chunk, if that is one of the hits."""
    chunk = hit.chunk
    for other in hits:
        if (other.chunk.document_id, other.chunk.ordinal) == (chunk.document_id, chunk.ordinal + 1):
            run = next((run for run in _runs(other.chunk) if run[0] == 0), range(0))
            return [(other, span) for span in _items(other.chunk, run)]
    return []


def _runs(chunk: Chunk) -> list[range]:
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
