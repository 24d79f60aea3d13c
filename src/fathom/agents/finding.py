"""The possible answers in hits that were read, equal ones together."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from fathom.agents.looking import Look
from fathom.agents.wording import folded
from fathom.documents.sentences import split
from fathom.models.reading import ReadSpan
from fathom.types import Evidence, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A span that may be the answer.

    Attributes:
        text: The span, in one line.
        score: Probability that it is the answer, times the trust in its hit.
        answerable: Probability that its chunk holds an answer.
        evidence: The sentences that hold it.
    """

    text: str
    score: float
    answerable: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer, wherever it was found.

    Attributes:
        text: As where it is most likely.
        score: That one of its places is right, each taken for itself, in [0, 1].
        places: Best first.
    """

    text: str
    score: float
    places: tuple[Found, ...]


def candidates_of(seen: Sequence[Look]) -> list[Candidate]:
    """The answers of the hits, best first; ties in the order of hits, then of reading."""
    groups: dict[str, list[Found]] = {}
    places: set[tuple[str, int]] = set()
    for each in seen:
        for span in each.reading.spans:
            found = _found(each, span)
            chunk = each.hit.chunk
            place = (chunk.document_id, chunk.span.start + span.span.start)
            if place not in places and any(map(str.isalnum, found.text)):
                places.add(place)  # what overlapping chunks share counts once
                groups.setdefault(folded(found.text), []).append(found)
    candidates = [_candidate(sorted(each, key=_falling)) for each in groups.values()]
    return sorted(candidates, key=lambda each: -each.score)


def _candidate(places: Sequence[Found]) -> Candidate:
    score = 1 - prod(1 - each.score for each in places)
    return Candidate(text=places[0].text, score=round(score, 6), places=tuple(places))


def _falling(found: Found) -> float:
    return -found.score


def _found(seen: Look, span: ReadSpan) -> Found:
    text = " ".join(span.span.cut(seen.hit.chunk.text).split())
    evidence = Evidence(
        hit=seen.hit, span=around(seen.hit.chunk.text, span.span), support=span.score
    )
    return Found(
        text=text,
        score=round(span.score * seen.trust, 6),
        answerable=seen.reading.answerable,
        evidence=evidence,
    )


def around(text: str, span: Span) -> Span:
    """The sentences of `text` that hold a part of `span`."""
    held = [each for each in split(text) if each.start < span.end and span.start < each.end]
    return Span(held[0].start, held[-1].end) if held else span
