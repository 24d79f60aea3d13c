"""Requirements of a question on its evidence, and the gaps in the evidence of a draft.

From the study of anchors and BAUG, sections 3 and 4. A question about 2017 needs evidence of 2017,
a question for a price needs an amount of money, and a question for three names needs three. Rules
for English and Indonesian.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Self

from fathom.question.anchors import (
    TIMES,
    Anchor,
    TextContent,
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
    """The gap between the requirements and a draft; the defaults stand for no gap.

    Attributes:
        missing: The required anchors that the evidence does not contain.
        contradicted: Those of them in whose place the evidence has something else.
        kind: Whether the answer is of another kind than asked for, such as a count for money.
        items: The number of items that the question asks for beyond those that the draft gives.
    """

    missing: tuple[Anchor, ...] = ()
    contradicted: tuple[Anchor, ...] = ()
    kind: bool = False
    items: int = 0

    @property
    def weight(self) -> int:
        """The size of the gap; missing items do not count.

        It is the number of missing anchors, plus that of the contradicted ones, plus 1 for a value
        of another kind.
        """
        return len(self.missing) + len(self.contradicted) + self.kind

    @property
    def description(self) -> str:
        """The gap in words, for the agent that corrects the draft; empty if there is none."""
        parts = [f"It is not about {anchor.text}." for anchor in self.missing]
        parts += ["It is not of the kind that is asked for."] if self.kind else []
        parts += [f"{self.items} of the things asked for are missing."] if self.items else []
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """The requirements of a question on its evidence.

    Attributes:
        anchors: The names and times that the evidence must contain.
        kind: The kind of value that the answer must be; `None` if the question does not say.
        count: The number of items asked for; `None` if the question does not say.
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
            question_anchors: The anchors to choose from; by default all of the question.
            least: The lowest score of a required anchor that is not a time, in [0, 1].
        """
        required_anchors = select_required(
            question.anchors if question_anchors is None else question_anchors, least
        )
        # The evidence for a choice may be about one option only.
        if _CHOICE.search(question.text):
            required_anchors = tuple(anchor for anchor in required_anchors if anchor.kind in TIMES)
        return cls(
            anchors=required_anchors,
            kind=question.expected_value,
            count=question.count,
        )

    def find_gap(self, draft: Draft, hits: Sequence[Hit]) -> EvidenceGap:
        """Return the gap between the requirements and a draft.

        Times must be in the cited chunks (headings included) or in chunks linked to them; names may
        also be in other hits from the cited documents. Two chunks are linked if the text of one
        names the title of the other, directly or through further hits.

        Args:
            draft: The draft; without evidence all anchors are missing.
            hits: The hits that the draft was made of.
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
        """Return whether a hit alone has all anchors and a value of the right kind."""
        text = hit.chunk.context
        return not find_missing(self.anchors, text) and (
            self.kind is None or gives_value(self.kind, text)
        )

    def _is_of_another_kind(self, draft: Draft, evidence: Sequence[Evidence]) -> bool:
        """Return whether a draft gives a value of another kind than asked for.

        It does if the short answer is surely of another kind, by itself or in all quotes that
        contain it, or if neither answer nor quotes nor cited chunks have a value of the right kind.
        """
        if self.kind is None:
            return False
        if contradicts_kind(self.kind, draft.short_answer):
            return True
        quotes = [item.quote for item in evidence if draft.short_answer in item.quote]
        if draft.short_answer and quotes:
            starts = [quote.index(draft.short_answer) for quote in quotes]
            places = [Span(start, start + len(draft.short_answer)) for start in starts]
            # The unit is often in the quote only: "182 million" of "182 million miles".
            if all(map(partial(contradicts_in_sentence, self.kind), quotes, places)):
                return True
        texts = [draft.short_answer, *(item.quote for item in evidence)]
        contexts = (item.hit.chunk.context for item in evidence)
        return not any(gives_value(self.kind, text) for text in (*texts, *contexts))


def count_items(draft: Draft) -> int:
    """Return the number of items that a draft gives.

    It is the largest of the numbers of items of its short answer, of its claims and, if it has no
    claims, of its quotes.
    """
    answer_items = [
        item for item in draft.short_answer.replace(" and ", ", ").split(", ") if item.strip()
    ]
    return max(len(answer_items), len(draft.claims), 0 if draft.claims else len(draft.evidence))


def _select_evidence(draft: Draft) -> list[Evidence]:
    """Return the evidence of the answer, without the evidence that only other readings cite."""
    other = {at for reading in draft.alternatives for at in reading.evidence}
    # The first item always belongs to the answer, even if a rival reading cites it too.
    return [item for at, item in enumerate(draft.evidence) if at not in other or at == 0]


def _list_document_texts(cited: Sequence[Chunk], hits: Sequence[Hit]) -> Iterator[str]:
    """Return the texts, with headings, of all hits from the cited documents."""
    documents = {chunk.document_id for chunk in cited}
    return (hit.chunk.context for hit in hits if hit.chunk.document_id in documents)


def _find_linked_chunks(cited: Sequence[Chunk], hits: Sequence[Hit]) -> list[Chunk]:
    """Return the hits' chunks that are linked to a cited one by titles, in any number of steps."""
    linked = list(cited)
    rest = [hit.chunk for hit in hits if hit.chunk not in linked]
    # Each text is compared with many titles, and reading its words takes longer than comparing.
    are_linked = partial(_are_linked, cache(TextContent))
    # Each round adds the chunks one step further away, until there are none.
    while added := [chunk for chunk in rest if any(are_linked(chunk, other) for other in linked)]:
        linked += added
        rest = [chunk for chunk in rest if chunk not in added]
    return linked[len(cited) :]


def _are_linked(read: Callable[[str], TextContent], one: Chunk, other: Chunk) -> bool:
    """Return whether the text of one of two chunks names the title of the other's document."""
    titles = _clean_title(one), _clean_title(other)
    return _names_title(read, one.text, titles[1], titles[0]) or _names_title(
        read, other.text, *titles
    )


def _clean_title(chunk: Chunk) -> str:
    """Return a title without text in brackets, which tells namesakes apart: "Mercury (planet)"."""
    return _ASIDE.sub("", chunk.title).strip()


def _names_title(read: Callable[[str], TextContent], text: str, title: str, own_title: str) -> bool:
    """Return whether a text contains a title that is not its own, up to small misspellings."""
    # Very short titles are in many texts by chance.
    if len(title) < _LEAST_TITLE or title == own_title:
        return False
    return read(text).holds(Anchor(kind="quoted", text=title, score=1.0))
