"""Requirements of a question on its evidence, and the gaps in the evidence of a draft.

The study of anchors and BAUG asks for it in sections 3 and 4: a question about 2017 is not answered
from a text of 2018, a question for a price not with a number of people, a question for three names
not with two as if they were all. Rules only, English and Indonesian.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from fathom.question.anchors import (
    TIMES,
    Anchor,
    find_contradicted,
    find_missing,
    select_required,
)
from fathom.question.answer_kind import (
    ExpectedValue,
    contradicts_in_sentence,
    contradicts_kind,
    gives_value,
)
from fathom.question.question import Question
from fathom.types import Chunk, Draft, Evidence, Hit, Span

_LEAST_TITLE = 4
_ASIDE = re.compile(r"(?<!\s)\s*\([^)]{0,80}\)")
_CHOICE = re.compile(r"\b(?:or|atau|ataukah)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceGap:
    """The gap between the requirements and the evidence of a draft; empty where nothing is missing.

    Attributes:
        missing: Required anchors that the evidence does not hold.
        contradicted: Missing anchors in whose place the evidence has something else.
        kind: Whether the answer is not of the kind asked for, such as money or a percentage.
        items: Number of things that the question asks for and the draft does not give.
    """

    missing: tuple[Anchor, ...] = ()
    contradicted: tuple[Anchor, ...] = ()
    kind: bool = False
    items: int = 0

    @property
    def weight(self) -> int:
        """The size of the gap: the number of anchors, plus 1 for a value of another kind."""
        return len(self.missing) + len(self.contradicted) + self.kind

    @property
    def description(self) -> str:
        """The gap in words, for the agent that mends the draft; empty where there is none."""
        parts = [f"It is not about {anchor.text}." for anchor in self.missing]
        parts += ["It is not of the kind that is asked for."] if self.kind else []
        parts += [f"{self.items} of the things asked for are missing."] if self.items else []
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """The requirements of a question on its evidence.

    Attributes:
        anchors: Names and times that the evidence must hold.
        kind: The kind of value that the answer must be; `None` where the question does not tell.
        count: The number of things asked for; `None` where the question does not tell.
    """

    anchors: tuple[Anchor, ...] = ()
    kind: ExpectedValue | None = None
    count: int | None = None

    @classmethod
    def of(
        cls, question: Question, question_anchors: Sequence[Anchor] | None = None, *, least: float
    ) -> Self:
        """Return the requirements of a question.

        Args:
            question: The question.
            question_anchors: The anchors that count; by default all of the question's.
            least: The least score, in [0, 1], of a name that is required.
        """
        required_anchors = select_required(
            question.anchors if question_anchors is None else question_anchors, least
        )
        # Of several options the evidence may be about one alone.
        if _CHOICE.search(question.text):
            required_anchors = tuple(anchor for anchor in required_anchors if anchor.kind in TIMES)
        return cls(
            anchors=required_anchors,
            kind=question.expected_value,
            count=question.count,
        )

    def find_gap(self, draft: Draft, hits: Sequence[Hit]) -> EvidenceGap:
        """Return the gap in a draft that was made of these hits.

        Times must stand in the chunks that the draft cites, headings included; names may also stand
        elsewhere in the same documents. Either may stand in another document if a chunk of it and a
        cited one name each other's titles; so may anything in the chunks on the way between the
        two.
        """
        evidence = _select_evidence(draft)
        if not evidence:
            return EvidenceGap(missing=self.anchors)
        cited = list(dict.fromkeys(item.hit.chunk for item in evidence))
        linked = [chunk.context for chunk in (*cited, *_find_linked_chunks(cited, hits))]
        # A document may give many years, so a time elsewhere in it proves nothing.
        near = "\n".join(linked)
        wide = "\n".join([*linked, *_list_document_texts(cited, hits)])
        times = [anchor for anchor in self.anchors if anchor.kind in TIMES]
        named = [anchor for anchor in self.anchors if anchor.kind not in TIMES]
        return EvidenceGap(
            missing=(*find_missing(times, near), *find_missing(named, wide)),
            contradicted=(*find_contradicted(times, near), *find_contradicted(named, wide)),
            kind=self._is_of_another_kind(draft, evidence),
            items=max(0, (self.count or 0) - count_items(draft)),
        )

    def can_be_met_by(self, hit: Hit) -> bool:
        """Return whether a hit alone could meet the requirements, so that reading it again pays."""
        text = hit.chunk.context
        return not find_missing(self.anchors, text) and (
            self.kind is None or gives_value(self.kind, text)
        )

    def _is_of_another_kind(self, draft: Draft, evidence: Sequence[Evidence]) -> bool:
        if self.kind is None:
            return False
        if contradicts_kind(self.kind, draft.short_answer):
            return True
        quotes = [item.quote for item in evidence if draft.short_answer in item.quote]
        if draft.short_answer and quotes:
            starts = [quote.index(draft.short_answer) for quote in quotes]
            places = [Span(start, start + len(draft.short_answer)) for start in starts]
            # The unit often stands beside the short answer: "182 million" of "182 million miles".
            if all(map(partial(contradicts_in_sentence, self.kind), quotes, places)):
                return True
        texts = [draft.short_answer, *(item.quote for item in evidence)]
        contexts = (item.hit.chunk.context for item in evidence)
        return not any(gives_value(self.kind, text) for text in (*texts, *contexts))


def count_items(draft: Draft) -> int:
    """Return the number of things that a draft gives: items of its short answer, or its quotes."""
    answer_items = [
        item for item in draft.short_answer.replace(" and ", ", ").split(", ") if item.strip()
    ]
    return max(len(answer_items), len(draft.claims), 0 if draft.claims else len(draft.evidence))


def _select_evidence(draft: Draft) -> list[Evidence]:
    """Return the evidence of the answer itself, without the evidence of other readings alone."""
    other = {at for reading in draft.alternatives for at in reading.evidence}
    # The first item always belongs to the answer, even where a rival reading cites it too.
    return [item for at, item in enumerate(draft.evidence) if at not in other or at == 0]


def _list_document_texts(cited: Sequence[Chunk], hits: Sequence[Hit]) -> Iterator[str]:
    """Return the texts of the hits from the cited documents."""
    documents = {chunk.document_id for chunk in cited}
    return (hit.chunk.context for hit in hits if hit.chunk.document_id in documents)


def _find_linked_chunks(cited: Sequence[Chunk], hits: Sequence[Hit]) -> list[Chunk]:
    """Return the chunks of other documents linked to a cited one by titles, over any hops."""
    linked = list(cited)
    rest = [hit.chunk for hit in hits if hit.chunk not in linked]
    # Each round adds one hop, until no further chunk is linked.
    while added := [chunk for chunk in rest if any(_are_linked(chunk, other) for other in linked)]:
        linked += added
        rest = [chunk for chunk in rest if chunk not in added]
    return linked[len(cited) :]


def _are_linked(one: Chunk, other: Chunk) -> bool:
    """Return whether either of two chunks names the other's document."""
    titles = _clean_title(one), _clean_title(other)
    return _names_title(one.text, titles[1], titles[0]) or _names_title(other.text, *titles)


def _clean_title(chunk: Chunk) -> str:
    """Return a title without its brackets, which only tell namesakes apart: "Mercury (planet)"."""
    return _ASIDE.sub("", chunk.title).strip()


def _names_title(text: str, title: str, own_title: str) -> bool:
    """Return whether a text names a title that is not its own."""
    # A very short title stands in many texts by chance.
    if len(title) < _LEAST_TITLE or title == own_title:
        return False
    return not find_missing([Anchor(kind="quoted", text=title, score=1.0)], text)
