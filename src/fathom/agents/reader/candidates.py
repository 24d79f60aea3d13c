"""Answer candidates: the spans of the hits that may answer, and the options of one chunk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from fathom.agents.judge import Pair
from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.rivals import values_disagree
from fathom.agents.reader.voices import pick_voices
from fathom.models.reading import ReadingSession, ReadSpan
from fathom.question.answer_kind import contradicts_in_sentence
from fathom.question.question import Question
from fathom.text.answer_match import contains_answer, normalize_answer
from fathom.text.answer_type import FULLER_KINDS
from fathom.text.brackets import balance_brackets
from fathom.text.quotable import extend_to_units
from fathom.types import DIGITS, Chunk, Evidence, Span

ScorePairs = Callable[[Sequence[Pair]], Sequence[float]]
"""A function that returns how well quotes support claims, in [0, 1]."""

_SUPPORTED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpan:
    """A span that may be the answer.

    Attributes:
        text: The span, in one line.
        score: The probability that it is the answer, times the trust in its hit.
        answerable: The probability that its chunk holds an answer.
        evidence: The sentences that hold it.
    """

    text: str
    score: float
    answerable: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer, with all its places.

    Attributes:
        text: The text of its likeliest place.
        score: The probability that at least one of its voices is right, each taken as independent,
            in [0, 1].
        places: The places, best first.
    """

    text: str
    score: float
    places: tuple[AnswerSpan, ...]


def group_candidates(read_hits: Sequence[ReadHit]) -> list[Candidate]:
    """Return the answers of the hits, best first; ties in the order of hits, then of reading."""
    groups: dict[str, list[AnswerSpan]] = {}
    places: set[tuple[str, int]] = set()
    for read_hit in read_hits:
        for span in read_hit.reading.spans:
            answer_span = _make_answer_span(read_hit, span)
            chunk = read_hit.hit.chunk
            place = (chunk.document_id, chunk.span.start + span.span.start)
            if answer_span and place not in places and any(map(str.isalnum, answer_span.text)):
                # Overlapping chunks share text; the same place must not count twice.
                places.add(place)
                groups.setdefault(normalize_answer(answer_span.text), []).append(answer_span)
    candidates = [
        _make_candidate(sorted(group, key=lambda answer_span: -answer_span.score))
        for group in groups.values()
    ]
    return sorted(candidates, key=lambda candidate: -candidate.score)


def _make_candidate(places: Sequence[AnswerSpan]) -> Candidate:
    """Return the places of one answer as a candidate."""
    voices = pick_voices([place.evidence for place in places])
    score = 1 - prod(1 - places[at].score for at in voices)
    return Candidate(text=places[0].text, score=round(score, 6), places=tuple(places))


def select_supporting(
    question: Question, candidates: Sequence[Candidate], share: float, judge: ScorePairs
) -> list[AnswerSpan]:
    """Return the places that may be quoted for the best answer, best first; each sentence once.

    They are those that give the same answer, and others that the judge finds to support it; never
    one that gives another value.

    Args:
        question: The question.
        candidates: The answers, best first.
        share: The share of the best place's support from which on places are considered, in [0, 1].
        judge: The function that scores how well a quote supports a claim.
    """
    best, *others = candidates
    same = drop_repeated_quotes(select_likely(best.places, share))
    floor = share * best.places[0].evidence.support
    agreeing = [other for other in others if not values_disagree(question, other.text, best.text)]
    rest = [
        place for other in agreeing for place in other.places if place.evidence.support >= floor
    ]
    # Together with the same answers first, so that a sentence they quote is not judged again.
    rest = drop_repeated_quotes([*same, *rest])[len(same) :]
    scores = judge([(f"{question.text} {best.text}", place.evidence.quote) for place in rest])
    judged = zip(rest, scores, strict=True)
    return [*same, *(place for place, score in judged if score >= _SUPPORTED)]


def select_likely(places: Sequence[AnswerSpan], share: float) -> list[AnswerSpan]:
    """Return the places at least `share` times as likely as the first, in whatever hit."""
    floor = share * places[0].evidence.support if places else 0.0
    return [place for place in places if place.evidence.support >= floor]


def drop_repeated_quotes(places: Sequence[AnswerSpan]) -> list[AnswerSpan]:
    """Return the first of the places that would quote the same sentence."""
    first: dict[tuple[str, int], AnswerSpan] = {}
    for place in places:
        chunk = place.evidence.hit.chunk
        first.setdefault((chunk.document_id, chunk.span.start + place.evidence.span.start), place)
    return list(first.values())


def _make_answer_span(read_hit: ReadHit, span: ReadSpan) -> AnswerSpan | None:
    """Return the text at a span with its quote; `None` if the span is in a heading."""
    chunk = read_hit.hit.chunk
    quoted = extend_to_units(chunk, span.span)
    if quoted is None:
        return None
    inner = Span(max(span.span.start, quoted.start), min(span.span.end, quoted.end))
    inner = balance_brackets(chunk.text[: quoted.end], inner)
    return AnswerSpan(
        text=" ".join(inner.cut(chunk.text).split()),
        score=round(span.score * read_hit.trust, 6),
        answerable=read_hit.reading.answerable,
        evidence=Evidence(hit=read_hit.hit, span=quoted, support=span.score),
    )


_MOST_OPTIONS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOption:
    """A possible answer of a chunk.

    Attributes:
        text: The text as it stands in the chunk, in one line.
        score: The probability that the chunk answers and that this is the answer, in [0, 1].
    """

    text: str
    span: Span
    score: float


def rank_options(
    question: Question, chunk: Chunk, session: ReadingSession
) -> tuple[AnswerOption, ...]:
    """Return possible answers, best first; each text once.

    If the question tells the kind of its answer, only spans of that kind count, and the pair
    reader's own spans lend them their scores by overlap. Otherwise the pair reader's spans are the
    options.
    """
    (reading,) = session.read([chunk])
    kind = question.answer_type
    typed = question.find_spans(chunk.text)
    if typed is None:
        all_options = [_make_option(chunk, read_span) for read_span in reading.spans]
    else:
        quotable = [span for span in typed if _may_answer(question, chunk, span)]
        all_options = [_score_typed_span(span, chunk, session, reading.spans) for span in quotable]
    best: dict[str, AnswerOption] = {}
    for option in sorted(all_options, key=_rank_key):
        if any(map(str.isalnum, option.text)):
            best.setdefault(normalize_answer(option.text), option)
    options = list(best.values())
    return tuple(_merge_options(options) if kind in FULLER_KINDS else options)[:_MOST_OPTIONS]


def _make_option(chunk: Chunk, read_span: ReadSpan) -> AnswerOption:
    """Return a span of the pair reader as an option."""
    span = balance_brackets(chunk.text, read_span.span)
    text = " ".join(span.cut(chunk.text).split())
    return AnswerOption(text=text, span=span, score=read_span.score)


def _may_answer(question: Question, chunk: Chunk, span: Span) -> bool:
    """Return whether a span can be quoted and is not of another kind than is asked for."""
    sentence = extend_to_units(chunk, span)
    # A heading answers nothing: no sentence stands around it.
    if sentence is None:
        return False
    expected = question.expected_value
    place = Span(span.start - sentence.start, span.end - sentence.start)
    return place.start < 0 or not (
        expected and contradicts_in_sentence(expected, sentence.cut(chunk.text), place)
    )


def _merge_options(options: Sequence[AnswerOption]) -> list[AnswerOption]:
    """Merge options into the longer ones that hold them; the longer ones take over their scores.

    "about 1835" holds "1835", "98 km" holds "98", and "Lyon, France" holds "Lyon".
    """
    merged: list[AnswerOption] = []
    # Longest first, so that every option meets the fuller ones before it.
    for option in sorted(options, key=lambda item: (-len(item.text), item.span.start)):
        home = next(
            (at for at, other in enumerate(merged) if contains_answer(other.text, option.text)),
            None,
        )
        if home is None:
            merged.append(option)
        else:
            score = min(1.0, merged[home].score + option.score)
            merged[home] = replace(merged[home], score=round(score, DIGITS))
    return sorted(merged, key=_rank_key)


def _rank_key(option: AnswerOption) -> tuple[float, int]:
    """Return the key that sorts options by falling score, then by place."""
    return -option.score, option.span.start


def _score_typed_span(
    span: Span, chunk: Chunk, session: ReadingSession, read: tuple[ReadSpan, ...]
) -> AnswerOption:
    """Return a span of the expected kind as an option.

    Its score is that of its text, and a share of the scores of the pair reader's spans that overlap
    it.
    """
    text = span.cut(chunk.text)
    borrowed = sum(
        other.score * _measure_overlap(span, other.span) for other in read if other.span != span
    )
    score = min(1.0, session.score(chunk, text) + borrowed)
    return AnswerOption(text=" ".join(text.split()), span=span, score=round(score, DIGITS))


def _measure_overlap(one: Span, other: Span) -> float:
    """Return the share of the longer span that both have in common."""
    both = min(one.end, other.end) - max(one.start, other.start)
    return max(0, both) / max(one.end - one.start, other.end - other.start, 1)
