"""Answer candidates: equal spans of several hits grouped, and the answer options of one chunk.

The local reader ranks candidates over all hits; the debater ranks the options of its own chunk.
"""

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
"""The lowest support score at which a quote of another answer is cited too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpan:
    """A span of a hit that may be the answer.

    Attributes:
        text: The text of the span, in one line.
        score: The probability that it is the answer, times the trust in its hit, in [0, 1].
        answerable: The probability that its chunk holds an answer.
        evidence: The sentences that contain it.
    """

    text: str
    score: float
    answerable: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer with all places that give it.

    Attributes:
        text: The text of its best place.
        score: The probability that at least one of its voices (`voices.pick_voices`) is right, with
            the voices treated as independent, in [0, 1].
        places: The places, best first.
    """

    text: str
    score: float
    places: tuple[AnswerSpan, ...]


def group_candidates(read_hits: Sequence[ReadHit]) -> list[Candidate]:
    """Group equal spans of the hits into candidates, best first; ties in the order of hits."""
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
    """Return the candidate of the places that give one answer."""
    voices = pick_voices([place.evidence for place in places])
    score = 1 - prod(1 - places[at].score for at in voices)
    return Candidate(text=places[0].text, score=round(score, 6), places=tuple(places))


def select_supporting(
    question: Question, candidates: Sequence[Candidate], share: float, judge: ScorePairs
) -> list[AnswerSpan]:
    """Return the places to quote for the best answer, best first; each sentence once.

    These are places that give the same answer, and others that support it by the judge. A place
    that gives another value is never among them.

    Args:
        question: The question.
        candidates: The answers, best first.
        share: The lowest share of the best place's support at which a place is considered, in [0,
            1].
        judge: The function that scores how well a quote supports a claim.
    """
    best, *others = candidates
    same = drop_repeated_quotes(select_likely(best.places, share))
    floor = share * best.places[0].evidence.support
    agreeing = [other for other in others if not values_disagree(question, other.text, best.text)]
    rest = [
        place for other in agreeing for place in other.places if place.evidence.support >= floor
    ]
    # The same answers come first, so that a sentence that they quote is not judged again.
    rest = drop_repeated_quotes([*same, *rest])[len(same) :]
    scores = judge([(f"{question.text} {best.text}", place.evidence.quote) for place in rest])
    judged = zip(rest, scores, strict=True)
    return [*same, *(place for place, score in judged if score >= _SUPPORTED)]


def select_likely(places: Sequence[AnswerSpan], share: float) -> list[AnswerSpan]:
    """Return the places with at least `share` times the support of the first, in any hit."""
    floor = share * places[0].evidence.support if places else 0.0
    return [place for place in places if place.evidence.support >= floor]


def drop_repeated_quotes(places: Sequence[AnswerSpan]) -> list[AnswerSpan]:
    """Return the places without those that quote the same sentence as an earlier one."""
    first: dict[tuple[str, int], AnswerSpan] = {}
    for place in places:
        chunk = place.evidence.hit.chunk
        first.setdefault((chunk.document_id, chunk.span.start + place.evidence.span.start), place)
    return list(first.values())


def _make_answer_span(read_hit: ReadHit, span: ReadSpan) -> AnswerSpan | None:
    """Return the answer span of a reader's span; `None` if it is in a heading."""
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
"""The largest number of answer options of a chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOption:
    """A possible answer of a chunk.

    Attributes:
        text: The text as it stands in the chunk, in one line.
        span: Its place in the chunk's text.
        score: The probability that the chunk answers and that this is the answer, in [0, 1].
    """

    text: str
    span: Span
    score: float


def rank_options(
    question: Question, chunk: Chunk, session: ReadingSession
) -> tuple[AnswerOption, ...]:
    """Return the possible answers of a chunk, best first; each text once.

    If the question shows the kind of its answer, the options are all spans of that kind; their
    scores include those of the overlapping spans of the cross-reader. Otherwise the spans of the
    cross-reader are the options.
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
    """Return a span of the cross-reader as an option."""
    span = balance_brackets(chunk.text, read_span.span)
    text = " ".join(span.cut(chunk.text).split())
    return AnswerOption(text=text, span=span, score=read_span.score)


def _may_answer(question: Question, chunk: Chunk, span: Span) -> bool:
    """Return whether a span can be quoted and its sentence does not show another kind of value."""
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
    """Merge options into longer ones that contain them; the scores add up, to 1 at most.

    "about 1835" contains "1835", "98 km" contains "98", and "Lyon, France" contains "Lyon".
    """
    merged: list[AnswerOption] = []
    # Longest first, so that every option finds the longer ones already in the list.
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

    Its score is that of its text, plus the scores of the overlapping spans of the cross-reader
    times their overlap.
    """
    text = span.cut(chunk.text)
    borrowed = sum(
        other.score * _measure_overlap(span, other.span) for other in read if other.span != span
    )
    score = min(1.0, session.score(chunk, text) + borrowed)
    return AnswerOption(text=" ".join(text.split()), span=span, score=round(score, DIGITS))


def _measure_overlap(one: Span, other: Span) -> float:
    """Return the overlap of two spans as a share of the longer one, in [0, 1]."""
    both = min(one.end, other.end) - max(one.start, other.start)
    return max(0, both) / max(one.end - one.start, other.end - other.start, 1)
