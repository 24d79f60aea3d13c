"""What the evidence of an answer must hold, and what a draft's evidence lacks of it.

The study of anchors and BAUG asks for it in sections 3 and 4: who asks for 2017 is not answered
from a text of 2018, who asks for a price not with a number of people, who asks for three names
not with two as if they were all. Rules only, English and Indonesian.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from fathom.question.anchors import TIMES, Anchor, anchors, contradicted, missing, required
from fathom.question.answer_kind import AskedKind, asked_kind, contradicts, gives
from fathom.question.form import asked_count
from fathom.types import Chunk, Draft, Evidence, Hit

_NAMED = 4
_ASIDE = re.compile(r"\s*\([^)]*\)")
_CHOICE = re.compile(r"\b(?:or|atau|ataukah)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacks:
    """What a draft's evidence lacks; nothing where it is all there.

    Attributes:
        missing: Required anchors that do not stand in it.
        contradicted: Those of them in whose place it has something else.
        kind: Whether the answer is not of the kind asked for, such as money or a percentage.
        items: How many things fewer it gives than are asked for.
    """

    missing: tuple[Anchor, ...] = ()
    contradicted: tuple[Anchor, ...] = ()
    kind: bool = False
    items: int = 0

    @property
    def weight(self) -> int:
        """How much is lacking: anchors, and what is not of its kind."""
        return len(self.missing) + len(self.contradicted) + self.kind

    @property
    def told(self) -> str:
        """What is lacking, for whoever mends it; empty where nothing is."""
        parts = [f"It is not about {anchor.text}." for anchor in self.missing]
        parts += ["It is not of the kind that is asked for."] if self.kind else []
        parts += [f"{self.items} of the things asked for are missing."] if self.items else []
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a question requires of its evidence.

    Attributes:
        anchors: Names and times that must stand in it.
        kind: What kind of value must be given; `None` where the question does not tell.
        count: How many things are asked for; `None` likewise.
    """

    anchors: tuple[Anchor, ...] = ()
    kind: AskedKind | None = None
    count: int | None = None

    @classmethod
    def of(cls, question: str, found: Sequence[Anchor] | None = None, *, least: float) -> Self:
        """The requirements of a question.

        Args:
            question: What is asked.
            found: Its anchors, if they are known.
            least: Names must score so much to be required, in [0, 1].
        """
        own = required(anchors(question) if found is None else found, least)
        if _CHOICE.search(question):  # the evidence is about one of them
            own = tuple(each for each in own if each.kind in TIMES)
        return cls(
            anchors=own,
            kind=asked_kind(question),
            count=asked_count(question),
        )

    def lacks(self, draft: Draft, hits: Sequence[Hit]) -> Lacks:
        """What a draft lacks that was made of these hits.

        Times must stand in the chunks that it cites, under their headings; names may also stand
        elsewhere in the same documents. Either may stand where another document and a cited one
        tell of each other by title: so does what leads from one to the other.
        """
        evidence = _own(draft)
        if not evidence:
            return Lacks(missing=self.anchors)
        cited = list(dict.fromkeys(each.hit.chunk for each in evidence))
        led = [each.context for each in (*cited, *_leading(cited, hits))]
        near = "\n".join(led)
        wide = "\n".join([*led, *_beside(cited, hits)])
        times = [each for each in self.anchors if each.kind in TIMES]
        named = [each for each in self.anchors if each.kind not in TIMES]
        return Lacks(
            missing=(*missing(times, near), *missing(named, wide)),
            contradicted=(*contradicted(times, near), *contradicted(named, wide)),
            kind=self._of_another_kind(draft, evidence),
            items=max(0, (self.count or 0) - items_of(draft)),
        )

    def held_by(self, hit: Hit) -> bool:
        """Whether a hit alone could meet what is required, so that it is worth reading again."""
        text = hit.chunk.context
        return not missing(self.anchors, text) and (self.kind is None or gives(self.kind, text))

    def _of_another_kind(self, draft: Draft, evidence: Sequence[Evidence]) -> bool:
        if self.kind is None:
            return False
        if contradicts(self.kind, draft.short_answer):
            return True
        texts = [draft.short_answer, *(each.quote for each in evidence)]
        above = (each.hit.chunk.context for each in evidence)
        return not any(gives(self.kind, text) for text in (*texts, *above))


def items_of(draft: Draft) -> int:
    """How many things a draft gives: the parts of its short answer, or its quotes."""
    parts = [part for part in draft.short_answer.replace(" and ", ", ").split(", ") if part.strip()]
    return max(len(parts), len(draft.claims), 0 if draft.claims else len(draft.evidence))


def _own(draft: Draft) -> list[Evidence]:
    """The evidence of the answer itself, without what only another reading rests on."""
    other = {at for each in draft.alternatives for at in each.evidence}
    return [each for at, each in enumerate(draft.evidence) if at not in other or at == 0]


def _beside(cited: Sequence[Chunk], hits: Sequence[Hit]) -> Iterator[str]:
    """The texts of hits of the same documents."""
    documents = {chunk.document_id for chunk in cited}
    return (hit.chunk.context for hit in hits if hit.chunk.document_id in documents)


def _leading(cited: Sequence[Chunk], hits: Sequence[Hit]) -> list[Chunk]:
    """The chunks of other documents that titles join to a cited one, in any number of hops."""
    led = list(cited)
    left = [hit.chunk for hit in hits if hit.chunk not in led]
    while found := [chunk for chunk in left if any(_joined(chunk, each) for each in led)]:
        led += found
        left = [chunk for chunk in left if chunk not in found]
    return led[len(cited) :]


def _joined(one: Chunk, other: Chunk) -> bool:
    """Whether either of two chunks names the other's document."""
    titles = _title(one), _title(other)
    return _names(one.text, titles[1], titles[0]) or _names(other.text, *titles)


def _title(chunk: Chunk) -> str:
    """The title without what tells it from others of the name: "Mercury (planet)"."""
    return _ASIDE.sub("", chunk.title).strip()


def _names(text: str, title: str, own: str) -> bool:
    """Whether a text names a title that is not its own."""
    if len(title) < _NAMED or title == own:
        return False
    return not missing([Anchor(kind="quoted", text=title, score=1.0)], text)
