"""Answer candidates: the spans of the hits that may answer, and the options of one chunk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from fathom.agents.judge import Pair
from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.rivals import disagree
from fathom.models.reading import ReadingSession, ReadSpan
from fathom.text.answer_match import contains_answer, normalize_answer
from fathom.text.answer_type import WHOLE, answer_type, spans_of
from fathom.text.quotable import around
from fathom.types import Chunk, Evidence, Span

Judging = Callable[[Sequence[Pair]], Sequence[float]]
"""Gives how well quotes support claims, in [0, 1]."""

_SUPPORTED = 0.5


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


def candidates_of(seen: Sequence[ReadHit]) -> list[Candidate]:
    """The answers of the hits, best first; ties in the order of hits, then of reading."""
    groups: dict[str, list[Found]] = {}
    places: set[tuple[str, int]] = set()
    for each in seen:
        for span in each.reading.spans:
            found = _found(each, span)
            chunk = each.hit.chunk
            place = (chunk.document_id, chunk.span.start + span.span.start)
            if found and place not in places and any(map(str.isalnum, found.text)):
                places.add(place)  # what overlapping chunks share counts once
                groups.setdefault(normalize_answer(found.text), []).append(found)
    candidates = [
        _candidate(sorted(each, key=lambda found: -found.score)) for each in groups.values()
    ]
    return sorted(candidates, key=lambda each: -each.score)


def _candidate(places: Sequence[Found]) -> Candidate:
    score = 1 - prod(1 - each.score for each in places)
    return Candidate(text=places[0].text, score=round(score, 6), places=tuple(places))


def supporting(
    question: str, found: Sequence[Candidate], share: float, judge: Judging
) -> list[Found]:
    """The places that may be quoted for the best answer, best first; each sentence once.

    Those that give the same answer, and others that the judge finds to support it; never one
    that gives another value.

    Args:
        question: What was asked.
        found: The answers, best first.
        share: Places are looked at from this share of the best one's support on, in [0, 1].
        judge: Gives how well a quote supports a claim, in [0, 1], for pairs of both.
    """
    best, *others = found
    same = quotes(nearly(best.places, share))
    floor = share * best.places[0].evidence.support
    agreeing = [each for each in others if not disagree(question, each.text, best.text)]
    rest = [p for each in agreeing for p in each.places if p.evidence.support >= floor]
    rest = quotes([*same, *rest])[len(same) :]
    scores = judge([(f"{question} {best.text}", each.evidence.quote) for each in rest])
    told = zip(rest, scores, strict=True)
    return [*same, *(each for each, score in told if score >= _SUPPORTED)]


def nearly(places: Sequence[Found], share: float) -> list[Found]:
    """Those at least `share` times as likely as the first one, wherever their hits stand."""
    floor = share * places[0].evidence.support if places else 0.0
    return [each for each in places if each.evidence.support >= floor]


def quotes(places: Sequence[Found]) -> list[Found]:
    """One of those that would quote the same sentence."""
    first: dict[tuple[str, int], Found] = {}
    for each in places:
        chunk = each.evidence.hit.chunk
        first.setdefault((chunk.document_id, chunk.span.start + each.evidence.span.start), each)
    return list(first.values())


def _found(seen: ReadHit, span: ReadSpan) -> Found | None:
    """What stands at a span, with what is quoted for it; `None` where that is a heading."""
    chunk = seen.hit.chunk
    quoted = around(chunk, span.span)
    if quoted is None:
        return None
    own = Span(max(span.span.start, quoted.start), min(span.span.end, quoted.end))
    return Found(
        text=" ".join(own.cut(chunk.text).split()),
        score=round(span.score * seen.trust, 6),
        answerable=seen.reading.answerable,
        evidence=Evidence(hit=seen.hit, span=quoted, support=span.score),
    )


_MOST = 12
_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A possible answer.

    Attributes:
        text: As it stands in the chunk, in one line.
        score: Probability that the chunk answers, and that this is the answer, 0 to 1.
    """

    text: str
    span: Span
    score: float


def options_of(question: str, chunk: Chunk, session: ReadingSession) -> tuple[Option, ...]:
    """Possible answers, best first; each text once.

    Where the question says what kind of thing is asked for, only spans of that kind count: the
    pair reader's own spans lend them what they have in common. Else its spans are the options.
    """
    (read,) = session.read([chunk])
    kind = answer_type(question)
    typed = spans_of(kind, chunk.text, question)
    if typed is None:
        found = [Option(text=_line(s.span, chunk), span=s.span, score=s.score) for s in read.spans]
    else:
        said = [span for span in typed if around(chunk, span)]  # headings answer nothing
        found = [_typed(span, chunk, session, read.spans) for span in said]
    best: dict[str, Option] = {}
    for option in sorted(found, key=_falling):
        if any(map(str.isalnum, option.text)):
            best.setdefault(normalize_answer(option.text), option)
    options = list(best.values())
    return tuple(_whole(options) if kind in WHOLE else options)[:_MOST]


def _whole(options: Sequence[Option]) -> list[Option]:
    """Options without those that a fuller one holds, whose scores it takes over.

    "about 1835" holds "1835", "98 km" holds "98", and "Lyon, France" holds "Lyon".
    """
    kept: list[Option] = []
    for option in sorted(options, key=lambda each: (-len(each.text), each.span.start)):
        home = next(
            (at for at, other in enumerate(kept) if contains_answer(other.text, option.text)), None
        )
        if home is None:
            kept.append(option)
        else:
            score = min(1.0, kept[home].score + option.score)
            kept[home] = replace(kept[home], score=round(score, _DIGITS))
    return sorted(kept, key=_falling)


def _falling(option: Option) -> tuple[float, int]:
    return -option.score, option.span.start


def _typed(span: Span, chunk: Chunk, session: ReadingSession, read: tuple[ReadSpan, ...]) -> Option:
    text = span.cut(chunk.text)
    lent = sum(each.score * _common(span, each.span) for each in read if each.span != span)
    score = min(1.0, session.score(chunk, text) + lent)
    return Option(text=" ".join(text.split()), span=span, score=round(score, _DIGITS))


def _common(one: Span, other: Span) -> float:
    """Share of the longer span that both have in common."""
    both = min(one.end, other.end) - max(one.start, other.start)
    return max(0, both) / max(one.end - one.start, other.end - other.start, 1)


def _line(span: Span, chunk: Chunk) -> str:
    return " ".join(span.cut(chunk.text).split())
